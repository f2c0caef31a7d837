//! Tests of the ways to choose the nuisance parameters of toys, against sums over all counts.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use ns_core::{Control, Execution, Model};
use ns_inference::{
    IntervalOptions, PointOptions, PointResult, ToyNuisance, hypotest_point, interval, open_session,
};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::json;

/// Expected background of the signal region and of the control region, at `k = 1`.
const BACKGROUND: (f64, f64) = (8.0, 1.0);

/// The counts of both regions.
const COUNTS: (usize, usize) = (9, 1);

/// A count with a signal `mu` and a background `k`, and a count of the background alone.
fn with_control_region() -> Model {
    let norm = |name: &str| json!([{"name": name, "type": "normfactor", "data": null}]);
    let document = json!({
        "channels": [
            {"name": "SR", "samples": [
                {"name": "signal", "data": [1.0], "modifiers": norm("mu")},
                {"name": "background", "data": [BACKGROUND.0], "modifiers": norm("k")}]},
            {"name": "CR", "samples": [{"name": "background", "data": [BACKGROUND.1], "modifiers": norm("k")}]}],
        "observations": [{"name": "SR", "data": [COUNTS.0]}, {"name": "CR", "data": [COUNTS.1]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "mu", "bounds": [[0.0, 60.0]]}, {"name": "k", "bounds": [[0.0, 20.0]]}]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn ln_poisson(n: usize, mean: f64) -> f64 {
    let ln_factorial: f64 = (1..=n).map(|i| (i as f64).ln()).sum();
    if n == 0 { -mean } else { n as f64 * mean.ln() - mean - ln_factorial }
}

fn ln_l((n, m): (usize, usize), mu: f64, k: f64) -> f64 {
    ln_poisson(n, mu + k * BACKGROUND.0) + ln_poisson(m, k * BACKGROUND.1)
}

/// The best `k` at this `mu`: the positive root of a quadratic equation.
fn conditional((n, m): (usize, usize), mu: f64) -> f64 {
    let ((b, c), (n, m)) = (BACKGROUND, (n as f64, m as f64));
    // n b / (mu + k b) + m / k = b + c
    let (second, first, zeroth) = (b * (b + c), (b + c) * mu - (n + m) * b, -m * mu);
    (-first + (first * first - 4.0 * second * zeroth).max(0.0).sqrt()) / (2.0 * second)
}

/// The best `mu`, not negative, and `k`.
fn free((n, m): (usize, usize)) -> (f64, f64) {
    let k = m as f64 / BACKGROUND.1;
    let mu = n as f64 - k * BACKGROUND.0;
    if mu >= 0.0 { (mu, k) } else { (0.0, (n + m) as f64 / (BACKGROUND.0 + BACKGROUND.1)) }
}

fn statistic(counts: (usize, usize), mu: f64) -> f64 {
    let (best, k) = free(counts);
    2.0 * (ln_l(counts, best, k) - ln_l(counts, mu, conditional(counts, mu)))
}

/// The probability of a statistic of at least the observed one, if `mu` and `k` are true.
fn p_value(mu: f64, k: f64) -> f64 {
    let observed = statistic(COUNTS, mu) - 1e-9;
    let all = (0..90).flat_map(|n| (0..90).map(move |m| (n, m)));
    all.filter(|counts| statistic(*counts, mu) >= observed).map(|counts| ln_l(counts, mu, k).exp()).sum()
}

/// The average of [`p_value`] over the posterior of `k`.
fn averaged(mu: f64) -> f64 {
    let nodes = (1..1000).map(|i| f64::from(i) * 0.01);
    let (mut sum, mut weights) = (0.0, 0.0);
    for k in nodes {
        let weight = ln_l(COUNTS, mu, k).exp();
        weights += weight;
        sum += weight * if weight > 1e-12 { p_value(mu, k) } else { 0.0 };
    }
    sum / weights
}

fn tested(mu: f64, nuisance: ToyNuisance, threads: usize) -> PointResult {
    let model = with_control_region();
    let session = open_session(&model, &Execution { threads, ..Execution::default() }).unwrap();
    let options = PointOptions::default().n_toys(Some(10_000)).seed(5).nuisance(nuisance);
    hypotest_point(&model, session.as_ref(), &[("mu".to_owned(), mu)], &options, Control::default()).unwrap()
}

#[test]
fn p_values_are_sums_over_counts() {
    for mu in [6.0, 12.0] {
        let (best, conditional) = (free(COUNTS).1, conditional(COUNTS, mu));
        let exact = [p_value(mu, conditional), p_value(mu, best), averaged(mu)];
        for (nuisance, exact) in ToyNuisance::ALL.into_iter().zip(exact) {
            let result = tested(mu, nuisance, 2);
            let (p, error) = (result.p_value_toys.unwrap(), result.p_value_toys_error.unwrap());
            assert!((p - exact).abs() < 4.0 * error, "{nuisance} at {mu}: {p} +- {error}, not {exact}");
            assert!(result.converged, "{nuisance} at {mu}: {:?}", result.warnings);
        }
        if mu == 6.0 {
            // The three differ by more than the error of the toys.
            assert!(exact[0] - exact[2] > 0.04 && exact[2] - exact[1] > 0.02, "{exact:?}");
        }
    }
}

#[test]
fn toys_of_a_posterior_do_not_depend_on_threads() {
    let p = |threads| tested(3.0, ToyNuisance::Posterior, threads).p_value_toys;
    assert_eq!(p(1), p(3));
}

#[test]
fn an_interval_names_where_its_toys_were_drawn() {
    let model = with_control_region();
    let session = open_session(&model, &Execution::default()).unwrap();
    let found = |nuisance| {
        let options =
            IntervalOptions::default().cl(0.9).n_toys(Some(300)).points(5).precision(0.2).nuisance(nuisance);
        interval(&model, session.as_ref(), &options, Control::default()).unwrap()
    };
    for nuisance in [ToyNuisance::PlugIn, ToyNuisance::Posterior] {
        let result = found(nuisance);
        assert_eq!(result.nuisance, Some(nuisance));
        assert!(result.upper.is_some(), "{nuisance}: {:?}", result.warnings);
    }
}

/// The doubt about the chains was lost where all toys came from the file.
#[cfg(feature = "toy-files")]
#[test]
fn a_resumed_interval_keeps_its_doubts() {
    use ns_inference::interval::interval_saved;
    use ns_inference::row_file::RowFile;
    let folder = std::env::temp_dir().join(format!("nextstat-doubts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("toys.json");
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/strongly_bent.json");
    let model = Workspace::from_path(model).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    let options = IntervalOptions::default().n_toys(Some(100)).points(3).precision(1.0);
    let options = options.nuisance(ToyNuisance::Posterior);
    let [first, second] = [false, true].map(|resume| {
        let file = RowFile::claim(&path, resume).unwrap();
        interval_saved(&model, session.as_ref(), &options, file, Control::default()).unwrap()
    });
    assert!(first.warnings.iter().any(|warning| warning.contains("R-hat")), "{:?}", first.warnings);
    assert!(!first.converged && !second.converged && second.toys_per_s.is_none());
    assert_eq!(first.warnings, second.warnings);
    std::fs::remove_dir_all(&folder).unwrap();
}
