//! Tests of `--plot` of every command, and of `nextstat licences`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::{fixture, run, shown, snapshot};

const WORKSPACE: &str = "simple_workspace.json";

/// Runs a command whose last argument is the flag of a picture. The picture is written to `path`.
fn plot(arguments: &[&str], path: &Path) -> Output {
    let input = fixture(WORKSPACE);
    let (name, flags) = arguments.split_first().unwrap();
    run(&[&[name, "-i", &input], flags, &[path.to_str().unwrap()]].concat())
}

/// Asserts that a file is a picture in the format of its extension, and that it is not empty.
fn check(path: &Path) {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8_lossy(&bytes);
    assert!(bytes.len() > 2000, "{} is nearly empty", path.display());
    match path.extension().and_then(|e| e.to_str()).unwrap() {
        "svg" => {
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
            assert!(text.matches("<text").count() > 5 && text.matches("<path").count() > 5);
        }
        "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n")),
        "pdf" => assert!(bytes.starts_with(b"%PDF-") && text.trim_end().ends_with("%%EOF")),
        other => panic!("{other}"),
    }
}

/// Pairs of a command and the words that its picture must contain. The last argument of a command is the flag of the
/// picture.
const PICTURES: [(&[&str], &[&str]); 15] = [
    (&["fit", "--plot"], &["jet_scale", "±1 standard deviation"]),
    (&["fit", "--plot-correlation"], &["jet_scale", "mu"]),
    (&["fit", "--plot-threshold", "0.2", "--plot-correlation"], &["with a correlation of at least 0.20"]),
    (&["fit", "--plot-prefit"], &["Pre-fit", "data", "uncertainty"]),
    (&["fit", "--plot-postfit"], &["Post-fit", "data", "uncertainty"]),
    (&["fit", "--plot-summary"], &["Regions after the fit", "before the fit", ">SR<", ">CR<"]),
    (&["yields", "--prefit", "--plot-summary"], &["Regions before the fit", ">SR<", ">CR<"]),
    (
        &["ranking", "--plot-impacts"],
        &["Impact on mu", "jet_scale", "+1 standard deviation", "mu = 0.91 ± 0.62"],
    ),
    (&["scan", "--points", "7", "--plot"], &["mu", "68.3 %", "95.4 %"]),
    (
        &["scan", "--points", "5", "--param2", "jet_scale", "--points2", "5", "--plot"],
        &["mu", "jet_scale", "68.3 %"],
    ),
    (&["ranking", "--prefit", "--plot"], &["Impact on mu", "jet_scale", "pull and constraint"]),
    (&["upper-limit", "--scan-points", "11", "--plot"], &["mu", "observed", "expected", "α = 0.05"]),
    (
        &["hypotest-toys", "--mu", "2", "--n-toys", "50", "--plot"],
        &["mu = 0: 50 toys", "mu = 2: 50 toys", "CLb = ", "CLs+b = ", "observed q\u{303} = ", "CLₛ = "],
    ),
    (
        &["gof", "--toys", "50", "--plot"],
        &["50 toys", "p-value = ", "degrees of freedom: p-value", "observed χ² = "],
    ),
    (&["toys", "--n-toys", "50", "--plot"], &["50 toys", "jet_scale", "mean of pulls", "width of pulls"]),
];

#[test]
fn every_command_draws_its_result() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in PICTURES {
        let path = folder.path().join("picture.svg");
        let output = plot(arguments, &path);
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
        check(&path);
        let svg = fs::read_to_string(&path).unwrap();
        for word in words {
            assert!(svg.contains(&format!(">{word}")) || svg.contains(word), "{arguments:?}: no '{word}'");
        }
        // The result is the same as without a picture.
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(result["wall_s"].is_number(), "{arguments:?}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn results_are_drawn_again_from_their_json() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (json, first, again, input) = (at("r.json"), at("first.svg"), at("again.svg"), fixture(WORKSPACE));
    let groups = at("groups.json");
    fs::write(&groups, r#"{"jets": ["jet_*"], "theory": ["signal_theory", "extrapolation"]}"#).unwrap();
    let cases: [(&[&str], &[&str]); 13] = [
        (&["fit", "--plot"], &[]),
        (&["fit", "--plot-correlation"], &["--kind", "correlation"]),
        (&["scan", "--points", "7", "--plot"], &[]),
        (&["scan", "--points", "5", "--param2", "jet_scale", "--points2", "5", "--plot"], &[]),
        (&["ranking", "--plot"], &[]),
        (&["upper-limit", "--scan-points", "11", "--plot"], &[]),
        (&["ranking", "--plot-impacts"], &["--kind", "impacts"]),
        (&["ranking", "--group", &groups, "--plot-groups"], &["--kind", "groups"]),
        (&["hypotest-toys", "--mu", "2", "--n-toys", "40", "--plot"], &[]),
        (&["gof", "--toys", "40", "--plot"], &[]),
        (&["toys", "--n-toys", "40", "--plot"], &[]),
        (&["toys", "--n-toys", "40", "--inject", "1,2", "--plot"], &[]),
        (&["yields", "--plot"], &[]),
    ];
    for (command, flags) in cases {
        let (name, rest) = command.split_first().unwrap();
        assert_eq!(
            run(&[&[name, "-i", &input, "-o", &json], rest, &[&first]].concat()).status.code(),
            Some(0)
        );
        let output = run(&[&["draw", &json, "-o", &again], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert_eq!(fs::read_to_string(&first).unwrap(), fs::read_to_string(&again).unwrap(), "{command:?}");
    }
    // The last result is that of the yields.
    let style = at("style.toml");
    fs::write(&style, "title = \"Search\"\nlog = true\ninclude = [\"S*\"]\nnames = {SR = \"signal region\"}\naxes.SR = {title = \"m [GeV]\", edges = [0, 50, 100, 200, 400]}\n").unwrap();
    let output = run(&["draw", &json, "-o", &again, "--style", &style, "--subtitle", "preliminary"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = fs::read_to_string(&again).unwrap();
    assert!(
        ["Search", "signal region", "preliminary", "m [GeV]", "400"].iter().all(|word| text.contains(word))
    );
    assert!(!text.contains(">CR<"));
    check(Path::new(&again));
    for (style_text, message) in [
        ("colour = 1\n", "unknown field `colour`"),
        ("colours.signal = \"red\"\n", "'red' is no colour; write it as '#1f77b4'"),
        ("ratio = [2, 1]\n", "ratio from 2 to 1; give two rising numbers"),
        ("axes.SR = {edges = [0, 1]}\n", "axis of 'SR': 2 edges; 4 bins have 5 edges in rising order"),
        ("axes.VR = {title = \"m\"}\n", "axes: there is no channel 'VR'; there are CR, SR"),
        ("include = [\"x*\"]\n", "none of the 2 names is drawn; correct 'include' and 'exclude'"),
    ] {
        fs::write(&style, style_text).unwrap();
        let output = run(&["draw", &json, "-o", &again, "--style", &style]);
        assert_eq!(output.status.code(), Some(2));
        assert!(shown(&output).contains(message), "{}", shown(&output));
    }
    for (command, flags, message) in [
        ("significance", &[][..], "the result of a single test is a few numbers, without a picture"),
        ("upper-limit", &[], "it has no scan; write it with upper-limit --scan-points"),
        ("inspect", &[], "the file is no result that can be read"),
        ("significance", &["--kind", "pulls"], "the result has no picture 'pulls'; it has one picture"),
    ] {
        assert_eq!(run(&[command, "-i", &input, "-o", &json]).status.code(), Some(0));
        let output = run(&[&["draw", &json, "-o", &again], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(message), "{}", shown(&output));
    }
}

#[test]
fn reports_of_build_and_summaries_are_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config = fixture("build/histograms.yml");
    let (first, pruning) = (at("first.svg"), at("pruning.svg"));
    let workspace = at("w.json");
    let built = run(&[
        "build",
        &config,
        "--output",
        &workspace,
        "--format",
        "json",
        "--plot-templates",
        &first,
        "--plot-pruning",
        &pruning,
    ]);
    assert_eq!(built.status.code(), Some(0), "{}", shown(&built));
    fs::write(at("report.json"), &built.stdout).unwrap();
    for (kind, drawn) in [("templates", &first), ("pruning", &pruning)] {
        let output = run(&["draw", &at("report.json"), "--kind", kind, "-o", &at("again.svg")]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert_eq!(
            fs::read_to_string(drawn).unwrap(),
            fs::read_to_string(at("again.svg")).unwrap(),
            "{kind}"
        );
    }
    check(Path::new(&pruning));

    let input = fixture(WORKSPACE);
    assert!(run(&["fit", "-i", &input, "-o", &at("fit.json"), "--plot-summary", &first]).status.success());
    assert!(run(&["yields", "-i", &input, "-o", &at("after.json")]).status.success());
    assert!(run(&["yields", "-i", &input, "--prefit", "-o", &at("before.json")]).status.success());
    let summary = ["draw", &at("after.json"), "--kind", "summary", "-o", &at("again.svg"), "--before"];
    let output = run(&[&summary[..], &[&at("before.json")]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(fs::read_to_string(&first).unwrap(), fs::read_to_string(at("again.svg")).unwrap());
    for (arguments, message) in [
        ([&summary[..], &[&at("fit.json")]].concat(), "this is no result of `nextstat yields`"),
        (
            vec!["draw", &at("fit.json"), "--kind", "summary", "-o", &at("again.svg")],
            "it has pulls, correlation",
        ),
        (
            vec!["draw", &at("report.json"), "--kind", "pulls", "-o", &at("again.svg")],
            "it has pruning, templates",
        ),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(message), "{}", shown(&output));
    }
    for (name, model, flags) in
        [("interval", "counting.json", &["--toys", "300"][..]), ("compatibility", "many_bins.json", &[])]
    {
        // Few toys do not find the ends of an interval well enough, so that its exit code is 1.
        run(&[&[name, "-i", &fixture(model), "-o", &at("r.json"), "--plot", &first], flags].concat());
        let output = run(&["draw", &at("r.json"), "-o", &at("again.svg")]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert_eq!(
            fs::read_to_string(&first).unwrap(),
            fs::read_to_string(at("again.svg")).unwrap(),
            "{name}"
        );
    }
    let pruned = [
        "prune",
        "-i",
        &input,
        "--norm-threshold",
        "0.03",
        "-o",
        &at("pruned.json"),
        "--plot-pruning",
        &first,
    ];
    assert!(run(&pruned).status.success());
    check(Path::new(&first));
}

#[test]
fn the_extension_is_the_format() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["picture.svg", "picture.PNG", "picture.pdf"] {
        let path = folder.path().join(name);
        assert!(plot(&["scan", "--points", "3", "--plot"], &path).status.success());
        let lower = folder.path().join(name.to_lowercase());
        fs::rename(&path, &lower).unwrap();
        check(&lower);
    }
}

#[test]
fn all_pictures_of_one_fit_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let names = ["pulls.svg", "correlation.png", "prefit.pdf", "postfit.svg"];
    let paths: Vec<String> = names.iter().map(|name| at(name).to_str().unwrap().to_owned()).collect();
    let flags = ["--plot", "--plot-correlation", "--plot-prefit", "--plot-postfit"];
    let input = fixture(WORKSPACE);
    let mut arguments = vec!["fit", "-i", input.as_str()];
    for (flag, path) in flags.iter().zip(&paths) {
        arguments.extend([*flag, path.as_str()]);
    }
    assert!(run(&arguments).status.success());
    names.iter().for_each(|name| check(&at(name)));
}

#[test]
fn a_wrong_place_ends_in_2_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let hide = |output: &Output| shown(output).replace(root, "[folder]");
    let mut messages = Vec::new();
    for (arguments, _) in PICTURES {
        let flag = *arguments.last().unwrap();
        for name in ["picture.jpg", "picture", "nowhere/picture.svg"] {
            // The workspace does not exist: the path of the picture is checked before the workspace is read.
            let (command, flags) = arguments.split_first().unwrap();
            let path = folder.path().join(name);
            let all = [&[*command, "-i", "nowhere.json"], flags, &[path.to_str().unwrap()]].concat();
            let output = run(&all);
            assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
            let text = hide(&output);
            assert!(!text.contains("nowhere.json"), "{text}");
            if name.contains('/') {
                // Only the start and the end of the message are checked, not the reason in between.
                assert!(text.contains("error: cannot write [folder]/nowhere/picture.svg"), "{text}");
                assert!(text.contains("; check the path"), "{text}");
            } else if (*command, flag) == ("fit", "--plot") {
                messages.push(text);
            }
        }
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    snapshot!(messages.join("\n"));
}

#[test]
fn two_outputs_want_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    let hide = |output: &Output| shown(output).replace(folder.path().to_str().unwrap(), "[folder]");
    let name = path.to_str().unwrap();
    let twice = hide(&plot(&["fit", "--plot-prefit", name, "--plot-postfit"], &path));
    let result = hide(&plot(&["scan", "--output", name, "--plot"], &path));
    snapshot!(format!("{twice}\n{result}"));
    assert!(!path.exists());
}

#[test]
fn nothing_to_draw_is_told_and_the_result_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    let output = plot(&["fit", "--plot-threshold", "1", "--plot-correlation"], &path);
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["converged"], true);
    assert!(!path.exists());
    let stderr = String::from_utf8_lossy(&output.stderr).replace(folder.path().to_str().unwrap(), "[folder]");
    snapshot!(stderr);
    snapshot!(shown(&plot(&["fit", "--plot-threshold", "2", "--plot-correlation"], Path::new("x.svg"))));
}

#[test]
fn a_goodness_of_fit_without_toys_has_no_picture() {
    let output = plot(&["gof", "--plot"], Path::new("x.svg"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        shown(&output).contains("--plot draws the statistic of toys: add --toys N"),
        "{}",
        shown(&output)
    );
    assert!(!Path::new("x.svg").exists());
}

#[test]
fn merged_toys_have_the_picture_of_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = fixture(WORKSPACE);
    for (command, flags) in [("hypotest-toys", &["--mu", "2"][..]), ("toys", &[])] {
        let start = [&[command, "-i", &input, "--n-toys", "40"], flags].concat();
        let (whole, merged) = (at("whole.svg"), at("merged.svg"));
        assert!(run(&[&start[..], &["--plot", &whole]].concat()).status.success());
        let shards = ["1/2", "2/2"].map(|shard| (shard, at(&format!("{command}-{}.parquet", &shard[..1]))));
        for (shard, file) in &shards {
            assert!(run(&[&start[..], &["--shard", shard, "--save", file]].concat()).status.success());
        }
        let output = run(&["merge-toys", &shards[0].1, &shards[1].1, "--plot", &merged]);
        assert!(output.status.success(), "{}", shown(&output));
        assert_eq!(fs::read_to_string(&whole).unwrap(), fs::read_to_string(&merged).unwrap(), "{command}");
        let same = run(&["merge-toys", &shards[0].1, "--output", &merged, "--plot", &merged]);
        assert_eq!(same.status.code(), Some(2), "{}", shown(&same));
    }
}

#[test]
fn top_says_how_many_parameters_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    let output = plot(&["ranking", "--top", "2", "--plot"], &path);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let svg = fs::read_to_string(&path).unwrap();
    let all: Value = serde_json::from_slice(&run(&["ranking", "-i", &fixture(WORKSPACE)]).stdout).unwrap();
    for (i, entry) in all["ranking"].as_array().unwrap().iter().enumerate() {
        let name = entry["name"].as_str().unwrap();
        assert_eq!(svg.contains(&format!(">{name}<")), i < 2, "{name}");
    }
    assert_eq!(result["ranking"].as_array().unwrap().len(), 2);
}

#[test]
fn a_limit_draws_the_grid_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    let grid = ["upper-limit", "--scan-start", "0", "--scan-stop", "3", "--scan-points", "7", "--plot"];
    let chosen = ["upper-limit", "--scan-points", "7", "--plot"];
    let mut scans = Vec::new();
    for arguments in [&grid[..], &chosen[..]] {
        let output = plot(arguments, &path);
        check(&path);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let values: Vec<f64> =
            result["scan"]["mu_values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert_eq!(values.len(), 7);
        let largest = result["expected"][4].as_f64().unwrap().max(result["observed"].as_f64().unwrap());
        scans.push((values, largest));
    }
    assert_eq!((scans[0].0[0], scans[0].0[6]), (0.0, 3.0));
    let (values, largest) = &scans[1];
    assert_eq!(values[0], 0.0);
    assert!((values[6] / (1.25 * largest) - 1.0).abs() < 1e-9, "{values:?} for {largest}");
}

#[test]
fn the_licence_of_the_font_travels_with_the_program() {
    let output = run(&["licences"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("NextStat is licensed under MIT or Apache-2.0"), "{text}");
    assert!(text.contains("Bitstream Vera") && text.contains("DejaVu"));
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(help.contains("licences"));
}

#[test]
fn names_in_cjk_are_drawn_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text =
        fs::read_to_string(root.join(fixture(WORKSPACE))).unwrap().replace("jet_scale", "\u{55b7}\u{6ce8}");
    let input = folder.path().join("workspace.json");
    fs::write(&input, text).unwrap();
    let known = ns_viz::font_warning(["\u{55b7}\u{6ce8}"].into_iter()).is_none();
    for (name, warned) in [("pulls.png", !known), ("pulls.pdf", !known), ("pulls.svg", false)] {
        let picture = folder.path().join(name);
        let output = run(&["fit", "-i", input.to_str().unwrap(), "--plot", picture.to_str().unwrap()]);
        check(&picture);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let told = result["warnings"].as_array().unwrap().iter().any(|text| {
            text.as_str().unwrap().contains("no font of this machine has: \u{55b7}\u{6ce8}; install a font")
        });
        assert_eq!(told, warned, "{name}: {result}");
    }
}

/// Returns a workspace with a signal and a background that has a staterror parameter in each of `bins` bins.
fn many_bins(bins: usize) -> String {
    let list = |value: &dyn Fn(usize) -> f64| {
        let values: Vec<String> = (0..bins).map(|bin| value(bin).to_string()).collect();
        format!("[{}]", values.join(","))
    };
    let nominal = |bin: usize| 20.0 + (bin % 17) as f64;
    format!(
        r#"{{"channels": [{{"name": "SR", "samples": [
          {{"name": "signal", "data": {}, "modifiers": [{{"name": "mu", "type": "normfactor", "data": null}}]}},
          {{"name": "background", "data": {}, "modifiers": [
            {{"name": "norm", "type": "normsys", "data": {{"lo": 0.95, "hi": 1.05}}}},
            {{"name": "stat", "type": "staterror", "data": {}}}]}}]}}],
          "observations": [{{"name": "SR", "data": {}}}],
          "measurements": [{{"name": "m", "config": {{"poi": "mu", "parameters": []}}}}], "version": "1.0.0"}}"#,
        list(&|bin| 1.0 + (bin % 5) as f64),
        list(&nominal),
        list(&|bin| 0.1 * nominal(bin)),
        list(&|bin| (nominal(bin) + 3.0).round()),
    )
}

#[cfg(target_os = "linux")]
#[test]
fn a_post_fit_picture_of_20_000_bins_needs_neither_minutes_nor_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("workspace.json");
    fs::write(&input, many_bins(20_000)).unwrap();
    for name in ["postfit.svg", "postfit.png", "postfit.pdf"] {
        let picture = folder.path().join(name);
        let started = std::time::Instant::now();
        // The limit is on the address space, which is larger than the memory in use. The covariance alone
        // would take 3.2 GB.
        let limited =
            "ulimit -v 1500000; exec \"$0\" fit -i \"$1\" --threads 2 --plot-postfit \"$2\" -o \"$2.json\"";
        let output = std::process::Command::new("sh")
            .args(["-c", limited, assert_cmd::cargo::cargo_bin!("nextstat").to_str().unwrap()])
            .args([&input, &picture])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        // A release build takes two seconds; a test build on a busy machine may take longer.
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
        check(&picture);
        assert!(fs::metadata(&picture).unwrap().len() < 3_000_000, "{name} is small");
        if name.ends_with("svg") {
            let svg = fs::read_to_string(&picture).unwrap();
            assert!(svg.contains("uncertainty") && svg.contains("20\u{2009}000 bins"));
        }
    }
}
