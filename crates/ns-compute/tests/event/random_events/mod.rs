//! Random event-level models, many of which have several minima, and single descents in these models.

#![allow(dead_code)]

use std::sync::Arc;

use ns_compute::CpuSession;
use ns_core::random::{Stream, open_uniform};
use ns_core::{
    Control, Data, Density, EventColumns, EventTable, Execution, FitOutcome, FitRequest, FitTask, Model,
    OutcomeParts, Search, Session, Start, Tail, TaskOutcome, Value,
};

use crate::events_oracle::{channel, model, table};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

/// A sequence of random numbers that depends only on its seed.
pub(crate) struct Draw {
    stream: Stream,
    slot: u32,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Stream::new(57, seed, 0), slot: 0 }
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let [a, b, _, _] = self.stream.block(self.slot, 0);
        self.slot += 1;
        low + (high - low) * open_uniform(a, b)
    }
}

/// Name, true value, start value and bounds of a parameter.
type Number = (&'static str, f64, f64, (f64, f64));

/// Returns a model whose events are drawn at the true values of `parameters`.
fn drawn(parameters: &[Number], axes: &[(f64, f64)], processes: Vec<(Value, Density)>, seed: u64) -> Model {
    let columns = |x: f64| -> EventTable { table(vec![vec![x]; axes.len()]) };
    let middle = 0.5 * (axes[0].0 + axes[0].1);
    let with = |start: bool, events: EventTable| {
        let values: Vec<(&str, f64, (f64, f64))> = parameters
            .iter()
            .map(|&(name, truth, init, bounds)| (name, if start { init } else { truth }, bounds))
            .collect();
        model(&values, vec![(channel(axes, true, processes.clone()), events)])
    };
    let truth: Vec<f64> = parameters.iter().map(|p| p.1).collect();
    let session = CpuSession::open(&with(false, columns(middle)), &Execution::default()).unwrap();
    let source = session.toy_source(&truth, &Data::observed(), seed, 2).unwrap();
    let mut tables = Vec::new();
    source.draw_events(0, &mut EventColumns::default(), &mut tables).unwrap();
    with(true, EventTable::clone(&tables[0]))
}

/// Returns the random model with the number `seed`, and a name for its type, such as "two peaks".
pub(crate) fn random_model(seed: u64) -> (&'static str, Model) {
    let mut d = Draw::new(seed);
    let n = 5000.0 * d.between(0.0, 1.8_f64).exp();
    // From a few per mille of signal to more than half.
    let fraction = d.between(-5.8, -0.4).exp();
    let (signal, rest) = (fraction * n, (1.0 - fraction) * n);
    let line = (0.0, 10.0);
    let mean = d.between(1.5, 8.5);
    let sigma = d.between(-1.6, 0.0).exp();
    let slope = d.between(-0.2, 0.5);
    let rates = [
        ("nsig", signal, d.between(0.02, 0.7) * n, (0.0, 3.0 * n)),
        ("nbkg", rest, d.between(0.3, 1.2) * n, (0.0, 3.0 * n)),
    ];
    let place = ("mean", mean, d.between(1.0, 9.0), (0.5, 9.5));
    let width = ("sigma", sigma, d.between(-1.8, 0.7).exp(), (0.1, 5.0));
    let falling = ("slope", slope, d.between(-0.3, 0.8), (-1.0, 2.0));
    let gaussian = |mean: usize, sigma: usize| Density::Gaussian { x: 0, mean: P(mean), sigma: P(sigma) };
    let exponential = |slope: usize| Density::Exponential { x: 0, slope: P(slope) };
    match seed % 6 {
        0 => {
            let parameters = [rates[0], rates[1], place, width, falling];
            ("peak", drawn(&parameters, &[line], vec![(P(0), gaussian(2, 3)), (P(1), exponential(4))], seed))
        }
        1 => {
            // Two peaks that may change places.
            let other = ("other", d.between(1.5, 8.5), d.between(1.0, 9.0), (0.5, 9.5));
            let second = ("nother", signal * d.between(0.3, 3.0), d.between(0.02, 0.5) * n, (0.0, 3.0 * n));
            let wide = ("wide", sigma * d.between(0.5, 2.0), d.between(-1.8, 0.7).exp(), (0.1, 5.0));
            let parameters = [rates[0], rates[1], second, place, width, other, wide, falling];
            let processes = vec![(P(0), gaussian(3, 4)), (P(2), gaussian(5, 6)), (P(1), exponential(7))];
            ("two peaks", drawn(&parameters, &[line], processes, seed))
        }
        2 => {
            let tail = |alpha: usize| Some(Tail { alpha: P(alpha), n: N(3.0) });
            let ball = Density::CrystalBall {
                x: 0,
                mean: P(2),
                sigma_left: P(3),
                sigma_right: P(3),
                left: tail(4),
                right: tail(5),
            };
            let alpha = |name, d: &mut Draw| (name, d.between(0.7, 2.0), d.between(0.5, 3.0), (0.3, 5.0));
            let (left, right) = (alpha("left", &mut d), alpha("right", &mut d));
            let c = |name, d: &mut Draw| (name, d.between(-0.3, 0.3), d.between(-0.3, 0.3), (-0.9, 0.9));
            let (c1, c2) = (c("c1", &mut d), c("c2", &mut d));
            let parameters = [rates[0], rates[1], place, width, left, right, c1, c2];
            let background = Density::Chebyshev { x: 0, coefficients: vec![P(6), P(7)] };
            ("crystal ball", drawn(&parameters, &[line], vec![(P(0), ball), (P(1), background)], seed))
        }
        3 => {
            // Two true peaks and one in the model: a minimum at each.
            let away = if mean > 5.0 { mean - d.between(2.5, 4.0) } else { mean + d.between(2.5, 4.0) };
            let share = d.between(0.5, 1.5);
            let parameters = [rates[0], rates[1], place, width, falling];
            let truth = [
                rates[0],
                rates[1],
                place,
                width,
                falling,
                ("nother", share * signal, 0.0, (0.0, 3.0 * n)),
                ("other", away, 0.0, (-5.0, 15.0)),
            ];
            let peaks = vec![(P(0), gaussian(2, 3)), (P(5), gaussian(6, 3)), (P(1), exponential(4))];
            let events = drawn(&truth, &[line], peaks, seed).observed.events.remove(0);
            let values = parameters.map(|(name, _, init, bounds)| (name, init, bounds));
            let one = vec![(P(0), gaussian(2, 3)), (P(1), exponential(4))];
            let made = model(&values, vec![(channel(&[line], true, one), EventTable::clone(&events))]);
            ("one peak for two", made)
        }
        4 => {
            let height = ("y", d.between(1.5, 4.5), d.between(1.0, 5.0), (0.5, 5.5));
            let wide = ("wide", d.between(0.3, 1.0), d.between(0.2, 2.0), (0.1, 4.0));
            let parameters = [rates[0], rates[1], place, width, height, wide, falling];
            let second = Density::Gaussian { x: 1, mean: P(4), sigma: P(5) };
            let peak = Density::Product(vec![gaussian(2, 3), second]);
            let flat = Density::Product(vec![exponential(6), Density::Uniform { x: 1 }]);
            let axes = [line, (0.0, 6.0)];
            ("two dimensions", drawn(&parameters, &axes, vec![(P(0), peak), (P(1), flat)], seed))
        }
        _ => {
            let argus = Density::Argus { x: 0, resonance: N(10.0), slope: P(4), power: N(0.5) };
            let bend = ("c", d.between(-6.0, 1.0), d.between(-10.0, 3.0), (-40.0, 10.0));
            let parameters = [rates[0], rates[1], place, width, bend];
            ("argus", drawn(&parameters, &[line], vec![(P(0), gaussian(2, 3)), (P(1), argus)], seed))
        }
    }
}

/// Returns a model with a narrow peak, and the true parameters. The search for the minimum gathers events in coarse
/// cells (ranges of the observable), and the width of the peak is a twentieth of the width of such a cell.
pub(crate) fn narrow_peak() -> (Model, Vec<f64>) {
    let parameters = [
        ("nsig", 3000.0, 4000.0, (0.0, 30_000.0)),
        ("nbkg", 9000.0, 8000.0, (0.0, 30_000.0)),
        ("mean", 503.17, 503.1, (480.0, 520.0)),
        ("sigma", 0.05, 0.1, (0.01, 2.0)),
        ("slope", 0.002, 0.003, (-0.01, 0.01)),
    ];
    let peak = Density::Gaussian { x: 0, mean: P(2), sigma: P(3) };
    let falling = Density::Exponential { x: 0, slope: P(4) };
    let model = drawn(&parameters, &[(0.0, 1000.0)], vec![(P(0), peak), (P(1), falling)], 3);
    (model, parameters.iter().map(|p| p.1).collect())
}

/// Returns a random spectrum: a peak on an exponential, with a start value of the place anywhere in the range. The width is
/// free in every second model.
pub(crate) fn random_spectrum(seed: u64) -> Model {
    let mut d = Draw::new(seed + 2_000_000);
    let events = d.between(30_f64.ln(), 2000_f64.ln()).exp();
    let signal = (events * d.between(0.02, 0.3)).max(3.0);
    let width = d.between(0.5, 2.0);
    let parameters = [
        ("nsig", signal, signal, (0.0, 2.0 * events)),
        ("nbkg", events - signal, events - signal, (0.0, 2.0 * events)),
        ("mean", d.between(103.0, 157.0), d.between(102.0, 158.0), (102.0, 158.0)),
        ("sigma", width, width, (0.3, 8.0)),
        ("slope", 1.0 / d.between(15.0, 60.0), 1.0 / 30.0, (0.001, 0.3)),
    ];
    let is_fixed = seed.is_multiple_of(2);
    let (sigma, slope) = if is_fixed { (N(width), P(3)) } else { (P(3), P(4)) };
    let parameters: Vec<Number> =
        parameters.into_iter().filter(|(name, ..)| !(is_fixed && *name == "sigma")).collect();
    let processes = vec![
        (P(0), Density::Gaussian { x: 0, mean: P(2), sigma }),
        (P(1), Density::Exponential { x: 0, slope }),
    ];
    drawn(&parameters, &[(100.0, 160.0)], processes, seed)
}

/// Returns the lowest `-ln L` of 60 single descents, with the peak at 60 places of its range.
pub(crate) fn lowest_of_places(session: &CpuSession, model: &Model) -> f64 {
    let place = |name: &str| model.parameters.iter().position(|p| p.name == name);
    let mut lowest = f64::INFINITY;
    for k in 0..60 {
        let mut start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        start[2] = 102.0 + 56.0 * (f64::from(k) + 0.5) / 60.0;
        if let Some(sigma) = place("sigma") {
            start[sigma] = [0.6, 1.2, 3.0][k as usize % 3];
        }
        let end = fit(session, Start::At(start.into()), Search::Local);
        lowest = end.map_or(lowest, |found| lowest.min(found.nll));
    }
    lowest
}

/// Fits a model from `start`; `None` if the fit fails or does not converge.
pub(crate) fn fit(session: &CpuSession, start: Start, search: Search) -> Option<FitOutcome> {
    let request = FitRequest { start, search, ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let mut out: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut out).unwrap();
    out.remove(0).fits.remove(0).ok().filter(FitOutcome::converged)
}

/// Makes three descents: from the start values, and from the start values multiplied by 0.3 and by 3. Returns the
/// lowest `-ln L` and the number of evaluations of all three.
pub(crate) fn lowest_of_three(session: &CpuSession, model: &Model) -> (f64, usize) {
    let mut lowest = f64::INFINITY;
    let mut evaluations = 0;
    for factor in [1.0, 0.3, 3.0] {
        let values = model.parameters.iter().map(|p| (factor * p.init).clamp(p.bounds.0, p.bounds.1));
        let start = Start::At(values.collect::<Vec<f64>>().into());
        if let Some(found) = fit(session, start, Search::Local) {
            lowest = lowest.min(found.nll);
            evaluations += found.n_evaluations;
        }
    }
    (lowest, evaluations)
}

/// Returns the lowest `-ln L` of `count` descents from random points.
pub(crate) fn lowest_of_many(session: &CpuSession, model: &Model, seed: u64, count: usize) -> f64 {
    let mut d = Draw::new(seed + 1_000_000);
    let mut lowest = f64::INFINITY;
    for _ in 0..count {
        let values = model.parameters.iter().map(|p| match p.name.starts_with('n') {
            true => (p.init * d.between(-1.5, 1.0).exp()).clamp(p.bounds.0, p.bounds.1),
            false => d.between(p.bounds.0, p.bounds.1),
        });
        let start = Start::At(Arc::from(values.collect::<Vec<f64>>()));
        lowest = fit(session, start, Search::Local).map_or(lowest, |found| lowest.min(found.nll));
    }
    lowest
}
