//! Compares `-ln L` and its derivatives on a GPU with those of the CPU, where other numbers of the model or the data
//! change with the inputs. The kernels are compiled for the CPU.
#![cfg(feature = "cuda-on-host")]
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use ns_core::{Constraint, Execution, Input, Model, Observations};
use ns_inference::differentiable::{DeviceNll, DeviceRows, Follow, RowStatus};
use ns_inference::{DifferentiableSession, FitData};
use ns_translate::pyhf::{ModelOptions, Workspace};

#[allow(dead_code)]
#[path = "../../ns-compute/tests/oracle/models.rs"]
mod models;

#[path = "../../ns-compute/tests/oracle/inputs.rs"]
mod inputs;

use inputs::all_inputs;
use models::{Random, random_model, random_point};

/// Tolerance of `-ln L` in the parity contract, in units of its rounding error.
const CONTRACT: f64 = 8.0;

/// Results of one call of [`DeviceNll::enqueue`].
struct Made {
    values: Vec<f64>,
    by_parameters: Vec<f64>,
    by_inputs: Vec<f64>,
    status: Vec<Option<RowStatus>>,
}

/// Computes `-ln L` and its derivatives with the kernel, for each row of inputs (`yields`) and parameters (`points`).
/// If one of the two has a single row, this row is used for all rows of the other.
fn compute(session: &DifferentiableSession, nll: &DeviceNll, yields: &[f64], points: &[f64]) -> Made {
    let (n, m) = (session.inputs().len(), session.model().parameters.len());
    let n_rows = yields.len().checked_div(n).unwrap_or(1).max(points.len() / m);
    let (mut values, mut status) = (vec![f64::MIN; n_rows], vec![-1; n_rows]);
    let (mut by_parameters, mut by_inputs) = (vec![f64::MIN; n_rows * m], vec![f64::MIN; n_rows * n]);
    let rows = DeviceRows {
        n_rows,
        inputs: yields.as_ptr() as u64,
        one_row_of_inputs: n_rows > 1 && yields.len() == n,
        parameters: points.as_ptr() as u64,
        one_row_of_parameters: n_rows > 1 && points.len() == m,
        values: values.as_mut_ptr() as u64,
        by_parameters: by_parameters.as_mut_ptr() as u64,
        by_inputs: by_inputs.as_mut_ptr() as u64,
        strides: None,
        status: status.as_mut_ptr() as u64,
    };
    // SAFETY: the arrays have these sizes, and the host's kernels end before the call returns.
    unsafe { nll.enqueue(0, rows) }.unwrap();
    Made { values, by_parameters, by_inputs, status: status.into_iter().map(RowStatus::of).collect() }
}

fn fixture() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/all_modifiers.json");
    Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap()
}

fn follows() -> [Follow; 8] {
    std::array::from_fn(|i| Follow { templates: i & 1 > 0, staterror: i & 2 > 0, shapesys: i & 4 > 0 })
}

/// Returns six sets of inputs of a model: the nominal yields of the first samples; all nominal yields; these and the
/// histosys templates at alpha = +1; the widths of staterror and shapesys constraints; the nominal yields and these
/// widths; all inputs.
fn input_sets(model: &Model) -> Vec<Vec<Input>> {
    let of = |wanted: &dyn Fn(&Input) -> bool| all_inputs(model).into_iter().filter(wanted).collect();
    let is_nominal = |input: &Input| matches!(input, Input::Nominal { .. });
    let is_width = |input: &Input| matches!(input, Input::StatError { .. } | Input::ShapeSys { .. });
    let first_sample = |input: &Input| matches!(input, Input::Nominal { sample: 0, .. });
    let linear = |input: &Input| is_nominal(input) || matches!(input, Input::HistoHi { .. });
    vec![
        of(&first_sample),
        of(&is_nominal),
        of(&linear),
        of(&is_width),
        of(&|input| is_nominal(input) || is_width(input)),
        of(&|_| true),
    ]
}

fn opened(model: &Model, inputs: &[Input], follow: Follow, data: &FitData) -> Option<DifferentiableSession> {
    let model = model.open(inputs).unwrap();
    DifferentiableSession::open(&model, follow, data, &Execution::default()).ok()
}

fn assert_close(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-11 * (scale + w.abs());
        assert!(same, "{what}[{i}]: {g} instead of {w}");
    }
}

/// Compares all rows with the CPU. `roundings` is the tolerance of `-ln L` in units of its rounding error. Returns how
/// many rows have a finite likelihood.
fn compare(
    name: &str,
    roundings: f64,
    session: &DifferentiableSession,
    yields: &[f64],
    points: &[f64],
) -> usize {
    let (n, m) = (session.inputs().len(), session.model().parameters.len());
    let made = compute(session, &session.on_host().unwrap(), yields, points);
    let mut compared = 0;
    for (row, status) in made.status.iter().enumerate() {
        let name = format!("{name} row {row}");
        let by_inputs = &made.by_inputs[row * n..(row + 1) * n];
        let by_parameters = &made.by_parameters[row * m..(row + 1) * m];
        let Ok(want) = session.nll(&yields[row * n..(row + 1) * n], &points[row * m..(row + 1) * m]) else {
            assert!(matches!(status, Some(RowStatus::BadInput | RowStatus::NoAsimov)), "{name}: {status:?}");
            assert!(made.values[row].is_nan() && by_inputs.iter().chain(by_parameters).all(|x| x.is_nan()));
            continue;
        };
        if !want.nll.is_finite() {
            assert_eq!(*status, Some(RowStatus::NoLikelihood), "{name}");
        } else if *status != Some(RowStatus::ZeroFactor) {
            assert_eq!(*status, Some(RowStatus::Fine), "{name}");
            let tolerance = roundings * f64::EPSILON * want.nll.abs() + 1e-12;
            let difference = (made.values[row] - want.nll).abs();
            assert!(difference <= tolerance, "{name}: {} instead of {}", made.values[row], want.nll);
            assert_close(&format!("{name} by parameters"), by_parameters, &want.parameters);
            assert_close(&format!("{name} by inputs"), by_inputs, &want.yields);
            compared += 1;
        }
    }
    compared
}

/// Compares the kernel with the CPU for all sets of inputs, all variants of [`Follow`] and several data sets of a
/// model. Returns the number of compared rows.
fn compare_all(name: &str, roundings: f64, model: &Model, random: &mut Random) -> usize {
    let main = model.observed.main.iter().map(|x| (x * random.between(0.7, 1.3)).round()).collect();
    let given = Arc::new(Observations::binned(main, model.observed.aux.clone()));
    let all_data = [
        FitData::Observed,
        FitData::Given(given),
        FitData::Asimov { poi: None },
        FitData::Asimov { poi: Some(1.7) },
    ];
    let mut compared = 0;
    for (i, inputs) in input_sets(model).iter().enumerate() {
        for follow in follows() {
            for data in &all_data {
                let Some(session) = opened(model, inputs, follow, data) else { continue };
                let own = session.inputs().values.clone();
                let (mut yields, mut points) = (Vec::new(), Vec::new());
                for row in 0..4 {
                    let mut factor = || if row == 0 { 1.0 } else { random.between(0.8, 1.25) };
                    yields.extend(own.iter().map(|x| x * factor()));
                    points.extend(random_point(session.model(), random));
                }
                let name = format!("{name}, inputs {i}, {follow:?}, {data:?}");
                compared += compare(&name, roundings, &session, &yields, &points);
            }
        }
    }
    compared
}

#[test]
fn all_that_follows_is_as_on_the_cpu() {
    let compared = compare_all("fixture", CONTRACT, &fixture(), &mut Random(1));
    assert!(compared > 500, "only {compared} rows had a finite likelihood");
}

#[test]
fn all_that_follows_in_random_models_is_as_on_the_cpu() {
    let mut compared = 0;
    for seed in 0..12 {
        let mut model = random_model(seed);
        // Auxiliary data follow their widths if they equal the rates.
        for parameter in &model.parameters {
            if let Constraint::Poisson { tau, aux } = parameter.constraint
                && !aux.is_multiple_of(4)
            {
                model.observed.aux[aux] = tau;
            }
        }
        // The contract is in units of the sum of the absolute terms of `-ln L`, for which this test takes the absolute
        // value of the sum. In random models terms have both signs, and expected yields are small differences of larger
        // numbers, so that the sum is smaller.
        compared += compare_all(&format!("seed {seed}"), 8.0 * CONTRACT, &model, &mut Random(seed ^ 0x51));
    }
    assert!(compared > 4000, "only {compared} rows had a finite likelihood");
}

/// Models with functions as factors: derivatives by yields, where nothing else changes with them. Otherwise the reason is said.
#[test]
fn functions_of_parameters_are_as_on_the_cpu() {
    let mut compared = 0;
    for name in ["eft", "abcd"] {
        let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/{}.json"), name);
        let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
        let mut random = Random(3);
        for inputs in input_sets(&model) {
            let follow = Follow { templates: false, staterror: false, shapesys: false };
            let Some(session) = opened(&model, &inputs, follow, &FitData::Observed) else { continue };
            let own = session.inputs().values.clone();
            let (mut yields, mut points) = (Vec::new(), Vec::new());
            for _ in 0..8 {
                yields.extend(own.iter().map(|x| x * random.between(0.8, 1.25)));
                let start = session.model().parameters.iter();
                points.extend(start.map(|p| match p.constraint {
                    Constraint::None if p.init != 0.0 => p.init * random.between(0.8, 1.25),
                    _ => p.init + random.between(-0.3, 0.3) * p.constraint.prefit_sigma().unwrap_or(1.0),
                }));
            }
            compared += compare(name, CONTRACT, &session, &yields, &points);
        }
        let follow = Follow { templates: true, staterror: false, shapesys: false };
        let session = opened(&model, &all_inputs(&model), follow, &FitData::Asimov { poi: None }).unwrap();
        let error = session.on_host().err().unwrap().to_string();
        assert!(error.contains("change with the inputs, are computed on the CPU"), "{error}");
    }
    assert!(compared > 60, "only {compared} rows had a finite likelihood");
}

/// Returns a model with 1200 cells, so large that a thread block on a GPU has more threads, and other loops are used.
fn large() -> Model {
    let bins = 100;
    let numbers = |f: &dyn Fn(f64) -> f64| {
        let all: Vec<String> = (0..bins).map(|b| format!("{}", f(f64::from(b)))).collect();
        format!("[{}]", all.join(", "))
    };
    let sample = |channel: usize, sample: usize| {
        let size = 20.0 + 3.0 * sample as f64 + channel as f64;
        let yields = |b: f64| size * (1.0 + 0.4 * (0.1 * b + sample as f64).sin());
        let mut modifiers = vec![
            format!(r#"{{"name": "norm{sample}", "type": "normsys", "data": {{"hi": 1.06, "lo": 0.95}}}}"#),
            format!(
                r#"{{"name": "shape{sample}", "type": "histosys", "data": {{"hi_data": {}, "lo_data": {}}}}}"#,
                numbers(&|b| yields(b) * (1.04 + 0.0005 * b)),
                numbers(&|b| yields(b) * (0.97 - 0.0003 * b))
            ),
        ];
        match sample {
            0 => modifiers.push(r#"{"name": "mu", "type": "normfactor", "data": null}"#.to_owned()),
            1 => modifiers.push(format!(
                r#"{{"name": "rate{channel}", "type": "shapesys", "data": {}}}"#,
                numbers(&|b| 0.1 * yields(b))
            )),
            _ => modifiers.push(format!(
                r#"{{"name": "stat{channel}", "type": "staterror", "data": {}}}"#,
                numbers(&|b| 0.02 * yields(b))
            )),
        }
        let (data, modifiers) = (numbers(&yields), modifiers.join(", "));
        format!(r#"{{"name": "sample{sample}", "data": {data}, "modifiers": [{modifiers}]}}"#)
    };
    let channel = |c: usize| {
        let samples: Vec<String> = (0..6).map(|s| sample(c, s)).collect();
        format!(r#"{{"name": "channel{c}", "samples": [{}]}}"#, samples.join(", "))
    };
    let data = numbers(&|b| (170.0 + 20.0 * (0.3 * b).sin()).round());
    let workspace = format!(
        r#"{{"channels": [{}, {}],
          "observations": [{{"name": "channel0", "data": {data}}}, {{"name": "channel1", "data": {data}}}],
          "measurements": [{{"name": "all", "config": {{"poi": "mu", "parameters": []}}}}], "version": "1.0.0"}}"#,
        channel(0),
        channel(1)
    );
    Workspace::from_slice(workspace.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap()
}

#[test]
fn all_that_follows_in_a_large_model_is_as_on_the_cpu() {
    let model = large();
    let random = &mut Random(3);
    let follow = Follow { templates: true, staterror: true, shapesys: true };
    for data in [FitData::Observed, FitData::Asimov { poi: Some(1.0) }] {
        let inputs = [model.nominal_inputs("sample1"), model.nominal_inputs("sample2")].concat();
        let session = opened(&model, &inputs, follow, &data).unwrap();
        let own = session.inputs().values.clone();
        let (mut yields, mut points) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            yields.extend(own.iter().map(|x| x * random.between(0.8, 1.25)));
            points.extend(model.parameters.iter().map(|p| p.init + random.between(-0.05, 0.05)));
        }
        assert_eq!(compare("large model", CONTRACT, &session, &yields, &points), 2);
    }
}

#[test]
fn derivatives_on_the_device_are_those_of_differences() {
    let model = fixture();
    let random = &mut Random(7);
    let every = Follow { templates: true, staterror: true, shapesys: true };
    let nominal = [model.nominal_inputs("top"), model.nominal_inputs("fakes")].concat();
    let widths: Vec<Input> =
        all_inputs(&model).into_iter().filter(|input| matches!(input, Input::ShapeSys { .. })).collect();
    let both = [nominal.clone(), widths.clone()].concat();
    for (inputs, follow, data) in [
        (&nominal, every, FitData::Observed),
        (&nominal, every, FitData::Asimov { poi: Some(1.0) }),
        (&widths, Follow::default(), FitData::Observed),
        (&both, every, FitData::Asimov { poi: None }),
    ] {
        let session = opened(&model, inputs, follow, &data).unwrap();
        let nll = session.on_host().unwrap();
        let yields: Vec<f64> =
            session.inputs().values.iter().map(|x| x * random.between(0.95, 1.05)).collect();
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init + random.between(-0.05, 0.05)).collect();
        let made = compute(&session, &nll, &yields, &point);
        for i in 0..yields.len() {
            let at = |step: f64| {
                let mut moved = yields.clone();
                moved[i] *= 1.0 + step;
                compute(&session, &nll, &moved, &point).values[0]
            };
            let difference = |h: f64| (at(h) - at(-h)) / (2.0 * h * yields[i]);
            let want = (4.0 * difference(5e-4) - difference(1e-3)) / 3.0;
            let got = made.by_inputs[i];
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{data:?} {i}: {got} instead of {want}");
        }
    }
}

#[test]
fn rows_without_a_result_are_nan_and_say_why() {
    let model = fixture();
    let inputs = [model.nominal_inputs("top"), model.nominal_inputs("fakes")].concat();
    let follow = Follow { staterror: true, ..Follow::default() };
    let session = opened(&model, &inputs, follow, &FitData::Asimov { poi: Some(1.0) }).unwrap();
    let nll = session.on_host().unwrap();
    let own = session.inputs().values.clone();
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let (n, m) = (own.len(), point.len());
    let right = compute(&session, &nll, &own, &point);
    let mut yields = own.repeat(6);
    yields[n] = f64::NAN;
    // No yields at all where the staterror acts, so that its relative width is infinite.
    for (place, x) in yields[2 * n..3 * n].iter_mut().enumerate() {
        *x = if place % 3 == 0 { 0.0 } else { *x };
    }
    // An expected count in the second channel that is negative.
    let range = session.inputs().range(Input::Nominal { channel: 1, sample: 1 }).unwrap();
    yields[4 * n + range.start] = -1e4;
    let made = compute(&session, &nll, &yields, &point);
    use RowStatus::{BadInput, Fine, NoAsimov};
    assert_eq!(made.status, [Fine, BadInput, BadInput, Fine, NoAsimov, Fine].map(Some));
    for row in 0..6 {
        let by_inputs = &made.by_inputs[row * n..(row + 1) * n];
        let by_parameters = &made.by_parameters[row * m..(row + 1) * m];
        if made.status[row] == Some(Fine) {
            assert_eq!(made.values[row].to_bits(), right.values[0].to_bits());
            assert_eq!((by_inputs, by_parameters), (&right.by_inputs[..], &right.by_parameters[..]));
        } else {
            assert!(made.values[row].is_nan());
            assert!(by_inputs.iter().chain(by_parameters).all(|x| x.is_nan()));
        }
    }
}
