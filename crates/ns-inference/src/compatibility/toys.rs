//! The distribution of the statistic by toys. Every toy is fitted with both models.

use ns_core::{Control, Model, Observer, Session};

use crate::options::Point;
use crate::toys::{FitToyRow, FitToysOptions, FitToysTest, GeneratingPoint, SAME_STATISTIC, ToyStatus};
use crate::{FitOptions, InferenceError};

/// Numbers of toys.
pub(super) struct Found {
    pub(super) run: u64,
    pub(super) left_out: u64,
    pub(super) above: u64,
    pub(super) interrupted: bool,
    pub(super) wall_s: f64,
}

/// Draws toys at the common best fit and counts those with a statistic of at least `q`. `points` are the generating points
/// of both models, which expect the same data there. Both draw the same toys, because they have the same seed.
pub(super) fn count(
    models: [(&Model, &dyn Session); 2],
    points: [Vec<f64>; 2],
    fit: &FitOptions,
    (n_toys, seed): (u64, u64),
    q: f64,
    control: Control<'_>,
) -> Result<Found, InferenceError> {
    let mut wall_s = 0.0;
    let mut interrupted = false;
    let mut all: Vec<Vec<Option<f64>>> = Vec::with_capacity(2);
    for (round, ((model, session), point)) in models.into_iter().zip(points).enumerate() {
        let first = model.parameters.iter().zip(&point).position(|(p, _)| !p.fixed).unwrap_or(0);
        let name = model.poi_names().next().map(str::to_owned);
        let name = name.or_else(|| model.parameters.get(first).map(|p| p.name.clone()));
        let options = FitToysOptions::default()
            .fit(fit.clone())
            .point(GeneratingPoint::At(Point::Values(point)))
            .params(name.into_iter().collect())
            .n_toys(n_toys)
            .seed(seed);
        let test = FitToysTest::prepare(model, session, &options, control)?;
        let mut values = Vec::new();
        let mut take = |rows: &[FitToyRow]| {
            let value = |row: &FitToyRow| row.nll.filter(|_| row.status == ToyStatus::Converged);
            values.extend(rows.iter().map(value));
            Ok(())
        };
        let half = Half { control, round };
        let own = Control { observer: Some(&half), cancel: control.cancel, task: None };
        let run = test.run(&test.ranges(), own, &mut take)?;
        wall_s += run.wall_s;
        interrupted |= run.interrupted;
        all.push(values);
    }
    let (Some(apart), Some(common)) = (all.pop(), all.pop()) else { return Err(InferenceError::Cancelled) };
    let mut found = Found { run: 0, left_out: 0, above: 0, interrupted, wall_s };
    for (common, apart) in common.into_iter().zip(apart) {
        found.run += 1;
        match common.zip(apart).map(|(common, apart)| 2.0 * (common - apart)) {
            // A common fit below the one with more freedom means that the latter has missed its minimum.
            Some(toy) if toy >= -1e-6 => found.above += u64::from(toy >= q - SAME_STATISTIC),
            _ => found.left_out += 1,
        }
    }
    if found.run == 0 { Err(InferenceError::Cancelled) } else { Ok(found) }
}

/// Reports the progress of two runs of the same length as one.
struct Half<'a> {
    control: Control<'a>,
    round: usize,
}

impl Observer for Half<'_> {
    fn progress(&self, done: usize, total: usize) {
        self.control.progress(self.round * total + done, 2 * total);
    }
}
