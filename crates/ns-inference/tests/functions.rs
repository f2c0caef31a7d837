//! Tests of factors that are functions of parameters, and of derived quantities.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use ns_compute::CpuSession;
use ns_core::{
    Control, Effect, EventModelError, Execution, Function, FunctionForm, Model, Op, SessionError, Tape, Value,
};
use ns_inference::{FitOptions, FitResult, InferenceError, fit, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn model(name: &str) -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    Workspace::from_path(folder.join(name)).unwrap().model(&ModelOptions::default()).unwrap()
}

fn fitted(model: &Model, options: &FitOptions) -> FitResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(model, session.as_ref(), options, Control::default()).unwrap()
}

/// Replaces every normfactor by the function `mu*1` of its parameter.
fn with_trivial_functions(mut model: Model) -> Model {
    for sample in model.channels.iter_mut().flat_map(|channel| &mut channel.samples) {
        for modifier in sample.modifiers.iter_mut().filter(|m| m.effect == Effect::NormFactor) {
            let ops = vec![Op::Value(Value::Parameter(modifier.first)), Op::Number(1.0), Op::Mul(0, 1)];
            let form = FunctionForm::Expression(Tape::new(ops).unwrap());
            model.functions.push(Function { name: modifier.name.clone(), form });
            let values = vec![Value::Function(model.functions.len() - 1)];
            (modifier.first, modifier.effect) = (0, Effect::Function { values });
        }
    }
    model
}

#[test]
fn trivial_functions_change_no_result() {
    let plain = model("simple_workspace.json");
    // Products of parameters are compiled as ordinary factors, which all engines have.
    let session = CpuSession::open(&with_trivial_functions(plain.clone()), &Execution::default()).unwrap();
    assert!(!session.plan().has_function_factors());
    let options = FitOptions::default().minos("mu");
    let (a, b) = (fitted(&plain, &options), fitted(&with_trivial_functions(plain.clone()), &options));
    assert!((a.twice_nll - b.twice_nll).abs() < 1e-9);
    let sides = |fit: &FitResult| [fit.minos[0].lower.unwrap(), fit.minos[0].upper.unwrap()];
    for (a, b) in sides(&a).into_iter().zip(sides(&b)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    for (i, name) in a.parameter_names.iter().enumerate() {
        let (sigma, other) = (a.uncertainties[i].unwrap(), b.uncertainties[i].unwrap());
        assert!((a.bestfit[i] - b.bestfit[i]).abs() < 1e-6 * sigma, "{name}");
        assert!((sigma - other).abs() < 1e-6 * sigma, "{name}: {sigma} {other}");
    }
}

#[test]
fn background_of_three_control_regions_is_their_ratio() {
    // The auxiliary measurement of `t` holds it at 0, and every region has a parameter of its own.
    let fit = fitted(&model("abcd.json"), &FitOptions::default().derive("background", "n_B*n_C/n_D"));
    assert!(fit.converged);
    for (name, count) in [("n_B", 50.0), ("n_C", 100.0), ("n_D", 500.0)] {
        assert!((fit.value(name).unwrap() - count).abs() < 0.5, "{name}");
    }
    let background = &fit.derived[0];
    let relative = (1.0_f64 / 50.0 + 1.0 / 100.0 + 1.0 / 500.0).sqrt();
    assert!((background.value.unwrap() - 10.0).abs() < 0.1);
    assert!((background.uncertainty.unwrap() / 10.0 - relative).abs() < 0.05 * relative);
}

#[test]
fn both_minima_of_a_quadratic_yield_are_searched() {
    // The function of the signal is the same at cH = x and at cH = -2.5 - x. The minimum on the left is higher by 0.19.
    let model = model("eft.json");
    let best = fitted(&model, &FitOptions::default());
    for start in [-6.0, -3.0, -1.0, 1.0, 3.0, 6.0] {
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        point[model.parameter_index("cH").unwrap()] = start;
        let other = fitted(&model, &FitOptions::default().start(point));
        assert!(other.converged, "{start}");
        assert!(
            (other.twice_nll - best.twice_nll).abs() < 1e-6,
            "{start}: {} {}",
            other.twice_nll,
            best.twice_nll
        );
    }
}

/// At such a minimum the slope of `-ln L` jumps. All else is as if the parameter were fixed there.
#[test]
fn minima_on_kinks_of_functions_are_certified() {
    let model = |expression: &str, counts: [f64; 2]| {
        let function =
            serde_json::json!({"name": "f", "type": "function", "data": {"expression": expression}});
        let workspace = serde_json::json!({
            "channels": [{"name": "c", "samples": [
                {"name": "s", "data": [10.0, 20.0], "modifiers": [function]},
                {"name": "b", "data": [50.0, 60.0], "modifiers": [
                    {"name": "mu", "type": "normfactor", "data": null},
                    {"name": "a", "type": "normsys", "data": {"hi": 1.05, "lo": 0.95}}]}]}],
            "observations": [{"name": "c", "data": counts}],
            "measurements": [{"name": "m", "config": {"poi": "mu",
                "parameters": [{"name": "x", "inits": [0.5], "bounds": [[-5.0, 5.0]]}]}}],
            "version": "1.0.0",
        });
        Workspace::from_slice(workspace.to_string().as_bytes())
            .unwrap()
            .model(&ModelOptions::default())
            .unwrap()
    };
    for (expression, counts, x) in [
        ("1 + abs(x)", [55.0, 70.0], 0.0),
        ("2 - abs(x)", [75.0, 110.0], 0.0),
        ("x > 0.7 ? 1 + (x - 0.7) : 1 - 0.3*(x - 0.7)", [55.0, 70.0], 0.7),
        ("max(1 - 0.2*x, 0.4 + x)", [55.0, 70.0], 0.5),
    ] {
        let model = model(expression, counts);
        let mut fixed = model.clone();
        let p = model.parameter_index("x").unwrap();
        (fixed.parameters[p].init, fixed.parameters[p].fixed) = (x, true);
        let options = FitOptions::default();
        let (fit, fixed) = (fitted(&model, &options), fitted(&fixed, &options));
        assert!(fit.converged, "{expression}: {:?}", fit.warnings);
        assert!((fit.value("x").unwrap() - x).abs() < 1e-12, "{expression}: {:?}", fit.value("x"));
        assert_eq!((&fit.at_kink[..], fit.uncertainty("x")), (&["x".to_owned()][..], None), "{expression}");
        assert!((fit.twice_nll - fixed.twice_nll).abs() < 1e-9, "{expression}");
        let (sigma, other) = (fit.uncertainty("mu").unwrap(), fixed.uncertainty("mu").unwrap());
        assert!((sigma - other).abs() < 1e-6 * sigma, "{expression}: {sigma} {other}");
    }
}

#[test]
fn a_derived_parameter_has_the_uncertainties_of_the_parameter() {
    let options = FitOptions::default().minos("mu").derive("same", "mu").derive("twice", "2*same - 1");
    let fit = fitted(&model("simple_workspace.json"), &options.derived_profile(true));
    let (mu, sigma) = (fit.value("mu").unwrap(), fit.uncertainty("mu").unwrap());
    let [same, twice] = &fit.derived[..] else { panic!("{:?}", fit.derived) };
    assert!(
        (same.value.unwrap() - mu).abs() < 1e-12 && (twice.value.unwrap() - (2.0 * mu - 1.0)).abs() < 1e-12
    );
    assert!((same.uncertainty.unwrap() - sigma).abs() < 1e-9 * sigma);
    assert!((twice.uncertainty.unwrap() - 2.0 * sigma).abs() < 1e-9 * sigma);
    for (quantity, scale) in [(same, 1.0), (twice, 2.0)] {
        let interval = quantity.interval.as_ref().unwrap();
        let (lower, upper) = (fit.minos[0].lower.unwrap(), fit.minos[0].upper.unwrap());
        assert!((interval.lower.unwrap() - scale * lower).abs() < 1e-5 * sigma, "{interval:?} {lower}");
        assert!((interval.upper.unwrap() - scale * upper).abs() < 1e-5 * sigma, "{interval:?} {upper}");
    }
}

/// The profile along `mu^3` ends where that along `mu` does, although `mu^3` is far from linear.
#[test]
fn intervals_of_functions_do_not_depend_on_the_parametrisation() {
    let options = FitOptions::default().minos("mu").derive("cube", "mu^3").derived_profile(true);
    let fit = fitted(&model("simple_workspace.json"), &options);
    let interval = fit.derived[0].interval.as_ref().unwrap();
    let crossing = |x: Option<f64>| x.unwrap().powi(3);
    let (lower, upper) = (crossing(fit.minos[0].lower_crossing), crossing(fit.minos[0].upper_crossing));
    assert!(
        (interval.lower_crossing.unwrap() - lower).abs() < 1e-4 * (upper - lower),
        "{interval:?} {lower}"
    );
    assert!(
        (interval.upper_crossing.unwrap() - upper).abs() < 1e-4 * (upper - lower),
        "{interval:?} {upper}"
    );
}

#[test]
fn quantities_that_cannot_be_derived_say_why() {
    let model = model("simple_workspace.json");
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |options: FitOptions| {
        let error = fit(&model, session.as_ref(), &options, Control::default()).unwrap_err();
        assert!(matches!(error, InferenceError::Derived { .. }), "{error}");
        error.to_string()
    };
    for (expression, said) in [
        ("mu/", "at character 4"),
        ("mux", "the model has no parameter 'mux'"),
        ("later", "the model has no parameter 'later'"),
    ] {
        let message = refused(FitOptions::default().derive("r", expression).derive("later", "mu"));
        assert!(message.contains("'r'") && message.contains(said), "{message}");
    }
    let twice = refused(FitOptions::default().derive("r", "mu").derive("r", "mu"));
    assert!(twice.contains("given twice"), "{twice}");

    let fit = fitted(&model, &FitOptions::default().derive("r", "log(-mu)"));
    assert_eq!((fit.derived[0].value, fit.derived[0].uncertainty), (None, None));
    assert!(
        fit.warnings.iter().any(|w| w == "no uncertainty for r: its value at the best fit is not finite")
    );
}

#[test]
fn functions_that_are_impossible_at_the_start_are_refused_with_their_place() {
    let opened = |change: &dyn Fn(&mut Model)| {
        let mut model = model("abcd.json");
        change(&mut model);
        match open_session(&model, &Execution::default()) {
            Err(SessionError::EventModel(error)) => error,
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    let init = |model: &mut Model, name: &str, value: f64| {
        let p = model.parameter_index(name).unwrap();
        (model.parameters[p].init, model.parameters[p].bounds.0) = (value, -100.0);
    };
    let infinite = opened(&|model| init(model, "n_D", 0.0));
    assert!(
        matches!(&infinite, EventModelError::FunctionNotFinite { function, channel, .. } if function == "transfer" && channel == "A")
    );
    let negative = opened(&|model| init(model, "n_B", -50.0));
    assert!(
        matches!(&negative, EventModelError::NegativeYield { channel, bin: 0, .. } if channel == "A"),
        "{negative}"
    );
}
