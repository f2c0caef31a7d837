//! Compares values and derivatives of the kernel, which is compiled for the CPU, with results of the CPU session.

use ns_core::{
    Data, Device, Evaluation, EvaluationRequest, Execution, Interpolation, Model, NormsysCode, Session,
};

use super::super::backend::{Backend, Properties};
use super::super::host;
use super::*;
use crate::differentiable::{DifferentiableAccelerator, Follower};

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

#[path = "../../../tests/oracle/inputs.rs"]
mod inputs;

use inputs::all_inputs;
use models::{Random, random_model, random_point};

const CODES: [Interpolation; 4] = [
    Interpolation::SMOOTH,
    Interpolation::PIECEWISE,
    Interpolation { normsys: NormsysCode::Code6, ..Interpolation::SMOOTH },
    Interpolation { normsys: NormsysCode::Code0, ..Interpolation::PIECEWISE },
];

/// Results of one call of [`DeviceNll::enqueue`].
struct Made {
    values: Vec<f64>,
    by_parameters: Vec<f64>,
    by_inputs: Vec<f64>,
    status: Vec<i32>,
}

/// Computes rows with the kernel and returns all results.
fn compute(
    nll: &DeviceNll,
    inputs: &[f64],
    parameters: &[f64],
    n_rows: usize,
    sizes: (usize, usize),
) -> Made {
    let (n, m) = sizes;
    let mut made = Made {
        values: vec![f64::MIN; n_rows],
        by_parameters: vec![f64::MIN; n_rows * m],
        by_inputs: vec![f64::MIN; n_rows * n],
        status: vec![-1; n_rows],
    };
    let rows = DeviceRows {
        n_rows,
        inputs: inputs.as_ptr() as u64,
        one_row_of_inputs: n_rows > 1 && inputs.len() == n,
        parameters: parameters.as_ptr() as u64,
        one_row_of_parameters: n_rows > 1 && parameters.len() == m,
        values: made.values.as_mut_ptr() as u64,
        by_parameters: made.by_parameters.as_mut_ptr() as u64,
        by_inputs: made.by_inputs.as_mut_ptr() as u64,
        strides: None,
        status: made.status.as_mut_ptr() as u64,
    };
    // SAFETY: the arrays have these sizes, and the host's kernels end before the call returns.
    unsafe { nll.enqueue(0, rows) }.unwrap();
    made
}

fn opened(seed: u64, interpolation: Interpolation) -> (Model, DifferentiableAccelerator) {
    let closed = Model { interpolation, ..random_model(seed) };
    let model = closed.open(&all_inputs(&closed)).unwrap();
    let accelerator = DifferentiableAccelerator::open(&model, &Execution::default()).unwrap();
    (model, accelerator)
}

fn assert_close(what: &str, got: &[f64], want: &[f64], scale: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-11 * (scale + w.abs());
        assert!(same, "{what}[{i}]: {g} instead of {w}");
    }
}

#[test]
fn values_and_derivatives_are_those_of_the_cpu() {
    let mut compared = 0;
    for seed in 0..40 {
        for interpolation in CODES {
            let (model, accelerator) = opened(seed, interpolation);
            let nll = accelerator.on_host(&DeviceDependence::constant(Data::observed())).unwrap();
            let mut random = Random(seed ^ 0x77);
            let own = accelerator.inputs().values.clone();
            let sizes = (own.len(), model.parameters.len());
            let (mut inputs, mut points) = (Vec::new(), Vec::new());
            for row in 0..4 {
                let factor = |random: &mut Random| if row == 0 { 1.0 } else { random.between(0.9, 1.2) };
                inputs.extend(own.iter().map(|x| x * factor(&mut random)));
                points.extend(random_point(&model, &mut random));
            }
            let made = compute(&nll, &inputs, &points, 4, sizes);
            for row in 0..4 {
                let numbers = inputs[row * sizes.0..(row + 1) * sizes.0].to_vec();
                let point = &points[row * sizes.1..(row + 1) * sizes.1];
                let data = Data::observed().with_yields(std::sync::Arc::new(numbers.into()));
                let (want, derivatives) = accelerator.value(&data, point).unwrap();
                let name = format!("seed {seed} row {row}");
                if !want.is_finite() {
                    assert_eq!(RowStatus::of(made.status[row]), Some(RowStatus::NoLikelihood), "{name}");
                    assert_eq!(made.values[row].to_bits(), want.to_bits(), "{name}");
                    continue;
                }
                if RowStatus::of(made.status[row]) == Some(RowStatus::ZeroFactor) {
                    continue;
                }
                compared += 1;
                assert_eq!(RowStatus::of(made.status[row]), Some(RowStatus::Fine), "{name}");
                assert_close(&name, &made.values[row..=row], &[want], 1.0);
                let largest = |all: &[f64]| all.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                let by = &made.by_parameters[row * sizes.1..(row + 1) * sizes.1];
                assert_close(&format!("{name} parameters"), by, &derivatives.parameters, largest(by));
                let by = &made.by_inputs[row * sizes.0..(row + 1) * sizes.0];
                assert_close(&format!("{name} inputs"), by, &derivatives.pulled.yields, largest(by));
            }
        }
    }
    assert!(compared > 300, "only {compared} rows had a finite likelihood");
}

#[test]
fn own_numbers_give_the_bits_of_the_compiled_model() {
    for seed in 0..20 {
        let (model, accelerator) = opened(seed, CODES[seed as usize % 4]);
        let nll = accelerator.on_host(&DeviceDependence::constant(Data::observed())).unwrap();
        let point = random_point(&model, &mut Random(seed));
        let own = accelerator.inputs().values.clone();
        let made = compute(&nll, &own, &point, 1, (own.len(), point.len()));
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let session = host::open(&model, &Execution::default()).unwrap();
        let Evaluation { gradient, .. } = session.evaluate(&Data::observed(), &point, request).unwrap();
        let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        if RowStatus::of(made.status[0]) == Some(RowStatus::Fine) {
            assert_eq!(bits(&made.by_parameters), bits(&gradient), "seed {seed}");
        }
    }
}

#[test]
fn numbers_that_are_not_allowed_give_nan_in_their_row_alone() {
    let (model, accelerator) = opened(3, Interpolation::SMOOTH);
    let nll = accelerator.on_host(&DeviceDependence::constant(Data::observed())).unwrap();
    let own = accelerator.inputs().values.clone();
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let sizes = (own.len(), point.len());
    let right = compute(&nll, &own, &point, 1, sizes);
    let mut inputs = own.repeat(4);
    inputs[sizes.0] = f64::NAN;
    let width =
        accelerator.inputs().inputs.iter().position(|i| matches!(i, ns_core::Input::StatError { .. }));
    let width = accelerator.inputs().ranges[width.unwrap()].start;
    inputs[2 * sizes.0 + width] = 0.0;
    let made = compute(&nll, &inputs, &point, 4, sizes);
    assert_eq!(made.status, [0, 1, 1, 0]);
    for row in [1, 2] {
        assert!(made.values[row].is_nan());
        assert!(made.by_parameters[row * sizes.1..(row + 1) * sizes.1].iter().all(|x| x.is_nan()));
        assert!(made.by_inputs[row * sizes.0..(row + 1) * sizes.0].iter().all(|x| x.is_nan()));
    }
    for row in [0, 3] {
        assert_eq!(made.values[row].to_bits(), right.values[0].to_bits());
        assert_eq!(made.by_inputs[row * sizes.0..(row + 1) * sizes.0], right.by_inputs);
    }
    let mut points = point.repeat(2);
    points[0] = f64::INFINITY;
    let made = compute(&nll, &own, &points, 2, sizes);
    assert_eq!(made.status, [1, 0]);
}

/// Compares a kernel with the CPU where the last inputs follow the others and the data are Asimov data. The CPU gets the
/// data and the numbers that follow, and the chain rule is applied here.
#[test]
fn what_changes_with_the_inputs_has_the_values_and_derivatives_of_the_cpu() {
    let mut compared = 0;
    for seed in 0..8 {
        let (model, accelerator) = opened(seed, CODES[seed as usize % 4]);
        let own = accelerator.inputs().values.clone();
        let (n, m) = (own.len(), model.parameters.len());
        let n_given = n - n / 3;
        let follower = |to: usize| {
            let sources = vec![to % n_given, (to + 1) % n_given];
            let sum: f64 = 0.5 + sources.iter().map(|&place| own[place]).sum::<f64>();
            let inverse = to.is_multiple_of(2) && sum > 0.0;
            let factor = if inverse { own[to] * sum } else { own[to] / sum.max(0.5) };
            Follower { sources, held: 0.5, factor, inverse }
        };
        let followers: Vec<Follower> = (n_given..n).map(follower).collect();
        let mut random = Random(seed ^ 0x99);
        let asimov = random_point(&model, &mut random);
        let data = DeviceData::Asimov(asimov.clone());
        // Half of the models do not fit into shared memory.
        let usual = host::Host::new();
        let properties = usual.properties().clone();
        let shared_per_block = if seed < 4 { properties.shared_per_block } else { 2 << 10 };
        let backend = host::Host::with(Properties { shared_per_block, ..properties });
        let dependence = DeviceDependence { followers: &followers, data };
        let session = accelerator.session();
        let nll =
            DeviceNll::new(session, std::sync::Arc::new(backend), Device::Cuda(0), &dependence).unwrap();
        let given: Vec<f64> = own[..n_given].iter().map(|x| x * random.between(0.95, 1.05)).collect();
        let point = random_point(&model, &mut random);
        // Each thread block computes several rows, which are the same.
        let mut made = compute(&nll, &given.repeat(5), &point, 5, (n_given, m));
        for (all, width) in
            [(&mut made.values, 1), (&mut made.by_parameters, m), (&mut made.by_inputs, n_given)]
        {
            let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let first = bits(&all[..width]);
            assert!(all.chunks(width).all(|row| bits(row) == first), "seed {seed}");
            all.truncate(width);
        }
        let mut all = given.clone();
        all.extend(followers.iter().map(|follower| follower.value(&given)));
        let numbers = Data::observed().with_yields(std::sync::Arc::new(all.into()));
        let Ok(data) = accelerator.session().asimov(&asimov, &numbers) else {
            assert_ne!(RowStatus::of(made.status[0]), Some(RowStatus::Fine), "seed {seed}");
            continue;
        };
        let (want, derivatives) = accelerator.value(&data, &point).unwrap();
        if RowStatus::of(made.status[0]) != Some(RowStatus::Fine) {
            continue;
        }
        compared += 1;
        let pulled = derivatives.pulled;
        let through = accelerator.expected(&data, &asimov, &pulled.main, &pulled.aux).unwrap();
        let sums = pulled.yields.iter().zip(&through.pulled.yields).map(|(a, b)| a + b);
        let mut by_inputs: Vec<f64> = sums.collect();
        let by_followers = by_inputs.split_off(n_given);
        for (follower, by) in followers.iter().zip(by_followers) {
            for &place in &follower.sources {
                by_inputs[place] += by * follower.slope(&given);
            }
        }
        let largest = by_inputs.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        assert_close(&format!("seed {seed}"), &made.values, &[want], 1.0);
        assert_close(
            &format!("seed {seed} parameters"),
            &made.by_parameters,
            &derivatives.parameters,
            largest,
        );
        assert_close(&format!("seed {seed} inputs"), &made.by_inputs, &by_inputs, largest);
    }
    assert!(compared > 3, "only {compared} rows had a finite likelihood");
}
