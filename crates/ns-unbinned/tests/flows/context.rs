//! Tests derivatives of log-densities and integrals with respect to the context of a flow.

use ns_unbinned::flow::{FlowPdf, GradientMethod, LogProb};

use crate::densities::largest_difference;
use crate::{folder, oracle, oracle_integral};

fn load(name: &str, context: &[&str]) -> FlowPdf {
    FlowPdf::from_manifest(folder().join(format!("{name}.flow.json")), context).unwrap()
}

/// Returns the logarithm of a normal density with the mean `125 + shift` and the width `2 exp(stretch)`, its two
/// first derivatives, and its three second derivatives with respect to `shift` and `stretch`. The formulae were
/// derived by hand, and the columns have the order of the results of a flow.
fn normal(events: &[f64], shift: f64, stretch: f64) -> [Vec<f64>; 6] {
    let w = 2.0 * stretch.exp();
    let all = |f: &dyn Fn(f64) -> f64| events.iter().map(|x| f((x - 125.0 - shift) / w)).collect();
    let constant = (2.0 * std::f64::consts::PI).sqrt().ln() + w.ln();
    [
        all(&|z| -0.5 * z * z - constant),
        all(&|z| z / w),
        all(&|z| z * z - 1.0),
        all(&|_| -1.0 / (w * w)),
        all(&|z| -2.0 * z / w),
        all(&|z| -2.0 * z * z),
    ]
}

#[test]
fn derivatives_are_those_of_the_formula_in_any_order_of_the_context() {
    let events = oracle("shifted", "events");
    let context = oracle("shifted", "context");
    let (n, expected) = (events.len(), normal(&events, context[0], context[1]));
    // Bounds of values, first and second derivatives. `|z|` is below 7, so that the fourth derivative by the stretch is
    // below 8 * 49, and differences with steps of 1e-3 are good to 1e-6 / 12 of it. Rounding errors of 1e-15 * 25 are
    // divided by the square of the step. With 32 bits, `z` has an error of about 1e-5.
    for (name, bounds) in
        [("shifted", [1e-12, 1e-12, 1e-6]), ("stepped", [1e-12, 4e-5, 1e-4]), ("rounded", [1e-4, 1e-4, 2e-2])]
    {
        for (names, order) in
            [(["shift", "stretch"], [0, 1, 2, 3, 4, 5]), (["stretch", "shift"], [0, 2, 1, 5, 4, 3])]
        {
            let flow = load(name, &names);
            assert_eq!(flow.context(), names);
            let given = if names[0] == "shift" { context.clone() } else { vec![context[1], context[0]] };
            let mut found = vec![0.0; 6 * n];
            flow.context_derivatives(&events, &given, &mut found).unwrap();
            for (column, (found, of)) in found.chunks_exact(n).zip(order).enumerate() {
                let bound = bounds[[0, 1, 1, 2, 2, 2][column]];
                let difference = largest_difference(found, &expected[of]);
                assert!(difference < bound, "{name} {names:?}, column {column}: {difference:e}");
            }
        }
    }
}

#[test]
fn a_spline_with_context_has_the_derivatives_of_the_oracle() {
    let flow = load("tilted", &["tilt"]);
    let (events, context) = (oracle("tilted", "events"), oracle("tilted", "context"));
    assert_eq!(flow.gradient_method(), Some(GradientMethod::Differences(vec![1e-3])));
    let n = events.len();
    let mut found = vec![0.0; 3 * n];
    flow.context_derivatives(&events, &context, &mut found).unwrap();
    for (column, (key, bound)) in
        [("log_prob", 1e-12), ("by_tilt", 1e-6), ("by_tilt_twice", 1e-5)].into_iter().enumerate()
    {
        let difference = largest_difference(&found[column * n..(column + 1) * n], &oracle("tilted", key));
        assert!(difference < bound, "{key}: {difference:e}");
    }
    // Outside of the support there is nothing to derive.
    let mut found = [f64::NAN; 3];
    flow.context_derivatives(&[99.0], &context, &mut found).unwrap();
    assert_eq!(found, [f64::NEG_INFINITY, 0.0, 0.0]);
}

#[test]
fn integrals_have_derivatives_by_the_context() {
    for name in ["shifted", "stepped", "tilted"] {
        let of = if name == "tilted" { "tilted" } else { "shifted" };
        let flow = FlowPdf::load(folder().join(format!("{name}.flow.json"))).unwrap();
        let (sides, expected) = oracle_integral(of);
        let context = oracle(of, "context");
        let at = |context: &[f64]| flow.integral(&sides, context).unwrap();
        let whole = at(&context);
        assert!((whole.value - expected).abs() < 1e-7, "{name}: {whole:?}");
        let c = context.len();
        let mut found = vec![0.0; 1 + c + c * (c + 1) / 2];
        flow.integral_derivatives(&sides, whole.panels, &context, &mut found).unwrap();
        assert!((found[0] - whole.value).abs() < 1e-14);
        if name == "tilted" {
            let exact = oracle("tilted", "integral_by_tilt");
            assert!((found[1] - exact[0]).abs() < 1e-6 && (found[2] - exact[1]).abs() < 1e-5, "{found:?}");
            continue;
        }
        for k in 0..c {
            let moved = |by: f64| {
                let mut moved = context.clone();
                moved[k] += by;
                let mut found = vec![0.0; 6];
                flow.integral_derivatives(&sides, whole.panels, &moved, &mut found).unwrap();
                found
            };
            let (up, down) = (moved(1e-4), moved(-1e-4));
            let slope = |component: usize| (up[component] - down[component]) / 2e-4;
            assert!((found[1 + k] - slope(0)).abs() < 2e-6, "{name}: {found:?} {}", slope(0));
            for l in 0..c {
                let at = 3 + k.max(l) * (k.max(l) + 1) / 2 + k.min(l);
                assert!((found[at] - slope(1 + l)).abs() < 1e-5, "{name} {k} {l}: {found:?}");
            }
        }
    }
}

#[test]
fn samples_follow_the_density_at_their_context() {
    let n = 4000;
    for (name, context) in [("shifted", vec![0.7, -0.2]), ("rounded", vec![-0.4, 0.3]), ("tilted", vec![0.3])]
    {
        let flow = FlowPdf::load(folder().join(format!("{name}.flow.json"))).unwrap();
        let stream = ns_core::random::Stream::new(3, 0, 0);
        let z: Vec<f64> = (0..n)
            .map(|slot| {
                let [a, b, ..] = stream.block(slot, 0);
                match name {
                    "tilted" => ns_core::random::open_uniform(a, b),
                    _ => ns_core::random::normal_quantile(ns_core::random::centred_uniform(a, b)),
                }
            })
            .collect();
        let mut events = vec![0.0; z.len()];
        flow.sample(&z, &context, &mut events).unwrap();
        let part = events.iter().filter(|x| (110.0..126.0).contains(*x)).count() as f64 / f64::from(n);
        let p = flow.integral(&[(110.0, 126.0)], &context).unwrap().value;
        assert!((part - p).abs() < 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{name}: {part} {p}");
    }
}
