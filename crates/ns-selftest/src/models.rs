//! The models for the self-test, which are built into the program.

use ns_core::Model;
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::json;

/// Number of events in the model of events. The number is large enough for a GPU to compute the sums over the events.
pub(crate) const EVENTS: usize = 40_000;

/// Upper end of the observable of the model of events. The lower end is 0.
pub(crate) const END: f64 = 10.0;

/// Slope of the exponential density in the model of events. The events are quantiles of this density.
pub(crate) const SLOPE: f64 = 0.35;

fn model(text: &str) -> Result<Model, String> {
    ModelSource::from_slice(text.as_bytes())
        .and_then(|source| source.model(&ModelOptions::default()))
        .map_err(|error| error.to_string())
}

/// Returns a binned model with two channels and every type of modifier.
///
/// # Errors
/// Never, unless the reader of workspaces has a bug.
pub(crate) fn binned() -> Result<Model, String> {
    let norm = |name: &str| json!({"name": name, "type": "normfactor", "data": null});
    let scale =
        |name: &str, lo: f64, hi: f64| json!({"name": name, "type": "normsys", "data": {"lo": lo, "hi": hi}});
    let shape = |name: &str, lo: &[f64], hi: &[f64]| json!({"name": name, "type": "histosys", "data": {"lo_data": lo, "hi_data": hi}});
    let text = json!({
        "channels": [
            {"name": "SR", "samples": [
                {"name": "signal", "data": [2.0, 7.0, 11.0, 4.0], "modifiers": [
                    norm("mu"), scale("theory", 0.9, 1.12),
                    shape("scale", &[1.8, 6.7, 10.6, 3.9], &[2.1, 7.3, 11.3, 4.2])]},
                {"name": "background", "data": [60.0, 42.0, 25.0, 14.0], "modifiers": [
                    norm("k_background"), scale("transfer", 0.93, 1.06),
                    shape("scale", &[58.2, 40.3, 23.5, 12.7], &[61.2, 43.7, 26.7, 15.4]),
                    {"name": "statistics", "type": "staterror", "data": [3.2, 2.6, 2.0, 1.5]}]}]},
            {"name": "CR", "samples": [
                {"name": "background", "data": [310.0, 205.0, 120.0], "modifiers": [
                    norm("k_background"),
                    {"name": "uncorrelated", "type": "shapesys", "data": [9.0, 7.0, 5.0]}]}]}],
        "observations": [
            {"name": "SR", "data": [66.0, 51.0, 37.0, 15.0]},
            {"name": "CR", "data": [298.0, 215.0, 117.0]}],
        "measurements": [{"name": "selftest", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0"
    });
    model(&text.to_string())
}

/// Returns a model of one bin. The expected yield is `background` plus `signal` times the parameter of
/// interest. `observed` is the observed number of events.
///
/// # Errors
/// The errors of [`binned`].
pub(crate) fn counting(signal: f64, background: f64, observed: f64) -> Result<Model, String> {
    let text = json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [signal], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": [background], "modifiers": []}]}],
        "observations": [{"name": "SR", "data": [observed]}],
        "measurements": [{"name": "selftest", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0"
    });
    model(&text.to_string())
}

/// Returns the value of the observable `t` for each event in the model of [`events`]. The values are quantiles of the
/// truncated exponential density.
pub(crate) fn times() -> Vec<f64> {
    let whole = 1.0 - (-SLOPE * END).exp();
    let quantile = |i: usize| -(1.0 - (i as f64 + 0.5) / EVENTS as f64 * whole).ln() / SLOPE;
    (0..EVENTS).map(quantile).collect()
}

/// Returns a model of events: an exponential density of the observable `t`, with the parameters `slope` and `n`.
///
/// # Errors
/// The errors of [`binned`].
pub(crate) fn events() -> Result<Model, String> {
    let entries: Vec<[f64; 1]> = times().into_iter().map(|t| [t]).collect();
    let text = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "decay", "type": "exponential_dist", "x": "t", "c": "slope"},
            {"name": "SR", "type": "mixture_dist", "summands": ["decay"], "coefficients": ["n"], "extended": true}],
        "data": [{"name": "observed", "type": "unbinned", "axes": [{"name": "t", "min": 0.0, "max": END}],
                  "entries": entries}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "slope", "min": 0.01, "max": 2.0}, {"name": "n", "min": 0.0, "max": 1e6}]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "slope", "value": 0.3}, {"name": "n", "value": 39_000.0}]}],
        "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["observed"]}],
        "analyses": [{"name": "selftest", "likelihood": "L", "parameters_of_interest": ["slope"],
                      "init": "default_values"}]
    });
    model(&text.to_string())
}
