//! Plots of unfolded data.

use ns_viz::{LCurve, Unfolded};

use super::remarks;
use crate::UnfoldResult;
use crate::present::significant;
use crate::unfold::{Regularisation, UnfoldedBin};

/// Builds the plot of the unfolded distribution and its prediction. Without yields of the prediction it shows the factors.
#[must_use]
pub fn unfolded(result: &UnfoldResult) -> Unfolded {
    let has_yields = !result.truth.is_empty() && result.truth.iter().all(|bin| bin.prediction.is_some());
    let unit = |bin: &UnfoldedBin| bin.prediction.filter(|_| has_yields).unwrap_or(1.0);
    let list = |value: fn(&UnfoldedBin) -> Option<f64>| -> Vec<Option<f64>> {
        result.truth.iter().map(|bin| Some(unit(bin) * value(bin)?)).collect()
    };
    let edges = if result.edges.is_empty() {
        (0..=result.truth.len()).map(|edge| edge as f64).collect()
    } else {
        result.edges.clone()
    };
    let is_penalised = result.regularisation != Regularisation::None;
    let strength =
        is_penalised.then(|| format!("{}, tau = {}", result.regularisation, significant(result.tau)));
    let title = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    Unfolded {
        x_title: title(&result.title, "truth bin"),
        y_title: if has_yields { "Events / bin" } else { "Unfolded / prediction" }.to_owned(),
        edges,
        prediction: result.truth.iter().map(unit).collect(),
        unfolded: list(|bin| Some(bin.value)),
        error: list(|bin| bin.uncertainty),
        second_error: if is_penalised { list(|bin| bin.uncertainty_penalised) } else { Vec::new() },
        second_text: "uncertainty of the penalised likelihood".to_owned(),
        ratio: has_yields,
        subtitle: remarks([
            strength.as_deref(),
            (!result.converged && !result.interrupted).then_some("not converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Unfolded::default()
    }
}

/// Builds the plot of the scanned strengths: the L-curve, or the mean global correlation coefficient if that chose the
/// strength. `None` if no strengths were scanned.
#[must_use]
pub fn strengths(result: &UnfoldResult) -> Option<LCurve> {
    if result.scan.is_empty() {
        return None;
    }
    let chosen_text = format!("tau = {}", significant(result.tau));
    if result.tau_from == "correlation" {
        return Some(LCurve {
            x_title: "tau".to_owned(),
            y_title: "Mean global correlation coefficient".to_owned(),
            x: result.scan.iter().map(|point| Some(point.tau)).collect(),
            y: result.scan.iter().map(|point| point.mean_correlation).collect(),
            chosen: result.mean_global_correlation.map(|mean| [result.tau, mean]),
            chosen_text,
            ..LCurve::default()
        });
    }
    Some(LCurve {
        x_title: "χ²".to_owned(),
        y_title: "|L (μ − 1)|²".to_owned(),
        x: result.scan.iter().map(|point| point.chi2).collect(),
        y: result.scan.iter().map(|point| Some(point.roughness)).collect(),
        chosen: result.chi2.map(|chi2| [chi2, result.roughness]),
        chosen_text,
        log_y: true,
        ..LCurve::default()
    })
}
