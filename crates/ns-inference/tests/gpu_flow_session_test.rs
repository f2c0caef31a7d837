//! Compares `-ln L` of `GpuFlowSession` with sums that are computed on the host. The session runs on a GPU. If
//! `NEXTSTAT_CUDA_ON_HOST` is set, it runs on kernels compiled for the CPU.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr, clippy::panic)]

use ns_compute::cuda_parquet::{
    EventTarget, UploadOptions, upload_events_to_cuda, upload_events_with_bounds_to_cuda,
};
use ns_core::random::{Stream, open_uniform};
use ns_core::{RowGroups, SessionError};
use ns_inference::gpu_session::{FlowConstraint, FlowNll, FlowProcess, FlowSessionOptions, GpuFlowSession};

/// Opens a session on the GPU. If there is no GPU, prints the reason and returns `None`.
fn open(options: &FlowSessionOptions) -> Option<GpuFlowSession> {
    #[cfg(feature = "cuda-on-host")]
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() {
        return Some(GpuFlowSession::open_on_host(options).unwrap());
    }
    match ns_compute::device::cuda::found() {
        Ok(gpus) if !gpus.is_empty() => Some(GpuFlowSession::open(0, options).unwrap()),
        Ok(_) => {
            eprintln!("SKIPPED: the driver lists no GPU");
            None
        }
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn uniform(i: usize) -> f64 {
    let [a, b, ..] = Stream::new(7, i as u64, 0).block(0, 0);
    open_uniform(a, b)
}

fn options(weights: Option<Vec<f64>>) -> FlowSessionOptions {
    FlowSessionOptions {
        n_parameters: 3,
        processes: vec![
            FlowProcess { rate: 40.0, parameter: Some(0) },
            FlowProcess { rate: 1.0, parameter: Some(1) },
            FlowProcess { rate: 25.0, parameter: None },
            FlowProcess { rate: 3.0, parameter: Some(0) },
        ],
        constraints: vec![FlowConstraint { parameter: 2, mean: 0.5, sigma: 0.2 }],
        weights,
    }
}

const PARAMETERS: [f64; 3] = [1.3, 900.0, 0.61];

fn log_probs(n_events: usize) -> Vec<f64> {
    (0..4 * n_events).map(|i| -8.0 + 6.0 * uniform(i)).collect()
}

/// Computes on the host the result that the session must return.
fn expected(options: &FlowSessionOptions, log_probs: &[f64], parameters: &[f64]) -> FlowNll {
    let (k, n) = (options.processes.len(), options.n_parameters);
    let n_events = log_probs.len() / k;
    let factor = |p: Option<usize>| p.map_or(1.0, |p| parameters[p]);
    let rates: Vec<f64> = options.processes.iter().map(|p| p.rate * factor(p.parameter)).collect();
    let mut made = FlowNll {
        nll: rates.iter().sum(),
        gradient: vec![0.0; n],
        hessian: vec![0.0; n * n],
        bad_event: None,
    };
    let slope = |i: usize| options.processes[i].parameter.map(|p| (p, options.processes[i].rate));
    for (p, rate) in (0..k).filter_map(slope) {
        made.gradient[p] += rate;
    }
    for event in 0..n_events {
        let weight = options.weights.as_ref().map_or(1.0, |weights| weights[event]);
        let densities: Vec<f64> = (0..k).map(|i| log_probs[i * n_events + event].exp()).collect();
        let total: f64 = densities.iter().zip(&rates).map(|(p, rate)| p * rate).sum();
        made.nll -= weight * total.ln();
        for (i, (p, rate)) in (0..k).filter_map(|i| Some((i, slope(i)?))) {
            made.gradient[p] -= weight * rate * densities[i] / total;
            for (j, (q, other)) in (0..k).filter_map(|j| Some((j, slope(j)?))) {
                let product = rate * densities[i] * other * densities[j];
                made.hessian[p * n + q] += weight * product / (total * total);
            }
        }
    }
    for c in &options.constraints {
        let pull = (parameters[c.parameter] - c.mean) / c.sigma;
        made.nll += 0.5 * pull * pull;
        made.gradient[c.parameter] += pull / c.sigma;
        made.hessian[c.parameter * (n + 1)] += 1.0 / (c.sigma * c.sigma);
    }
    made
}

fn assert_close(got: &FlowNll, want: &FlowNll, relative: f64) {
    let close = |what: &str, got: &[f64], want: &[f64]| {
        let scale = want.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() <= relative * scale, "{what}: {g} instead of {w}");
        }
    };
    close("nll", &[got.nll], &[want.nll]);
    close("gradient", &got.gradient, &want.gradient);
    close("Hessian", &got.hessian, &want.hessian);
}

#[test]
fn sums_are_those_of_the_host() {
    for n_events in [1, 100, 1000, 1024, 1025, 30_000] {
        for weighted in [false, true] {
            let weights = weighted.then(|| (0..n_events).map(|i| 0.5 + uniform(1_000_000 + i)).collect());
            let options = options(weights);
            let Some(session) = open(&options) else { return };
            let log_probs = log_probs(n_events);
            let got = session.nll(&log_probs, &PARAMETERS).unwrap();
            assert_eq!(got.bad_event, None);
            assert_close(&got, &expected(&options, &log_probs, &PARAMETERS), 1e-12);
            assert_eq!(got, session.nll(&log_probs, &PARAMETERS).unwrap(), "the same bits again");
        }
    }
}

#[test]
fn sets_of_a_batch_are_those_of_single_calls() {
    let options = options(None);
    let Some(session) = open(&options) else { return };
    let counts = [5, 0, 300, 1, 77, 2000];
    let total: usize = counts.iter().sum();
    let log_probs = log_probs(total);
    let parameters: Vec<f64> = (0..counts.len()).flat_map(|i| [1.0 + 0.1 * i as f64, 500.0, 0.4]).collect();
    let all = session.nll_batch(&log_probs, &counts, &parameters).unwrap();
    let mut first = 0;
    for (set, &count) in counts.iter().enumerate() {
        let own: Vec<f64> = (0..4).flat_map(|k| log_probs[k * total + first..][..count].to_vec()).collect();
        assert_close(&all[set], &expected(&options, &own, &parameters[3 * set..3 * set + 3]), 1e-12);
        first += count;
    }
    assert!(session.nll_batch(&[], &[], &[]).unwrap().is_empty());
}

#[test]
fn events_without_a_density_are_named() {
    let options = options(None);
    let Some(session) = open(&options) else { return };
    let mut log_probs = log_probs(5000);
    for k in 0..4 {
        log_probs[k * 5000 + 4321] = f64::NEG_INFINITY;
        log_probs[k * 5000 + 4800] = f64::NAN;
    }
    let got = session.nll(&log_probs, &PARAMETERS).unwrap();
    assert_eq!((got.nll, got.bad_event), (f64::INFINITY, Some(4321)));
}

#[cfg(feature = "cuda-on-host")]
#[test]
fn numbers_on_the_device_are_read_in_place() {
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_none() {
        eprintln!("SKIPPED: tests/python/test_gpu_flow_session.py has the test on a GPU");
        return;
    }
    let options = options(None);
    let session = open(&options).unwrap();
    let log_probs = log_probs(3000);
    let host = session.nll(&log_probs, &PARAMETERS).unwrap();
    // SAFETY: the kernels run on the CPU, where the array has this many numbers.
    let there = unsafe { session.nll_device(log_probs.as_ptr() as u64, 3000, &PARAMETERS, 0) }.unwrap();
    assert_eq!(there, host);
    let singles: Vec<f32> = log_probs.iter().map(|&x| x as f32).collect();
    let rounded: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
    // SAFETY: the kernels run on the CPU, where the array has this many numbers.
    let single =
        unsafe { session.nll_device_ptr_f32(singles.as_ptr() as u64, 3000, &PARAMETERS, 0) }.unwrap();
    assert_close(&single, &session.nll(&rounded, &PARAMETERS).unwrap(), 1e-12);
    assert_close(&single, &host, 1e-3);
    let (counts, parameters) = ([1000, 2000], [PARAMETERS, PARAMETERS].concat());
    // SAFETY: the kernels run on the CPU, where the array has this many numbers.
    let batch = unsafe { session.nll_batch_device_ptr_f32(singles.as_ptr() as u64, &counts, &parameters, 0) }
        .unwrap();
    assert_eq!(batch, session.nll_batch(&rounded, &counts, &parameters).unwrap());
}

/// Log-densities in memory. They are read like a file that has one column per process, and row groups of 1000 events.
struct Columns {
    names: Vec<String>,
    groups: Vec<usize>,
    numbers: Vec<f64>,
}

impl Columns {
    fn of(log_probs: &[f64]) -> Self {
        let n_events = log_probs.len() / 4;
        let groups = (0..n_events).step_by(1000).map(|first| 1000.min(n_events - first)).collect();
        Self { names: (0..4).map(|k| format!("log_prob_{k}")).collect(), groups, numbers: log_probs.to_vec() }
    }
}

impl RowGroups for Columns {
    type Error = SessionError;

    fn names(&self) -> &[String] {
        &self.names
    }

    fn groups(&self) -> &[usize] {
        &self.groups
    }

    fn decode(&self, group: usize, column: usize, out: &mut [f64]) -> Result<(), SessionError> {
        let n_events = self.numbers.len() / self.names.len();
        out.copy_from_slice(&self.numbers[column * n_events + 1000 * group..][..out.len()]);
        Ok(())
    }
}

/// Returns the device on which [`open`] opens sessions.
fn target() -> EventTarget {
    #[cfg(feature = "cuda-on-host")]
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() {
        return ns_compute::device::host::event_target();
    }
    ns_compute::device::cuda::event_target(0).unwrap()
}

#[test]
fn columns_of_a_file_are_read_in_place() {
    for n_events in [1, 2500, 30_000] {
        let weights: Vec<f64> = (0..n_events).map(|i| 0.5 + uniform(2_000_000 + i)).collect();
        for options in [options(None), options(Some(weights))] {
            let Some(session) = open(&options) else { return };
            let log_probs = log_probs(n_events);
            let columns =
                upload_events_to_cuda(&Columns::of(&log_probs), &target(), UploadOptions::default()).unwrap();
            let got = session.nll_columns(&columns, &PARAMETERS).unwrap();
            assert_eq!(got, session.nll(&log_probs, &PARAMETERS).unwrap(), "the bits of numbers of the host");
            assert_close(&got, &expected(&options, &log_probs, &PARAMETERS), 1e-12);
        }
    }
}

#[test]
fn selected_rows_of_a_file_are_read_in_place() {
    let options = options(None);
    let Some(session) = open(&options) else { return };
    let log_probs = log_probs(5000);
    let bounds = [(-7.5, -2.0), (f64::NEG_INFINITY, f64::INFINITY), (-8.0, -2.5), (-8.0, -2.0)];
    let inside = |i: &usize| (0..4).all(|k| (bounds[k].0..=bounds[k].1).contains(&log_probs[k * 5000 + i]));
    let rows: Vec<usize> = (0..5000).filter(inside).collect();
    let kept: Vec<f64> =
        (0..4).flat_map(|k| rows.iter().map(move |i| (k, i))).map(|(k, i)| log_probs[k * 5000 + i]).collect();
    let file = Columns::of(&log_probs);
    let columns =
        upload_events_with_bounds_to_cuda(&file, &bounds, &target(), UploadOptions::default()).unwrap();
    assert_eq!(columns.outside().outside as usize, 5000 - rows.len());
    let got = session.nll_columns(&columns, &PARAMETERS).unwrap();
    assert_eq!(got, session.nll(&kept, &PARAMETERS).unwrap());
}

#[test]
fn columns_that_do_not_fit_are_errors() {
    let (mut fewer, mut weighted) = (options(None), options(Some(vec![1.0; 2999])));
    fewer.processes.truncate(3);
    let columns =
        || upload_events_to_cuda(&Columns::of(&log_probs(3000)), &target(), UploadOptions::default());
    for (wrong, actual, expected) in [(&mut fewer, 4, 3), (&mut weighted, 2999, 3000)] {
        let Some(session) = open(wrong) else { return };
        match session.nll_columns(&columns().unwrap(), &PARAMETERS) {
            Err(SessionError::WrongLength { actual: a, expected: e, .. }) => {
                assert_eq!((a, e), (actual, expected))
            }
            other => panic!("{other:?}"),
        }
    }
    let Some(session) = open(&options(None)) else { return };
    let none = upload_events_to_cuda(&Columns::of(&[]), &target(), UploadOptions::default()).unwrap();
    let got = session.nll_columns(&none, &PARAMETERS).unwrap();
    assert_eq!(got, session.nll(&[], &PARAMETERS).unwrap());
    assert_close(&got, &expected(&options(None), &[], &PARAMETERS), 1e-12);
}

#[test]
fn many_processes_use_other_memory() {
    // From 8 processes on, the working memory is not in shared memory.
    for k in [1, 2, 7, 8, 20] {
        let process = |i: usize| FlowProcess { rate: 10.0 + i as f64, parameter: (i % 3).checked_sub(1) };
        let mut options = options(None);
        options.processes = (0..k).map(process).collect();
        let Some(session) = open(&options) else { return };
        let log_probs: Vec<f64> = (0..k * 3000).map(|i| -8.0 + 6.0 * uniform(i)).collect();
        let got = session.nll(&log_probs, &PARAMETERS).unwrap();
        assert_close(&got, &expected(&options, &log_probs, &PARAMETERS), 1e-12);
        // Calls of different sizes follow each other.
        let few: Vec<f64> = (0..k).flat_map(|i| log_probs[i * 3000..][..100].to_vec()).collect();
        let less = session.nll(&few, &PARAMETERS).unwrap();
        assert_close(&less, &expected(&options, &few, &PARAMETERS), 1e-12);
        assert_eq!(session.nll(&log_probs, &PARAMETERS).unwrap(), got);
        let batch = session.nll_batch(&log_probs, &[3000], &PARAMETERS).unwrap();
        assert_close(&batch[0], &got, 1e-12);
    }
}

#[test]
fn mistakes_are_typed_errors() {
    let Some(session) = open(&options(None)) else { return };
    assert!(matches!(session.nll(&[0.0; 7], &PARAMETERS), Err(SessionError::WrongLength { .. })));
    assert!(matches!(session.nll(&[0.0; 8], &[1.0]), Err(SessionError::WrongLength { .. })));
    assert!(matches!(session.nll(&[0.0; 8], &[f64::NAN, 1.0, 1.0]), Err(SessionError::BadNumber { .. })));
    let open_all = |change: &dyn Fn(&mut FlowSessionOptions)| {
        let mut wrong = options(None);
        change(&mut wrong);
        #[cfg(feature = "cuda-on-host")]
        let opened = GpuFlowSession::open_on_host(&wrong);
        #[cfg(not(feature = "cuda-on-host"))]
        let opened = GpuFlowSession::open(0, &wrong);
        opened.err()
    };
    let missing = open_all(&|o| o.processes[0].parameter = Some(3));
    assert!(matches!(missing, Some(SessionError::NoSuchParameter { index: 3, .. })));
    let flat = open_all(&|o| o.constraints[0].sigma = 0.0);
    assert!(matches!(flat, Some(SessionError::BadNumber { .. })));
    assert!(matches!(open_all(&|o| o.processes.clear()), Some(SessionError::TooLarge { .. })));
}
