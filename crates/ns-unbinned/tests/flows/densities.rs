//! Tests log-densities, derivatives, integrals and samples of flows.

use ns_core::random::{Stream, centred_uniform, normal_quantile, open_uniform};
use ns_unbinned::flow::{Base, FlowPdf, GradientMethod, LogProb};

use crate::{flow, folder, oracle, oracle_integral};

pub(crate) fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn log_densities_are_those_of_the_oracle() {
    for (name, bound) in [("peak", 1e-5), ("falling", 1e-5), ("tabled", 1e-5), ("plane", 1e-12)] {
        let (flow, of) = (flow(name), if name == "tabled" { "falling" } else { name });
        let (events, expected) = (oracle(of, "events"), oracle(of, "log_prob"));
        let mut found = vec![0.0; expected.len()];
        flow.log_prob(&events, &[], &mut found).unwrap();
        let difference = largest_difference(&found, &expected);
        assert!(difference < bound, "{name}: {difference:e}");
    }
}

#[test]
fn many_events_have_the_log_densities_of_few() {
    let flow = flow("plane");
    let events = oracle("plane", "events").repeat(120);
    let expected = oracle("plane", "log_prob").repeat(120);
    let mut found = vec![0.0; expected.len()];
    flow.log_prob(&events, &[], &mut found).unwrap();
    assert!(largest_difference(&found, &expected) < 1e-12);
}

#[test]
fn beyond_the_support_there_is_nothing() {
    let mut found = [0.0; 4];
    flow("falling").log_prob(&[99.9, 100.0, 160.0, 160.1], &[], &mut found).unwrap();
    assert_eq!((found[0], found[3]), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    assert!(found[1].is_finite() && found[2].is_finite());
}

#[test]
fn a_context_may_come_in_any_order_and_has_derivatives() {
    let events = oracle("shifted", "events");
    let (context, n) = (oracle("shifted", "context"), events.len());
    let (by_shift, by_stretch) = (oracle("shifted", "by_shift"), oracle("shifted", "by_stretch"));
    let swapped = [context[1], context[0]];
    for (name, names, given) in [
        ("shifted", ["shift", "stretch"], context.as_slice()),
        ("shifted", ["stretch", "shift"], &swapped),
        ("stepped", ["shift", "stretch"], &context),
        ("stepped", ["stretch", "shift"], &swapped),
    ] {
        let flow = FlowPdf::from_manifest(folder().join(format!("{name}.flow.json")), &names).unwrap();
        let (mut logs, mut gradient) = (vec![0.0; n], vec![0.0; 2 * n]);
        flow.log_prob(&events, given, &mut logs).unwrap();
        assert!(largest_difference(&logs, &oracle("shifted", "log_prob")) < 1e-12);
        let method = flow.context_gradient(&events, given, &mut gradient).unwrap();
        let bound = match method {
            GradientMethod::Graph => 1e-12,
            // The third derivative with respect to the stretch is 4 z^2, and |z| is below 7.
            GradientMethod::Differences(steps) => {
                assert_eq!(steps, [1e-3, 1e-3]);
                1e-6 / 6.0 * 4.0 * 49.0 * 1.01
            }
        };
        assert_eq!(bound < 1e-11, name == "shifted");
        let order = usize::from(names[0] != "shift");
        let column = |k: usize| gradient.iter().skip(k).step_by(2).copied().collect::<Vec<f64>>();
        assert!(largest_difference(&column(order), &by_shift) < bound, "{name} {names:?}");
        assert!(largest_difference(&column(1 - order), &by_stretch) < bound, "{name} {names:?}");
    }
}

#[test]
fn flows_are_normalised_and_integrals_of_boxes_are_those_of_the_oracle() {
    for (name, whole) in [
        ("peak", vec![(100.0, 160.0)]),
        ("falling", vec![(100.0, 160.0)]),
        ("plane", vec![(105.0, 145.0), (-8.0, 10.0)]),
    ] {
        let flow = flow(name);
        let all = flow.integral(&whole, &[]).unwrap();
        assert!((all.value - 1.0).abs() < 1e-3 && all.error < 1e-4, "{name}: {all:?}");
        let (sides, expected) = oracle_integral(name);
        let part = flow.integral(&sides, &[]).unwrap();
        // The oracle's distribution function of two normal numbers is accurate to about 1e-8.
        assert!((part.value - expected).abs() < 1e-6, "{name}: {part:?}, not {expected}");
        assert!(part.error < 1e-6, "{name}: {part:?}");
    }
}

#[test]
fn a_range_without_the_density_is_refused() {
    let error = flow("falling").integral(&[(10.0, 50.0)], &[]).unwrap_err().to_string();
    assert!(error.contains("its support lies outside"), "{error}");
    let error = flow("peak").integral(&[(150.0, 160.0)], &[]).unwrap_err().to_string();
    assert!(error.contains("holds nothing of it"), "{error}");
}

/// Returns the statistic of Kolmogorov and Smirnov. It is the largest distance between the empirical distribution
/// function of `samples` and the distribution function `probability`, times the square root of the number of
/// samples. If the samples follow `probability`, the result exceeds 2.3 with a probability of 5e-5.
fn distance(mut samples: Vec<f64>, probability: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let of = |(i, x): (usize, &f64)| {
        let p = probability(*x);
        (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
    };
    samples.iter().enumerate().map(of).fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn samples_follow_the_density() {
    const N: usize = 20_000;
    for name in ["peak", "falling", "plane"] {
        let flow = flow(name);
        let (base, numbers) = flow.base().unwrap();
        let stream = Stream::new(11, 0, 0);
        let number = |slot: usize| {
            let [a, b, ..] = stream.block(slot as u32, 0);
            match base {
                Base::Normal => normal_quantile(centred_uniform(a, b)),
                Base::Uniform => open_uniform(a, b),
            }
        };
        let z: Vec<f64> = (0..N * numbers).map(number).collect();
        let d = flow.dimension();
        let mut events = vec![0.0; N * d];
        flow.sample(&z, &[], &mut events).unwrap();
        // Marginal distribution of the first feature, as an integral of the density.
        let lowest = if name == "falling" { 100.0 } else { 100.0 + 1e-9 };
        let edges: Vec<f64> = (0..=60).map(|i| lowest + f64::from(i) * (160.0 - lowest) / 60.0).collect();
        let first: Vec<f64> = events.iter().step_by(d).copied().collect();
        if d == 1 {
            let parts: Vec<f64> = edges
                .windows(2)
                .map(|e| flow.integral(&[(e[0], e[1])], &[]).map_or(0.0, |i| i.value))
                .collect();
            let counts: Vec<f64> = edges
                .windows(2)
                .map(|e| first.iter().filter(|x| e[0] <= **x && **x < e[1]).count() as f64)
                .collect();
            let chi2: f64 = parts
                .iter()
                .zip(&counts)
                .filter(|(p, _)| **p * N as f64 > 10.0)
                .map(|(p, n)| (n - p * N as f64).powi(2) / (p * N as f64))
                .sum();
            let bins = parts.iter().filter(|p| **p * N as f64 > 10.0).count() as f64;
            assert!(chi2 < bins + 4.0 * (2.0 * bins).sqrt(), "{name}: chi2 {chi2} for {bins} bins");
        } else {
            // Both whitened features are standard normal.
            let normal = |z: f64| 0.5 * erfc(-z / 2.0_f64.sqrt());
            let whitened = |k: usize| -> Vec<f64> {
                let of = |row: &[f64]| {
                    let first = (row[0] - 125.0) / 2.0;
                    if k == 0 { first } else { (row[1] - 1.5 - 0.6 * first) / 0.5 }
                };
                events.chunks_exact(2).map(of).collect()
            };
            for k in 0..2 {
                let distance = distance(whitened(k), normal);
                assert!(distance < 2.3, "{name}, feature {k}: {distance}");
            }
        }
    }
}

/// Returns the complementary error function, accurate to 1e-9, from a continued fraction and a series. It serves as
/// an independent oracle.
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            let n = f64::from(n);
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    let mut fraction = 0.0;
    for k in (1..60).rev() {
        fraction = 0.5 * f64::from(k) / (x + fraction);
    }
    (-x * x).exp() / std::f64::consts::PI.sqrt() / (x + fraction)
}
