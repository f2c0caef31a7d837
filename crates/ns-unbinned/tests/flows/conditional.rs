//! Tests fits and toys of models whose parameters are the context of flows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ns_core::{
    Base, BoxIntegral, Control, Data, Density, EvaluationRequest, Execution, GradientMethod, LogProb,
    LogProbError, Model, Session, SharedLogProb,
};
use ns_inference::{FitOptions, FitResult, fit, open_session};
use serde_json::{Value, json};

use crate::fits::{assert_pulls, best, try_model};

const MORE: [&str; 2] = ["shift", "stretch"];

/// Returns a model of the fixtures whose signal is a flow with the parameters `shift` and `stretch`. `change` can
/// change the JSON of the model.
fn try_conditional(manifest: &str, change: impl Fn(&mut Value)) -> Result<Model, String> {
    try_model("conditional", |tree| {
        tree["distributions"][0]["manifest"] = json!(manifest);
        change(tree);
    })
}

fn conditional(manifest: &str, change: impl Fn(&mut Value)) -> Model {
    try_conditional(manifest, change).unwrap()
}

/// Returns the model of [`conditional`] with a Gaussian signal in place of the flow. Formulae give its mean and
/// width.
fn formula(change: impl Fn(&mut Value)) -> Model {
    try_model("conditional", |tree| {
        change(tree);
        tree["distributions"][0] =
            json!({"name": "signal", "type": "gaussian_dist", "x": "m", "mean": "mean", "sigma": "width"});
        tree["functions"].as_array_mut().unwrap().extend([
            json!({"name": "mean", "type": "generic_function", "expression": "125 + shift"}),
            json!({"name": "width", "type": "generic_function", "expression": "2*exp(stretch)"}),
        ]);
    })
    .unwrap()
}

/// Adds a constraint on the width of the signal, event weights that vary, and two fit ranges. One of the ranges
/// begins within the peak of the signal.
fn everything(tree: &mut Value) {
    tree["distributions"].as_array_mut().unwrap().push(
        json!({"name": "width_term", "type": "gaussian_dist", "x": "stretch", "mean": 0.05, "sigma": 0.1}),
    );
    tree["likelihoods"][0]["aux_distributions"] = json!(["efficiency_term", "width_term"]);
    tree["likelihoods"][0]["nextstat.ranges"] = json!({"m": [[100, 123], [124, 160]]});
    let n = tree["data"][0]["entries"].as_array().unwrap().len();
    tree["data"][0]["weights"] =
        (0..n).map(|i| json!(0.5 + (i * 37 % 100) as f64 / 100.0)).collect::<Vec<_>>().into();
}

fn session(model: &Model, threads: usize) -> Box<dyn Session> {
    open_session(model, &Execution { threads, ..Execution::default() }).unwrap()
}

/// Returns the value, the gradient and the Hessian of `-ln L`. The parameters in `moved` have the given values, and
/// all other parameters have their start values.
fn at(model: &Model, moved: &[(&str, f64)]) -> (f64, Vec<f64>, Vec<f64>) {
    let point: Vec<f64> = (model.parameters.iter())
        .map(|p| moved.iter().find(|(name, _)| *name == p.name).map_or(p.init, |(_, x)| *x))
        .collect();
    let request = EvaluationRequest { nll: true, gradient: true, hessian: true, ..Default::default() };
    let data = Data::from(model.observed.clone());
    let found = session(model, 1).evaluate(&data, &point, request).unwrap();
    (found.nll[0], found.gradient, found.hessian)
}

#[test]
fn value_gradient_and_curvature_are_those_of_the_formula() {
    let point = [("shift", 0.4), ("stretch", -0.15), ("mu", 1.3), ("slope", 0.025)];
    // Bounds relative to the size of -ln L, and to the curvature.
    for (manifest, first, second) in [
        ("shifted.flow.json", 1e-11, 1e-6),
        ("stepped.flow.json", 1e-6, 1e-5),
        ("rounded.flow.json", 1e-6, 1e-3),
    ] {
        let exact = at(&formula(everything), &point);
        let found = at(&conditional(manifest, everything), &point);
        let n = exact.1.len();
        let size = |i: usize| exact.2[i * n + i].abs().sqrt().max(1.0);
        let bound = if manifest.starts_with("rounded") { 1e-7 } else { 1e-9 };
        assert!((found.0 - exact.0).abs() < bound * exact.0.abs(), "{manifest}: {} {}", found.0, exact.0);
        for i in 0..n {
            let difference = (found.1[i] - exact.1[i]).abs();
            assert!(difference < first * 1e3 * size(i), "{manifest} {i}: {} {}", found.1[i], exact.1[i]);
            for j in 0..n {
                let (a, b) = (found.2[i * n + j], exact.2[i * n + j]);
                assert!((a - b).abs() < second * size(i) * size(j), "{manifest} {i} {j}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_fit_recovers_yields_and_context_and_says_how_it_derives() {
    for (manifest, method, steps) in [
        ("shifted.flow.json", "graph", vec![]),
        ("stepped.flow.json", "differences", vec![1e-3, 1e-3]),
        ("rounded.flow.json", "graph", vec![]),
    ] {
        let found = best(&conditional(manifest, |_| {}));
        assert!(found.converged, "{manifest}: {}", found.termination_reason);
        assert!(found.edm.unwrap() < 1e-6, "{manifest}: {:?}", found.edm);
        for (name, truth) in
            [("mu", 1.0), ("n_background", 1500.0), ("slope", 0.03), ("shift", 0.0), ("stretch", 0.0)]
        {
            let pull = (found.value(name).unwrap() - truth) / found.uncertainty(name).unwrap();
            assert!(pull.abs() < 4.0, "{manifest} {name}: {pull}");
        }
        let said = &found.context_gradients;
        assert_eq!((said.len(), said[0].method.as_str(), said[0].steps.clone()), (1, method, steps));
        assert_eq!(
            (said[0].channel.as_str(), said[0].context.clone()),
            ("SR", MORE.map(String::from).to_vec())
        );
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["context_gradients"][0]["method"], method);
    }
    // A flow without context has nothing to say.
    let plain = serde_json::to_value(best(&try_model("search", |_| {}).unwrap())).unwrap();
    assert!(plain.get("context_gradients").is_none());
}

fn assert_same(a: &FitResult, b: &FitResult, fraction: f64) {
    assert!(a.converged && b.converged, "{} {}", a.termination_reason, b.termination_reason);
    for name in &b.parameter_names {
        let Some(sigma) = b.uncertainty(name) else { continue };
        let distance = (a.value(name).unwrap() - b.value(name).unwrap()).abs() / sigma;
        let other = (a.uncertainty(name).unwrap() / sigma - 1.0).abs();
        assert!(distance < fraction && other < fraction, "{name}: {distance:e} {other:e}");
    }
}

#[test]
fn constraints_weights_and_cut_ranges_give_the_fit_of_the_formula() {
    for change in [(|_| {}) as fn(&mut Value), everything] {
        let exact = best(&formula(change));
        assert_same(&best(&conditional("shifted.flow.json", change)), &exact, 1e-4);
        assert_same(&best(&conditional("stepped.flow.json", change)), &exact, 1e-4);
        assert_same(&best(&conditional("rounded.flow.json", change)), &exact, 5e-3);
    }
}

#[test]
fn a_context_may_be_numbers_formulas_and_one_parameter_twice() {
    let with = |tree: &mut Value| {
        let both = json!({"name": "both", "type": "generic_function", "expression": "0.3*shift + 0.1"});
        tree["functions"].as_array_mut().unwrap().push(both);
        tree["distributions"][0]["context"] = json!(["both", "shift"]);
        // A second signal of a fixed shape, and a flow without context.
        let fixed = json!({"name": "fixed", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "shifted.flow.json", "context": [9, 0.5]});
        let column = json!({"name": "column", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "falling.flow.json"});
        tree["distributions"].as_array_mut().unwrap().extend([fixed, column]);
        tree["distributions"][2]["summands"] = json!(["signal", "background", "fixed", "column"]);
        tree["distributions"][2]["coefficients"] = json!(["n_signal", "n_background", 20, 30]);
        let axes = tree["domains"][0]["axes"].as_array_mut().unwrap();
        axes.retain(|axis| axis["name"] != "stretch");
        tree["parameter_points"][0]["parameters"].as_array_mut().unwrap().retain(|p| p["name"] != "stretch");
    };
    let model = conditional("shifted.flow.json", with);
    let exact = try_model("conditional", |tree| {
        with(tree);
        let normal = |name: &str, mean: Value, width: Value| {
            json!({"name": name, "type": "gaussian_dist", "x": "m", "mean": mean, "sigma": width})
        };
        tree["distributions"][0] = normal("signal", json!("mean"), json!("width"));
        tree["distributions"][4] = normal("fixed", json!(134), json!(2.0 * 0.5_f64.exp()));
        tree["functions"].as_array_mut().unwrap().extend([
            json!({"name": "mean", "type": "generic_function", "expression": "125 + both"}),
            json!({"name": "width", "type": "generic_function", "expression": "2*exp(shift)"}),
        ]);
    })
    .unwrap();
    assert_same(&best(&model), &best(&exact), 1e-4);
    assert_eq!(model.observed.events[0].columns.len(), 2);
}

/// A flow that counts how often its derivatives with respect to the context are evaluated.
#[derive(Debug)]
struct Counting {
    flow: Arc<dyn LogProb>,
    evaluations: AtomicUsize,
}

impl LogProb for Counting {
    fn name(&self) -> &str {
        self.flow.name()
    }
    fn dimension(&self) -> usize {
        self.flow.dimension()
    }
    fn context(&self) -> &[String] {
        self.flow.context()
    }
    fn gradient_method(&self) -> Option<GradientMethod> {
        self.flow.gradient_method()
    }
    fn rounding(&self) -> f64 {
        self.flow.rounding()
    }
    fn support(&self) -> &[(f64, f64)] {
        self.flow.support()
    }
    fn digest(&self) -> &str {
        self.flow.digest()
    }
    fn log_prob(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        self.flow.log_prob(events, context, out)
    }
    fn context_gradient(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<GradientMethod, LogProbError> {
        self.flow.context_gradient(events, context, out)
    }
    fn context_derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        self.flow.context_derivatives(events, context, out)
    }
    fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError> {
        self.flow.integral(sides, context)
    }
    fn integral_derivatives(
        &self,
        sides: &[(f64, f64)],
        panels: usize,
        context: &[f64],
        out: &mut [f64],
    ) -> Result<f64, LogProbError> {
        self.flow.integral_derivatives(sides, panels, context, out)
    }
    fn base(&self) -> Option<(Base, usize)> {
        self.flow.base()
    }
    fn sample(&self, base: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        self.flow.sample(base, context, out)
    }
}

/// Replaces the flow in a density by a [`Counting`] flow. Also stores the new flow in `counting`.
fn count(density: &mut Density, counting: &mut Option<Arc<Counting>>) {
    match density {
        Density::Conditional(own) => {
            let flow = Arc::clone(&own.source.0);
            let made = Arc::new(Counting { flow, evaluations: AtomicUsize::new(0) });
            own.source = SharedLogProb(made.clone());
            *counting = Some(made);
        }
        Density::Mixture { summands, .. } => summands.iter_mut().for_each(|part| count(part, counting)),
        _ => {}
    }
}

#[test]
fn graphs_are_evaluated_only_when_the_context_has_moved() {
    let mut model = conditional("shifted.flow.json", |_| {});
    let mut counting = None;
    model.event_channels[0]
        .processes
        .iter_mut()
        .for_each(|process| count(&mut process.density, &mut counting));
    let counting = counting.unwrap();
    let session = session(&model, 1);
    let free = |options: FitOptions| {
        let before = counting.evaluations.load(Ordering::Relaxed);
        let found = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
        assert!(found.converged);
        (found.n_evaluations, counting.evaluations.load(Ordering::Relaxed) - before)
    };
    let (evaluations, graphs) = free(FitOptions::default().fix("shift", 0.1).fix("stretch", 0.1));
    // Once, and once more for the final point if a worker's memory was used for something else.
    assert!(evaluations > 3 && graphs <= 2, "{evaluations} {graphs}");
    let (evaluations, graphs) = free(FitOptions::default());
    assert!(graphs > 2 && graphs <= evaluations + 2, "{evaluations} {graphs}");
}

#[test]
fn results_do_not_depend_on_threads() {
    // More events than one thread evaluates in a call.
    let model = conditional("stepped.flow.json", |tree| {
        let entries = tree["data"][0]["entries"].as_array().unwrap().clone();
        let moved = |k: usize| {
            let of = move |e: &Value| json!([(e[0].as_f64().unwrap() + 0.01 * k as f64).min(160.0)]);
            entries.iter().map(of).collect::<Vec<_>>()
        };
        tree["data"][0]["entries"] = (0..6).flat_map(moved).collect::<Vec<_>>().into();
    });
    let run = |threads: usize| {
        fit(&model, session(&model, threads).as_ref(), &FitOptions::default(), Control::default()).unwrap()
    };
    let (one, two) = (run(1), run(2));
    assert_eq!((one.bestfit, one.uncertainties, one.nll), (two.bestfit, two.uncertainties, two.nll));
}

#[test]
fn toys_of_a_sampler_with_context_have_pulls_of_mean_0_and_width_1() {
    // The toys are not drawn at the context 0.
    assert_pulls(&conditional("shifted.flow.json", |tree| {
        let values = tree["parameter_points"][0]["parameters"].as_array_mut().unwrap();
        for value in values.iter_mut().filter(|value| value["name"] == "shift") {
            value["value"] = json!(0.8);
        }
    }));
}

#[test]
fn toys_by_rejection_with_context_have_pulls_of_mean_0_and_width_1() {
    assert_pulls(&conditional("stepped.flow.json", |tree| {
        tree["likelihoods"][0]["nextstat.ranges"] = json!({"m": [[100, 128], [129, 160]]});
    }));
}

#[test]
fn wrong_contexts_are_explained() {
    let expect = |message: String, parts: &[&str]| {
        for part in parts {
            assert!(message.contains(part), "'{part}' is missing in: {message}");
        }
    };
    let wrong = |manifest: &str, context: Value| {
        let with = |tree: &mut Value| tree["distributions"][0]["context"] = context.clone();
        try_conditional(manifest, with).map(|model| match open_session(&model, &Execution::default()) {
            Err(error) => error.to_string(),
            Ok(session) => fit(&model, session.as_ref(), &FitOptions::default(), Control::default())
                .map_or_else(|error| error.to_string(), |fit| format!("{fit:?}")),
        })
    };
    let read = |manifest: &str, context: Value| wrong(manifest, context).unwrap_err();
    expect(
        read("shifted.flow.json", json!(["shift"])),
        &[
            "/distributions/0/context",
            "[shift, stretch], and 1 numbers are given",
            "in the order of the manifest",
        ],
    );
    expect(
        read("shifted.flow.json", json!(["shift", "m"])),
        &["/distributions/0/context/1", "depends on an observable"],
    );
    expect(read("shifted.flow.json", json!(["shift", "nothing"])), &["nothing"]);
    expect(read("peak.flow.json", json!([1])), &["the context [], and 1 numbers are given"]);
    let start = |manifest: &str, context: Value| wrong(manifest, context).unwrap();
    expect(
        start("broken_context.flow.json", json!([1.5])),
        &["process 'signal' of event channel 'SR'", "at the start values", "NaN"],
    );
    expect(
        start("broken_norm.flow.json", json!([0.5])),
        &["'signal'", "1.648", "normalised over its support"],
    );
    // Far from the events, the range holds nothing of the density.
    expect(start("shifted.flow.json", json!([300, 0])), &["holds nothing of it"]);
}

#[test]
fn points_where_a_flow_is_broken_are_impossible() {
    // The density is no number where the context is above 1, and the fit starts close to there.
    let model = conditional("broken_context.flow.json", |tree| {
        tree["distributions"][0]["context"] = json!(["shift"]);
        let values = tree["parameter_points"][0]["parameters"].as_array_mut().unwrap();
        values.retain(|value| value["name"] != "stretch");
        values
            .iter_mut()
            .filter(|value| value["name"] == "shift")
            .for_each(|value| value["value"] = json!(0.9));
        tree["domains"][0]["axes"].as_array_mut().unwrap().retain(|axis| axis["name"] != "stretch");
        tree["distributions"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": "term", "type": "gaussian_dist", "x": "shift", "mean": 0.2, "sigma": 0.1}));
        tree["likelihoods"][0]["aux_distributions"] = json!(["efficiency_term", "term"]);
    });
    assert!(at(&model, &[]).0.is_finite());
    assert_eq!(at(&model, &[("shift", 1.5)]).0, f64::INFINITY);
    let found = best(&model);
    assert!(found.converged && (found.value("shift").unwrap() - 0.2).abs() < 1e-6);
}
