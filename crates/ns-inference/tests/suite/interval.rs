//! Tests of confidence intervals with toys, against the exact construction and the chi2 law.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use ns_core::{Control, Execution, Model};
use ns_inference::interval::IntervalResult;
use ns_inference::{InferenceError, IntervalOptions, interval, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::json;

/// A count of `n` with a signal `mu` and a background, known or uncertain.
fn counting(n: f64, background: f64, bounds: [f64; 2], uncertain: bool) -> Model {
    let norm = json!([{"name": "b", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}]);
    let document = json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [1.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": [background], "modifiers": if uncertain { norm } else { json!([]) }}]}],
        "observations": [{"name": "SR", "data": [n]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [{"name": "mu", "bounds": [bounds]}]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn found(model: &Model, options: &IntervalOptions) -> IntervalResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    interval(model, session.as_ref(), options, Control::default()).unwrap()
}

/// The p-value of the construction of Feldman and Cousins for a count `n` with a known background.
fn exact_p_value(mu: f64, n: usize, background: f64) -> f64 {
    let expected = mu + background;
    let ln_factorial = |k: usize| (1..=k).map(|i| (i as f64).ln()).sum::<f64>();
    let ln_poisson = |k: usize, mean: f64| k as f64 * mean.ln() - mean - ln_factorial(k);
    let ratio = |k: usize| {
        let best = (k as f64 - background).max(0.0) + background;
        ln_poisson(k, best) - ln_poisson(k, expected)
    };
    let observed = ratio(n) - 1e-9;
    (0..120).filter(|k| ratio(*k) >= observed).map(|k| ln_poisson(k, expected).exp()).sum()
}

/// The ends of the exact interval at 90 %.
fn exact(n: usize, background: f64) -> (f64, f64) {
    let inside = |i: &usize| exact_p_value(*i as f64 * 0.0005, n, background) > 0.1;
    let values: Vec<usize> = (0..30_000).filter(inside).collect();
    (*values.first().unwrap() as f64 * 0.0005, *values.last().unwrap() as f64 * 0.0005)
}

/// The intervals of table IV of Feldman and Cousins for a background of 3. Where the table has 0 to 1.08 for no count, the
/// construction ends at 0.95: the authors lengthened intervals that shrink with the background.
#[test]
fn counts_have_the_intervals_of_the_exact_construction() {
    for (n, published) in [(0, (0.0, 0.95)), (4, (0.0, 5.60)), (8, (1.51, 10.99))] {
        let (lower, upper) = exact(n, 3.0);
        assert!((lower - published.0).abs() < 0.01 && (upper - published.1).abs() < 0.01, "{lower} {upper}");
        let model = counting(n as f64, 3.0, [0.0, 30.0], false);
        let result = found(&model, &IntervalOptions::default().cl(0.9).n_toys(Some(8000)));
        let (low, high) = (result.lower.unwrap(), result.upper.unwrap());
        let (below, above) = (result.lower_error.unwrap(), result.upper_error.unwrap());
        assert!((low - lower).abs() <= 3.0 * below + 1e-3, "{n}: {low} +- {below}, not {lower}");
        assert!((high - upper).abs() <= 3.0 * above + 1e-3, "{n}: {high} +- {above}, not {upper}");
        assert!(result.converged && result.connected == Some(true), "{:?}", result.warnings);
        for point in result.points.iter().filter(|point| point.n_toys > 0) {
            let (p, wanted) = (point.p_value.unwrap(), exact_p_value(point.value, n, 3.0));
            let error = (wanted * (1.0 - wanted).max(0.0) / point.n_toys as f64).sqrt();
            assert!((p - wanted).abs() < 5.0 * error + 1e-3, "{n} at {}: {p}, not {wanted}", point.value);
        }
    }
}

#[test]
fn the_chi2_law_is_the_limit_of_large_counts() {
    let model = counting(10_400.0, 10_000.0, [-5000.0, 5000.0], true);
    let law = found(&model, &IntervalOptions::default().cl(0.683));
    let toys = found(&model, &IntervalOptions::default().cl(0.683).n_toys(Some(4000)).seed(3));
    assert_eq!((&*law.method, &*toys.method), ("likelihood", "feldman-cousins"));
    assert_eq!((law.lower, law.upper), (toys.asymptotic.lower, toys.asymptotic.upper));
    for (ours, wanted, error) in
        [(toys.lower, law.lower, toys.lower_error), (toys.upper, law.upper, toys.upper_error)]
    {
        assert!((ours.unwrap() - wanted.unwrap()).abs() < 3.0 * error.unwrap(), "{toys:?}");
    }
    assert!(law.converged && toys.converged);
    let again = found(&model, &IntervalOptions::default().cl(0.683).n_toys(Some(4000)).seed(3));
    assert_eq!(again.points, toys.points);
}

#[test]
fn few_toys_do_not_give_a_converged_interval() {
    let model = counting(4.0, 3.0, [0.0, 30.0], false);
    let result = found(&model, &IntervalOptions::default().n_toys(Some(200)));
    assert!(!result.converged && result.warnings.iter().any(|w| w.contains("take more toys")), "{result:?}");
}

#[test]
fn wrong_settings_are_refused() {
    let model = counting(4.0, 3.0, [0.0, 30.0], false);
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |options: IntervalOptions| {
        interval(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    let toys = IntervalOptions::default().n_toys(Some(100));
    assert!(refused(toys.clone().points(1)).contains("2 to 10000"));
    assert!(refused(toys.clone().precision(0.0)).contains("precision"));
    assert!(refused(toys.clone().cl(1.0)).contains("probability between 0 and 1"));
    assert!(refused(toys.clone().n_toys(Some(0))).contains("ask for 1 to"));
    assert!(refused(toys.param(Some("nu".to_owned()))).contains("no parameter 'nu'"));
    let stop = AtomicBool::new(true);
    let control = Control { cancel: Some(&stop), ..Control::default() };
    let options = IntervalOptions::default().n_toys(Some(100));
    let cancelled = interval(&model, session.as_ref(), &options, control);
    assert!(matches!(cancelled, Err(InferenceError::Cancelled)));
}

#[cfg(feature = "toy-files")]
#[test]
fn a_saved_interval_makes_no_toy_twice() {
    use ns_inference::interval::interval_saved;
    use ns_inference::row_file::RowFile;
    let folder = std::env::temp_dir().join(format!("nextstat-interval-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("toys.json");
    let model = counting(4.0, 3.0, [0.0, 30.0], true);
    let session = open_session(&model, &Execution::default()).unwrap();
    let saved = |options: &IntervalOptions, resume: bool| {
        let file = RowFile::claim(&path, resume).unwrap();
        interval_saved(&model, session.as_ref(), options, file, Control::default())
    };
    let options = IntervalOptions::default().n_toys(Some(1000));
    let first = saved(&options, false).unwrap();
    let second = saved(&options, true).unwrap();
    assert!(first.toys_per_s.is_some() && second.toys_per_s.is_none());
    assert_eq!((&first.points, first.n_toys), (&second.points, second.n_toys));
    // Another confidence level takes over the toys of the grid.
    assert!(saved(&options.clone().cl(0.9), true).is_ok());
    let error = saved(&options.seed(1), true).unwrap_err().to_string();
    assert!(error.contains("seed") && error.contains("another file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
