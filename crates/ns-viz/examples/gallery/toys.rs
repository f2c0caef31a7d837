//! Invented toys: statistics, pulls and injected signals.

use ns_viz::{Linearity, ToyDistribution, ToyHistogram, ToyPullRow, ToyPulls};

use super::dice::{Dice, names};

/// Returns the histogram of `values` with bins between `edges`. Values of 0 are counted on their own.
fn histogram(name: &str, edges: &[f64], values: &[f64], tail: &str) -> ToyHistogram {
    let within =
        |pair: &[f64]| values.iter().filter(|x| **x > 0.0 && **x >= pair[0] && **x < pair[1]).count();
    ToyHistogram {
        name: name.into(),
        counts: edges.windows(2).map(|pair| within(pair) as u64).collect(),
        at_zero: values.iter().filter(|x| **x == 0.0).count() as u64,
        beyond: values.iter().filter(|x| Some(*x) >= edges.last()).count() as u64,
        left_out: 0,
        tail: tail.into(),
    }
}

/// Returns the statistic of a test of an upper limit in toys of two hypotheses. A toy with more signal than tested has
/// the statistic 0.
pub(crate) fn toy_distribution(toys: usize) -> ToyDistribution {
    let mut dice = Dice::new(13);
    let mut values =
        |mean: f64| -> Vec<f64> { (0..toys).map(|_| (mean - dice.normal()).max(0.0).powi(2)).collect() };
    let (background, signal) = (values(2.1), values(0.0));
    let edges: Vec<f64> = (0..=48).map(|edge| 0.5 * f64::from(edge)).collect();
    ToyDistribution {
        title: "mu = 1 tested with toys".into(),
        statistic: "test statistic q\u{303}".into(),
        histograms: vec![
            histogram("background", &edges, &background, "CLb = 0.644 ± 0.005"),
            histogram("mu = 1", &edges, &signal, "CLs+b = 0.0418 ± 0.0020"),
        ],
        bin_edges: edges,
        observed: Some(3.0),
        observed_text: "observed 3.00: CLₛ = 0.065 ± 0.003".into(),
        log_y: true,
        ..ToyDistribution::default()
    }
}

/// Returns chi2 of toys with the curve of its asymptotic distribution.
pub(crate) fn goodness_toys(toys: usize) -> ToyDistribution {
    let mut dice = Dice::new(17);
    let values: Vec<f64> = (0..toys).map(|_| (0..6).map(|_| dice.normal().powi(2)).sum()).collect();
    let edges: Vec<f64> = (0..=24).map(f64::from).collect();
    let positions: Vec<f64> = (0..=120).map(|at| 0.2 * f64::from(at)).collect();
    ToyDistribution {
        title: "Goodness of fit".into(),
        statistic: "χ²".into(),
        histograms: vec![histogram("", &edges, &values, "p-value 0.279 ± 0.010")],
        bin_edges: edges,
        curve: positions.iter().map(|x| x * x * (-0.5 * x).exp() / 16.0).collect(),
        curve_positions: positions,
        curve_name: "χ² with 6 degrees of freedom: p-value 0.277".into(),
        observed: Some(7.5),
        observed_text: "observed 7.50".into(),
        ..ToyDistribution::default()
    }
}

/// Returns means and widths of the pulls of `count` parameters in 1000 toys. One mean is far from 0, and one parameter
/// has no pulls.
pub(crate) fn toy_pulls(count: usize) -> ToyPulls {
    let mut dice = Dice::new(19);
    let row = |parameter: String| ToyPullRow {
        parameter,
        mean: Some(0.032 * dice.normal()),
        mean_error: Some(0.032),
        width: Some(1.0 + 0.022 * dice.normal()),
        width_error: Some(0.022),
    };
    let mut rows: Vec<_> = names(count).into_iter().map(row).collect();
    if let Some(far) = rows.get_mut(5) {
        far.mean = Some(0.163);
    }
    if let Some(none) = rows.get_mut(9) {
        *none = ToyPullRow { parameter: none.parameter.clone(), ..ToyPullRow::default() };
    }
    ToyPulls { title: "Pulls in toys".into(), subtitle: "1000 toys".into(), rows, columns: None }
}

/// Biases at five injected values.
pub(crate) fn linearity() -> Linearity {
    Linearity {
        parameter: "injected mu".into(),
        injected: vec![0.0, 0.5, 1.0, 2.0, 4.0],
        bias: [0.012, 0.004, -0.003, -0.021, -0.034].map(Some).to_vec(),
        error: [0.006, 0.007, 0.008, 0.01, 0.014].map(Some).to_vec(),
        line: Some([0.0095, 0.9886, 0.0034]),
        ..Linearity::default()
    }
}
