//! Tests of broken factors that are functions of parameters: what the command says about each.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::{fixture, run, shown, snapshot};

/// Returns the data of the modifier with a name.
fn data<'a>(workspace: &'a mut Value, name: &str) -> &'a mut Value {
    let samples = workspace["channels"].as_array_mut().unwrap().iter_mut().flat_map(|channel| {
        channel["samples"].as_array_mut().unwrap().iter_mut().flat_map(|sample| {
            let modifiers = sample["modifiers"].as_array_mut().unwrap().iter_mut();
            modifiers.filter(|modifier| modifier["name"] == name).map(|modifier| &mut modifier["data"])
        })
    });
    samples.into_iter().next().unwrap()
}

fn settings(workspace: &mut Value) -> &mut Vec<Value> {
    workspace["measurements"][0]["config"]["parameters"].as_array_mut().unwrap()
}

/// A broken model: what is wrong with it, and the change that breaks it.
type Broken = (&'static str, Box<dyn Fn(&mut Value)>);

fn expression(name: &'static str, text: &'static str) -> Box<dyn Fn(&mut Value)> {
    Box::new(move |w| *data(w, name) = json!({ "expression": text }))
}

fn with_data(value: Value) -> Box<dyn Fn(&mut Value)> {
    Box::new(move |w| *data(w, "mu_signal") = value.clone())
}

fn with_setting(k: usize, key: &'static str, value: Value) -> Box<dyn Fn(&mut Value)> {
    Box::new(move |w| match &value {
        Value::Null => _ = settings(w)[k].as_object_mut().unwrap().remove(key),
        value => settings(w)[k][key] = value.clone(),
    })
}

fn all() -> Vec<Broken> {
    vec![
        ("a cycle of two", expression("mu_signal", "1 + width")),
        ("a function of itself", expression("mu_signal", "1 + mu_signal")),
        ("an unknown name", expression("mu_signal", "1 + kappa")),
        ("a name that is nearly known", expression("mu_signal", "1 + ch")),
        ("an empty expression", expression("mu_signal", "")),
        ("an operator too many", expression("mu_signal", "1 + *cH")),
        ("an open bracket", expression("mu_signal", "(1 + cH")),
        ("an unknown function", expression("mu_signal", "1 + foo(cH)")),
        ("an argument too many", expression("mu_signal", "exp(cH, cW)")),
        ("a division by zero at the start", expression("mu_signal", "1/cH")),
        ("a logarithm of a negative number", expression("mu_signal", "log(cH - 1)")),
        ("a function of nothing", expression("mu_signal", "2")),
        ("an infinite value at the start", expression("mu_signal", "exp(1000 + cH)")),
        ("a negative yield at the start", expression("mu_signal", "cH - 30")),
        ("a parameter with a value per bin", expression("mu_signal", "1 + stat_tail")),
        ("no name", expression("mu_signal", "1 + cH#")),
        ("two kinds of expressions", with_data(json!({"expression": "cH", "expressions": ["cH"]}))),
        ("no expression", with_data(json!({}))),
        ("no object", with_data(json!("1 + cH"))),
        ("an expression that is a number", with_data(json!({"expression": 1.0}))),
        ("an unknown key", with_data(json!({"expression": "1 + cH", "bounds": [0, 1]}))),
        ("expressions for other bins", Box::new(|w| *data(w, "growth") = json!({"expressions": ["1 + cW"]}))),
        ("two functions of one name", Box::new(|w| *data(w, "mixed") = json!({"expression": "cH"}))),
        ("no start value", with_setting(0, "inits", Value::Null)),
        ("no bounds", with_setting(0, "bounds", Value::Null)),
        ("bounds in the wrong order", with_setting(0, "bounds", json!([[8.0, -8.0]]))),
        ("a width of zero", with_setting(2, "sigmas", json!([0.0]))),
        ("a datum without a width", with_setting(0, "auxdata", json!([0.0]))),
        (
            "a list of parameters of interest with a double",
            Box::new(|w| w["measurements"][0]["config"]["poi"] = json!(["cH", "cW", "cH"])),
        ),
    ]
}

#[test]
fn broken_functions_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(fixture("eft.json"))).unwrap();
    let path = folder.path().join("broken.json");
    let mut all_told = String::new();
    for (what, change) in all() {
        let mut workspace: Value = serde_json::from_str(&text).unwrap();
        change(&mut workspace);
        if what == "two functions of one name" {
            let other = json!({"name": "mixed", "type": "function", "data": {"expression": "cW"}});
            workspace["channels"][1]["samples"][1]["modifiers"].as_array_mut().unwrap().push(other);
        }
        std::fs::write(&path, workspace.to_string()).unwrap();
        let output = run(&["fit", "-i", path.to_str().unwrap(), "--quiet", "-o", "/dev/null"]);
        let told = shown(&output).replace(&folder.path().display().to_string(), "DIR");
        writeln!(all_told, "# {what}\n{told}").unwrap();
    }
    snapshot!(all_told);
}
