//! Measures derivatives with respect to yields. There are three quantities: `-ln L` with its gradient for many rows of
//! yields, the profiled statistic q0 with its gradient, and a step of a training. The fits of a training step start at
//! the minima that the previous step found.
//!
//! The GPU computes `-ln L` and its derivatives. Fits of models with inputs run on the CPU, so q0 and the training step
//! are not measured on the GPU.

use std::sync::Arc;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId};
use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};
use ns_compute::differentiable::{
    DeviceData, DeviceDependence, DeviceNll, DeviceRows, DifferentiableAccelerator,
};
use ns_core::{
    Data, Execution, FitRequest, FitTask, Input, Model, OutcomeParts, Search, Session, Start, Yields,
};

use super::models::Wiggle;
use super::run;

/// Number of rows of yields, each with a parameter point, for which `-ln L` is measured.
const ROWS: usize = 1000;

/// An array that kernels read or write. It is in the memory of a GPU, or in the memory of the process if the kernels
/// are compiled for the CPU.
enum Array<T> {
    /// An array in the memory of a GPU. `_memory` owns this memory, so that the address stays valid.
    Device {
        _memory: CudaSlice<T>,
        address: u64,
    },
    Host(Vec<T>),
}

impl<T: DeviceRepr + ValidAsZeroBits + Copy> Array<T> {
    fn of(context: Option<&Arc<CudaContext>>, values: Vec<T>) -> Self {
        let Some(context) = context else { return Self::Host(values) };
        let stream = context.default_stream();
        let memory = stream.clone_htod(&values).unwrap();
        let address = memory.device_ptr(&stream).0;
        Self::Device { _memory: memory, address }
    }

    fn address(&self) -> u64 {
        match self {
            Self::Device { address, .. } => *address,
            Self::Host(values) => values.as_ptr() as u64,
        }
    }
}

/// Returns the model with the nominal yields of the first sample as inputs.
fn opened(model: &Model) -> Model {
    let name = model.channels[0].samples[0].name.clone();
    let inputs: Vec<Input> = model.nominal_inputs(&name);
    model.open(&inputs).unwrap()
}

/// Returns the nominal yields with every yield changed by up to 0.1 %, as new values of the inputs.
fn changed(nominal: &[f64], wiggle: &mut Wiggle) -> Arc<Yields> {
    Arc::new(Yields::from(wiggle.scaled(nominal)))
}

fn on_gpu(there: &DifferentiableAccelerator, data: DeviceData) -> (DeviceNll, Option<Arc<CudaContext>>) {
    let dependence = DeviceDependence { followers: &[], data };
    #[cfg(feature = "cuda-on-host")]
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() {
        return (there.on_host(&dependence).unwrap(), None);
    }
    (there.on_cuda(0, &dependence).unwrap(), Some(CudaContext::new(0).unwrap()))
}

/// Measures `-ln L` with its derivatives with respect to parameters and yields at [`ROWS`] points. On the CPU, one call
/// is made per point. On the GPU, all points are computed in one call, and also in one call per point without waiting
/// for the result before the next call. The GPU also computes them for Asimov data, which change with the yields.
fn likelihood(
    group: &mut BenchmarkGroup<'_, WallTime>,
    here: &DifferentiableAccelerator,
    init: &[f64],
    bounds: &[(f64, f64)],
) {
    let nominal = here.inputs().values.clone();
    let (n, m) = (nominal.len(), init.len());
    let mut wiggle = Wiggle::default();
    let mut point = || -> Vec<f64> {
        let moved = init.iter().zip(bounds).map(|(x, to)| (x + 0.1 * wiggle.next()).clamp(to.0, to.1));
        moved.collect()
    };
    let points: Vec<Vec<f64>> = (0..ROWS).map(|_| point()).collect();
    let mut wiggle = Wiggle::default();
    let mut rows = || -> Vec<Vec<f64>> { (0..ROWS).map(|_| wiggle.scaled(&nominal)).collect() };
    group.bench_function(BenchmarkId::new("nll_by_yields_x1000", "cpu"), |b| {
        b.iter_batched(
            &mut rows,
            |rows| {
                for (row, point) in rows.iter().zip(&points) {
                    let data = Data::observed().with_yields(Yields::from(row.clone()));
                    std::hint::black_box(here.value(&data, point).unwrap());
                }
            },
            BatchSize::PerIteration,
        );
    });
    let (gpu, context) = on_gpu(here, DeviceData::Constant(Data::observed()));
    let (of_asimov, _) = on_gpu(here, DeviceData::Asimov(init.to_vec()));
    let context = context.as_ref();
    let parameters = Array::of(context, points.concat());
    let values = Array::of(context, vec![0.0_f64; ROWS]);
    let by_parameters = Array::of(context, vec![0.0_f64; ROWS * m]);
    let by_inputs = Array::of(context, vec![0.0_f64; ROWS * n]);
    let status = Array::of(context, vec![0_i32; ROWS]);
    let wait = || {
        if let Some(context) = context {
            context.synchronize().unwrap();
        }
    };
    let rows_at = |inputs: &Array<f64>, first: usize, n_rows: usize| DeviceRows {
        n_rows,
        inputs: inputs.address() + (8 * first * n) as u64,
        one_row_of_inputs: false,
        parameters: parameters.address() + (8 * first * m) as u64,
        one_row_of_parameters: false,
        values: values.address() + (8 * first) as u64,
        by_parameters: by_parameters.address() + (8 * first * m) as u64,
        by_inputs: by_inputs.address() + (8 * first * n) as u64,
        strides: None,
        status: status.address() + (4 * first) as u64,
    };
    for (what, nll, together) in [
        ("nll_by_yields_x1000", &gpu, ROWS),
        ("nll_by_yields_x1000_enqueued_singly", &gpu, 1),
        ("nll_of_asimov_by_yields_x1000", &of_asimov, ROWS),
        ("nll_of_asimov_by_yields_x1000_enqueued_singly", &of_asimov, 1),
    ] {
        group.bench_function(BenchmarkId::new(what, "cuda"), |b| {
            b.iter_batched(
                || Array::of(context, rows().concat()),
                |inputs| {
                    for first in (0..ROWS).step_by(together) {
                        // SAFETY: all arrays have `ROWS` rows and live until the work has ended, and the stream is the
                        // default stream.
                        unsafe { nll.enqueue(0, rows_at(&inputs, first, together)) }.unwrap();
                    }
                    wait();
                    inputs
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// Measures the two fits of q0 with the gradient of q0 with respect to the yields. If `warm` is true, each fit starts
/// at the minimum that the previous call found and makes one descent, as in a training.
fn profiled(
    group: &mut BenchmarkGroup<'_, WallTime>,
    here: &DifferentiableAccelerator,
    poi: usize,
    warm: bool,
) {
    let nominal = here.inputs().values.clone();
    let mut wiggle = Wiggle::default();
    let mut last: Option<[Arc<[f64]>; 2]> = None;
    let what = if warm { "training_step" } else { "profiled_q0" };
    group.bench_function(BenchmarkId::new(what, "cpu"), |b| {
        b.iter_batched(
            || changed(&nominal, &mut wiggle),
            |yields| {
                let data = Data::observed().with_yields(yields);
                let held = vec![(poi, 0.0)];
                let local = |start: &Arc<[f64]>| FitRequest {
                    start: Start::At(Arc::clone(start)),
                    search: Search::Local,
                    ..FitRequest::default()
                };
                let fits = match &last {
                    Some([free, conditional]) => {
                        vec![local(free), FitRequest { fixed: held, ..local(conditional) }]
                    }
                    None => vec![
                        FitRequest::default(),
                        FitRequest { start: Start::Earlier(0), fixed: held, ..FitRequest::default() },
                    ],
                };
                let task = FitTask { data: data.clone(), fits, cancel: None };
                let outcome = run(here.session(), &[task], OutcomeParts::default()).remove(0);
                let minima: Vec<Arc<[f64]>> =
                    outcome.fits.into_iter().map(|fit| fit.unwrap().parameters.into()).collect();
                let slopes: Vec<Vec<f64>> =
                    minima.iter().map(|at| here.value(&data, at).unwrap().1.pulled.yields).collect();
                if warm {
                    last = minima.try_into().ok();
                }
                slopes
            },
            BatchSize::PerIteration,
        );
    });
}

pub(crate) fn rows(group: &mut BenchmarkGroup<'_, WallTime>, model: &Model) {
    let model = opened(model);
    let execution = Execution { threads: 1, ..Execution::default() };
    let here = DifferentiableAccelerator::open(&model, &execution).unwrap();
    let table = here.session().parameters();
    likelihood(group, &here, &table.init, &table.bounds);
    for warm in [false, true] {
        profiled(group, &here, model.poi().unwrap(), warm);
    }
}
