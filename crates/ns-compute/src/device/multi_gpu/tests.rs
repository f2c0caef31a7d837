//! Asserts that sessions on several devices return the same bits as a session on one device. The devices run the
//! kernels compiled for the CPU.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ns_core::{
    Drawn, FitFailure, FitRequest, Interpolation, Observations, Observer, Search, Start, TaskOutcome,
};

use super::super::backend::{Guest, Kernel, Lane, Pinned, Properties, Shape};
use super::super::host::{self, Host};
use super::super::offset::Memory;
use super::super::partition::fits_of;
use super::super::prepared::Prepared;
use super::super::test_support::execution;
use super::*;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Index of a parameter that the model fixes. Some requests make it a free parameter.
const RELEASED: usize = 1;

/// A model that devices can fit, with a session on one device, a source of toys, and two requests for fits.
struct Study {
    model: Model,
    one: GpuSession,
    source: Arc<ToySource>,
    fits: Vec<FitRequest>,
}

impl Study {
    fn new() -> Self {
        let mut model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(13) };
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let session = CpuSession::open(&model, &execution()).unwrap();
        models::hold_idle(&mut model, &session, &point);
        model.parameters[RELEASED].fixed = true;
        let one = host::open(&model, &execution()).unwrap();
        let source = one.toy_source(&point, &Data::observed(), 9, 1).unwrap();
        let free =
            FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
        let conditional = FitRequest { start: Start::Earlier(0), fixed: vec![(0, 1.5)], ..free.clone() };
        Self { model, one, source, fits: vec![free, conditional] }
    }

    fn multi_gpu(&self, n: usize, sizes: Sizes) -> MultiGpuSession {
        host::open_several(&self.model, &execution(), n).unwrap().with_sizes(sizes)
    }

    fn toys(&self, toys: std::ops::Range<u64>) -> FitTask {
        let drawn = Drawn { source: Arc::clone(&self.source), toys };
        FitTask { data: drawn.into(), fits: self.fits.clone(), cancel: None }
    }

    /// Returns `n` tasks with given data. Their data are toys that are drawn here, on the CPU.
    fn given(&self, n: u64) -> Vec<FitTask> {
        let data = |toy| -> Observations { self.source.draw(toy) };
        (0..n).map(|toy| FitTask { data: data(toy).into(), fits: self.fits.clone(), cancel: None }).collect()
    }
}

fn sizes(fewest: u64, most: u64) -> Sizes {
    Sizes { alone: 0, toys: (fewest, most), given: most, points: 0 }
}

/// Returns the outcomes of a session for the tasks. Asserts that the indices of the outcomes are consecutive.
fn run(session: &dyn Session, tasks: &[FitTask]) -> Vec<TaskOutcome> {
    let mut out = InOrder::default();
    session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut out).unwrap();
    out.0
}

#[derive(Default)]
struct InOrder(Vec<TaskOutcome>);

impl Sink for InOrder {
    fn accept(&mut self, index: usize, outcome: TaskOutcome) {
        assert_eq!(index, self.0.len());
        self.0.push(outcome);
    }
}

/// Returns the outcomes as text. Two outcomes have the same text only if they have the same bits, including the signs
/// of zeros.
fn text(outcomes: &[TaskOutcome]) -> Vec<String> {
    outcomes.iter().map(|outcome| format!("{outcome:?}")).collect()
}

#[test]
fn toys_are_the_same_bits_in_any_range_and_portions() {
    let study = Study::new();
    let reference = text(&run(&study.one, &[study.toys(0..120)]));
    assert_eq!(reference.len(), 120);
    for n in [2, 3] {
        for portions in [(1, 1), (7, 7), (8, 8), (64, 64), (3, u64::MAX)] {
            let multi_gpu = study.multi_gpu(n, sizes(portions.0, portions.1));
            for (first, end) in [(0, 120), (0, 0), (5, 6), (1, 64), (0, 65), (0, 16), (3, 17)] {
                let got = text(&run(&multi_gpu, &[study.toys(first..end)]));
                assert_eq!(got, reference[first as usize..end as usize], "{n}, {portions:?}, {first}..{end}");
            }
        }
    }
}

#[test]
fn given_tasks_are_the_same_bits_alone_and_shared_out() {
    let study = Study::new();
    let tasks = study.given(41);
    let reference = text(&run(&study.one, &tasks));
    for (n, most) in [(1, 5), (2, 5), (2, 8192), (3, 1), (3, 8192)] {
        let multi_gpu = study.multi_gpu(n, sizes(1, most));
        assert_eq!(text(&run(&multi_gpu, &tasks)), reference, "{n} devices, {most} at most");
    }
    // One device alone makes the fits of a few tasks. A session without devices leaves all tasks to the CPU.
    let usual = study.multi_gpu(2, Sizes::default());
    assert_eq!(text(&run(&usual, &tasks)), reference);
    assert_eq!(usual.check(), usual.gpus[0].check());
    let none = study.multi_gpu(0, sizes(1, 5));
    assert_eq!(run(&none, &tasks), run(&none.cpu, &tasks));
}

#[test]
fn batches_of_all_kinds_of_tasks_keep_their_order() {
    let study = Study::new();
    let mut tasks = study.given(5);
    tasks.insert(2, study.toys(10..31));
    tasks.insert(4, FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None });
    tasks[5].fits[0].released = vec![RELEASED];
    tasks[6].fits[0].search = Search::Standard;
    tasks.push(study.toys(0..9));
    // The CPU makes fits of toys that search for further minima.
    let mut searching = study.toys(0..3);
    searching.fits[0].search = Search::Standard;
    tasks.push(searching);
    let reference = text(&run(&study.one, &tasks));
    assert_eq!(reference.len(), 5 + 21 + 1 + 9 + 3);
    for n in [2, 3] {
        assert_eq!(text(&run(&study.multi_gpu(n, sizes(2, 4)), &tasks)), reference, "{n} devices");
    }
}

#[test]
fn tasks_of_toys_run_in_one_line_as_one_after_the_other() {
    let study = Study::new();
    let other = |toys, value| {
        let mut task = study.toys(toys);
        task.fits[1].fixed[0].1 = value;
        task
    };
    let mut searching = study.toys(7..9);
    searching.fits[1].search = Search::Standard;
    // Some tasks have more toys than a chunk, some have no toys, and some have a few toys. Some tasks in the middle
    // are left to the CPU.
    let mut tasks = vec![study.toys(0..600), other(90..90, 1.25), other(3..20, 1.25), study.toys(40..700)];
    tasks.extend([searching.clone(), searching, other(0..30, 1.75)]);
    // Each of these tasks has a single toy.
    tasks.extend((0..5).map(|toy| other(toy..toy + 1, 1.0 + 0.125 * toy as f64)));
    let apart: Vec<TaskOutcome> =
        tasks.iter().flat_map(|task| run(&study.one, std::slice::from_ref(task))).collect();
    assert_eq!(apart.len(), 600 + 17 + 660 + 4 + 30 + 5);
    let together = run(&study.one, &tasks);
    assert_eq!(text(&together), text(&apart));
    assert_eq!(text(&run(&study.multi_gpu(2, sizes(50, 90)), &tasks)), text(&apart));
    // Each fit that the device completed is counted once, no matter how the outcomes are divided for their delivery.
    let one = host::open(&study.model, &execution()).unwrap();
    run(&one, &tasks[..1]);
    let made = together[..600].iter().flat_map(|outcome| &outcome.fits).filter(|fit| fit.is_ok()).count();
    let counted = one.check().unwrap().n_fits as usize;
    assert!(counted <= made && 10 * counted >= 9 * made, "{counted} of {made}");
}

#[test]
fn a_device_lost_amid_a_line_of_tasks_has_what_was_under_way_delivered() {
    let study = Study::new();
    let backend = Failing::new(&Arc::default(), false);
    let cpu = CpuSession::open(&study.model, &execution()).unwrap();
    let session = GpuSession::on(cpu, backend, Device::Cuda(1)).unwrap();
    let tasks = [study.toys(0..20), study.toys(50..61), study.toys(0..9), study.toys(9..12)];
    let mut out = InOrder::default();
    let result = session.fit_batch(&tasks, OutcomeParts::default(), Control::default(), &mut out);
    assert_eq!(result, Err(lost()));
    assert_eq!(text(&out.0), text(&run(&study.one, &tasks[..2])));
}

/// Observer that records the reported progress of a batch.
#[derive(Default)]
struct Heard(Mutex<Vec<(usize, usize)>>);

impl Observer for Heard {
    fn progress(&self, done: usize, total: usize) {
        self.0.lock().unwrap().push((done, total));
    }
}

#[test]
fn progress_counts_what_the_cpu_makes_in_the_middle_of_a_batch() {
    let study = Study::new();
    let mut tasks = study.given(9);
    tasks[4].fits[0].released = vec![RELEASED];
    let all = fits_of(&tasks);
    let one = host::open(&study.model, &execution()).unwrap();
    for session in [&one as &dyn Session, &study.multi_gpu(2, sizes(1, 4))] {
        let heard = Heard::default();
        let control = Control { observer: Some(&heard), cancel: None, task: None };
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        session.fit_batch(&tasks, OutcomeParts::default(), control, &mut outcomes).unwrap();
        let heard = heard.0.into_inner().unwrap();
        assert!(heard.iter().all(|&(_, total)| total == all), "{heard:?}");
        assert!(heard.is_sorted(), "{heard:?}");
        assert_eq!(heard.last(), Some(&(all, all)));
    }
}

#[test]
fn values_and_checks_of_all_devices_are_put_together() {
    let study = Study::new();
    let multi_gpu = study.multi_gpu(3, sizes(2, 4));
    let point: Vec<f64> = study.model.parameters.iter().map(|p| p.init).collect();
    let points: Vec<f64> = (0..10)
        .flat_map(|k| point.iter().map(move |x| x * (1.0 + 0.01 * f64::from(k))).collect::<Vec<_>>())
        .collect();
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    for count in [1, 2, 3, 10] {
        let points = &points[..count * point.len()];
        let here = multi_gpu.evaluate(&Data::observed(), points, request).unwrap();
        assert_eq!(here, study.one.evaluate(&Data::observed(), points, request).unwrap());
        assert_eq!((here.nll.len(), here.gradient.len()), (count, points.len()));
    }
    assert!(multi_gpu.evaluate(&Data::observed(), &points[1..], request).is_err());

    // The CPU session takes the same data. Its fits do not count as fits of a device.
    for session in [&multi_gpu as &dyn Session, &study.one] {
        let cpu = session.cpu().unwrap();
        assert_eq!((cpu.device(), cpu.check()), (Device::Cpu, None));
        assert!(cpu.cpu().is_none());
        run(cpu, &[study.toys(0..2)]);
    }
    assert_eq!(multi_gpu.check().map(|check| check.n_fits), Some(0));
    run(&multi_gpu, &[study.toys(0..40)]);
    run(&study.one, &[study.toys(0..40)]);
    let (all, one) = (multi_gpu.check().unwrap(), study.one.check().unwrap());
    assert_eq!(all.n_fits, one.n_fits);
    assert!(all.n_fits > 0 && all.n_checked >= one.n_checked && all.violation().is_none(), "{all:?}");
}

#[test]
fn what_batches_share_is_made_once() {
    let study = Study::new();
    let reference = text(&run(&study.one, &[study.toys(0..20)]));
    let one = &study.one;
    let first = one.prepare(&study.source, &study.fits).unwrap();
    let shared = |of: &Arc<Prepared>| of.on_device.as_ref().map(|(shared, _)| Arc::clone(shared)).unwrap();
    let changed = |change: &dyn Fn(&mut ToySource)| {
        let mut source = ToySource::clone(&study.source);
        change(&mut source);
        Arc::new(source)
    };
    // A source with the same numbers at another address has the same inputs. A source with another seed shares the
    // inputs that do not depend on the seed.
    let again = one.prepare(&changed(&|_| ()), &study.fits).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let other = one.prepare(&changed(&|source| source.seed += 1), &study.fits).unwrap();
    assert!(!Arc::ptr_eq(&first, &other) && Arc::ptr_eq(&shared(&first), &shared(&other)));
    // Sources with other means, and other requests, share no inputs.
    let moved = changed(&|source| source.main[0] = ns_core::random::Poisson::new(3.75).unwrap());
    let moved = one.prepare(&moved, &study.fits).unwrap();
    assert!(!Arc::ptr_eq(&shared(&first), &shared(&moved)));
    let mut fits = study.fits.clone();
    fits[1].fixed[0].1 = 1.25;
    let held = one.prepare(&study.source, &fits).unwrap();
    assert!(!Arc::ptr_eq(&shared(&first), &shared(&held)));
    // The most recently used inputs stay in the cache.
    for seed in 100..102 {
        one.prepare(&changed(&|source| source.seed = seed), &study.fits).unwrap();
    }
    assert!(Arc::ptr_eq(&held, &one.prepare(&study.source, &fits).unwrap()));
    assert!(!Arc::ptr_eq(&first, &one.prepare(&study.source, &study.fits).unwrap()));
    assert_eq!(text(&run(one, &[study.toys(0..20)])), reference);

    let point: Vec<f64> = study.model.parameters.iter().map(|p| p.init).collect();
    let source = |seed, hypothesis| one.toy_source(&point, &Data::observed(), seed, hypothesis).unwrap();
    assert!(Arc::ptr_eq(&source(5, 0), &source(5, 0)));
    let all = [source(5, 0), source(6, 0), source(5, 1)];
    assert!(all.iter().map(|source| (source.seed, source.hypothesis)).eq([(5, 0), (6, 0), (5, 1)]));
    assert!(all.iter().all(|source| source.parameters == point));
}

/// Observer that cancels the batch after `after` fits. It also checks that the reported progress never decreases.
struct Stopper {
    after: usize,
    cancel: AtomicBool,
    last: AtomicUsize,
    total: Mutex<Vec<usize>>,
}

impl Observer for Stopper {
    fn progress(&self, done: usize, total: usize) {
        assert!(self.last.swap(done, Ordering::Relaxed) <= done);
        self.total.lock().unwrap().push(total);
        self.cancel.fetch_or(done >= self.after, Ordering::Relaxed);
    }
}

#[test]
fn a_cancelled_batch_delivers_the_first_of_its_outcomes() {
    let study = Study::new();
    let tasks = [study.toys(0..30), study.toys(30..150)];
    let reference = text(&run(&study.one, &tasks));
    for (n, after) in [(2, 20), (3, 90), (2, 1_000_000)] {
        let stopper = Stopper {
            after,
            cancel: AtomicBool::new(false),
            last: AtomicUsize::new(0),
            total: Mutex::default(),
        };
        let control = Control { observer: Some(&stopper), cancel: Some(&stopper.cancel), task: None };
        let mut out = InOrder::default();
        study
            .multi_gpu(n, sizes(4, 4))
            .fit_batch(&tasks, OutcomeParts::default(), control, &mut out)
            .unwrap();
        assert!(stopper.total.lock().unwrap().iter().all(|total| *total == 300));
        let whole = |outcome: &&TaskOutcome| !outcome.fits.contains(&Err(FitFailure::Cancelled));
        let done: Vec<TaskOutcome> = out.0.iter().take_while(whole).cloned().collect();
        assert_eq!(text(&done), reference[..done.len()]);
        if after > 300 {
            assert_eq!(done.len(), 150);
        } else {
            assert!(done.len() >= after / 2 && out.0.len() < 150, "{} of {}", done.len(), out.0.len());
        }
    }
}

/// A device that becomes lost at its third launch of fits, or one beside it that waits for this loss before its own launches:
/// on a busy machine it would make all fits before the other one begins.
struct Failing {
    host: Host,
    launches: AtomicUsize,
    lost: Arc<AtomicBool>,
    waits: bool,
}

impl Failing {
    fn new(lost: &Arc<AtomicBool>, waits: bool) -> Arc<Self> {
        Arc::new(Self { host: Host::new(), launches: AtomicUsize::new(0), lost: Arc::clone(lost), waits })
    }
}

impl Backend for Failing {
    fn properties(&self) -> &Properties {
        self.host.properties()
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError> {
        self.host.allocate(bytes)
    }

    fn release(&self, memory: Memory, bytes: usize) {
        self.host.release(memory, bytes);
    }

    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        self.host.write(to, from)
    }

    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        self.host.read(from, to)
    }

    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError> {
        self.host.occupancy(kernel, threads, shared)
    }

    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError> {
        Ok(Box::new(host::AtOnce::new(self)))
    }

    fn pinned(self: Arc<Self>, bytes: usize) -> Result<Box<dyn Pinned>, SessionError> {
        Ok(Box::new(host::PlainMemory::new(self, bytes)))
    }

    fn duplicate(&self, from: Memory, to: Memory, bytes: usize) -> Result<(), SessionError> {
        self.host.duplicate(from, to, bytes)
    }

    fn guest(self: Arc<Self>) -> Result<Box<dyn Guest>, SessionError> {
        Ok(Box::new(host::AtOnce::new(self)))
    }

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        let evaluates = matches!(kernel, Kernel::Evaluate | Kernel::EvaluateGlobal);
        if !evaluates && self.waits {
            let began = Instant::now();
            while !self.lost.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
        } else if !evaluates && self.launches.fetch_add(1, Ordering::Relaxed) >= 2 {
            self.lost.store(true, Ordering::Relaxed);
            return Err(lost());
        }
        self.host.launch(kernel, shape, parameter)
    }
}

fn lost() -> SessionError {
    SessionError::DeviceLost {
        device: Device::Cuda(1),
        doing: "running fits",
        error: "lost for this test".into(),
        remedy: "None",
    }
}

#[test]
fn a_lost_device_ends_the_batch_and_what_was_delivered_stays() {
    let study = Study::new();
    let is_lost: Arc<AtomicBool> = Arc::default();
    let good: Arc<dyn Backend> = Failing::new(&is_lost, true);
    let bad: Arc<dyn Backend> = Failing::new(&is_lost, false);
    let backends = vec![(Device::Cuda(0), good), (Device::Cuda(1), bad)];
    let multi_gpu =
        MultiGpuSession::open(&study.model, &execution(), backends).unwrap().with_sizes(sizes(2, 2));
    for tasks in [vec![study.toys(0..400)], study.given(200)] {
        is_lost.store(false, Ordering::Relaxed);
        let mut out = InOrder::default();
        let result = multi_gpu.fit_batch(&tasks, OutcomeParts::default(), Control::default(), &mut out);
        assert_eq!(result, Err(lost()));
        let whole = run(&study.one, &tasks);
        assert!(out.0.len() < whole.len());
        assert_eq!(text(&out.0), text(&whole)[..out.0.len()]);
    }
}
