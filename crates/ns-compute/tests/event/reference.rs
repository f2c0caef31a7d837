//! Rates and fractions of the whole axis where side bands alone are fitted.

use crate::events_oracle::{channel, even, model, table};
use crate::sums::{check_derivatives, evaluate};
use ns_core::{Density, EventChannel, EventTable, Model, Special, Value};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;
const AXIS: (f64, f64) = (0.0, 10.0);
const BANDS: [(f64, f64); 2] = [(1.0, 3.0), (6.0, 9.0)];
/// Two rates, a slope and a mean.
const STARTS: [(&str, f64, (f64, f64)); 4] =
    [("s", 40.0, (0.0, 1e4)), ("b", 90.0, (0.0, 1e4)), ("c", 0.3, (-2.0, 3.0)), ("m", 4.5, (1.0, 9.0))];

fn events() -> EventTable {
    let all = even(60, 0).into_iter().map(|u| 10.0 * u);
    table(vec![all.filter(|x| BANDS.iter().any(|(lo, hi)| lo <= x && x <= hi)).collect()])
}

fn of(extended: bool, parts: Vec<(Value, Density)>) -> (Model, Vec<f64>) {
    let ranges = BANDS.iter().map(|band| vec![*band]).collect();
    let own = EventChannel { ranges, reference: vec![vec![AXIS]], ..channel(&[AXIS], extended, parts) };
    (model(&STARTS, vec![(own, events())]), STARTS.iter().map(|start| start.1).collect())
}

fn signal() -> Density {
    Density::Gaussian { x: 0, mean: P(3), sigma: N(1.0) }
}

fn background() -> Density {
    Density::Exponential { x: 0, slope: P(2) }
}

type Shape = Box<dyn Fn(f64) -> f64>;

/// The densities, normalised on the axis, and their integrals over the side bands.
fn shapes(point: &[f64]) -> ([Shape; 2], [f64; 2]) {
    let (c, m) = (point[2], point[3]);
    let up_to = move |x: f64| 0.5 * Special::Erf.value((x - m) * std::f64::consts::FRAC_1_SQRT_2);
    let peak = move |(lo, hi): (f64, f64)| up_to(hi) - up_to(lo);
    let fall = move |(lo, hi): (f64, f64)| ((-c * lo).exp() - (-c * hi).exp()) / c;
    let height = 1.0 / (std::f64::consts::TAU.sqrt() * peak(AXIS));
    let of_peak = BANDS.iter().map(|band| peak(*band)).sum::<f64>() / peak(AXIS);
    let of_fall = BANDS.iter().map(|band| fall(*band)).sum::<f64>() / fall(AXIS);
    let total = fall(AXIS);
    (
        [
            Box::new(move |x| height * (-0.5 * (x - m).powi(2)).exp()),
            Box::new(move |x| (-c * x).exp() / total),
        ],
        [of_peak, of_fall],
    )
}

#[test]
fn rates_of_the_axis_are_expected_in_the_bands_by_their_share() {
    let (model, at) = of(true, vec![(P(0), signal()), (P(1), background())]);
    let (nll, gradient, hessian) = evaluate(&model, &at);
    let ([peak, fall], shares) = shapes(&at);
    let expected = at[0] * shares[0] + at[1] * shares[1];
    let logs: f64 = events().columns[0].iter().map(|x| (at[0] * peak(*x) + at[1] * fall(*x)).ln()).sum();
    assert!((nll - (expected - logs)).abs() < 1e-11 * nll.abs(), "{nll} {}", expected - logs);
    check_derivatives("rates", &model, &at, &gradient, &hessian);
}

#[test]
fn fractions_of_the_axis_are_others_in_the_bands() {
    let mixture = Density::Mixture { summands: vec![signal(), background()], coefficients: vec![N(0.3)] };
    let (model, at) = of(false, vec![(N(1.0), mixture)]);
    let (nll, gradient, hessian) = evaluate(&model, &at);
    let ([peak, fall], shares) = shapes(&at);
    let total = 0.3 * shares[0] + 0.7 * shares[1];
    let logs: f64 =
        events().columns[0].iter().map(|x| ((0.3 * peak(*x) + 0.7 * fall(*x)) / total).ln()).sum();
    assert!((nll + logs).abs() < 1e-11 * nll.abs(), "{nll} {logs}");
    check_derivatives("fractions", &model, &at, &gradient, &hessian);
}
