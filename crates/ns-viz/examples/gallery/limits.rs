//! Invented limits, exclusion and p-values.

use ns_viz::{Confidence, Exclusion, Limit, LimitCurve};

use super::dice::Dice;

pub(crate) fn limit(log_y: bool) -> Limit {
    let mu: Vec<f64> = (0..26).map(|i| 0.1 * f64::from(i)).collect();
    let cls = |mu: f64, scale: f64| (-(mu / scale) * 3.0 - 0.3 * (mu / scale).powi(2)).exp();
    let scales = [0.62, 0.85, 1.2, 1.7, 2.4];
    let limits = scales.map(|scale| {
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if cls(middle, scale) > 0.05 { low = middle } else { high = middle }
        }
        Some(low)
    });
    Limit {
        poi: "mu_tHu".into(),
        title: "Upper limit at 95 % confidence level".into(),
        subtitle: "asymptotic CLₛ, test statistic q\u{303}".into(),
        observed: mu.iter().map(|mu| Some(cls(*mu, 1.45))).collect(),
        expected: mu.iter().map(|mu| scales.map(|scale| Some(cls(*mu, scale)))).collect(),
        mu,
        observed_limit: Some(1.257),
        expected_limits: limits,
        log_y,
        ..Limit::default()
    }
}

/// Factors between the median expected limit and those of the five standard deviations.
const BAND: [f64; 5] = [0.54, 0.73, 1.0, 1.41, 1.95];

/// Returns limits on a signal against its mass, of which there are `points` from 400 on in steps of 100.
pub(crate) fn limit_curve(points: usize) -> LimitCurve {
    let mut dice = Dice::new(4);
    let x: Vec<f64> = (0..points).map(|i| 400.0 + 100.0 * i as f64).collect();
    let median: Vec<f64> = x.iter().map(|x| 0.06 * (x / 400.0).powi(3) + 0.02).collect();
    LimitCurve {
        label: "m(Z') [GeV]".into(),
        poi: "mu".into(),
        title: "Search for a heavy resonance".into(),
        observed: median.iter().map(|limit| Some(limit * (0.33 * dice.normal()).exp())).collect(),
        expected: median.iter().map(|limit| BAND.map(|factor| Some(factor * limit))).collect(),
        x,
        log_y: true,
        ..LimitCurve::default()
    }
}

/// Returns limits on signals in a plane of masses. The lighter particle is below the diagonal.
pub(crate) fn exclusion(step: f64) -> Exclusion {
    let mut plane = Exclusion {
        x_label: "m(gluino) [GeV]".into(),
        y_label: "m(neutralino) [GeV]".into(),
        poi: "mu".into(),
        title: "Pairs of gluinos".into(),
        ..Exclusion::default()
    };
    let mut dice = Dice::new(9);
    let steps = (1400.0 / step) as u32;
    for i in 0..=steps {
        for j in 0..=steps {
            let (heavy, light) = (1000.0 + step * f64::from(i), 100.0 + step * f64::from(j));
            if light > heavy - 150.0 || light > 1500.0 {
                continue;
            }
            let near = (-(heavy - light - 150.0) / 200.0).exp();
            let median = ((heavy - 1900.0) / 230.0 + 0.5 * (light / 900.0).powi(3) + 1.5 * near).exp();
            plane.x.push(heavy);
            plane.y.push(light);
            plane.observed.push(Some(median * (0.25 + 0.04 * dice.normal()).exp()));
            plane.expected.push(BAND.map(|factor| Some(factor * median)));
        }
    }
    plane
}

/// p-values of a count of 4 over a background of 3, with a few invented deviations.
pub(crate) fn confidence() -> Confidence {
    let mut dice = Dice::new(5);
    let x: Vec<f64> = (0..14).map(|i| 0.55 * f64::from(i)).collect();
    let asymptotic: Vec<f64> =
        x.iter().map(|mu| (-(0.5 * (mu - 1.0).abs() + 0.09 * (mu - 1.0).powi(2))).exp()).collect();
    let p_value = asymptotic.iter().map(|p| Some((p * (1.0 + 0.08 * dice.normal())).clamp(0.0, 1.0)));
    Confidence {
        parameter: "mu".into(),
        p_value: p_value.collect(),
        error: asymptotic.iter().map(|p| Some((p * (1.0 - p) / 600.0).sqrt())).collect(),
        alpha: 0.1,
        interval: [Some((0.0, 0.0)), Some((5.6, 0.05))],
        asymptotic_interval: [Some(0.0), Some(5.05)],
        x,
        asymptotic,
        ..Confidence::default()
    }
}
