//! Random workspaces in which functions of parameters are factors of samples and bins: quadratic yields, interference that
//! changes its sign, ratios, functions of functions, and functions of nuisance parameters.

use ns_core::Execution;
use ns_inference::open_session;
use serde_json::{Value, json};

use super::random::Draw;
use super::workspace::{Case, FUNCTIONS, WILD, rounded};

/// Largest number of workspaces that are drawn.
const MOST_DRAWN: u64 = 20;

/// Distance of the ordinary workspaces that are tried one after the other.
const STEP: u64 = 7919;

/// Returns a random workspace with functions. It is an ordinary one with more modifiers. If an expected yield is negative
/// at the start values, another one is drawn.
pub fn draw(index: u64) -> Case {
    let execution = Execution { threads: 1, ..Execution::default() };
    let opens = |case: &Case| case.model().is_ok_and(|model| open_session(&model, &execution).is_ok());
    let mut others = (1..MOST_DRAWN).map(|turn| with_functions(index, turn));
    let first = with_functions(index, 0);
    if opens(&first) { first } else { others.find(opens).unwrap_or(first) }
}

fn with_functions(index: u64, turn: u64) -> Case {
    let mut case = super::workspace::draw((index - FUNCTIONS + STEP * turn) % WILD);
    let mut d = Draw::new(index ^ 0xF00D ^ (turn << 40));
    let (a, b, c) =
        (rounded(d.between(-0.5, 0.5)), rounded(d.between(0.05, 0.4)), rounded(d.between(-0.3, 0.3)));
    // One name is one expression everywhere.
    let forms = [
        ("quadratic", format!("1 + {a}*c1 + {b}*c1^2 + {c}*c1*c2")),
        ("second", format!("1 + {b}*c2^2")),
        ("ratio", "(1 + 0.1*c2)/(1.5 + 0.2*e)".to_owned()),
        ("nuisance", format!("exp({c}*e)")),
        ("chain", "quadratic*nuisance".to_owned()),
        ("trivial", "c2*1".to_owned()),
    ];
    let mut used: Vec<&str> = Vec::new();
    for channel in case.workspace["channels"].as_array_mut().unwrap() {
        for sample in channel["samples"].as_array_mut().unwrap() {
            let n = sample["data"].as_array().unwrap().len();
            let list = sample["modifiers"].as_array_mut().unwrap();
            if d.chance(0.5) {
                let (name, expression) = &forms[d.integer(0, forms.len() - 1)];
                used.push(name);
                list.push(json!({"name": name, "type": "function", "data": {"expression": expression}}));
            }
            if d.chance(0.15) {
                let bins: Vec<String> =
                    (0..n).map(|bin| format!("1 + {}*c2^2", 0.05 * (1 + bin) as f64)).collect();
                let name = format!("growth{n}");
                list.push(json!({"name": name, "type": "function", "data": {"expressions": bins}}));
            }
        }
    }
    // A function of functions needs them as modifiers, which a sample of no events can have.
    if used.contains(&"chain") {
        let first = &mut case.workspace["channels"][0]["samples"][0]["modifiers"];
        for (name, expression) in forms.iter().filter(|(name, _)| ["quadratic", "nuisance"].contains(name)) {
            let list = first.as_array_mut().unwrap();
            if !list.iter().any(|m| m["name"] == *name) {
                list.push(json!({"name": name, "type": "function", "data": {"expression": expression}}));
            }
        }
    }
    let setting = |name: &str, bounds: [f64; 2], init: f64, more: Value| {
        let mut own = json!({"name": name, "inits": [init], "bounds": [bounds]});
        if let (Some(own), Some(more)) = (own.as_object_mut(), more.as_object()) {
            own.extend(more.clone());
        }
        own
    };
    let settings = [
        setting("c1", [-5.0, 5.0], 0.0, json!({})),
        setting("c2", [-4.0, 6.0], 1.0, json!({})),
        setting("e", [-5.0, 5.0], 0.0, json!({"sigmas": [1.0]})),
    ];
    for measurement in case.workspace["measurements"].as_array_mut().unwrap() {
        measurement["config"]["parameters"].as_array_mut().unwrap().extend(settings.iter().cloned());
    }
    Case { index, ..case }
}
