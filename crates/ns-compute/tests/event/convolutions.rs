//! Convolutions without a formula, beside those that have one, and the Landau density.

use crate::events_oracle::{channel, even, model, table};
use crate::sums::{check_derivatives, evaluate};
use ns_core::{Convolution, Density, Model, Op, Projection, Special, Tail, Tape, Value};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

/// Returns a model of 40 events between -10 and 30, whose density has these parameters.
fn of(density: Density, values: &[f64]) -> (Model, Vec<f64>) {
    let starts: Vec<(&str, f64, (f64, f64))> = values.iter().map(|&v| ("q", v, (-100.0, 100.0))).collect();
    let own = channel(&[(-10.0, 30.0)], false, vec![(N(1.0), density)]);
    let events = even(40, 0).into_iter().map(|u| 40.0 * u - 10.0).collect();
    (model(&starts, vec![(own, table(vec![events]))]), values.to_vec())
}

fn convolved(first: Density, second: Density) -> Density {
    Density::Convolution(Box::new(Convolution { x: 0, first, second }))
}

fn gauss(mean: Value, sigma: Value) -> Density {
    Density::Gaussian { x: 0, mean, sigma }
}

/// Returns the Landau density of the observable.
fn landau(mean: Value, sigma: Value) -> Density {
    let ops = vec![
        Op::Observable(0),
        Op::Value(mean),
        Op::Sub(0, 1),
        Op::Value(sigma),
        Op::Div(2, 3),
        Op::Special(Special::Landau, 4),
    ];
    Density::Generic(Tape::new(ops).unwrap())
}

#[test]
fn convolutions_agree_with_closed_forms() {
    let exponential = || Density::Exponential { x: 0, slope: P(0) };
    let cases = [
        (
            "a Breit-Wigner density and a Gaussian",
            convolved(Density::BreitWigner { x: 0, mean: P(0), width: P(1) }, gauss(N(0.0), P(2))),
            Density::Voigt { x: 0, mean: P(0), width: P(1), sigma: P(2) },
            vec![9.0, 1.3, 0.7],
        ),
        (
            "an exponential and a Gaussian",
            convolved(exponential(), gauss(P(1), N(0.9))),
            exponential(),
            vec![0.2, 1.5],
        ),
        (
            "two Gaussians",
            convolved(gauss(P(0), N(0.75)), gauss(N(0.0), N(1.0))),
            gauss(P(0), N(1.25)),
            vec![7.0],
        ),
    ];
    for (what, numeric, closed, values) in cases {
        let ((a, at), (b, _)) = (of(numeric, &values), of(closed, &values));
        let ((nll, gradient, hessian), (want, slopes, bends)) = (evaluate(&a, &at), evaluate(&b, &at));
        // The value of an exponential's convolution differs by a factor, which the normalisation removes.
        assert!((nll - want).abs() < 1e-9 * want.abs(), "{what}: {nll} {want}");
        for (got, want) in gradient.iter().zip(&slopes).chain(hessian.iter().zip(&bends)) {
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what}: {got} {want}");
        }
    }
}

#[test]
fn convolutions_without_a_formula_have_exact_derivatives() {
    // A second derivative by the place of a kink would be as exact as the quadrature, about 1e-5.
    let tail = Some(Tail { alpha: N(1.1), n: N(2.5) });
    let ball = Density::CrystalBall {
        x: 0,
        mean: N(0.2),
        sigma_left: N(0.8),
        sigma_right: N(0.8),
        left: tail,
        right: None,
    };
    let cases = [
        ("Landau and Gauss", convolved(landau(P(0), P(1)), gauss(N(0.0), P(2))), vec![5.0, 1.0, 2.0]),
        (
            "Breit-Wigner and Crystal Ball",
            convolved(Density::BreitWigner { x: 0, mean: P(0), width: P(1) }, ball),
            vec![9.0, 1.4],
        ),
    ];
    for (what, density, values) in cases {
        let (model, at) = of(density, &values);
        let (_, gradient, hessian) = evaluate(&model, &at);
        check_derivatives(what, &model, &at, &gradient, &hessian);
    }
}

#[test]
fn a_projection_of_two_gaussians_is_a_gaussian() {
    // exp(-((x - y) / a)^2 / 2)
    let ops = vec![
        Op::Observable(0),
        Op::Observable(1),
        Op::Sub(0, 1),
        Op::Value(N(1.5)),
        Op::Div(2, 3),
        Op::Mul(4, 4),
        Op::Value(N(-0.5)),
        Op::Mul(5, 6),
        Op::Exp(7),
    ];
    let parts = vec![
        Density::Generic(Tape::new(ops).unwrap()),
        Density::Gaussian { x: 1, mean: P(0), sigma: N(2.0) },
    ];
    let own = Projection { x: 0, density: Density::Product(parts), hidden: vec![(-60.0, 60.0)] };
    let (a, at) = of(Density::Projection(Box::new(own)), &[7.0]);
    let (b, _) = of(gauss(P(0), N(2.5)), &[7.0]);
    let ((nll, gradient, hessian), (want, slopes, bends)) = (evaluate(&a, &at), evaluate(&b, &at));
    assert!((nll - want).abs() < 1e-9 * want.abs(), "{nll} {want}");
    assert!((gradient[0] - slopes[0]).abs() < 1e-7 * slopes[0].abs(), "{gradient:?} {slopes:?}");
    assert!((hessian[0] - bends[0]).abs() < 1e-7 * bends[0].abs(), "{hessian:?} {bends:?}");
}

/// Returns `value(t)` where `t = (x - P(0)) / P(1)` is between `low` and `high`, and 0 elsewhere.
fn cut((low, high): (f64, f64), value: impl Fn(usize) -> Vec<Op>) -> Density {
    let mut ops = vec![
        Op::Observable(0),
        Op::Value(P(0)),
        Op::Sub(0, 1),
        Op::Value(P(1)),
        Op::Div(2, 3),
        Op::Number(low),
    ];
    ops.extend([Op::Number(high), Op::LessEqual(5, 4), Op::LessEqual(4, 6), Op::And(7, 8), Op::Number(0.0)]);
    ops.extend(value(4));
    ops.push(Op::Select(9, ops.len() - 1, 10));
    Density::Generic(Tape::new(ops).unwrap())
}

/// Returns a density of `scripts/make_convolutions.py`, whose first two parameters are those of the model.
fn of_name(name: &str) -> Density {
    match name {
        "landau" => landau(P(0), P(1)),
        "crystal_ball" => Density::CrystalBall {
            x: 0,
            mean: P(0),
            sigma_left: P(1),
            sigma_right: P(1),
            left: Some(Tail { alpha: N(1.1), n: N(2.5) }),
            right: None,
        },
        "uniform" => cut((0.0, 1.0), |_| vec![Op::Number(1.0)]),
        "decay" => cut((0.0, f64::MAX), |t| vec![Op::Neg(t), Op::Exp(11)]),
        "parabola" => cut((-1.0, 1.0), |t| vec![Op::Mul(t, t), Op::Number(1.0), Op::Sub(12, 11)]),
        _ => two_peaks(),
    }
}

fn two_peaks() -> Density {
    let summands = vec![gauss(P(0), N(0.4)), gauss(N(12.0), P(1))];
    Density::Mixture { summands, coefficients: vec![N(0.3)] }
}

/// Values of `-ln L` from mpmath with 20 digits (`scripts/make_convolutions.py`).
#[test]
fn convolutions_with_a_gaussian_agree_with_twenty_digits() {
    for line in include_str!("convolutions.txt").lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        let (at, want) = (&numbers[..3], numbers[3]);
        let (model, _) = of(convolved(of_name(name), gauss(N(0.0), P(2))), at);
        let (nll, ..) = evaluate(&model, at);
        assert!((nll - want).abs() < 1e-9 * want.abs(), "{line}: {nll}");
    }
}

/// The convolution is far below the smallest double in a part of the axis, where no event is.
#[test]
fn convolutions_that_vanish_in_a_part_of_the_axis_are_sums_too() {
    let own =
        channel(&[(-10.0, 30.0)], false, vec![(N(1.0), convolved(landau(P(0), P(1)), gauss(N(0.1), P(2))))]);
    let other = convolved(landau(P(0), P(1)), gauss_with_a_comparison(N(0.1), P(2)));
    let other = channel(&[(-10.0, 30.0)], false, vec![(N(1.0), other)]);
    for (at, low, high) in
        [([20.0, 1.0, 0.1], 17.0, 30.0), ([5.0, 0.3, 0.2], 3.5, 30.0), ([5.0, 1.0, 0.4], -6.0, 28.0)]
    {
        let events: Vec<f64> = even(40, 0).into_iter().map(|u| low + (high - low) * u).collect();
        let with = |own: &ns_core::EventChannel| {
            let starts: Vec<(&str, f64, (f64, f64))> =
                at.iter().map(|&v| ("q", v, (-100.0, 100.0))).collect();
            evaluate(&model(&starts, vec![(own.clone(), table(vec![events.clone()]))]), &at)
        };
        let ((nll, gradient, hessian), (want, slopes, bends)) = (with(&own), with(&other));
        assert!((nll - want).abs() < 2e-9 * want.abs().max(1.0), "{at:?}: {nll} {want}");
        for (got, want) in gradient.iter().zip(&slopes).chain(hessian.iter().zip(&bends)) {
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{at:?}: {got} {want}");
        }
    }
}

/// Returns the Gaussian of the observable with a comparison that changes nothing. A density with a comparison is integrated at
/// each place of the table on its own, and one without it by sums over equally spaced places.
fn gauss_with_a_comparison(mean: Value, sigma: Value) -> Density {
    let ops = vec![
        Op::Observable(0),
        Op::Value(mean),
        Op::Sub(0, 1),
        Op::Value(sigma),
        Op::Div(2, 3),
        Op::Mul(4, 4),
        Op::Number(-0.5),
        Op::Mul(5, 6),
        Op::Exp(7),
        Op::Number(1e9),
        Op::Less(0, 9),
        Op::Number(0.0),
        Op::Select(10, 8, 11),
    ];
    Density::Generic(Tape::new(ops).unwrap())
}

#[test]
fn sums_over_equally_spaced_places_agree_with_integrals() {
    let narrow = |x| Density::JohnsonSu { x, mean: P(0), width: P(1), gamma: N(0.6), delta: N(1.1) };
    type Case<'a> = (&'a str, &'a dyn Fn() -> Density, [f64; 3]);
    let cases: [Case<'_>; 7] = [
        ("Landau and Gauss", &|| landau(P(0), P(1)), [5.0, 1.0, 2.0]),
        ("a narrow Landau and Gauss", &|| landau(P(0), P(1)), [5.0, 0.2, 2.0]),
        ("Landau and a narrow Gauss", &|| landau(P(0), P(1)), [-7.0, 1.5, 0.2]),
        ("far from the start of the axis", &|| landau(P(0), P(1)), [14.0, 0.5, 0.9]),
        (
            "Breit-Wigner and Gauss",
            &|| Density::BreitWigner { x: 0, mean: P(0), width: P(1) },
            [9.0, 1.3, 0.7],
        ),
        ("Johnson and Gauss", &|| narrow(0), [9.0, 0.8, 1.7]),
        ("two peaks and Gauss", &two_peaks, [3.0, 1.1, 0.8]),
    ];
    for (what, first, at) in cases {
        let (a, _) = of(convolved(first(), gauss(N(0.1), P(2))), &at);
        let (b, _) = of(convolved(first(), gauss_with_a_comparison(N(0.1), P(2))), &at);
        let ((nll, gradient, hessian), (want, slopes, bends)) = (evaluate(&a, &at), evaluate(&b, &at));
        assert!((nll - want).abs() < 2e-9 * want.abs().max(1.0), "{what}: {nll} {want}");
        for (got, want) in gradient.iter().zip(&slopes).chain(hessian.iter().zip(&bends)) {
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{what}: {got} {want}");
        }
    }
}
