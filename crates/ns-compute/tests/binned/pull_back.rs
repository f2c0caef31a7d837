//! Compares derivatives with respect to data, and with respect to inputs (numbers of the model that the data may
//! replace), with Richardson-extrapolated differences of the textbook formulae. Checks that a model whose numbers
//! are replaced by the data agrees with a model that was compiled with the same numbers. Uses random models and all
//! interpolation codes.

use std::sync::Arc;

use crate::functions::with_functions;
use crate::inputs::all_inputs;
use crate::likelihood::{expected, nll};
use crate::models::{Random, random_model, random_point};
use crate::number::Hyper;
use ns_compute::CpuSession;
use ns_compute::differentiable::DifferentiableAccelerator;
use ns_core::{
    Constraint, Control, Data, Effect, EvaluationRequest, Execution, FitRequest, FitTask, HistosysCode,
    Input, Interpolation, Model, NormsysCode, Observations, OutcomeParts, Session, SessionError, TaskOutcome,
};

/// Returns a copy of the model in which `values` replace the values of the open inputs, such as nominal yields.
fn with_numbers(model: &Model, values: &[f64]) -> Model {
    let mut made = model.clone();
    let table = model.input_table().unwrap();
    for (&input, range) in table.inputs.iter().zip(&table.ranges) {
        let new = &values[range.clone()];
        match input {
            Input::Nominal { channel, sample } => {
                made.channels[channel].samples[sample].nominal.copy_from_slice(new);
            }
            Input::HistoHi { channel, sample, modifier } | Input::HistoLo { channel, sample, modifier } => {
                let effect = &mut made.channels[channel].samples[sample].modifiers[modifier].effect;
                let Effect::HistoSys { lo, hi } = effect else { panic!("no histosys") };
                if matches!(input, Input::HistoHi { .. }) { hi } else { lo }.copy_from_slice(new);
            }
            Input::NormHi { channel, sample, modifier } | Input::NormLo { channel, sample, modifier } => {
                let effect = &mut made.channels[channel].samples[sample].modifiers[modifier].effect;
                let Effect::NormSys { lo, hi } = effect else { panic!("no normsys") };
                *(if matches!(input, Input::NormHi { .. }) { hi } else { lo }) = new[0];
            }
            Input::StatError { set } | Input::ShapeSys { set } => {
                let first = made.parameter_sets[set].range.start;
                for (i, &x) in new.iter().enumerate() {
                    match &mut made.parameters[first + i].constraint {
                        Constraint::Gaussian { sigma, .. } => *sigma = x,
                        Constraint::Poisson { tau, .. } => *tau = 1.0 / (x * x),
                        Constraint::None => {}
                    }
                }
            }
        }
    }
    made
}

/// Returns the derivative of `f` at `x` and an estimate of its error, from central differences with three
/// step sizes.
fn richardson(x: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let h = 2e-3 * (0.05 + x.abs());
    let difference = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    let [a, b, c] = [h, h / 2.0, h / 4.0].map(difference);
    let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    let best = (16.0 * bc - ab) / 15.0;
    (best, (best - bc).abs() + 1e-13 * f(x).abs() / h)
}

/// Asserts that the derivative `got` agrees with the derivative from finite differences.
fn close(what: &str, got: f64, (want, error): (f64, f64)) {
    let tolerance = 1e-8 * (1.0 + want.abs()) + 10.0 * error;
    assert!((got - want).abs() <= tolerance, "{what}: {got} instead of {want} +- {tolerance:e}");
}

/// A random model whose inputs (numbers that the data may replace) are all open, and a point at which derivatives can
/// be compared. The point is away from kinks and from yields near zero.
struct Case {
    model: Model,
    values: Vec<f64>,
    theta: Vec<f64>,
    random: Random,
}

fn case(seed: u64, interpolation: Interpolation) -> Option<Case> {
    let mut closed = Model { interpolation, ..random_model(seed) };
    if seed % 2 == 1 {
        closed = with_functions(closed, &mut Random(seed ^ 0x77));
    }
    let model = closed.open(&all_inputs(&closed)).unwrap();
    let mut random = Random(seed ^ 0x1234);
    let theta = random_point(&model, &mut random);
    let point: Vec<Hyper> = theta.iter().map(|&x| Hyper::constant(x)).collect();
    let well = expected(&model, &point).iter().all(|l| l.value > 0.5);
    let near = |x: f64| [-1.0, 0.0, 1.0].iter().any(|edge| (x - edge).abs() < 0.02);
    let kinked = model
        .parameters
        .iter()
        .zip(&theta)
        .any(|(p, &x)| near(x) && p.bounds.0 < 0.0 && !matches!(p.constraint, Constraint::None));
    // Values near the compiled ones, which hold no accident such as symmetric templates.
    let values = model.input_table().unwrap().values;
    let values = values.iter().map(|x| x * random.between(0.95, 1.1)).collect();
    (well && !kinked).then_some(Case { model, values, theta, random })
}

fn constants(theta: &[f64]) -> Vec<Hyper> {
    theta.iter().map(|&x| Hyper::constant(x)).collect()
}

fn open(model: &Model) -> DifferentiableAccelerator {
    DifferentiableAccelerator::open(model, &Execution::default()).unwrap()
}

/// Calls `check` for each pair of interpolation codes with `wanted` random cases. The arguments of `check` are the seed
/// and the case. Models with an odd seed have factors that are functions of parameters.
fn for_all_codes(wanted: usize, mut check: impl FnMut(u64, Case)) {
    for &normsys in NormsysCode::ALL {
        for &histosys in HistosysCode::ALL {
            let codes = Interpolation { normsys, histosys };
            let cases = (0..60).filter_map(|seed| case(seed, codes).map(|case| (seed, case)));
            let mut count = 0;
            for (seed, case) in cases.take(wanted) {
                count += 1;
                check(seed, case);
            }
            assert!(count == wanted, "{normsys} {histosys}: only {count} models can be compared");
        }
    }
}

#[test]
fn derivatives_by_inputs_and_data_are_those_of_the_textbook() {
    for_all_codes(5, |seed, Case { model, values, theta, .. }| {
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let data = Data::observed().with_yields(Arc::new(values.clone().into()));
        let pulled = session.pull_back(&data, &theta, None).unwrap();
        let observed = &model.observed;
        let point = constants(&theta);
        for (i, &got) in pulled.yields.iter().enumerate() {
            if values[i] == 0.0 {
                continue;
            }
            let at = |x: f64| {
                let mut values = values.clone();
                values[i] = x;
                nll(&with_numbers(&model, &values), observed, &point).0.value
            };
            close(&format!("seed {seed}, input {i}"), got, richardson(values[i], at));
        }
        let changed = with_numbers(&model, &values);
        for (b, &got) in pulled.main.iter().enumerate().filter(|(b, _)| observed.main[*b] > 0.0) {
            let at = |x: f64| {
                let mut main = observed.main.clone();
                main[b] = x;
                nll(&changed, &Observations::binned(main, observed.aux.clone()), &point).0.value
            };
            close(&format!("seed {seed}, bin {b}"), got, richardson(observed.main[b], at));
        }
        for (a, &got) in pulled.aux.iter().enumerate() {
            let at = |x: f64| {
                let mut aux = observed.aux.clone();
                aux[a] = x;
                nll(&changed, &Observations::binned(observed.main.clone(), aux), &point).0.value
            };
            close(&format!("seed {seed}, auxiliary {a}"), got, richardson(observed.aux[a], at));
        }
    });
}

#[test]
fn derivatives_along_a_direction_are_differences_of_derivatives() {
    for_all_codes(5, |seed, Case { model, values, theta, mut random }| {
        let accelerator = open(&model);
        let v: Vec<f64> = theta.iter().map(|_| 0.2 * random.between(-1.0, 1.0)).collect();
        let u: Vec<f64> = values.iter().map(|x| 0.1 * x * random.between(-1.0, 1.0)).collect();
        let moved = |base: &[f64], by: &[f64], t: f64| -> Vec<f64> {
            base.iter().zip(by).map(|(x, d)| x + t * d).collect()
        };
        let data = |t: f64| Data::observed().with_yields(Arc::new(moved(&values, &u, t).into()));
        // Along both directions at once, then along the parameters alone.
        for with_yields in [true, false] {
            let yields = with_yields.then_some(&u[..]);
            let got = accelerator.along(&data(0.0), &theta, &v, yields).unwrap();
            let at = |t: f64| {
                let data = data(if with_yields { t } else { 0.0 });
                accelerator.value(&data, &moved(&theta, &v, t)).unwrap().1
            };
            let (h, k) = (1e-3, 5e-4);
            let (far, near) = ((at(h), at(-h)), (at(k), at(-k)));
            type Part = fn(&ns_compute::differentiable::Derivatives) -> &[f64];
            let parts: [(&str, Part); 4] = [
                ("parameter", |d| &d.parameters),
                ("input", |d| &d.pulled.yields),
                ("bin", |d| &d.pulled.main),
                ("auxiliary", |d| &d.pulled.aux),
            ];
            for (what, part) in parts {
                for (i, &got) in part(&got).iter().enumerate() {
                    let far = (part(&far.0)[i] - part(&far.1)[i]) / (2.0 * h);
                    let near = (part(&near.0)[i] - part(&near.1)[i]) / (2.0 * k);
                    let (want, error) = ((4.0 * near - far) / 3.0, 1e-3 * (near - far).abs());
                    close(&format!("seed {seed}, {what} {i}"), got, (want, error + 1e-9 * want.abs()));
                }
            }
        }
        // The derivatives of the second derivative.
        let got = accelerator.curvature_along(&data(0.0), &theta, &v).unwrap();
        let second = |theta: &[f64], values: &[f64]| {
            let data = Data::observed().with_yields(Arc::new(values.to_vec().into()));
            let along = accelerator.along(&data, theta, &v, None).unwrap();
            along.parameters.iter().zip(&v).map(|(h, v)| h * v).sum::<f64>()
        };
        for (p, &got) in got.parameters.iter().enumerate() {
            let at = |x: f64| {
                let mut theta = theta.clone();
                theta[p] = x;
                second(&theta, &values)
            };
            close(&format!("seed {seed}, curvature by parameter {p}"), got, richardson(theta[p], at));
        }
        for (i, &got) in got.pulled.yields.iter().enumerate().filter(|(i, _)| values[*i] != 0.0) {
            let at = |x: f64| {
                let mut values = values.clone();
                values[i] = x;
                second(&theta, &values)
            };
            close(&format!("seed {seed}, curvature by input {i}"), got, richardson(values[i], at));
        }
    });
}

#[test]
fn derivatives_of_expected_data_are_differences_of_them() {
    for_all_codes(5, |seed, Case { model, values, theta, mut random }| {
        let accelerator = open(&model);
        let main: Vec<f64> = (0..model.n_bins()).map(|_| random.between(-1.0, 1.0)).collect();
        let aux: Vec<f64> = model.observed.aux.iter().map(|_| random.between(-1.0, 1.0)).collect();
        let sum = |values: &[f64], theta: &[f64]| {
            let data = Data::observed().with_yields(Arc::new(values.to_vec().into()));
            let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
            let expected = accelerator.session().evaluate(&data, theta, request).unwrap().expected;
            expected.iter().zip(main.iter().chain(&aux)).map(|(x, f)| x * f).sum::<f64>()
        };
        let data = Data::observed().with_yields(Arc::new(values.clone().into()));
        let got = accelerator.expected(&data, &theta, &main, &aux).unwrap();
        for (p, &got) in got.parameters.iter().enumerate() {
            let at = |x: f64| {
                let mut theta = theta.clone();
                theta[p] = x;
                sum(&values, &theta)
            };
            close(&format!("seed {seed}, parameter {p}"), got, richardson(theta[p], at));
        }
        for (i, &got) in got.pulled.yields.iter().enumerate().filter(|(i, _)| values[*i] != 0.0) {
            let at = |x: f64| {
                let mut values = values.clone();
                values[i] = x;
                sum(&values, &theta)
            };
            close(&format!("seed {seed}, input {i}"), got, richardson(values[i], at));
        }
    });
}

const ALL: EvaluationRequest =
    EvaluationRequest { nll: true, gradient: true, hessian: true, expected: true, samples: true };

fn free_fit(session: &CpuSession, data: &Data) -> TaskOutcome {
    let task = FitTask { data: data.clone(), fits: vec![FitRequest::default()], cancel: None };
    let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.pop().unwrap()
}

#[test]
fn replaced_numbers_are_those_of_a_model_compiled_with_them() {
    for_all_codes(1, |seed, Case { model, values, theta, .. }| {
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let data = Data::observed().with_yields(Arc::new(values.clone().into()));
        let fresh = CpuSession::open(&with_numbers(&model, &values), &Execution::default()).unwrap();
        let own = Data::observed();
        let (got, want) =
            (session.evaluate(&data, &theta, ALL).unwrap(), fresh.evaluate(&own, &theta, ALL).unwrap());
        assert_eq!(got, want, "seed {seed}");
        assert_eq!(session.saturated_nll(&data), fresh.saturated_nll(&own));
        assert_eq!(free_fit(&session, &data), free_fit(&fresh, &own), "seed {seed}");
        // Numbers replaced by themselves, and the session itself afterwards.
        let same = Data::observed().with_yields(Arc::new(session.inputs().values.clone().into()));
        assert_eq!(free_fit(&session, &same), free_fit(&session, &own), "seed {seed}");
        let closed = CpuSession::open(&Model { open: Vec::new(), ..model.clone() }, &Execution::default());
        let (a, b) = (free_fit(&closed.unwrap(), &own), free_fit(&session, &own));
        if let (Ok(a), Ok(b)) = (&a.fits[0], &b.fits[0])
            && a.empty_bins.is_empty()
            && b.empty_bins.is_empty()
        {
            assert!((a.nll - b.nll).abs() < 1e-9 * (1.0 + a.nll.abs()), "seed {seed}: {} {}", a.nll, b.nll);
        }
    });
}

#[test]
fn bad_numbers_are_refused_with_their_place() {
    let closed = random_model(3);
    let model = closed.open(&all_inputs(&closed)).unwrap();
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    let theta: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let table = session.inputs().clone();
    let pull = |values: Vec<f64>| {
        session.pull_back(&Data::observed().with_yields(Arc::new(values.into())), &theta, None)
    };
    assert!(matches!(pull(Vec::new()), Err(SessionError::WrongLength { what: "yields", .. })));
    let mut values = table.values.clone();
    values[1] = f64::NAN;
    assert!(matches!(pull(values), Err(SessionError::BadNumber { what: "yields", index: 1, .. })));
    for (input, range) in table.inputs.iter().zip(&table.ranges) {
        if matches!(input, Input::StatError { .. } | Input::NormHi { .. }) {
            let mut values = table.values.clone();
            values[range.start] = -1.0;
            let error = pull(values).unwrap_err().to_string();
            assert!(error.contains(&format!("yields[{}]", range.start)), "{error}");
        }
    }
    let twice = closed.open(&[Input::Nominal { channel: 0, sample: 0 }; 2]).unwrap_err();
    assert!(twice.to_string().contains("twice"), "{twice}");
    assert!(closed.open(&[Input::Nominal { channel: 99, sample: 0 }]).is_err());
    assert!(closed.open(&[Input::HistoHi { channel: 0, sample: 0, modifier: 99 }]).is_err());
}
