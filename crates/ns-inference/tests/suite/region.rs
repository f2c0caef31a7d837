//! Tests of confidence regions of two parameters, against the exact construction and the chi2 law.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use ns_core::{Control, Execution, Model};
use ns_inference::{RegionOptions, RegionResult, open_session, region};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

/// Two counts, each with its own signal over a known background. The signal in the second count is a mixture.
fn counting(counts: [f64; 2], backgrounds: [f64; 2], leak: f64, bounds: [f64; 2]) -> Model {
    let signal = |name: &str, size: f64| {
        json!({"name": name, "data": [size],
               "modifiers": [{"name": format!("mu_{name}"), "type": "normfactor", "data": null}]})
    };
    let channel = |k: usize, first: f64, second: f64| {
        let background = json!({"name": "background", "data": [backgrounds[k]], "modifiers": []});
        json!({"name": format!("SR{k}"), "samples": [signal("a", first), signal("b", second), background]})
    };
    let parameter = |name: &str| json!({"name": name, "bounds": [bounds]});
    let document: Value = json!({
        "channels": [channel(0, 1.0, 0.0), channel(1, leak, 1.0)],
        "observations": [{"name": "SR0", "data": [counts[0]]}, {"name": "SR1", "data": [counts[1]]}],
        "measurements": [{"name": "m", "config": {
            "poi": ["mu_a", "mu_b"], "parameters": [parameter("mu_a"), parameter("mu_b")]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn found(model: &Model, options: &RegionOptions) -> RegionResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    region(model, session.as_ref(), options, Control::default()).unwrap()
}

fn ln_poisson(k: usize, mean: f64) -> f64 {
    let ln_factorial = (1..=k).map(|i| (i as f64).ln()).sum::<f64>();
    if k == 0 { -mean } else { k as f64 * mean.ln() - mean - ln_factorial }
}

/// The p-value of the construction for two independent counts with known backgrounds and signals that are not negative.
fn exact_p_value(mu: [f64; 2], counts: [usize; 2], backgrounds: [f64; 2]) -> f64 {
    const MOST: usize = 60;
    // ln of the best likelihood minus that at `mu`, and the probability, for each count.
    let table = |i: usize| -> Vec<(f64, f64)> {
        let mean = mu[i] + backgrounds[i];
        (0..MOST)
            .map(|k| {
                let best = (k as f64).max(backgrounds[i]);
                let here = ln_poisson(k, mean);
                (ln_poisson(k, best) - here, here.exp())
            })
            .collect()
    };
    let (first, second) = (table(0), table(1));
    let observed = first[counts[0]].0 + second[counts[1]].0 - 1e-9;
    let above = |a: &(f64, f64)| {
        let both = second.iter().filter(|b| a.0 + b.0 >= observed);
        both.map(|b| a.1 * b.1).sum::<f64>()
    };
    first.iter().map(above).sum()
}

#[test]
fn counts_have_the_region_of_the_exact_construction() {
    let (counts, backgrounds) = ([4, 9], [3.0, 2.0]);
    let model = counting([4.0, 9.0], backgrounds, 0.0, [0.0, 40.0]);
    let result = found(&model, &RegionOptions::default().cl(0.9).n_toys(Some(4000)).seed(2));
    assert!(result.converged && result.connected == Some(true), "{:?}", result.warnings);
    assert_eq!(result.params, ["mu_a", "mu_b"]);
    assert!((result.best_fit[0] - 1.0).abs() < 1e-4 && (result.best_fit[1] - 7.0).abs() < 1e-4);
    for point in result.points.iter().filter(|point| point.n_toys > 0) {
        let (p, wanted) = (point.p_value.unwrap(), exact_p_value(point.at, counts, backgrounds));
        let error = (wanted * (1.0 - wanted).max(0.0) / point.n_toys as f64).sqrt();
        assert!((p - wanted).abs() < 5.0 * error + 1e-3, "{:?}: {p}, not {wanted}", point.at);
    }
    for point in &result.border {
        let (at, error) = (point.at.unwrap(), point.error.unwrap());
        if point.at_bound {
            assert!(at.contains(&0.0), "{at:?}");
            continue;
        }
        // The p-value crosses 0.1 within three errors of the border.
        let moved = |sign: f64| {
            let along = |k: usize| {
                let outwards = (at[k] - result.best_fit[k]).signum();
                (at[k] + sign * outwards * (3.0 * error[k] + 1e-3)).max(0.0)
            };
            exact_p_value([along(0), along(1)], counts, backgrounds)
        };
        assert!(moved(-1.0) > 0.1 && moved(1.0) < 0.1, "{at:?} +- {error:?}: {} {}", moved(-1.0), moved(1.0));
    }
    assert!(result.border.iter().any(|point| point.at_bound));
    let again = found(&model, &RegionOptions::default().cl(0.9).n_toys(Some(4000)).seed(2));
    assert_eq!((&again.points, &again.border), (&result.points, &result.border));
}

#[test]
fn the_chi2_law_is_the_limit_of_large_counts() {
    let model = counting([10_400.0, 10_900.0], [10_000.0; 2], 0.7, [-5000.0, 5000.0]);
    let law = found(&model, &RegionOptions::default().cl(0.683));
    assert!(law.converged && law.points.is_empty() && law.method == "likelihood", "{:?}", law.warnings);
    // Normal counts a and 0.7 a + b: t is the sum of two squares.
    let t = |[a, b]: [f64; 2]| {
        let [x, y] = law.best_fit;
        let (da, db) = (a - x, 0.7 * (a - x) + b - y);
        da * da / 10_400.0 + db * db / 10_900.0
    };
    for point in &law.border {
        assert!((t(point.at.unwrap()) / law.level - 1.0).abs() < 0.03, "{point:?}");
    }
    assert!((law.level - 2.297_7).abs() < 1e-3, "{}", law.level);
    let toys = found(&model, &RegionOptions::default().cl(0.683).n_toys(Some(2000)).directions(8).seed(3));
    assert!(toys.converged, "{:?}", toys.warnings);
    for point in &toys.border {
        let (ours, law) = (point.at.unwrap(), point.asymptotic.unwrap());
        let error = point.error.unwrap();
        for k in 0..2 {
            assert!((ours[k] - law[k]).abs() <= 4.0 * error[k] + 1e-9, "{point:?}");
        }
        assert!(point.relative_error.unwrap() <= 0.05);
    }
}

#[test]
fn few_toys_do_not_give_a_converged_region() {
    let model = counting([4.0, 9.0], [3.0, 2.0], 0.3, [0.0, 40.0]);
    let result = found(&model, &RegionOptions::default().n_toys(Some(50)));
    assert!(!result.converged && result.warnings.iter().any(|w| w.contains("take more toys")), "{result:?}");
}

#[test]
fn directions_are_added_where_the_border_bends() {
    let model = counting([4.0, 9.0], [3.0, 2.0], 0.3, [0.0, 40.0]);
    let coarse = found(&model, &RegionOptions::default().precision(0.05));
    let fine = found(&model, &RegionOptions::default().precision(0.002));
    assert!(coarse.converged && fine.converged, "{:?}", fine.warnings);
    assert!(fine.border.len() > 2 * coarse.border.len(), "{} {}", fine.border.len(), coarse.border.len());
    assert!(fine.spacing_error.unwrap() <= 0.002);
}

/// A weak signal whose second parameter has no effect where the signal is small, like the mass of a peak. The region has the far
/// corner of the bounds at a small signal, where the likelihood is flat.
#[test]
fn far_corners_of_the_bounds_are_not_cut_off() {
    let sample = |parameters: &[&str]| {
        let factors = parameters.iter();
        let factors: Vec<Value> =
            factors.map(|name| json!({"name": name, "type": "normfactor", "data": null})).collect();
        json!({"name": "signal", "data": [10.0], "modifiers": factors})
    };
    let background = json!({"name": "background", "data": [1000.0], "modifiers": []});
    let document: Value = json!({
        "channels": [{"name": "SR0", "samples": [sample(&["mu"]), background]},
                     {"name": "SR1", "samples": [sample(&["mu", "ratio"]), background]}],
        "observations": [{"name": "SR0", "data": [1014.2]}, {"name": "SR1", "data": [1014.2]}],
        "measurements": [{"name": "m", "config": {"poi": ["mu", "ratio"], "parameters": [
            {"name": "mu", "bounds": [[0.0, 20.0]]}, {"name": "ratio", "bounds": [[0.0, 20.0]]}]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    let model = Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap();
    let result = found(&model, &RegionOptions::default());
    assert!(result.converged && result.spacing_error.is_some_and(|error| error <= 0.05), "{result:?}");
    let border: Vec<[f64; 2]> = result.border.iter().map(|point| point.at.unwrap()).collect();
    assert!(border.contains(&[0.0, 20.0]), "{border:?}");
    let edges = border.iter().zip(border.iter().cycle().skip(1));
    let area = 0.5 * edges.map(|(a, b)| a[0] * b[1] - b[0] * a[1]).sum::<f64>();
    let t = |mu: f64, ratio: f64| {
        let rise = |mean: f64| 2.0 * (mean - 1014.2 + 1014.2 * (1014.2 / mean).ln());
        rise(1000.0 + 10.0 * mu) + rise(1000.0 + 10.0 * mu * ratio)
    };
    // The centres of cells of 0.05 by 0.05.
    let centre = |k: i32| (f64::from(k) + 0.5) * 0.05;
    let cells = (0..400).flat_map(|i| (0..400).map(move |j| (i, j)));
    let inside = cells.filter(|(i, j)| t(centre(*i), centre(*j)) <= result.level).count();
    let wanted = inside as f64 * 0.05 * 0.05;
    // Without the corner a fifth of the area is missing.
    assert!((area / wanted - 1.0).abs() < 0.08, "{area}, not {wanted}");
}

#[test]
fn wrong_settings_are_refused() {
    let model = counting([4.0, 9.0], [3.0, 2.0], 0.3, [0.0, 40.0]);
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |options: RegionOptions| {
        region(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    let usual = RegionOptions::default();
    let name = |name: &str| Some(name.to_owned());
    assert!(refused(usual.clone().directions(3)).contains("8 to 1000"));
    assert!(refused(usual.clone().points(1)).contains("2 to 1000"));
    assert!(refused(usual.clone().precision(0.0)).contains("precision"));
    assert!(refused(usual.clone().cl(1.0)).contains("probability between 0 and 1"));
    assert!(refused(usual.clone().n_toys(Some(0))).contains("ask for 1 to"));
    assert!(refused(usual.clone().param(name("mu_b")).param2(name("mu_b"))).contains("two different"));
    assert!(refused(usual.clone().param2(name("nu"))).contains("no parameter 'nu'"));
    let one = Model { pois: vec![0], ..model.clone() };
    let session = open_session(&one, &Execution::default()).unwrap();
    let error = region(&one, session.as_ref(), &usual, Control::default()).unwrap_err().to_string();
    assert!(error.contains("name the second one"), "{error}");
}

#[cfg(feature = "toy-files")]
#[test]
fn a_saved_region_makes_no_toy_twice() {
    use ns_inference::interval::region_saved;
    use ns_inference::row_file::RowFile;
    let folder = std::env::temp_dir().join(format!("nextstat-region-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("toys.json");
    let model = counting([4.0, 9.0], [3.0, 2.0], 0.3, [0.0, 40.0]);
    let session = open_session(&model, &Execution::default()).unwrap();
    let saved = |options: &RegionOptions, resume: bool| {
        let file = RowFile::claim(&path, resume).unwrap();
        region_saved(&model, session.as_ref(), options, file, Control::default())
    };
    let options = RegionOptions::default().n_toys(Some(200)).directions(8).points(3);
    let first = saved(&options, false).unwrap();
    let second = saved(&options, true).unwrap();
    assert!(first.toys_per_s.is_some() && second.toys_per_s.is_none());
    assert_eq!((&first.points, first.n_toys), (&second.points, second.n_toys));
    let error = saved(&options.seed(1), true).unwrap_err().to_string();
    assert!(error.contains("seed") && error.contains("another file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
