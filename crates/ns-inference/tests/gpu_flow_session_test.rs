//! Compares `GpuFlowSession` with sums that are computed on the host. The session runs on a GPU. If
//! `NEXTSTAT_CUDA_ON_HOST` is set, it runs on kernels compiled for the CPU.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use ns_core::SessionError;
use ns_core::random::{Stream, open_uniform};
use ns_inference::gpu_session::{FlowConstraint, FlowNll, FlowProcess, FlowSessionOptions, GpuFlowSession};

/// Opens a session. If there is no GPU, prints the reason and returns `None`.
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

/// Computes the expected result on the host.
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
