//! Tests of axes of channels, and of the flags that say how pictures are drawn.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{fixture, run, shown};

const WORKSPACE: &str = "simple_workspace.json";

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn axes_reach_results_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (axes, picture, result) = (fixture("axes.toml"), at("events.svg"), at("yields.json"));
    let flags = ["--axes", &axes, "--plot", &picture, "-o", &result];
    let output = run(&[&["yields", "-i", &fixture(WORKSPACE)], &flags[..]].concat());
    assert!(output.status.success(), "{}", shown(&output));
    let found: Value = serde_json::from_str(&read(Path::new(&result))).unwrap();
    let channels = found["channels"].as_array().unwrap();
    let sr = channels.iter().find(|channel| channel["name"] == "SR").unwrap();
    assert_eq!(sr["bin_edges"], json!([100.0, 120.0, 140.0, 160.0, 200.0]));
    assert_eq!(sr["axis_title"], "$m_{bb}$ [GeV]");
    let svg = read(Path::new(&picture));
    assert!(svg.contains("GeV]") && svg.contains(">200<"), "the axis has a title and numbers");
    // Drawn again, the picture is the same.
    let again = at("again.svg");
    assert!(run(&["draw", &result, "-o", &again]).status.success());
    assert_eq!(read(Path::new(&again)), svg);
    let tables =
        run(&["yields", "-i", &fixture(WORKSPACE), "--axes", &axes, "--per-bin", "--format", "hepdata"]);
    assert!(shown(&tables).contains("low: 100"), "{}", shown(&tables));
}

#[test]
fn wrong_axes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("axes.toml");
    for (text, told, succeeds) in [
        (
            "[SR]\nedges = [0, 1]\n",
            "channel 'SR' has 4 bins and 2 edges; give 5 edges in rising order",
            false,
        ),
        (
            "[SR]\nedges = [5, 4, 3, 2, 1]\n",
            "the edges of channel 'SR' do not rise; give finite numbers in rising order",
            false,
        ),
        ("[SR]\nedge = [0, 1]\n", "unknown field `edge`", false),
        ("SR = 3\n", "the TOML has another form", false),
        ("{\"SR\": 3}", "the JSON has another form", false),
        (
            "[VR]\ntitle = 'm'\n",
            "axes: there is no channel 'VR' of bins. The channels of bins are: 'CR', 'SR'.",
            true,
        ),
    ] {
        fs::write(&path, text).unwrap();
        let output =
            run(&["yields", "-i", &fixture(WORKSPACE), "--prefit", "--axes", path.to_str().unwrap()]);
        assert_eq!(output.status.success(), succeeds, "{text}");
        assert!(shown(&output).contains(told), "{text}: {}", shown(&output));
    }
    let missing = run(&["fit", "-i", &fixture(WORKSPACE), "--axes", "no.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn built_workspaces_keep_their_axes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (workspace, beside) = (at("search.json"), folder.path().join("search.axes.json"));
    let output = run(&["build", &fixture("build/ntuples.yml"), "--output", &workspace]);
    assert!(output.status.success(), "{}", shown(&output));
    let axes: Value = serde_json::from_str(&read(&beside)).unwrap();
    let (name, axis) = axes.as_object().unwrap().iter().next().unwrap();
    let yields = |extra: &[&str]| -> (String, Value) {
        let result = at("yields.json");
        let output = run(&[&["yields", "-i", &workspace, "--prefit", "-o", &result], extra].concat());
        assert!(output.status.success(), "{}", shown(&output));
        let found: Value = serde_json::from_str(&read(Path::new(&result))).unwrap();
        let channels = found["channels"].as_array().unwrap();
        (shown(&output), channels.iter().find(|channel| channel["name"] == **name).unwrap().clone())
    };
    let (_, channel) = yields(&[]);
    assert_eq!((&channel["bin_edges"], &channel["axis_title"]), (&axis["edges"], &axis["title"]));
    // Axes of another workspace are left out, with a warning.
    fs::write(&beside, format!("{{\"{name}\": {{\"edges\": [0, 1, 2]}}, \"other\": {{\"title\": \"m\"}}}}"))
        .unwrap();
    let (told, channel) = yields(&[]);
    assert!(channel.get("bin_edges").is_none() && told.contains("the axes beside the workspace"), "{told}");
    fs::write(&beside, "[]").unwrap();
    let (told, _) = yields(&[]);
    assert!(told.contains("search.axes.json is not read"), "{told}");
    // The workspace itself has pyhf's form.
    let keys: Value = serde_json::from_str(&read(Path::new(&workspace))).unwrap();
    assert_eq!(keys.as_object().unwrap().len(), 4);
}

#[test]
fn each_channel_may_be_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (result, input) = (at("yields.json"), fixture(WORKSPACE));
    let flags = ["--plot-log", "--plot-ratio", "0.5:1.5", "-o", &result];
    let output = run(&[&["yields", "-i", &input, "--plot", &at("y_{channel}.svg")], &flags[..]].concat());
    assert!(output.status.success(), "{}", shown(&output));
    let (sr, cr) = (read(&folder.path().join("y_SR.svg")), read(&folder.path().join("y_CR.svg")));
    assert!(sr.contains(">SR<") && !sr.contains(">CR<") && cr.contains(">CR<"));
    assert!(sr.contains(">1.5<") && sr.contains(">0.5<"), "the axis of ratios has the given ends");
    let again = run(&["draw", &result, "-o", &at("d_{channel}.svg"), "--log", "--ratio", "0.5:1.5"]);
    assert!(again.status.success(), "{}", shown(&again));
    assert_eq!(read(&folder.path().join("d_SR.svg")), sr);
    // A folder that is missing is told before the analysis.
    let unwritten = at("unwritten.json");
    let flags = ["--plot", &at("none/y_{channel}.svg"), "-o", &unwritten];
    let missing = run(&[&["yields", "-i", &input], &flags[..]].concat());
    assert!(shown(&missing).contains("does not exist"), "{}", shown(&missing));
    assert!(!missing.status.success() && !Path::new(&unwritten).exists());
    let one = run(&["fit", "-i", &input, "--plot", &at("p_{channel}.svg")]);
    assert_eq!(one.status.code(), Some(2));
    assert!(shown(&one).contains("{channel} is for pictures of events by channel"), "{}", shown(&one));
    assert!(run(&["fit", "-i", &input, "--plot-postfit", &at("f_{channel}.svg")]).status.success());
    assert!(folder.path().join("f_CR.svg").exists());
}

#[test]
fn flags_choose_what_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.svg");
    let draw = |command: &[&str]| {
        let (name, flags) = command.split_first().unwrap();
        let output = run(&[&[name, "-i", &fixture(WORKSPACE)], flags, &[path.to_str().unwrap()]].concat());
        (output.status.code(), shown(&output), fs::read_to_string(&path).unwrap_or_default())
    };
    let (code, told, svg) = draw(&["fit", "--plot-exclude", "stat_*", "--plot"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(svg.contains(">jet_scale<") && !svg.contains("stat_"));
    let (_, _, svg) = draw(&["ranking", "--plot-include", "jet*,lumi", "--plot"]);
    assert!(svg.contains(">jet_scale<") && !svg.contains("background_norm"));
    let (code, told, _) = draw(&["fit", "--plot-include", "nothing", "--plot"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("none of the") && told.contains("correct 'include' and 'exclude'"), "{told}");
    let (_, linear, _) = draw(&["upper-limit", "--scan-points", "7", "--plot"]);
    let (code, told, _) = draw(&["upper-limit", "--scan-points", "7", "--plot-log", "--plot"]);
    assert_eq!(code, Some(0), "{linear} {told}");
    let style = folder.path().join("style.toml");
    fs::write(&style, "title = \"Paper\"\nnames = { jet_scale = '$\\alpha_{JES}$' }\n").unwrap();
    let (_, _, svg) = draw(&["fit", "--plot-style", style.to_str().unwrap(), "--plot"]);
    assert!(svg.contains(">Paper<") && svg.contains("JES") && !svg.contains("jet_scale"));
    let (code, told, _) = draw(&["yields", "--plot-ratio", "2:1", "--plot"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("'2:1' is no range; expected LOW:HIGH"), "{told}");
    let without = run(&["fit", "-i", &fixture(WORKSPACE), "--plot-log"]);
    assert!(shown(&without).contains("--plot-log changes the picture of events: add"), "{}", shown(&without));
}

#[test]
fn names_of_a_style_are_only_what_is_shown() {
    // Words that pictures have inside are no names.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let style = at("style.toml");
    let words = ["stack", "lines", "all", "nothing", "rows", "title", "channels", "signal", "name"];
    let names: Vec<String> = words.iter().map(|word| format!("{word} = \"X{word}\"")).collect();
    fs::write(&style, format!("[names]\n{}\n", names.join("\n"))).unwrap();
    for (command, flag) in
        [("fit", "--plot"), ("yields", "--plot"), ("ranking", "--plot"), ("fit", "--plot-correlation")]
    {
        let picture = at("p.svg");
        let output = run(&[command, "-i", &fixture(WORKSPACE), flag, &picture, "--plot-style", &style]);
        assert!(output.status.success(), "{command}: {}", shown(&output));
    }
    let report = at("report.json");
    let built =
        run(&["build", &fixture("build/histograms.yml"), "--output", &at("w.json"), "--format", "json"]);
    fs::write(&report, &built.stdout).unwrap();
    for kind in ["pruning", "templates"] {
        let output = run(&["draw", &report, "--kind", kind, "-o", &at("b.svg"), "--style", &style]);
        assert!(output.status.success(), "{kind}: {}", shown(&output));
    }
}

#[test]
fn a_summary_shows_no_blinded_events() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = fixture("events/diphoton.hs3.json");
    let summary = ["--plot-summary", &at("s.svg"), "--plot-blind", "m=120:130"].map(str::to_owned);
    for extra in [vec![], vec!["--plot".to_owned(), at("p.svg")]] {
        let flags: Vec<&str> = summary.iter().chain(&extra).map(String::as_str).collect();
        let output = run(&[&["yields", "-i", &input, "--prefit"], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    }
}

#[test]
fn a_style_without_a_picture_names_the_flags_of_pictures() {
    let input = fixture(WORKSPACE);
    for (command, flags, told) in [
        (
            "fit",
            ["--plot-exclude", "jet*"],
            "--plot-exclude describes pictures, and this command draws none: add --plot FILE",
        ),
        ("yields", ["--plot-style", "no.toml"], "add --plot FILE, --plot-summary FILE, or leave it out"),
        ("upper-limit", ["--plot-include", "mu"], "add --plot FILE, or leave it out"),
    ] {
        let output = run(&[&[command, "-i", &input], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(shown(&output).contains(told), "{command}: {}", shown(&output));
    }
}
