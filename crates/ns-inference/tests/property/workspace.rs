//! Random pyhf workspaces. Each workspace depends only on its index.
//!
//! Each workspace has one to four channels of one to five bins, two to five samples, and a few to hundreds of events.
//! Effects are 5 to 40 %. The up and down variations have independent sizes. Some bins have no background or a
//! negative background, and some bins have no observed events. Channels, samples and modifiers of several types share
//! names. A third of the models have a piecewise interpolation code. Most data are drawn away from the expected
//! yields. Some data are equal to the expected yields.

use ns_core::{Data, EvaluationRequest, Execution, HistosysCode, Interpolation, Model, NormsysCode};
use ns_inference::open_session;
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

use super::random::Draw;
use super::{functions, wild};

/// A workspace, and the settings with which its model is built.
pub struct Case {
    pub index: u64,
    pub workspace: Value,
    pub measurement: String,
    pub interpolation: Interpolation,
}

impl Case {
    /// Builds the model of the workspace.
    pub fn model(&self) -> Result<Model, String> {
        let options = ModelOptions {
            measurement: Some(self.measurement.clone()),
            interpolation: self.interpolation,
            ..ModelOptions::default()
        };
        let workspace =
            Workspace::from_slice(self.workspace.to_string().as_bytes()).map_err(|e| e.to_string())?;
        workspace.model(&options).map_err(|e| e.to_string())
    }

    /// Returns the options with which the command line builds the same model.
    pub fn flags(&self) -> String {
        let Interpolation { normsys, histosys } = self.interpolation;
        format!("--measurement '{}' --normsys-code {normsys} --histosys-code {histosys}", self.measurement)
    }
}

/// Names from which the names of background samples are chosen. Some of them are also names of channels or
/// modifiers.
const NAMES: [&str; 6] = ["SR", "bkg", "top", "W jets", "sig", "región"];
const ALPHAS: [&str; 8] = ["JES", "bkg", "alpha_1", "theory [b]", "SR", "top", "θ", "eff"];

/// Index from which on [`draw`] returns models with effects far from linear ([`wild`]).
pub const WILD: u64 = 1_000_000;

/// Index from which on [`draw`] returns models with functions of parameters as factors ([`functions`]).
pub const FUNCTIONS: u64 = 2_000_000;

/// Returns the random workspace with the index `index`.
pub fn draw(index: u64) -> Case {
    if index >= FUNCTIONS {
        return functions::draw(index);
    }
    if index >= WILD {
        return wild::draw(index);
    }
    let mut d = Draw::new(index);
    let interpolation = interpolation(&mut d);
    let mut channels = channels(&mut d);
    let alphas = scalar_names(&mut d);
    let has_lumi = modifiers(&mut d, &mut channels, &alphas);
    let mut workspace = json!({
        "channels": channels,
        "observations": channels.iter().map(|c| {
            json!({"name": c["name"], "data": vec![0.0; n_bins(c)]})
        }).collect::<Vec<_>>(),
        "measurements": measurements(&mut d, &channels, &alphas, has_lumi),
        "version": "1.0.0",
    });
    let n_measurements = workspace["measurements"].as_array().map_or(0, Vec::len);
    let chosen = d.integer(0, n_measurements - 1);
    let measurement = text(&workspace["measurements"][chosen]["name"]);
    let mut case = Case { index, workspace: workspace.clone(), measurement, interpolation };
    if let Some(counts) = observe(&mut d, &case) {
        // The model sorts its channels by name.
        let mut names: Vec<String> = channels.iter().map(|c| text(&c["name"])).collect();
        names.sort_unstable();
        let mut first = 0;
        for name in names {
            let at = channels.iter().position(|c| c["name"] == json!(name)).unwrap_or(0);
            let n = n_bins(&channels[at]);
            workspace["observations"][at]["data"] = json!(counts[first..first + n]);
            first += n;
        }
        case.workspace = workspace;
    }
    case
}

/// Chooses the interpolation codes. Two thirds of the models have smooth codes.
pub fn interpolation(d: &mut Draw) -> Interpolation {
    use HistosysCode::{Code0, Code2, Code4p};
    use NormsysCode::{Code1, Code4};
    if d.chance(2.0 / 3.0) {
        return Interpolation::SMOOTH;
    }
    let (normsys, histosys) = d.pick(&[
        (Code1, Code0),
        (Code1, Code0),
        (Code1, Code4p),
        (Code4, Code0),
        (Code4, Code2),
        (Code1, Code2),
    ]);
    Interpolation { normsys, histosys }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn n_bins(channel: &Value) -> usize {
    channel["samples"][0]["data"].as_array().map_or(0, Vec::len)
}

/// Rounds a number to four decimals, as users do when they write a workspace.
pub fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

fn channels(d: &mut Draw) -> Vec<Value> {
    let names = ["SR", "CR_top", "sig", "vr 2", "región"];
    let n = d.integer(1, 4);
    let names = d.some(&names, n);
    let scale = 10_f64.powf(d.between(0.4, 2.5));
    let signal = scale * 10_f64.powf(d.between(-1.3, 0.2));
    names
        .iter()
        .enumerate()
        .map(|(c, name)| {
            let bins = d.integer(1, 5);
            let n_samples = d.integer(2, 5);
            let mut samples = Vec::new();
            let with_signal = c == 0 || d.chance(0.5);
            if with_signal {
                let data: Vec<f64> = (0..bins)
                    .map(|_| if d.chance(0.04) { 0.0 } else { rounded(signal * d.between(0.1, 1.9)) })
                    .collect();
                samples.push(json!({"name": "sig", "data": data, "modifiers": []}));
            }
            let backgrounds: Vec<&str> =
                d.some(&NAMES, n_samples).into_iter().filter(|s| *s != "sig").collect();
            let n_backgrounds = backgrounds.len().min(n_samples - usize::from(with_signal)).max(1);
            for (b, name) in backgrounds.iter().take(n_backgrounds).enumerate() {
                let size = scale * 10_f64.powf(d.between(-0.8, 0.2));
                let data: Vec<f64> = (0..bins)
                    .map(|_| {
                        let y = size * d.between(0.2, 1.8);
                        let kind = d.uniform();
                        rounded(if kind < 0.05 {
                            0.0
                        } else if kind < 0.08 && b > 0 {
                            -0.1 * y
                        } else {
                            y
                        })
                    })
                    .collect();
                samples.push(json!({"name": name, "data": data, "modifiers": []}));
            }
            // Some channels get a bin in which the background is zero or negative.
            let empty = d.uniform();
            if empty < 0.12 {
                let bin = d.integer(0, bins - 1);
                for sample in &mut samples {
                    if sample["name"] != "sig" {
                        sample["data"][bin] = json!(0.0);
                    }
                }
                if empty > 0.105 {
                    let last = samples.len() - 1;
                    samples[last]["data"][bin] = json!(rounded(-0.02 * scale));
                }
            }
            json!({"name": name, "samples": samples})
        })
        .collect()
}

fn scalar_names(d: &mut Draw) -> Vec<String> {
    if d.chance(0.04) {
        // Models of this size are too large for the thorough search that reported fits make in small models.
        let n = d.integer(45, 70);
        return (0..n).map(|i| format!("np_{i}")).collect();
    }
    let n = d.integer(0, 7);
    d.some(&ALPHAS, n).into_iter().map(str::to_owned).collect()
}

fn add(sample: &mut Value, name: &str, kind: &str, data: Value) {
    if let Some(list) = sample["modifiers"].as_array_mut()
        && !list.iter().any(|m| m["name"] == name && m["type"] == kind)
    {
        list.push(json!({"name": name, "type": kind, "data": data}));
    }
}

/// Returns random relative effects of the up and down variations. Most pairs have opposite signs.
fn sides(d: &mut Draw) -> (f64, f64) {
    let up = d.between(0.05, 0.4) * d.pick(&[1.0, 1.0, 1.0, -1.0]);
    let down = d.between(0.05, 0.4) * d.pick(&[-1.0, -1.0, -1.0, -1.0, 1.0]) * up.signum();
    (up, down)
}

/// Adds random modifiers to the samples. Returns whether `lumi` is one of these modifiers.
fn modifiers(d: &mut Draw, channels: &mut [Value], alphas: &[String]) -> bool {
    let several = alphas.len() > 20;
    for alpha in alphas {
        let kinds = d.pick(&["n", "h", "nh"]);
        let share = if several { 0.15 } else { d.between(0.25, 0.9) };
        let common = d.chance(0.3).then(|| sides(d));
        for channel in channels.iter_mut() {
            let n = channel["samples"].as_array().map_or(0, Vec::len);
            for s in 0..n {
                let sample = &mut channel["samples"][s];
                if kinds.contains('n') && d.chance(share) {
                    let (up, down) = common.unwrap_or_else(|| sides(d));
                    add(
                        sample,
                        alpha,
                        "normsys",
                        json!({"hi": rounded(1.0 + up), "lo": rounded(1.0 + down)}),
                    );
                }
                if kinds.contains('h') && d.chance(share) {
                    let nominal: Vec<f64> = numbers(&sample["data"]);
                    let (up, down) = sides(d);
                    let vary = |d: &mut Draw, side: f64| -> Vec<f64> {
                        nominal.iter().map(|y| rounded(y * (1.0 + side * d.between(-0.3, 1.3)))).collect()
                    };
                    let (hi, lo) = (vary(d, up), vary(d, down));
                    add(sample, alpha, "histosys", json!({"hi_data": hi, "lo_data": lo}));
                }
            }
        }
    }
    let with_lumi = d.chance(0.2);
    let scaled = if d.chance(0.3) { Some(d.pick(&NAMES)) } else { None };
    let shared_factor = d.chance(0.08).then(|| d.pick(&NAMES));
    for c in 0..channels.len() {
        let name = text(&channels[c]["name"]);
        let bins = n_bins(&channels[c]);
        let with_staterror = d.chance(0.4);
        let n = channels[c]["samples"].as_array().map_or(0, Vec::len);
        for s in 0..n {
            let sample = &mut channels[c]["samples"][s];
            let of = text(&sample["name"]);
            let nominal = numbers(&sample["data"]);
            if of == "sig" {
                add(sample, "mu", "normfactor", Value::Null);
            } else if scaled == Some(of.as_str()) {
                add(sample, "k", "normfactor", Value::Null);
            }
            if with_lumi && d.chance(0.7) {
                add(sample, "lumi", "lumi", Value::Null);
            }
            if with_staterror && d.chance(0.7) {
                let data: Vec<f64> =
                    nominal.iter().map(|y| rounded(y.abs() * d.between(0.02, 0.25))).collect();
                add(sample, &format!("stat_{name}"), "staterror", json!(data));
            }
            if d.chance(0.08) {
                let data: Vec<f64> =
                    nominal.iter().map(|y| rounded(y.abs() * d.between(0.05, 0.4))).collect();
                add(sample, &format!("shape_{name}_{of}"), "shapesys", json!(data));
            }
            if shared_factor == Some(of.as_str()) && of != "sig" {
                add(sample, &format!("factor_{bins}"), "shapefactor", Value::Null);
            }
        }
    }
    with_lumi
        && channels.iter().any(|c| {
            c["samples"].as_array().is_some_and(|list| {
                list.iter()
                    .any(|s| s["modifiers"].as_array().is_some_and(|m| m.iter().any(|m| m["name"] == "lumi")))
            })
        })
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(Vec::new, |list| list.iter().filter_map(Value::as_f64).collect())
}

pub fn uses(channels: &[Value], name: &str) -> bool {
    channels.iter().any(|c| {
        c["samples"].as_array().is_some_and(|list| {
            list.iter()
                .any(|s| s["modifiers"].as_array().is_some_and(|m| m.iter().any(|m| m["name"] == name)))
        })
    })
}

fn measurements(d: &mut Draw, channels: &[Value], alphas: &[String], has_lumi: bool) -> Vec<Value> {
    let count = d.pick(&[1, 1, 2, 3]);
    let names = d.some(&["meas", "SR", "second"], count);
    names
        .into_iter()
        .map(|name| {
            let mut settings = Vec::new();
            let bounds = d.uniform();
            if bounds < 0.15 {
                settings.push(json!({"name": "mu", "bounds": [[-5.0, 10.0]]}));
            } else if bounds < 0.25 {
                settings.push(json!({"name": "mu", "bounds": [[0.0, 40.0]], "inits": [0.5]}));
            }
            if has_lumi {
                settings.push(json!({"name": "lumi", "inits": [1.0], "auxdata": [1.0],
                    "sigmas": [rounded(d.between(0.01, 0.05))], "bounds": [[0.5, 1.5]]}));
            }
            for alpha in alphas {
                if uses(channels, alpha) && d.chance(0.06) {
                    settings.push(match d.integer(0, 2) {
                        0 => json!({"name": alpha, "fixed": true}),
                        1 => json!({"name": alpha, "auxdata": [rounded(d.between(-0.8, 0.8))]}),
                        _ => json!({"name": alpha, "bounds": [[-2.0, 3.0]]}),
                    });
                }
            }
            let poi = if uses(channels, "k") && d.chance(0.1) { "k" } else { "mu" };
            json!({"name": name, "config": {"poi": poi, "parameters": settings}})
        })
        .collect()
}

/// Returns random observed counts of all bins. The channels are in the order of their names.
fn observe(d: &mut Draw, case: &Case) -> Option<Vec<f64>> {
    let model = case.model().ok()?;
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).ok()?;
    let asimov = d.chance(0.15);
    let strength = d.pick(&[0.0, 0.0, 1.0, 1.0, 2.0]);
    let pull = if d.chance(0.4) { 1.5 } else { 0.7 };
    let point: Vec<f64> = model
        .parameters
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let value = if Some(i) == model.poi() {
                strength
            } else if asimov {
                p.init
            } else {
                let width = p.constraint.prefit_sigma().unwrap_or(0.2).min(1.0);
                p.init + pull * width * d.normal()
            };
            value.clamp(p.bounds.0, p.bounds.1)
        })
        .collect();
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let expected = session.evaluate(&Data::observed(), &point, request).ok()?.expected;
    let away = if d.chance(0.2) { d.between(0.5, 1.6) } else { 1.0 };
    let counts = expected.iter().take(model.n_bins()).map(|rate| {
        let rate = rate.max(0.0);
        if asimov {
            rate
        } else if d.chance(0.05) {
            0.0
        } else {
            d.poisson(away * rate)
        }
    });
    Some(counts.collect())
}
