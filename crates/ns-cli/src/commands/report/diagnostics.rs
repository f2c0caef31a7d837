//! What a fit found out about its minimum, as a table of a report.

use ns_inference::FitResult;
use ns_inference::present::significant;
use ns_inference::report::Table;

/// Returns the table: how the minimum is certified, the work of the fit, and the parameters without a symmetric
/// uncertainty.
pub(super) fn diagnostics(fitted: &FitResult) -> Table {
    let mut table = Table::new(&["", ""], &[]);
    table.row(["minimum", if fitted.converged { "certified" } else { "not certified" }].map(str::to_owned));
    let mut row = |name: &str, value: String| {
        table.row([name.to_owned(), value]);
    };
    row("reason to stop", fitted.termination_reason.clone());
    let edm = fitted.edm.map_or_else(|| "none: the curvature allows no estimate".to_owned(), significant);
    row("estimated distance to the minimum of -ln L", edm);
    row("iterations", fitted.n_iter.to_string());
    row("iterations in search of lower minima", fitted.n_search_iter.to_string());
    row("evaluations of the likelihood", fitted.n_evaluations.to_string());
    if let Some(integral) = &fitted.integral_error {
        let of = format!(", of {} in channel {}", integral.process, integral.channel);
        let error = integral.relative.map_or_else(|| "not known".to_owned(), significant);
        row("largest relative error of an integral", error + &of);
    }
    for (name, parameters) in [
        ("parameters at a bound", &fitted.at_bound),
        ("parameters on a kink of an interpolation", &fitted.at_kink),
        ("parameters that the data do not determine", &fitted.flat),
        ("fixed parameters", &fitted.fixed),
    ] {
        row(name, if parameters.is_empty() { "none".to_owned() } else { parameters.join(", ") });
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parameters_without_an_uncertainty_are_named() {
        let json = r#"{"parameter_names": ["mu", "a"], "bestfit": [0, 1], "uncertainties": [null, 1],
            "covariance": null, "nll": 1, "twice_nll": 2, "poi_index": 0, "converged": true, "edm": null, "n_iter": 3,
            "at_bound": ["mu"], "at_kink": [], "flat": [], "fixed": [], "termination_reason": "converged",
            "minos": {}, "crossings": {}, "warnings": []}"#;
        let fitted: FitResult = serde_json::from_str(json).unwrap();
        let html = ns_inference::report::DocumentFormat::Html
            .render(&[ns_inference::report::Part::Table(diagnostics(&fitted))]);
        for words in ["certified", "parameters at a bound", ">mu<", "allows no estimate"] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
