//! Random pyhf workspaces with effects far from linear. Each workspace depends only on its index.
//!
//! The likelihoods of these models often have several minima. Effects reach from 10 to 150 %, both variations of an
//! effect may have the same sign, auxiliary data are up to three widths away, samples have products of free factors,
//! and data may be far from the expected yields.

use ns_core::Interpolation;
use serde_json::{Value, json};

use super::random::Draw;
use super::workspace::{Case, interpolation, numbers, rounded, uses};

const CHANNELS: [&str; 4] = ["SR2", "CR1", "ünï", "c0"];
const BACKGROUNDS: [&str; 4] = ["bkg", "tt", "W+jets", "s2"];

/// Returns the random workspace with the index `index`.
pub fn draw(index: u64) -> Case {
    let mut d = Draw::new(index ^ 0x01D5_0000_0000);
    let interpolation = if d.chance(0.8) { Interpolation::SMOOTH } else { interpolation(&mut d) };
    let n = d.integer(1, 3);
    let names = d.some(&CHANNELS, n);
    let scale = 10_f64.powf(d.between(0.0, 2.2));
    let channels: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(c, name)| {
            let bins = d.integer(1, 4);
            let mut samples = Vec::new();
            if c == 0 || d.chance(0.7) {
                samples.push(sample(&mut d, "sig", bins, 0.3 * scale));
            }
            let n = d.integer(1, 3);
            for background in d.some(&BACKGROUNDS, n) {
                let size = scale * 10_f64.powf(d.between(-0.5, 0.5));
                samples.push(sample(&mut d, background, bins, size));
            }
            json!({"name": name, "samples": samples})
        })
        .collect();
    let mut channels = channels;
    modifiers(&mut d, &mut channels);
    let settings = settings(&mut d, &channels);
    let with_factor = uses(&channels, "k_0") && d.chance(0.15);
    let poi = if with_factor { "k_0" } else { "mu" };
    let observations: Vec<Value> = channels.iter().map(|channel| observe(&mut d, channel)).collect();
    let workspace = json!({
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "m", "config": {"poi": poi, "parameters": settings}}],
        "version": "1.0.0",
    });
    Case { index, workspace, measurement: "m".to_owned(), interpolation }
}

fn sample(d: &mut Draw, name: &str, bins: usize, size: f64) -> Value {
    let data: Vec<f64> = (0..bins)
        .map(|_| if d.chance(0.03) { 0.0 } else { (size * d.between(0.2, 1.8) * 10.0).ceil() / 10.0 })
        .collect();
    json!({"name": name, "data": data, "modifiers": []})
}

fn modifiers(d: &mut Draw, channels: &mut [Value]) {
    let n_alphas = d.integer(1, 4);
    let n_factors = d.integer(0, 2);
    let (share, strong) = (d.between(0.3, 0.9), d.chance(0.6));
    let (lumi, stat, shapes) = (d.chance(0.2), d.chance(0.3), d.chance(0.2));
    let (products, pair) = (d.chance(0.3), d.chance(0.08));
    for channel in channels.iter_mut() {
        let name = channel["name"].as_str().unwrap_or_default().to_owned();
        let shape_factor = d.chance(0.08);
        let n = channel["samples"].as_array().map_or(0, Vec::len);
        for s in 0..n {
            let sample = &mut channel["samples"][s];
            let nominal = numbers(&sample["data"]);
            let is_signal = sample["name"] == "sig";
            let mut list = Vec::new();
            if is_signal {
                list.push(json!({"name": "mu", "type": "normfactor", "data": null}));
                if pair {
                    list.push(json!({"name": "mu2", "type": "normfactor", "data": null}));
                }
            }
            for k in 0..n_factors {
                if d.chance(if is_signal { 0.1 } else { 0.35 }) && (products || list.is_empty()) {
                    list.push(json!({"name": format!("k_{k}"), "type": "normfactor", "data": null}));
                }
            }
            for a in 0..n_alphas {
                let name = format!("alpha_{a}");
                if d.chance(0.6 * share) {
                    let most = if strong { 1.5 } else { 0.4 };
                    list.push(json!({"name": name, "type": "histosys", "data": histosys(d, &nominal, most)}));
                }
                if d.chance(0.5 * share) {
                    list.push(json!({"name": name, "type": "normsys", "data": normsys(d, strong)}));
                }
            }
            if lumi && d.chance(0.6) {
                list.push(json!({"name": "lumi", "type": "lumi", "data": null}));
            }
            let errors = |d: &mut Draw, least: f64, most: f64| -> Vec<f64> {
                nominal.iter().map(|y| rounded(y * d.between(least, most))).collect()
            };
            if stat && d.chance(0.5) {
                let data = errors(d, 0.03, 0.3);
                list.push(json!({"name": format!("stat_{name}"), "type": "staterror", "data": data}));
            }
            if shapes && d.chance(0.3) {
                let data = errors(d, 0.05, 0.4);
                list.push(json!({"name": format!("shape_{name}_{s}"), "type": "shapesys", "data": data}));
            }
            if shape_factor && !is_signal {
                list.push(json!({"name": format!("sf_{name}"), "type": "shapefactor", "data": null}));
            }
            sample["modifiers"] = Value::Array(list);
        }
    }
}

/// Returns random variations of up to `most` times the nominal yields. In every third case, both variations have the
/// same sign.
fn histosys(d: &mut Draw, nominal: &[f64], most: f64) -> Value {
    let (size, other) = (d.between(-most, most), d.between(0.0, most));
    let other = if d.chance(1.0 / 3.0) { other.copysign(size) } else { -other.copysign(size) };
    let may_be_negative = d.chance(0.1);
    let mut vary = |size: f64| -> Vec<f64> {
        nominal
            .iter()
            .map(|y| {
                let varied = y * (1.0 + size * d.between(0.2, 1.2));
                rounded(if may_be_negative { varied } else { varied.max(0.0) })
            })
            .collect()
    };
    json!({"hi_data": vary(size), "lo_data": vary(other)})
}

fn normsys(d: &mut Draw, strong: bool) -> Value {
    let (hi, lo) = if strong {
        (d.pick(&[1.1, 1.3, 1.9, 0.8, 1.6]), d.pick(&[0.9, 0.7, 0.1, 0.36, 1.3]))
    } else {
        (d.pick(&[1.05, 1.1, 1.3]), d.pick(&[0.95, 0.9, 0.7]))
    };
    json!({"hi": hi, "lo": lo})
}

fn settings(d: &mut Draw, channels: &[Value]) -> Vec<Value> {
    let mut settings = Vec::new();
    match d.integer(0, 5) {
        0 => settings.push(json!({"name": "mu", "bounds": [[-5.0, 10.0]]})),
        1 => settings.push(json!({"name": "mu", "bounds": [[0.0, 40.0]]})),
        _ => {}
    }
    for name in ["k_0", "k_1"] {
        if uses(channels, name) && d.chance(0.15) {
            settings.push(json!({"name": name, "bounds": [[0.1, 5.0]]}));
        }
    }
    if uses(channels, "lumi") {
        let sigma = d.pick(&[0.02, 0.1, 0.3]);
        settings.push(json!({"name": "lumi", "inits": [1.0], "auxdata": [1.0], "sigmas": [sigma],
            "bounds": [[0.0, 2.8]]}));
    }
    for a in 0..4 {
        let name = format!("alpha_{a}");
        if uses(channels, &name) && d.chance(0.25) {
            settings.push(if d.chance(0.7) {
                json!({"name": name, "auxdata": [rounded(d.between(-2.7, 2.7))]})
            } else {
                json!({"name": name, "bounds": [[-3.0, 5.0]]})
            });
        }
    }
    settings
}

/// Returns the observed counts of a channel. They are drawn around the nominal yields, times a random factor in every
/// channel and in every bin.
fn observe(d: &mut Draw, channel: &Value) -> Value {
    let samples = channel["samples"].as_array().map_or(&[][..], Vec::as_slice);
    let bins = samples.first().map_or(0, |s| numbers(&s["data"]).len());
    let of_channel = 10_f64.powf(d.pick(&[0.05, 0.1, 0.3]) * d.normal());
    let counts: Vec<f64> = (0..bins)
        .map(|b| {
            let nominal: f64 = samples.iter().map(|s| numbers(&s["data"])[b]).sum();
            let of_bin = 10_f64.powf(0.08 * d.normal());
            if d.chance(0.03) { 0.0 } else { d.poisson(nominal * of_channel * of_bin) }
        })
        .collect();
    json!({"name": channel["name"], "data": counts})
}
