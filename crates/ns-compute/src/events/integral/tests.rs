//! Compares integrals with closed forms, and with integrals that were computed with 30 digits (mpmath), or with 14 digits
//! by Gauss rules on many equal parts of the box.

use std::f64::consts::{PI, TAU};

use super::super::conditional::ContextNumber;
use super::super::densities::multivariate;
use super::super::program::{Builder, Program, Slot, Step, Unary, pair};
use super::{Integral, NormalIntegral, Purpose, Rule, edges};
use crate::simd::Level;

/// Value and derivatives of an integral, and its relative error.
type Found = (Vec<f64>, f64);

fn evaluate(rule: Rule, variables: &[f64]) -> Found {
    let all = (0..variables.len()).collect();
    let integral = Integral {
        rule,
        variables: all,
        purpose: Purpose::Normalisation,
        process: 0,
        observables: vec![0],
        known_error: 0.0,
    };
    let (mut memory, mut out) = (integral.memory(), vec![0.0; integral.size()]);
    integral.evaluate(Level::detect(), variables, &mut memory, &mut out);
    (out, integral.error(&memory))
}

fn program(variables: usize, build: impl Fn(&mut Builder) -> Slot) -> Program {
    let mut b = Builder::default();
    let result = build(&mut b);
    b.finish(result, variables, &[])
}

/// Integrates a formula over a box.
fn integrate(sides: &[(f64, f64)], variables: &[f64], build: impl Fn(&mut Builder) -> Slot) -> Found {
    let program = program(variables.len(), build);
    let edges = edges(&program, sides, Purpose::Normalisation);
    evaluate(Rule::Numeric(program, edges), variables)
}

fn x(b: &mut Builder, observable: usize) -> Slot {
    b.push(Step::Observable(observable))
}

/// `exp(-((x - mean) / sigma)^2 / 2)`, with two variables of the program.
fn gaussian(b: &mut Builder, observable: usize, mean: usize, sigma: usize) -> Slot {
    let (x, mean, sigma) = (x(b, observable), b.push(Step::Variable(mean)), b.push(Step::Variable(sigma)));
    let distance = b.sub(x, mean);
    let t = b.div(distance, sigma);
    let square = b.mul(t, t);
    let exponent = b.scale(-0.5, square);
    b.unary(Unary::Exp, exponent)
}

/// `|x - at|^-p`.
fn pole(b: &mut Builder, at: f64, p: f64) -> Slot {
    let (x, at) = (x(b, 0), b.number(at));
    let distance = b.sub(x, at);
    let size = b.unary(Unary::Abs, distance);
    b.unary(Unary::Power(-p), size)
}

fn assert_near(what: &str, found: &Found, want: f64, tolerance: f64) {
    let off = (found.0[0] / want - 1.0).abs();
    assert!(off <= tolerance, "{what}: {} {want}, {off:.1e} off", found.0[0]);
    assert!(off <= 3.0 * found.1 + 1e-11, "{what}: {off:.1e} off, error {:.1e}", found.1);
}

#[test]
fn a_peak_of_any_width_is_found_between_the_nodes() {
    for d in 1..=3 {
        let sides = vec![(-10.0, 10.0); d];
        for width in [1.0, 1e-2, 1e-4, 1e-5] {
            for mean in [0.0, 0.371_23, -7.3] {
                let found = integrate(&sides, &[mean, width], |b| {
                    (1..d).fold(gaussian(b, 0, 0, 1), |product, k| {
                        let factor = gaussian(b, k, 0, 1);
                        b.mul(product, factor)
                    })
                });
                let erf = |t: f64| libm::erf(t / width / std::f64::consts::SQRT_2);
                let one = 0.5 * TAU.sqrt() * width * (erf(10.0 - mean) + erf(10.0 + mean));
                let what = format!("{d} observables, width {width}, mean {mean}");
                assert_near(&what, &found, one.powi(d as i32), 1e-8);
                // The derivative by the width is d / width times the integral, if the ends are far away.
                if width < 0.1 {
                    let slope = found.0[2] * width / found.0[0];
                    assert!((slope - d as f64).abs() < 1e-6, "{what}: slope {slope}");
                }
            }
        }
    }
}

#[test]
fn a_narrow_peak_on_a_background_is_found() {
    for (d, width) in [(1, 5e-7), (1, 5e-4), (2, 1e-4), (3, 1e-3)] {
        let sides = vec![(-10.0, 10.0); d];
        let peak = (TAU.sqrt() * width).powi(d as i32);
        // A hundredth of the integral is background.
        let level = 0.01 * peak / 20_f64.powi(d as i32);
        let found = integrate(&sides, &[0.436_9, width], |b| {
            let peak = (1..d).fold(gaussian(b, 0, 0, 1), |product, k| {
                let factor = gaussian(b, k, 0, 1);
                b.mul(product, factor)
            });
            let level = b.number(level);
            b.add(peak, level)
        });
        assert_near(&format!("{d} {width}"), &found, 1.01 * peak, 1e-8);
    }
}

#[test]
fn an_error_is_seen_where_the_difference_of_the_rules_is_zero_by_chance() {
    for (width, mean) in [
        (0.1, 0.2265),
        (0.14, 0.2385),
        (0.14, 0.3955),
        (0.16, 0.083),
        (0.16, 0.248),
        (0.16, 0.412),
        (0.18, 0.0865),
    ] {
        let found = integrate(&[(-1.0, 1.0); 2], &[mean, width], |b| {
            let (first, second) = (gaussian(b, 0, 0, 1), gaussian(b, 1, 0, 1));
            b.mul(first, second)
        });
        let erf = |t: f64| libm::erf(t / width / std::f64::consts::SQRT_2);
        let one = 0.5 * TAU.sqrt() * width * (erf(1.0 - mean) + erf(1.0 + mean));
        assert_near(&format!("width {width}, mean {mean}"), &found, one * one, 1e-10);
    }
    // At the second mean the Gauss rule and the Kronrod rule agree for the whole box.
    for (mean, want) in [
        (0.1262, 5.841_995_822_903_89e-3),
        (0.126_688, 5.822_571_146_976_645e-3),
        (0.1272, 5.801_532_492_110_237e-3),
    ] {
        let covariance: [&[f64]; 3] = [
            &[0.108_456_101, -0.006_851_454_78, 0.002_014_808_71],
            &[-0.006_851_454_78, 0.004_415_367_19, 0.000_372_107_102],
            &[0.002_014_808_71, 0.000_372_107_102, 0.000_512_944_283],
        ];
        let sides = [(0.0, 1.428), (0.0, 1.0), (0.0, 0.1582)];
        let found = normal(&sides, &[0.880_634, 0.461_737, mean], &covariance);
        assert_near(&format!("mean {mean}"), &found, want, 1e-10);
    }
}

#[test]
fn a_narrow_ridge_is_found() {
    for (rho, width) in [(0.9, 1.0), (0.9, 1e-4), (-0.99, 1e-2), (0.999, 1e-3)] {
        let found = integrate(&[(-10.0, 10.0); 2], &[width, rho], |b| {
            let (sigma, rho, centre) =
                (b.push(Step::Variable(0)), b.push(Step::Variable(1)), b.number(0.371_23));
            let mut standard = |observable: usize| {
                let x = x(b, observable);
                let distance = b.sub(x, centre);
                b.div(distance, sigma)
            };
            let (u, v) = (standard(0), standard(1));
            let (uu, vv, uv) = (b.mul(u, u), b.mul(v, v), b.mul(u, v));
            let cross = b.mul(rho, uv);
            let cross = b.scale(2.0, cross);
            let sum = b.add(uu, vv);
            let form = b.sub(sum, cross);
            let (one, square) = (b.number(1.0), b.mul(rho, rho));
            let rest = b.sub(one, square);
            let form = b.div(form, rest);
            let exponent = b.scale(-0.5, form);
            b.unary(Unary::Exp, exponent)
        });
        let want = TAU * width * width * (1.0 - rho * rho).sqrt();
        assert_near(&format!("{rho} {width}"), &found, want, 1e-9);
    }
}

#[test]
fn an_infinite_integral_is_infinite() {
    for p in [1.0, 1.5, 2.0, 3.0] {
        for at in [0.0, 3.1, -10.0, 2.5, 1.0 / 3.0, -0.123_456, std::f64::consts::E, -7.77, 9.99] {
            let (out, _) = integrate(&[(-10.0, 10.0)], &[], |b| pole(b, at, p));
            assert_eq!(out[0], f64::INFINITY, "|x - {at}|^-{p}");
        }
    }
    let unary = |function: Unary, sides: (f64, f64)| {
        integrate(&[sides], &[], |b| {
            let x = x(b, 0);
            b.unary(function, x)
        })
    };
    assert_eq!(unary(Unary::Tan, (0.0, 3.0)).0[0], f64::INFINITY);
    assert_eq!(unary(Unary::Reciprocal, (-10.0, 10.0)).0[0], f64::INFINITY);
    assert_eq!(unary(Unary::Reciprocal, (0.0, 1.0)).0[0], f64::INFINITY);
    let (plane, _) = integrate(&[(-1.0, 1.0); 2], &[], |b| {
        let (x, y) = (x(b, 0), x(b, 1));
        let (xx, yy) = (b.mul(x, x), b.mul(y, y));
        let sum = b.add(xx, yy);
        b.unary(Unary::Reciprocal, sum)
    });
    assert_eq!(plane[0], f64::INFINITY);
}

#[test]
fn a_pole_that_can_be_integrated_is_integrated_or_says_its_error() {
    for p in [0.25, 0.5, 0.75, 0.9] {
        let found = integrate(&[(-10.0, 10.0)], &[], |b| pole(b, 0.0, p));
        assert_near(&format!("|x|^-{p}"), &found, 2.0 * 10_f64.powf(1.0 - p) / (1.0 - p), 1e-10);
        let found = integrate(&[(-10.0, 10.0)], &[], |b| pole(b, 3.1, p));
        let want = (6.9_f64.powf(1.0 - p) + 13.1_f64.powf(1.0 - p)) / (1.0 - p);
        assert_near(&format!("|x - 3.1|^-{p}"), &found, want, 0.1);
    }
    let logarithm = integrate(&[(0.0, 1.0)], &[], |b| {
        let x = x(b, 0);
        let log = b.unary(Unary::Ln, x);
        b.unary(Unary::Neg, log)
    });
    assert_near("-ln x", &logarithm, 1.0, 1e-10);
    let sinc = integrate(&[(-10.0, 10.0)], &[], |b| {
        let x = x(b, 0);
        let sine = b.unary(Unary::Sin, x);
        b.div(sine, x)
    });
    assert_near("sin x / x", &sinc, 3.316_695_188_437_748, 1e-10);
}

#[test]
fn a_step_between_the_nodes_is_found() {
    for width in [1.0, 1e-3, 1e-5] {
        let found = integrate(&[(-10.0, 10.0)], &[], |b| {
            let (x, centre, width) = (x(b, 0), b.number(3.1), b.number(width));
            let distance = b.sub(x, centre);
            let size = b.unary(Unary::Abs, distance);
            let inside = b.push(Step::Less(size, width));
            let (one, zero) = (b.number(1.0), b.number(0.0));
            b.push(Step::Select(inside, one, zero))
        });
        assert_near(&format!("width {width}"), &found, 2.0 * width, 1e-7);
    }
}

#[test]
fn an_oscillation_faster_than_the_nodes_is_integrated() {
    let found = integrate(&[(-10.0, 10.0)], &[], |b| {
        let x = x(b, 0);
        let fast = b.scale(500.0, x);
        let sine = b.unary(Unary::Sin, fast);
        b.mul(sine, sine)
    });
    assert_near("sin^2", &found, 10.0 - 10_000_f64.sin() / 1000.0, 1e-10);
}

#[test]
fn a_peak_hardly_wider_than_neighbouring_numbers_says_its_error() {
    let (out, error) = integrate(&[(-10.0, 10.0)], &[0.3, 1e-13], |b| gaussian(b, 0, 0, 1));
    let off = (out[0] / (TAU.sqrt() * 1e-13) - 1.0).abs();
    assert!(error > 1e-6 && off < 10.0 * error, "{off:.1e} {error:.1e}");
}

/// Returns the integral of a multivariate normal density over a box. The variables are the means, then the covariance
/// matrix, row by row.
fn normal(sides: &[(f64, f64)], mean: &[f64], covariance: &[&[f64]]) -> Found {
    let n = mean.len();
    let variables: Vec<f64> = mean.iter().copied().chain(covariance.concat()).collect();
    let mut b = Builder::default();
    let slots: Vec<Slot> = (0..variables.len()).map(|i| b.push(Step::Variable(i))).collect();
    let numbers = (
        (0..n).map(ContextNumber::Variable).collect(),
        (0..n).map(|i| ContextNumber::Variable(n + i * n + i)).collect(),
    );
    let mut program = |order: &[usize], cut: usize| {
        let mut b = b.clone();
        let result = multivariate::integrand(&mut b, &slots, (order, cut), sides);
        b.finish(result, variables.len(), &[])
    };
    let rule =
        Rule::Normal(NormalIntegral::new(sides.to_vec(), numbers, Purpose::Normalisation, &mut program));
    evaluate(rule, &variables)
}

/// A box, the mean and the covariance of a normal density, and its integral.
type NormalCase<'a> = (&'a [(f64, f64)], &'a [f64], &'a [&'a [f64]], f64);

#[test]
fn normal_densities_over_boxes_agree_with_many_digits() {
    let cases: [NormalCase<'_>; 6] = [
        (&[(-0.5, 1.2), (-1.0, 3.0)], &[0.3, -0.2], &[&[1.0, 1.8], &[1.8, 4.0]], 2.487_620_823_228_264_08),
        (
            &[(-0.5, 1.2), (-1.0, 3.0)],
            &[0.3, -0.2],
            &[&[1.0, -1.98], &[-1.98, 4.0]],
            0.786_308_038_053_604_817,
        ),
        (&[(4.0, 6.0), (3.0, 9.0)], &[0.0, 0.0], &[&[1.0, 0.5], &[0.5, 1.0]], 2.665_100_130_039_288_5e-5),
        (
            &[(0.0, 1.0), (0.0, 1.0)],
            &[0.02, 0.01],
            &[&[1e-4, 0.9e-4], &[0.9e-4, 1e-4]],
            2.303_574_874_814_794_45e-4,
        ),
        (
            &[(-1.0, 2.0), (-2.0, 1.5), (-0.7, 1.1)],
            &[0.1, -0.3, 0.2],
            &[&[1.0, 0.3, 0.2], &[0.3, 2.0, -0.4], &[0.2, -0.4, 0.5]],
            7.043_241_651_636_261_61,
        ),
        // The box holds all of the density: (2 pi)^(3/2) sqrt(det C).
        (
            &[(-1000.0, 1000.0); 3],
            &[1.0, 0.7, 2.0],
            &[&[1.0, 0.2, 0.3], &[0.2, 2.0, 0.6], &[0.3, 0.6, 3.0]],
            15.749_609_945_722_419 * 5.412_f64.sqrt(),
        ),
    ];
    for (sides, mean, covariance, want) in cases {
        let found = normal(sides, mean, covariance);
        assert_near(&format!("{sides:?}"), &found, want, 1e-12);
        // Derivatives are compared with differences.
        let n = mean.len();
        let all: Vec<f64> = mean.iter().copied().chain(covariance.concat()).collect();
        let at = |values: &[f64]| {
            let rows: Vec<&[f64]> = values[n..].chunks(n).collect();
            normal(sides, &values[..n], &rows).0
        };
        for p in 0..all.len() {
            let h = 1e-4 * covariance[p % n][p % n].sqrt().min(covariance[p % n][p % n]);
            let moved = |step: f64| {
                let mut values = all.clone();
                values[p] += step;
                at(&values)
            };
            let [a, b, c, d] = [moved(h), moved(-h), moved(0.5 * h), moved(-0.5 * h)];
            // Richardson's extrapolation of two central differences.
            let slope = |i: usize| (4.0 * (c[i] - d[i]) / h - (a[i] - b[i]) / (2.0 * h)) / 3.0;
            let scale = found.0[0] / h * 1e-4;
            let (got, want) = (found.0[1 + p], slope(0));
            assert!((got - want).abs() < 1e-6 * scale, "{sides:?} {p}: {got} {want}");
            let (got, want) = (found.0[pair(all.len(), p, p)], slope(1 + p));
            assert!((got - want).abs() < 1e-6 * (scale / h * 1e-4), "{sides:?} {p} twice: {got} {want}");
        }
    }
}

#[test]
fn observables_whose_box_holds_the_density_drop_out() {
    let covariance: [&[f64]; 3] = [&[1.0, 0.6, 0.3], &[0.6, 1.0, 0.5], &[0.3, 0.5, 1.0]];
    let wide = normal(&[(-30.0, 0.5), (-40.0, 25.0), (0.2, 50.0)], &[0.0; 3], &covariance);
    let two = normal(&[(-30.0, 0.5), (0.2, 50.0)], &[0.0; 2], &[&[1.0, 0.3], &[0.3, 1.0]]);
    // det C / det C of the two = 1 - r' R^-1 r.
    let determinant = 1.0 - (0.36 - 2.0 * 0.6 * 0.5 * 0.3 + 0.25) / 0.91;
    let want = two.0[0] * (TAU * determinant).sqrt();
    assert_near("three", &wide, want, 1e-12);
    let one = normal(&[(-50.0, 50.0), (-50.0, 0.0)], &[0.0; 2], &[&[1.0, 0.9], &[0.9, 1.0]]);
    assert_near("half", &one, PI * 0.19_f64.sqrt(), 1e-14);
    assert_eq!(one.1, 0.0);
}
