//! Tests batches that need more memory than the device has. These batches run in several launches. All outcomes must
//! have the same bits as with enough memory.

use std::sync::Arc;

use ns_core::{
    Control, Data, Device, Drawn, EvaluationRequest, Execution, FitRequest, FitTask, Interpolation, Model,
    Observations, OutcomeParts, Precision, Search, Session, SessionError, Start, TaskOutcome, ToySource,
};

use super::super::GpuSession;
use super::super::backend::{Backend, Buffer};
use super::super::host::{self, Host};
use super::super::limit::Limited;
use super::super::test_support::execution;
use super::*;
use crate::cpu::CpuSession;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Memory, in bytes, of the device that has little memory.
const MEMORY: usize = 4 << 20;

/// Returns a device with [`MEMORY`] bytes of memory and many multiprocessors.
fn little() -> Arc<dyn Backend> {
    let properties = Properties { multiprocessors: 1000, ..Host::new().properties().clone() };
    Limited::around(Arc::new(Host::with(properties)), Device::Cuda(0), Some(MEMORY as u64))
}

/// A model whose fits devices can make. Two sessions use it: `much` on a device with enough memory, and `little` on a
/// device with little memory.
struct Study {
    model: Model,
    much: GpuSession,
    little: GpuSession,
    source: Arc<ToySource>,
}

impl Study {
    fn new() -> Self {
        let mut model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(13) };
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let session = CpuSession::open(&model, &execution()).unwrap();
        models::hold_idle(&mut model, &session, &point);
        let much = host::open(&model, &execution()).unwrap();
        let cpu = CpuSession::open(&model, &execution()).unwrap();
        let little = GpuSession::on(cpu, little(), Device::Cuda(0)).unwrap();
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

/// Returns the outcomes of a session as text. Two outcomes have the same text only if they have the same bits.
fn run(session: &GpuSession, tasks: &[FitTask]) -> Vec<String> {
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
    let tasks = [FitTask { data: drawn.into(), fits: study.fits(), cancel: None }];
    let placement =
        study.little.launcher(study.little.given_kind.as_ref().unwrap().size).unwrap().fit.placement;
    assert!(8 * placement.slab * 1000 > MEMORY, "the slabs of all blocks do not fit");
    assert_eq!(run(&study.much, &tasks), run(&study.little, &tasks));
}

#[test]
fn tasks_that_take_more_memory_than_there_is_go_in_portions() {
    let study = Study::new();
    let data = |toy| -> Observations { study.source.draw(toy) };
    let tasks: Vec<FitTask> =
        (0..5000).map(|toy| FitTask { data: data(toy).into(), fits: study.fits(), cancel: None }).collect();
    assert!(study.little.given_at_a_time(&tasks, OutcomeParts::default()) < 500);
    assert_eq!(study.much.given_at_a_time(&tasks, OutcomeParts::default()), 5000);
    assert_eq!(run(&study.much, &tasks), run(&study.little, &tasks));
}

#[test]
fn a_memory_limit_is_kept_with_the_same_bits_or_refused() {
    let study = Study::new();
    let open = |limit| host::open(&study.model, &Execution { memory_limit: Some(limit), ..execution() });
    // The working memory on the host must also fit within this limit.
    let limit = 32 << 20;
    let limited = open(limit).unwrap();
    let drawn = Drawn { source: Arc::clone(&study.source), toys: 0..600 };
    let tasks: Vec<FitTask> = std::iter::once(Data::from(drawn))
        .chain((0..500).map(|toy| study.source.draw(toy).into()))
        .map(|data| FitTask { data, fits: study.fits(), cancel: None })
        .collect();
    let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    let outcomes = |session: &GpuSession| {
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        session.fit_batch(&tasks, wanted, Control::default(), &mut outcomes).unwrap();
        outcomes.iter().map(|outcome| format!("{outcome:?}")).collect::<Vec<_>>()
    };
    assert!(limited.backend.properties().memory == limit);
    assert_eq!(outcomes(&study.much), outcomes(&limited));
    let error = Buffer::new(&limited.backend, 33 << 20).err().unwrap();
    assert!(matches!(error, SessionError::MemoryLimit { device: Device::Cuda(0), .. }), "{error}");
    assert!(Buffer::new(&limited.backend, 1 << 20).is_ok(), "what was refused is not counted");
    assert!(matches!(open(1000).err(), Some(SessionError::MemoryLimit { .. })));
}

#[test]
fn a_precision_that_the_kernels_lack_is_refused() {
    for precision in [Precision::F32, Precision::Mixed] {
        let execution = Execution { precision, ..execution() };
        let study = Study::new();
        for error in [
            host::open(&study.model, &execution).err().unwrap(),
            host::open_several(&study.model, &execution, 2).err().unwrap(),
        ] {
            assert!(matches!(error, SessionError::UnsupportedPrecision { .. }), "{error}");
        }
    }
}
