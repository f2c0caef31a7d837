//! Batches larger than the memory of a device: work goes in portions, with the same bits.

use std::sync::{Arc, Mutex};

use ns_core::{
    BinnedData, Control, Data, Device, Drawn, EvaluationRequest, FitRequest, FitTask, Interpolation, Model,
    OutcomeParts, Search, Session, SessionError, Start, TaskOutcome, ToySource,
};

use super::super::CudaSession;
use super::super::backend::{Backend, Kernel, Shape};
use super::super::host::Host;
use super::super::test_support::{answered_by_host, execution};
use super::*;
use crate::cpu::CpuSession;

// Its functions are for the module above it alone, so that others cannot share it.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Memory of the device, bytes.
const MEMORY: usize = 4 << 20;

/// A device with little memory and many multiprocessors.
struct Little {
    host: Host,
    properties: Properties,
    taken: Mutex<usize>,
}

impl Little {
    fn backend() -> Arc<dyn Backend> {
        let host = Host::new();
        let properties =
            Properties { memory: MEMORY as u64, multiprocessors: 1000, ..host.properties().clone() };
        Arc::new(Self { host, properties, taken: Mutex::new(0) })
    }
}

impl Backend for Little {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_memory(&self) -> Result<u64, SessionError> {
        Ok((MEMORY - *self.taken.lock().unwrap()) as u64)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, SessionError> {
        let mut taken = self.taken.lock().unwrap();
        if *taken + bytes > MEMORY {
            let (needed, free) = (bytes as u64, (MEMORY - *taken) as u64);
            return Err(SessionError::OutOfDeviceMemory { device: Device::Cuda(0), needed, free });
        }
        *taken += bytes;
        self.host.allocate(bytes)
    }

    fn release(&self, address: u64, bytes: usize) {
        *self.taken.lock().unwrap() -= bytes;
        self.host.release(address, bytes);
    }

    answered_by_host!();

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.host.launch(kernel, shape, parameter)
    }
}

/// A model that devices take, on one with enough memory and on one with little.
struct Study {
    model: Model,
    much: CudaSession,
    little: CudaSession,
    source: Arc<ToySource>,
}

impl Study {
    fn new() -> Self {
        let mut model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(13) };
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let session = CpuSession::open(&model, &execution()).unwrap();
        models::hold_idle(&mut model, &session, &point);
        let much = CudaSession::open_on_host(&model, &execution()).unwrap();
        let cpu = CpuSession::open(&model, &execution()).unwrap();
        let little = CudaSession::on(cpu, Little::backend(), Device::Cuda(0)).unwrap();
        let source = much.toy_source(&point, &Data::observed(), 9, 1).unwrap();
        Self { model, much, little, source }
    }

    fn fits(&self) -> Vec<FitRequest> {
        let point: Vec<f64> = self.model.parameters.iter().map(|p| p.init).collect();
        let free =
            FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
        let conditional = FitRequest { start: Start::Earlier(0), fixed: vec![(0, 1.5)], ..free.clone() };
        vec![free, conditional]
    }
}

/// What a session delivers; the shortest text of a number stands for its bits.
fn run(session: &CudaSession, tasks: &[FitTask]) -> Vec<String> {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes.iter().map(|outcome| format!("{outcome:?}")).collect()
}

#[test]
fn points_that_take_more_memory_than_there_is_go_in_portions() {
    let study = Study::new();
    let point: Vec<f64> = study.model.parameters.iter().map(|p| p.init).collect();
    let count = 2 * MEMORY / (8 * point.len());
    let points: Vec<f64> =
        (0..count).flat_map(|k| point.iter().map(move |x| x * (1.0 + 1e-6 * k as f64))).collect();
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    let here = study.much.evaluate(&Data::observed(), &points, request).unwrap();
    let there = study.little.evaluate(&Data::observed(), &points, request).unwrap();
    assert_eq!((here.nll.len(), here.gradient.len()), (count, points.len()));
    assert_eq!(here, there);
}

#[test]
fn blocks_are_no_more_than_there_is_memory_for() {
    let study = Study::new();
    let drawn = Drawn { source: Arc::clone(&study.source), toys: 0..1200 };
    let tasks = [FitTask { data: drawn.into(), fits: study.fits() }];
    let placement =
        study.little.launcher(study.little.given_kind.as_ref().unwrap().size).unwrap().fit.placement;
    assert!(8 * placement.slab * 1000 > MEMORY, "the slabs of all blocks do not fit");
    assert_eq!(run(&study.much, &tasks), run(&study.little, &tasks));
}

#[test]
fn tasks_that_take_more_memory_than_there_is_go_in_portions() {
    let study = Study::new();
    let data = |toy| -> BinnedData { study.source.draw(toy) };
    let tasks: Vec<FitTask> =
        (0..5000).map(|toy| FitTask { data: data(toy).into(), fits: study.fits() }).collect();
    assert!(study.little.given_at_a_time(&tasks) < 500);
    assert_eq!(study.much.given_at_a_time(&tasks), 5000);
    assert_eq!(run(&study.much, &tasks), run(&study.little, &tasks));
}
