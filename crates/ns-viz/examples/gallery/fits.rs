//! Invented fits: scans, pulls, correlations and rankings.

use ns_viz::{Contour, Correlation, PullRow, Pulls, Ranking, RankingRow, Scan};

use super::dice::{Dice, long_name, names};

pub(crate) fn scan() -> Scan {
    let x: Vec<f64> = (0..21).map(|i| 0.15 * f64::from(i)).collect();
    let q = |x: f64| if x < 1.32 { ((x - 1.32) / 0.41).powi(2) } else { ((x - 1.32) / 0.52).powi(2) };
    let mut values: Vec<_> = x.iter().map(|x| Some(q(*x))).collect();
    values[16] = None;
    Scan {
        parameter: "mu_ttH".into(),
        title: "Profile likelihood scan".into(),
        subtitle: "observed data, 139 fb⁻¹".into(),
        x,
        twice_delta_nll: values,
        best_fit: Some(1.32),
        ..Scan::default()
    }
}

pub(crate) fn contour(nodes: usize) -> Contour {
    let along = |from: f64, to: f64| -> Vec<f64> {
        (0..nodes).map(|i| from + (to - from) * i as f64 / (nodes - 1) as f64).collect()
    };
    let (x, y) = (along(0.0, 2.6), along(-1.0, 3.5));
    let q = |x: f64, y: f64| {
        let (u, v) = ((x - 1.2) / 0.38, (y - 1.1) / 0.7);
        (u * u + v * v + 1.1 * u * v) / 0.7 + 0.12 * u * u * u.max(0.0)
    };
    let values = y.iter().map(|y| x.iter().map(|x| Some(q(*x, *y))).collect()).collect();
    Contour {
        x_parameter: "mu_ttH".into(),
        y_parameter: "mu_ttZ".into(),
        title: "Likelihood contours".into(),
        subtitle: "observed data".into(),
        x,
        y,
        twice_delta_nll: values,
        best_fit: Some([1.2, 1.1]),
        ..Contour::default()
    }
}

pub(crate) fn ranking(rows: usize, long: bool) -> Ranking {
    let mut dice = Dice::new(7);
    let rows = names(rows)
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let size = 0.16 * (-(i as f64) / 9.0).exp() + 0.004;
            let sign = if dice.flat() < 0.5 { -1.0 } else { 1.0 };
            let constraint = 0.55 + 0.45 * dice.flat();
            let free = i == 4;
            RankingRow {
                parameter: if long && i % 3 == 0 { long_name(i) } else { name },
                pull: (!free).then(|| 0.7 * dice.normal()),
                constraint: (!free).then_some(constraint),
                prefit_up: (!free).then_some(sign * size),
                prefit_down: (!free).then_some(-sign * size * (0.7 + 0.5 * dice.flat())),
                postfit_up: Some(sign * size * constraint),
                postfit_down: Some(-sign * size * constraint * (0.8 + 0.3 * dice.flat())),
                clipped: i == 6,
                note: if free { "1.08 ± 0.12".into() } else { String::new() },
            }
        })
        .collect();
    Ranking {
        poi: "mu_ttH".into(),
        title: "Ranking of nuisance parameters".into(),
        subtitle: "ttH multilepton, observed data".into(),
        rows,
        max_rows: None,
    }
}

pub(crate) fn pulls(count: usize) -> Pulls {
    let mut dice = Dice::new(11);
    let row = |parameter: String| PullRow {
        parameter,
        pull: Some(0.6 * dice.normal()),
        constraint: Some(0.4 + 0.6 * dice.flat()),
        ..PullRow::default()
    };
    let mut rows: Vec<_> = names(count).into_iter().map(row).collect();
    if let Some(outlier) = rows.get_mut(7) {
        outlier.pull = Some(2.6);
    }
    Pulls { title: "Pulls".into(), subtitle: "fit to the observed data".into(), rows, columns: None }
}

pub(crate) fn correlation(count: usize) -> Correlation {
    let mut dice = Dice::new(3);
    let mut matrix = vec![vec![Some(0.0); count]; count];
    for row in 0..count {
        for column in 0..row {
            let near = (-((row - column) as f64) / 3.0).exp();
            let value = (0.5 * near * dice.normal() + 0.02 * dice.normal()).clamp(-0.95, 0.95);
            matrix[row][column] = Some(value);
            matrix[column][row] = Some(value);
        }
        matrix[row][row] = Some(1.0);
    }
    Correlation {
        title: "Correlation matrix".into(),
        subtitle: "post-fit".into(),
        parameters: names(count),
        matrix,
        threshold: None,
    }
}
