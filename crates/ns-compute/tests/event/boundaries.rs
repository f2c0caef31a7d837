//! Tests of likelihoods of events at the ends of the region where they exist: expected numbers of events that are 0,
//! densities that are 0, and `-ln L` that falls without end.

use crate::events_oracle::{channel, model, table};
use ns_compute::CpuSession;
use ns_core::{
    Constraint, Control, Data, Density, EventTable, Execution, FitFailure, FitOutcome, FitRequest, FitStatus,
    FitTask, Function, FunctionForm, Inactive, Model, OutcomeParts, Reason, Session, Start, TaskOutcome,
    Value,
};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;
const F: fn(usize) -> Value = Value::Function;

fn run(model: &Model, request: FitRequest) -> Result<FitOutcome, FitFailure> {
    let session = CpuSession::open(model, &Execution::default()).unwrap();
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let wanted = OutcomeParts { uncertainties: true, covariance: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0)
}

fn fit(model: &Model) -> FitOutcome {
    run(model, FitRequest::default()).unwrap()
}

fn from(start: &[f64]) -> FitRequest {
    FitRequest { start: Start::At(start.into()), ..FitRequest::default() }
}

fn held(parameter: usize, value: f64) -> FitRequest {
    FitRequest { fixed: vec![(parameter, value)], ..FitRequest::default() }
}

/// Returns `count` events that fill the range `lo..hi` evenly.
fn even((lo, hi): (f64, f64), count: usize) -> Vec<f64> {
    crate::events_oracle::even(count, 0).iter().map(|u| lo + (hi - lo) * u).collect()
}

const FLAT: Density = Density::Uniform { x: 0 };
const UNIT: [(f64, f64); 1] = [(0.0, 1.0)];

fn function(name: &str, form: FunctionForm) -> Function {
    Function { name: name.to_owned(), form }
}

#[test]
fn the_expected_number_of_events_is_not_negative() {
    let total = channel(&UNIT, true, vec![(P(0), FLAT)]);
    let model = model(&[("mu", 1.0, (-1.5, 10.0))], vec![(total, table(vec![Vec::new()]))]);
    for start in [1.0, -1.5, 10.0, 0.0, -1e-9] {
        let best = run(&model, from(&[start])).unwrap();
        assert!(best.converged(), "{start}: {:?}", best.status);
        assert_eq!((best.parameters[0], best.nll), (0.0, 0.0));
        assert_eq!(best.inactive, [(0, Inactive::LowerBound)]);
        assert_eq!((best.uncertainties[0], best.empty_channels), (None, vec![0]));
    }
    assert_eq!(run(&model, held(0, 2.0)).unwrap().nll, 2.0);
    let failure = run(&model, held(0, -1.0)).unwrap_err();
    assert_eq!(failure, FitFailure::NegativeTotal { channel: 0, expected: -1.0 });
}

#[test]
fn a_minimum_on_the_boundary_of_several_parameters_has_their_uncertainties_along_it() {
    // The total mu + 2 theta is 0 at the minimum, and the constraint of theta decides where.
    let total = channel(&UNIT, true, vec![(F(1), FLAT)]);
    let parameters = [("mu", 1.0, (-5.0, 10.0)), ("theta", 1.0, (0.0, 3.0))];
    let mut model = model(&parameters, vec![(total, table(vec![Vec::new()]))]);
    model.functions = vec![
        function("background", FunctionForm::Product(vec![N(2.0), P(1)])),
        function("total", FunctionForm::Sum(vec![P(0), F(0)])),
    ];
    model.parameters[1].constraint = Constraint::Gaussian { aux: 0, sigma: 0.3 };
    model.observed.aux = vec![1.0];
    let best = fit(&model);
    assert!(best.converged());
    let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-8, "{got} {want}");
    close(best.parameters[0], -2.0);
    close(best.parameters[1], 1.0);
    let covariance = best.covariance.unwrap();
    close(covariance.get(0, 0), 0.36);
    close(covariance.get(0, 1), -0.18);
    close(covariance.get(1, 1), 0.09);
    // With one of them fixed, the boundary holds the other.
    let fixed = run(&model, held(1, 1.0)).unwrap();
    assert_eq!((fixed.uncertainties[0], fixed.inactive), (None, vec![(0, Inactive::LowerBound)]));
    // Beyond the minimum the boundary pulls theta up.
    let beyond = run(&model, held(0, -3.0)).unwrap();
    assert!(beyond.converged());
    close(beyond.parameters[1], 1.5);
    close(beyond.nll - best.nll, 0.5 * (0.5_f64 / 0.3).powi(2));
}

#[test]
fn other_channels_pull_against_a_channel_without_events() {
    // Two channels expect 20 + 10 mu and 100 + 50 mu events, and have 5 and 40. A third one has none and expects 3 + mu,
    // or 1 + mu, whose boundary at -1 is above the minimum.
    let rate = |constant: f64, slope: f64| FunctionForm::Polynomial {
        x: P(0),
        coefficients: vec![N(constant), N(slope)],
    };
    for (constant, want) in [(3.0, None), (1.0, Some(-1.0))] {
        let channels = [(0, 0), (1, 5), (2, 40)].map(|(f, count)| {
            let events = table(vec![even((0.0, 1.0), count)]);
            (channel(&UNIT, true, vec![(F(f), FLAT)]), events)
        });
        let mut model = model(&[("mu", 0.0, (-10.0, 10.0))], channels.to_vec());
        model.functions = vec![
            function("a", rate(constant, 1.0)),
            function("b", rate(20.0, 10.0)),
            function("c", rate(100.0, 50.0)),
        ];
        let best = fit(&model);
        assert!(best.converged());
        let mu = best.parameters[0];
        match want {
            Some(want) => {
                assert!((mu - want).abs() < 1e-12, "{mu}");
                assert_eq!(best.uncertainties[0], None);
            }
            None => {
                let slope = 61.0 - 50.0 / (20.0 + 10.0 * mu) - 2000.0 / (100.0 + 50.0 * mu);
                assert!(slope.abs() < 1e-4, "{mu}: {slope}");
                assert!(best.uncertainties[0].is_some() && best.empty_channels.is_empty());
            }
        }
    }
}

/// A peak on a flat background: 40 events everywhere, and 30 in the peak.
fn peak(start: (f64, f64)) -> Model {
    let signal = Density::Gaussian { x: 0, mean: N(0.5), sigma: N(0.02) };
    let mut events = even((0.0, 1.0), 40);
    events.extend((0..30).map(|i| 0.47 + 0.002 * f64::from(i)));
    let both = channel(&UNIT, true, vec![(P(0), signal), (P(1), FLAT)]);
    let parameters = [("ns", start.0, (-1000.0, 1000.0)), ("nb", start.1, (-1000.0, 1000.0))];
    model(&parameters, vec![(both, table(vec![events]))])
}

#[test]
fn a_start_with_negative_densities_is_moved() {
    let best = fit(&peak((10.0, 50.0)));
    assert!(best.converged());
    for start in
        [(-500.0, 20.0), (900.0, -900.0), (-3.0, -3.0), (0.0, -1000.0), (-1000.0, 1000.0), (0.0, 0.0)]
    {
        let found = run(&peak(start), FitRequest::default()).unwrap();
        assert!(found.converged() && (found.nll - best.nll).abs() < 1e-8, "{start:?}: {found:?}");
    }
}

#[test]
fn a_negative_coefficient_is_possible_where_the_sum_is_positive() {
    // A dip in a flat background.
    let signal = Density::Gaussian { x: 0, mean: N(0.5), sigma: N(0.1) };
    let events: Vec<f64> = even((0.0, 1.0), 300).into_iter().filter(|x| (x - 0.5).abs() > 0.02).collect();
    let count = events.len() as f64;
    let both = channel(&UNIT, true, vec![(P(0), signal), (P(1), FLAT)]);
    let parameters = [("ns", 5.0, (-1000.0, 1000.0)), ("nb", 50.0, (0.0, 1000.0))];
    let best = fit(&model(&parameters, vec![(both, table(vec![events]))]));
    assert!(best.converged() && best.parameters[0] < -5.0, "{best:?}");
    assert!((best.parameters[0] + best.parameters[1] - count).abs() < 1e-5);
}

#[test]
fn a_start_outside_of_the_support_of_a_density_is_moved() {
    let density = Density::Argus { x: 0, resonance: P(0), slope: N(-5.0), power: N(0.5) };
    let events = even((1.0, 4.9), 50);
    let alone = channel(&[(0.5, 6.0)], false, vec![(N(1.0), density)]);
    let make = |start| model(&[("m", start, (2.0, 6.0))], vec![(alone.clone(), table(vec![events.clone()]))]);
    let best = fit(&make(5.5));
    let found = fit(&make(3.0));
    assert!(best.converged() && found.converged());
    assert!((best.nll - found.nll).abs() < 1e-8, "{} {}", best.nll, found.nll);
}

#[test]
fn weights_with_a_negative_sum_have_no_minimum() {
    let falling = Density::Exponential { x: 0, slope: N(3.0) };
    let column = even((0.0, 1.0), 50);
    let events = |weights: Vec<f64>| EventTable {
        columns: vec![column.clone().into()],
        weights: Some(weights.into()),
    };
    for lower in [0.0, -100.0] {
        let both = channel(&UNIT, true, vec![(P(0), falling.clone()), (P(1), FLAT)]);
        let parameters = [("ns", 10.0, (lower, 1000.0)), ("nb", 10.0, (lower, 1000.0))];
        let model = model(&parameters, vec![(both, events(vec![-1.0; 50]))]);
        let found = fit(&model);
        assert_eq!(found.status, FitStatus::NotConverged(Reason::Unbounded), "{found:?}");
    }
    // Within bounds that keep the density away from 0 there is a minimum: at the bounds.
    let both = channel(&UNIT, true, vec![(P(0), falling), (P(1), FLAT)]);
    let parameters = [("ns", 10.0, (0.5, 1000.0)), ("nb", 10.0, (0.25, 1000.0))];
    let found = fit(&model(&parameters, vec![(both, events(vec![-1.0; 50]))]));
    assert!(found.converged(), "{found:?}");
    assert_eq!(found.parameters, [0.5, 0.25]);
}

#[test]
fn a_width_that_tends_to_0_on_one_event_is_no_minimum() {
    let density = Density::Gaussian { x: 0, mean: P(0), sigma: P(1) };
    let one = channel(&[(-10.0, 10.0)], false, vec![(N(1.0), density)]);
    let parameters = [("mean", 0.5, (-5.0, 5.0)), ("sigma", 1.0, (0.0, 5.0))];
    let found = fit(&model(&parameters, vec![(one, table(vec![vec![1.25]]))]));
    assert_eq!(found.status, FitStatus::NotConverged(Reason::Unbounded), "{found:?}");
}

#[test]
fn a_rate_without_events_ends_on_its_bound() {
    // Two processes; no event lies where the first one is.
    let signal = Density::Gaussian { x: 0, mean: N(0.9), sigma: N(0.01) };
    let both = channel(&UNIT, true, vec![(P(0), signal), (P(1), FLAT)]);
    let parameters = [("ns", 5.0, (0.0, 100.0)), ("nb", 5.0, (0.0, 100.0))];
    let events = even((0.0, 0.8), 20);
    let best = fit(&model(&parameters, vec![(both, table(vec![events]))]));
    assert!(best.converged());
    assert_eq!(best.parameters[0], 0.0);
    assert!((best.parameters[1] - 20.0).abs() < 1e-8);
    assert_eq!(best.inactive, [(0, Inactive::LowerBound)]);
}
