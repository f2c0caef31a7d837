//! Tests the folder that `nextstat report` writes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{fixture, run, shown};

/// Returns the values of an attribute in a page, such as all `src`.
fn attribute(page: &str, name: &str) -> Vec<String> {
    let start = format!("{name}=\"");
    page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// Returns the page of a report, after checks that hold for every page: all of its files exist, and it needs no network.
fn page(folder: &Path) -> String {
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    for file in attribute(&page, "src").into_iter().chain(attribute(&page, "href")) {
        match file.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "{id}"),
            None => assert!(folder.join(&file).is_file(), "{file}"),
        }
    }
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<script"));
    page
}

#[test]
fn it_has_every_analysis_and_the_results_of_their_commands() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a report");
    let output =
        run(&["report", &fixture("simple_workspace.json"), "-o", to.to_str().unwrap(), "--fix", "lumi=1"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let page = page(&to);
    for id in ["model", "fit", "diagnostics", "yields", "ranking", "gof", "significance", "limit"] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    // The commands of the page give the results of the page.
    let commands: Vec<String> = page
        .split("<pre>")
        .skip(1)
        .filter_map(|rest| rest.split("</pre>").next())
        .map(|text| text.replace("&quot;", "\""))
        .collect();
    // The fit has its pulls in two pictures, and the yields are there before and after it.
    assert_eq!(commands.len(), 11, "{commands:#?}");
    let whole: Vec<&str> = commands.iter().flat_map(|line| line.split(' ')).collect();
    for file in fs::read_dir(&to).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name == "index.html" || whole.contains(&name.as_str()), "no command makes {name}");
    }
    for (name, key, command) in [
        ("fit.json", "twice_nll", "fit"),
        ("limit.json", "observed", "upper-limit"),
        ("gof.json", "chi2", "gof"),
        ("yields.json", "channels", "yields"),
        ("yields_before.json", "channels", "yields"),
    ] {
        let is_its = |line: &&String| {
            line.starts_with(&format!("nextstat {command} ")) && line.contains(&format!(" -o {name}"))
        };
        let line = commands.iter().find(is_its).unwrap();
        let words = shlex::split(line).unwrap();
        let again = folder.path().join(name);
        let words: Vec<&str> = words
            .iter()
            .skip(1)
            .map(|word| if word == name { again.to_str().unwrap() } else { word.as_str() })
            .take_while(|word| !word.starts_with("--plot"))
            .collect();
        let output = run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        let value = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
        let (here, there) = (value(&again), value(&to.join(name)));
        assert_eq!(here[key], there[key], "{name}");
        assert_eq!(here["model_digest"], there["model_digest"]);
        if command == "yields" {
            assert!(there["channels"][0]["samples"][0]["sum_uncertainty"].is_f64(), "{there}");
        }
    }
    // The pictures of pulls are drawn again from the result.
    for name in ["pulls.svg", "pulls_of_bins.svg"] {
        let line = commands.iter().find(|line| line.contains(&format!(" draw fit.json -o {name}"))).unwrap();
        let again = folder.path().join(name);
        let words = shlex::split(line).unwrap();
        let words: Vec<&str> = words
            .iter()
            .skip(1)
            .map(|word| match word.as_str() {
                "fit.json" => to.join("fit.json").to_str().unwrap().to_owned(),
                word if word == name => again.to_str().unwrap().to_owned(),
                word => word.to_owned(),
            })
            .map(|word| &*word.leak())
            .collect();
        let output = run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert_eq!(fs::read(&again).unwrap(), fs::read(to.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_model_of_one_parameter_has_no_command_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let workspace = serde_json::json!({
        "channels": [{"name": "c", "samples": [
            {"name": "s", "data": [5.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "b", "data": [50.0], "modifiers": []},
        ]}],
        "observations": [{"name": "c", "data": [55.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}], "version": "1.0.0",
    });
    let model = folder.path().join("one.json");
    fs::write(&model, workspace.to_string()).unwrap();
    let output = run(&["report", model.to_str().unwrap(), "-o", to]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let page = page(folder.path());
    assert!(page.contains("Parameters without a constraint") && !page.contains("Pulls of the"), "{page}");
    assert!(page.contains("-o ranking.json</pre>"), "{page}");
    assert!(page.contains("the model has no other free parameter, so there is nothing to rank"), "{page}");
    assert!(page.contains("p-value is none: 1 bin and 1 free parameter"), "{page}");
}

#[test]
fn analyses_can_be_left_out_and_a_second_report_replaces_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    for left_out in ["limit,significance", "limit,ranking,gof,yields"] {
        let args = ["report", &fixture("simple_workspace.json"), "-o", to, "--without", left_out, "--quiet"];
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert!(output.stderr.is_empty(), "{}", shown(&output));
        let page = page(folder.path());
        for id in left_out.split(',') {
            assert!(!page.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }
}

#[test]
fn an_analysis_that_fails_has_its_message_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let args = ["report", &fixture("simple_workspace.json"), "-o", to, "--fix", "mu=1"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let page = page(folder.path());
    assert!(page.contains("class=\"failure\""), "the ranking of a fixed parameter has a message");
    assert!(folder.path().join("fit.json").is_file());
}

#[test]
fn a_model_without_a_parameter_of_interest_has_no_limit() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let output = run(&["report", &fixture("empty_poi.json"), "-o", to]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let page = page(folder.path());
    assert!(!folder.path().join("limit.json").exists());
    assert!(page.contains("parameter of interest"), "{page}");
}

#[test]
fn no_folder_is_left_where_there_is_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("report");
    let output = run(&["report", "no_such_file.json", "-o", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(!to.exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_the_analyses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = run(&["report", &fixture("simple_workspace.json"), "-o", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{}", shown(&output));
}
