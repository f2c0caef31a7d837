//! Fits five models of events. Compares the minimum and the covariance with a calculation of `-ln L`, event by event,
//! that is independent of the engine.

use crate::events_oracle::{channel, channel_nll, density, model, table};
use ns_compute::CpuSession;
use ns_core::random::{Stream, open_uniform};
use ns_core::{
    Constraint, Control, Data, Density, EventChannel, EventTable, Execution, FitFailure, FitOutcome,
    FitRequest, FitTask, Function, FunctionForm, Model, Op, OutcomeParts, Session, Tail, Tape, TaskOutcome,
    Value,
};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

fn uniform(stream: &Stream, slot: u32) -> [f64; 2] {
    let [a, b, c, d] = stream.block(slot, 0);
    [open_uniform(a, b), open_uniform(c, d)]
}

/// Draws `count` events from a density without free parameters, by the rejection method. Returns the values of the
/// observable.
fn draw(axis: (f64, f64), of: &Density, count: usize, toy: u64) -> Vec<f64> {
    let axes = channel(&[axis], true, Vec::new()).observables;
    let constant = |value: Value| if let Value::Number(x) = value { x } else { panic!("constants only") };
    let value = |x: f64| density(of, &axes, &[x], &constant);
    let at = |u: f64| axis.0 + (axis.1 - axis.0) * u;
    let top = (0..=10_000).map(|i| value(at(f64::from(i) / 10_000.0))).fold(0.0, f64::max);
    let stream = Stream::new(11, toy, 0);
    let mut events = Vec::new();
    let mut slot = 0;
    while events.len() < count {
        let [u, v] = uniform(&stream, slot);
        slot += 1;
        if 1.01 * top * v < value(at(u)) {
            events.push(at(u));
        }
    }
    events
}

fn fit(model: &Model, threads: usize) -> Result<FitOutcome, FitFailure> {
    let session = CpuSession::open(model, &Execution { threads, ..Execution::default() }).unwrap();
    let task = FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None };
    let wanted = OutcomeParts { covariance: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0)
}

/// Returns `-ln L` from the independent calculation, including the Gaussian constraints of the parameters. `functions`
/// evaluates the functions of the model.
fn oracle(model: &Model, theta: &[f64], functions: &dyn Fn(usize, &[f64]) -> f64) -> f64 {
    let q = |value: Value| match value {
        Value::Number(x) => x,
        Value::Parameter(p) => theta[p],
        Value::Function(f) => functions(f, theta),
    };
    let channels = model.event_channels.iter().zip(&model.observed.events);
    let mut nll: f64 = channels.map(|(channel, table)| channel_nll(channel, table, &q)).sum();
    for (parameter, x) in model.parameters.iter().zip(theta) {
        if let Constraint::Gaussian { sigma, aux } = parameter.constraint {
            nll += 0.5 * ((x - model.observed.aux[aux]) / sigma).powi(2);
        }
    }
    nll
}

/// Checks that a fit ended at a minimum, and that its covariance agrees with the curvature of `-ln L`. Column `p` of
/// the covariance, divided by the uncertainty of parameter `p`, is a direction. The second derivative of `-ln L`
/// along this direction must be 1 within `tolerance`.
fn check(what: &str, model: &Model, tolerance: f64, functions: &dyn Fn(usize, &[f64]) -> f64) {
    let outcome = fit(model, 1).unwrap_or_else(|failure| panic!("{what}: {failure}"));
    assert!(outcome.converged(), "{what}: {:?}", outcome.status);
    let covariance = outcome.covariance.as_ref().unwrap();
    let n = outcome.parameters.len();
    let here = oracle(model, &outcome.parameters, functions);
    for p in 0..n {
        let sigma = outcome.uncertainties[p].unwrap_or_else(|| panic!("{what}: no uncertainty of {p}"));
        let moved = |step: f64| {
            let theta: Vec<f64> =
                (0..n).map(|q| outcome.parameters[q] + step * covariance.get(q, p) / sigma).collect();
            oracle(model, &theta, functions)
        };
        let h = 0.02;
        let (up, down) = (moved(h), moved(-h));
        let (slope, bend) = ((up - down) / (2.0 * h), (up - 2.0 * here + down) / (h * h));
        assert!((bend - 1.0).abs() < tolerance, "{what}: parameter {p}: curvature {bend}");
        assert!(slope.abs() < 1e-3, "{what}: parameter {p}: slope {slope}");
        // Halving the step leaves a quarter of the difference that the third derivative makes.
        let finer = (moved(0.5 * h) - moved(-0.5 * h)) / h;
        assert!(
            (4.0 * finer - slope).abs() / 3.0 < 1e-2 * tolerance,
            "{what}: parameter {p}: gradient {finer} {slope}"
        );
    }
    let two = fit(model, 2).unwrap();
    assert_eq!(two.parameters, outcome.parameters, "{what}: bits depend on threads");
    assert_eq!(two.uncertainties, outcome.uncertainties, "{what}: bits depend on threads");
}

fn gaussian(x: usize, mean: Value, sigma: Value) -> Density {
    Density::Gaussian { x, mean, sigma }
}

fn constrain(model: &mut Model, constraints: &[(usize, f64, f64)]) {
    for &(p, mean, sigma) in constraints {
        model.parameters[p].constraint = Constraint::Gaussian { sigma, aux: model.observed.aux.len() };
        model.observed.aux.push(mean);
    }
}

fn m1(count: usize) -> Model {
    let axis = (60.0, 120.0);
    let signal = draw(axis, &gaussian(0, N(91.2), N(2.5)), 3 * count / 10, 1);
    let background = draw(axis, &Density::Exponential { x: 0, slope: N(0.02) }, 7 * count / 10, 2);
    let processes = vec![(P(0), gaussian(0, P(2), P(3))), (P(1), Density::Exponential { x: 0, slope: P(4) })];
    let n = count as f64;
    let parameters = [
        ("nsig", 0.35 * n, (0.0, 2.0 * n)),
        ("nbkg", 0.65 * n, (0.0, 2.0 * n)),
        ("mu", 90.0, (80.0, 100.0)),
        ("sigma", 3.0, (0.5, 10.0)),
        ("slope", 0.03, (0.0001, 0.2)),
    ];
    model(&parameters, vec![(channel(&[axis], true, processes), table(vec![[signal, background].concat()]))])
}

#[test]
fn peak_on_an_exponential_background() {
    check("m1", &m1(3000), 1e-3, &|_, _| 0.0);
}

#[test]
fn a_fit_of_many_events_ends_where_one_without_shortcuts_does() {
    let model = m1(50_000);
    let outcome = fit(&model, 1).unwrap();
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    // A fit that starts at the minimum, with its covariance as metric, uses all events from the beginning.
    let start = ns_core::Start::At(outcome.parameters.clone().into());
    let metric = outcome.inverse_hessian();
    let request = FitRequest { start, metric, ..FitRequest::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    let again = outcomes.remove(0).fits.remove(0).unwrap();
    for ((a, b), sigma) in outcome.parameters.iter().zip(&again.parameters).zip(&outcome.uncertainties) {
        assert!((a - b).abs() < 1e-5 * sigma.unwrap(), "{a} {b}");
    }
    assert_eq!(fit(&model, 2).unwrap().parameters, outcome.parameters);
}

#[test]
fn crystal_ball_on_a_chebyshev_background_with_constraints() {
    let axis = (100.0, 160.0);
    let ball = |mean, sigma, al, ar| Density::CrystalBall {
        x: 0,
        mean,
        sigma_left: sigma,
        sigma_right: sigma,
        left: Some(Tail { alpha: al, n: N(4.0) }),
        right: Some(Tail { alpha: ar, n: N(5.0) }),
    };
    let signal = draw(axis, &ball(N(125.0), N(2.0), N(1.3), N(1.4)), 1600, 3);
    let polynomial = Density::Chebyshev { x: 0, coefficients: vec![N(-0.35), N(0.1)] };
    let background = draw(axis, &polynomial, 2400, 4);
    let parameters = [
        ("nsig", 1400.0, (0.0, 2e5)),
        ("nbkg", 2600.0, (0.0, 2e5)),
        ("mu", 124.5, (120.0, 130.0)),
        ("sigma", 2.3, (0.5, 6.0)),
        ("al", 1.5, (0.3, 5.0)),
        ("ar", 1.2, (0.3, 5.0)),
        ("c1", -0.2, (-1.5, 1.5)),
        ("c2", 0.0, (-1.5, 1.5)),
    ];
    let processes = vec![
        (P(0), ball(P(2), P(3), P(4), P(5))),
        (P(1), Density::Chebyshev { x: 0, coefficients: vec![P(6), P(7)] }),
    ];
    let events = table(vec![[signal, background].concat()]);
    let mut model = model(&parameters, vec![(channel(&[axis], true, processes), events)]);
    constrain(&mut model, &[(2, 125.0, 0.2), (3, 2.0, 0.1), (4, 1.3, 0.1)]);
    // The second derivative of the density jumps where a tail begins, so differences see events pass there.
    check("m2", &model, 3e-2, &|_, _| 0.0);
}

#[test]
fn two_channels_that_share_strength_and_nuisance_parameter() {
    let axis = (100.0, 160.0);
    let data = |slope: f64, signal: usize, background: usize, toy: u64| -> EventTable {
        let peak = draw(axis, &gaussian(0, N(125.0), N(2.0)), signal, toy);
        let rest = draw(axis, &Density::Exponential { x: 0, slope: N(slope) }, background, toy + 1);
        table(vec![[peak, rest].concat()])
    };
    let of = |signal: usize, background: usize, slope: usize| -> EventChannel {
        let processes = vec![
            (Value::Function(signal), gaussian(0, P(2), P(3))),
            (P(background), Density::Exponential { x: 0, slope: P(slope) }),
        ];
        channel(&[axis], true, processes)
    };
    let parameters = [
        ("mu_s", 0.8, (0.0, 10.0)),
        ("theta", 0.0, (-5.0, 5.0)),
        ("mu", 124.5, (120.0, 130.0)),
        ("sigma", 2.3, (0.5, 6.0)),
        ("nbA", 1700.0, (0.0, 2e5)),
        ("nbB", 1500.0, (0.0, 2e5)),
        ("slopeA", 0.02, (1e-4, 0.2)),
        ("slopeB", 0.02, (1e-4, 0.2)),
    ];
    let channels = vec![(of(1, 4, 6), data(0.015, 240, 1760, 5)), (of(2, 5, 7), data(0.03, 320, 1680, 7))];
    let mut model = model(&parameters, channels);
    constrain(&mut model, &[(1, 0.0, 1.0)]);
    let power = vec![Op::Number(1.05), Op::Value(P(1)), Op::Pow(0, 1)];
    let function = |name: &str, form| Function { name: name.to_owned(), form };
    let signal = |count: f64| FunctionForm::Product(vec![N(count), P(0), Value::Function(0)]);
    model.functions = vec![
        function("power", FunctionForm::Expression(Tape::new(power).unwrap())),
        function("signal A", signal(240.0)),
        function("signal B", signal(320.0)),
    ];
    check("m3", &model, 1e-3, &|f, theta| [1.0, 240.0, 320.0][f] * theta[0] * 1.05_f64.powf(theta[1]));
}

#[test]
fn products_of_two_observables() {
    let (x, y) = ((-5.0, 5.0), (0.0, 6.0));
    let first = [
        draw(x, &gaussian(0, N(0.0), N(1.0)), 900, 9),
        draw(x, &Density::Exponential { x: 0, slope: N(0.15) }, 2100, 10),
    ];
    let second = [
        draw(y, &gaussian(0, N(3.0), N(0.5)), 900, 11),
        draw(y, &Density::Chebyshev { x: 0, coefficients: vec![N(0.3)] }, 2100, 12),
    ];
    let parameters = [
        ("nsig", 800.0, (0.0, 2e5)),
        ("nbkg", 2200.0, (0.0, 2e5)),
        ("mx", 0.1, (-2.0, 2.0)),
        ("sx", 0.9, (0.2, 4.0)),
        ("my", 3.2, (1.0, 6.0)),
        ("sy", 0.6, (0.1, 3.0)),
        ("lx", 0.1, (-1.0, 1.0)),
        ("cy", 0.0, (-0.99, 0.99)),
    ];
    let processes = vec![
        (P(0), Density::Product(vec![gaussian(0, P(2), P(3)), gaussian(1, P(4), P(5))])),
        (
            P(1),
            Density::Product(vec![
                Density::Exponential { x: 0, slope: P(6) },
                Density::Chebyshev { x: 1, coefficients: vec![P(7)] },
            ]),
        ),
    ];
    let events = table(vec![first.concat(), second.concat()]);
    check("m4", &model(&parameters, vec![(channel(&[x, y], true, processes), events)]), 1e-3, &|_, _| 0.0);
}

#[test]
fn argus_background() {
    let axis = (5.2, 5.29);
    let argus = |slope| Density::Argus { x: 0, resonance: N(5.29), slope, power: N(0.5) };
    let signal = draw(axis, &gaussian(0, N(5.279), N(0.0026)), 600, 13);
    let background = draw(axis, &argus(N(-20.0)), 2400, 14);
    let parameters = [
        ("nsig", 480.0, (0.0, 1e5)),
        ("nbkg", 2520.0, (0.0, 1e5)),
        ("mean", 5.278, (5.27, 5.285)),
        ("width", 0.003, (0.0005, 0.01)),
        ("c", -15.0, (-100.0, -1.0)),
    ];
    let processes = vec![(P(0), gaussian(0, P(2), P(3))), (P(1), argus(P(4)))];
    let events = table(vec![[signal, background].concat()]);
    check("m5", &model(&parameters, vec![(channel(&[axis], true, processes), events)]), 1e-3, &|_, _| 0.0);
}

#[test]
fn a_density_that_is_zero_at_an_event_is_named() {
    let parameters = [("nu", 3.0, (0.0, 10.0))];
    let of = Density::Histogram {
        observables: vec![0],
        edges: vec![vec![0.0, 1.0, 2.0]],
        heights: vec![1.0, 0.0],
    };
    let events = table(vec![vec![0.2, 0.7, 1.5, 0.1]]);
    let model = model(&parameters, vec![(channel(&[(0.0, 2.0)], true, vec![(P(0), of)]), events)]);
    assert_eq!(fit(&model, 1), Err(FitFailure::DensityNotPositive { channel: 0, event: 2 }));
}
