//! Tests of toys of event models: the distribution of the events, the fits, and independence of the numbers
//! of threads and batches.

use std::sync::Arc;

use crate::event_models::{Case, cases, constrained, gaussian_on_exponential};
use crate::events_oracle::densities;
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Density, Drawn, EventTable, Execution, FitFailure, FitRequest, FitTask, OutcomeParts,
    Search, Session, SessionError, Special, Start, TaskOutcome, ToySource, Value,
};

const UNCERTAINTIES: OutcomeParts = OutcomeParts { uncertainties: true, covariance: false, inverse: false };

fn open(case: &Case, threads: usize) -> CpuSession {
    CpuSession::open(&case.model, &Execution { threads, ..Execution::default() }).unwrap()
}

fn source(case: &Case, session: &CpuSession, seed: u64) -> Arc<ToySource> {
    let made = session.toy_source(&case.truth(), &Data::observed(), seed, 2);
    made.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn fit(
    session: &CpuSession,
    source: &Arc<ToySource>,
    toys: std::ops::Range<u64>,
    at: &[f64],
) -> Vec<TaskOutcome> {
    let request = FitRequest { start: Start::At(at.into()), search: Search::Local, ..FitRequest::default() };
    let data = Data::observed().with(Drawn { source: Arc::clone(source), toys });
    let mut outcomes = Vec::new();
    let task = FitTask { data, fits: vec![request], cancel: None };
    session.fit_batch(&[task], UNCERTAINTIES, Control::default(), &mut outcomes).unwrap();
    outcomes
}

/// Returns the events of several toys: the values of the observables of each event, and the weight of each event.
fn events(source: &ToySource, toys: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (mut rows, mut weights) = (Vec::new(), Vec::new());
    for toy in 0..toys {
        let data = source.draw_whole(toy).unwrap();
        let table: &EventTable = &data.events[0];
        for i in 0..table.len() {
            rows.push(table.columns.iter().map(|column| column[i]).collect());
            weights.push(table.weights.as_ref().map_or(1.0, |weights| weights[i]));
        }
    }
    (rows, weights)
}

/// Returns a function that evaluates a value (a number or a parameter) at the true parameters of a model.
fn numbers(case: &Case) -> impl Fn(Value) -> f64 {
    let truth = case.truth();
    move |value| match value {
        Value::Number(x) => x,
        Value::Parameter(p) => truth[p],
        Value::Function(_) => f64::NAN,
    }
}

/// Returns the density at each point, from the independent calculation. This calculation does not support expressions.
fn density(case: &Case, points: &[Vec<f64>]) -> Vec<f64> {
    let channel = &case.model.event_channels[0];
    let landau = |x: f64, width: f64| Special::Landau.value((x - 3.0) / width);
    let smeared = |x: f64| {
        let part = |s: f64| landau(x - s, 0.4) * (-0.5 * (s / 0.8).powi(2)).exp();
        (-200..=200).map(|i| part(0.03 * f64::from(i))).sum()
    };
    let formula: &dyn Fn(f64) -> f64 = match (&channel.processes[0].density, case.name) {
        (Density::Generic(_), "landau") => &|x| landau(x, 0.5),
        (Density::Generic(_), _) => &|x| 1.0 + 0.5 * (2.0 * x).sin() + x * x / 50.0,
        (Density::Convolution(_), _) => &smeared,
        _ => return densities(channel, points, &numbers(case)),
    };
    points.iter().map(|p| formula(p[0])).collect()
}

/// Returns the Kolmogorov-Smirnov distance between the events of 30 toys with one observable and the distribution
/// function of the density. The distance is multiplied by the square root of the number of events. The product
/// exceeds 2.2 with a probability of 1e-4.
fn distance(case: &Case) -> f64 {
    let session = open(case, 1);
    let (rows, _) = events(&source(case, &session, 3), 30);
    let mut x: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    x.sort_by(f64::total_cmp);
    let axis = &case.model.event_channels[0].observables[0];
    let cells = 6000;
    let step = (axis.max - axis.min) / f64::from(cells);
    let centres: Vec<Vec<f64>> = (0..cells).map(|i| vec![axis.min + step * (f64::from(i) + 0.5)]).collect();
    let boxes = case.model.event_channels[0].boxes();
    let inside = |x: f64| boxes.iter().any(|sides| sides[0].0 <= x && x <= sides[0].1);
    let values = density(case, &centres);
    let mut sums = vec![0.0];
    for (value, centre) in values.iter().zip(&centres) {
        sums.push(sums.last().unwrap() + if inside(centre[0]) { *value } else { 0.0 });
    }
    let total = *sums.last().unwrap();
    let largest = sums.iter().enumerate().map(|(i, sum)| {
        let edge = axis.min + step * i as f64;
        let below = x.partition_point(|x| *x < edge) as f64 / x.len() as f64;
        (below - sum / total).abs()
    });
    largest.fold(0.0, f64::max) * (x.len() as f64).sqrt()
}

#[test]
fn events_follow_the_distribution_function() {
    let one = |case: &Case| {
        let channel = &case.model.event_channels[0];
        // The oracle's rates are those of the fit ranges.
        channel.observables.len() == 1 && channel.binning.is_none() && channel.reference.is_empty()
    };
    let mut seen = 0;
    for case in cases().iter().filter(|case| one(case)) {
        let distance = distance(case);
        assert!(distance < 2.2, "{}: {distance}", case.name);
        seen += 1;
    }
    assert!(seen >= 24);
}

/// Compares the numbers of events in 8 x 8 regions of a plane with the integrals of the density. The chi2 of the
/// comparison has at most 63 degrees of freedom and exceeds 120 with a probability of 2e-5.
#[test]
fn events_of_two_observables_follow_the_density() {
    let mut seen = 0;
    for case in cases().iter().filter(|case| case.model.event_channels[0].observables.len() == 2) {
        let channel = &case.model.event_channels[0];
        let session = open(case, 1);
        let (rows, _) = events(&source(case, &session, 5), 30);
        let (regions, cells) = (8, 25);
        let place = |row: &[f64]| {
            let index = |k: usize| {
                let axis = &channel.observables[k];
                ((row[k] - axis.min) / (axis.max - axis.min) * regions as f64) as usize
            };
            index(0) * regions + index(1)
        };
        let mut found = vec![0.0; regions * regions];
        rows.iter().for_each(|row| found[place(row)] += 1.0);
        let fine = regions * cells;
        let node = |k: usize, i: usize| {
            let axis = &channel.observables[k];
            axis.min + (axis.max - axis.min) * (i as f64 + 0.5) / fine as f64
        };
        let points: Vec<Vec<f64>> =
            (0..fine * fine).map(|i| vec![node(0, i / fine), node(1, i % fine)]).collect();
        let boxes = channel.boxes();
        let inside =
            |p: &[f64]| boxes.iter().any(|b| b.iter().zip(p).all(|((lo, hi), x)| lo <= x && x <= hi));
        let mut expected = vec![0.0; regions * regions];
        for (point, value) in points.iter().zip(density(case, &points)) {
            expected[place(point)] += if inside(point) { value } else { 0.0 };
        }
        let scale = rows.len() as f64 / expected.iter().sum::<f64>();
        let chi2: f64 = found
            .iter()
            .zip(&expected)
            .map(|(n, e)| {
                let e = scale * e;
                assert!(e > 0.0 || *n == 0.0, "{}: events where none can be", case.name);
                if e < 1.0 { 0.0 } else { (n - e).powi(2) / e }
            })
            .sum();
        assert!(chi2 < 120.0, "{}: {chi2}", case.name);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn contents_of_bins_follow_the_density() {
    let mut seen = 0;
    for case in cases().iter().filter(|case| case.model.event_channels[0].binning.is_some()) {
        let session = open(case, 1);
        let source = source(case, &session, 5);
        let toys = 100;
        let (rows, weights) = events(&source, toys);
        let centres: Vec<Vec<f64>> = (0..30).map(|i| vec![(f64::from(i) + 0.5) / 3.0]).collect();
        let values = density(case, &centres);
        let total: f64 = values.iter().sum();
        let chi2: f64 = centres
            .iter()
            .zip(values)
            .map(|(centre, value)| {
                let own = rows.iter().zip(&weights).filter(|(row, _)| (row[0] - centre[0]).abs() < 1e-9);
                let (n, e) = (own.map(|(_, w)| w).sum::<f64>(), 1500.0 * toys as f64 * value / total);
                (n - e).powi(2) / e
            })
            .sum();
        assert!((5.0..75.0).contains(&chi2), "{}: {chi2}", case.name);
        if case.name.ends_with("not extended") {
            assert!((weights.iter().sum::<f64>() - 1500.0 * toys as f64).abs() < 1e-6);
        }
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// Checks that the pulls of 60 toys have mean 0 and width 1 within 4 standard deviations. `examples/event_toys.rs`
/// draws more toys.
#[test]
fn pulls_have_mean_0_and_width_1() {
    let toys = 60;
    let mut all = cases();
    all.push(constrained());
    for case in &all {
        let (session, truth) = (open(case, 2), case.truth());
        let source = source(case, &session, 17);
        let outcomes = fit(&session, &source, 0..toys, &truth);
        for (p, parameter) in case.model.parameters.iter().enumerate() {
            let pulls: Vec<f64> = outcomes
                .iter()
                .enumerate()
                .map(|(toy, outcome)| {
                    let fit = outcome.fits[0].as_ref().unwrap_or_else(|e| panic!("{} {toy}: {e}", case.name));
                    assert!(fit.converged(), "{} {toy}: {:?}", case.name, fit.status);
                    let sigma = fit.uncertainties[p].unwrap_or(f64::NAN);
                    (fit.parameters[p] - truth[p]) / sigma
                })
                .filter(|pull| pull.is_finite())
                .collect();
            let n = pulls.len() as f64;
            assert!(n >= 0.95 * toys as f64, "{} {}: {n} pulls", case.name, parameter.name);
            let mean = pulls.iter().sum::<f64>() / n;
            let width = (pulls.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
            let what = || format!("{}, {}: {mean} {width}", case.name, parameter.name);
            assert!(mean.abs() < 4.0 * width / n.sqrt(), "{}", what());
            assert!((width - 1.0).abs() < 4.0 / (2.0 * n).sqrt(), "{}", what());
        }
    }
}

#[test]
fn fits_of_toys_do_not_depend_on_threads_and_batches() {
    for case in [gaussian_on_exponential(400.0), constrained()] {
        let truth = case.truth();
        let (one, three) = (open(&case, 1), open(&case, 3));
        let whole = fit(&one, &source(&case, &one, 9), 0..40, &truth);
        let shared = source(&case, &three, 9);
        let mut parts = Vec::new();
        for (from, to) in [(0, 1), (1, 17), (17, 40)] {
            parts.extend(fit(&three, &shared, from..to, &truth));
        }
        assert_eq!(whole, parts, "{}", case.name);
        let other = fit(&one, &source(&case, &one, 10), 0..2, &truth);
        assert_ne!(whole[..2], other[..], "another seed gives other toys");
    }
}

/// Checks that a toy drawn by the session has the same fit outcome as the same data given by the caller.
#[test]
fn a_toy_is_fitted_as_the_same_data_given() {
    let case = constrained();
    let (session, truth) = (open(&case, 1), case.truth());
    let source = source(&case, &session, 4);
    let drawn = fit(&session, &source, 3..4, &truth);
    let given = source.draw_whole(3).unwrap();
    assert_eq!(given.events[0].len(), 1200);
    assert_eq!(given.aux.len(), 3);
    assert!(given.aux.iter().zip([5.0, 0.3]).all(|(a, b)| *a != b), "auxiliary data are drawn");
    assert!(given.aux[2].fract() == 0.0);
    let request =
        FitRequest { start: Start::At(truth.into()), search: Search::Local, ..FitRequest::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let task = FitTask { data: given.into(), fits: vec![request], cancel: None };
    session.fit_batch(&[task], UNCERTAINTIES, Control::default(), &mut outcomes).unwrap();
    assert_eq!(drawn, outcomes);
}

#[test]
fn densities_that_cannot_be_drawn_from_are_refused() {
    let problem = |case: &Case| {
        let session = open(case, 1);
        match session.toy_source(&case.truth(), &Data::observed(), 1, 2) {
            Err(SessionError::CannotSample { channel: 0, problem }) => problem.to_owned(),
            other => panic!("{}: {other:?}", case.name),
        }
    };
    let find = |name: &str| cases().into_iter().find(|case| case.name == name).unwrap();
    let mut negative = find("chebyshev");
    negative.model.parameters[1].init = 3.0;
    assert!(problem(&negative).contains("negative"));
    let mut rate = find("uniform");
    rate.model.parameters[0].init = -1.0;
    assert!(problem(&rate).contains("number of events"));
    let mut pole = find("uniform");
    pole.model.event_channels[0].processes[0].density =
        Density::Polynomial { x: 0, coefficients: vec![Value::Number(0.0)] };
    assert!(problem(&pole).contains("zero everywhere"));
    assert!(FitFailure::NotDrawn { channel: 1 }.to_string().contains("event channel 1"));
}
