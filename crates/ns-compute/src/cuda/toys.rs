//! Fits of toys: chunk after chunk, several under way.
//!
//! Two chunks are with the device, each on a lane of its own: what is left of one and the first of the next run side by
//! side. The processor settles the one that has come back. No result depends on how large chunks are.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{Control, Drawn, FitTask, SessionError, TaskOutcome, Wanted};

use super::batch::{Input, Launcher, Slot, ToyRange};
use super::check::{Checking, Sample, chosen};
use super::draws;
use super::prepared::{Prepared, Shared};
use super::session::CudaSession;
use super::settle::Settling;
use crate::eval::Dataset;

/// Toys of a chunk for each that the device works on at a time: its end, when some of the device is idle unless
/// another chunk follows, is short against the whole.
const WAVES: usize = 4;
/// The fewest toys of a chunk, and the most that it may bring back, bytes.
const FEWEST_TOYS: usize = 512;
const MOST_BROUGHT: usize = 64 << 20;
/// Chunks with the device.
const UNDER_WAY: usize = 2;
/// Every so many chunks have some of their fits checked, the first among them.
const CHECKED_CHUNKS: u64 = 4;

/// A chunk with the device.
struct Chunk<'a> {
    slot: Slot,
    toys: Range<u64>,
    samples: Vec<Sample<'a>>,
}

/// How far a batch is.
#[derive(Default)]
struct Line<'a> {
    under_way: VecDeque<Chunk<'a>>,
    /// Chunks begun.
    begun: u64,
    /// Why there will be no more.
    failed: Option<SessionError>,
}

/// What the chunks of a batch share.
struct Batch<'a> {
    session: &'a CudaSession,
    task: &'a FitTask,
    drawn: &'a Drawn,
    wanted: Wanted,
    control: Control<'a>,
    shared: &'a Shared,
    sources: &'a draws::Uploaded,
    launcher: Launcher<'a>,
}

impl<'a> Batch<'a> {
    /// Toys of a chunk.
    fn chunk(&self) -> u64 {
        let per_toy = Launcher::bytes_per_fit(&self.session.plan) * self.task.fits.len().max(1);
        let most = (MOST_BROUGHT / per_toy).max(1);
        (WAVES * self.launcher.fit.blocks).max(FEWEST_TOYS).min(most) as u64
    }

    /// The data of a toy.
    fn data(&self, toy: u64) -> Dataset {
        let plan = &self.session.cpu.plan;
        let mut data = Dataset::empty(plan);
        self.drawn.source.draw_into(toy, &mut data.main, &mut data.aux);
        data.saturate(plan);
        data
    }

    /// Keeps the device busy. `wait`: there is nothing else to do.
    fn go_on(&self, line: &mut Line<'a>, more: &mut dyn FnMut(u64, bool) -> Option<Range<u64>>, wait: bool) {
        while line.failed.is_none() && line.under_way.len() < UNDER_WAY {
            let Some(toys) = more(self.chunk(), wait && line.under_way.is_empty()) else { break };
            match self.start(toys, line.begun.is_multiple_of(CHECKED_CHUNKS)) {
                Ok(chunk) => line.under_way.push_back(chunk),
                Err(error) => line.failed = Some(error),
            }
            line.begun += 1;
        }
    }

    fn start(&self, toys: Range<u64>, checked: bool) -> Result<Chunk<'a>, SessionError> {
        let (session, requests) = (self.session, &self.task.fits);
        let count = toys.end.saturating_sub(toys.start) as usize;
        let mut samples = Vec::new();
        if checked {
            samples.extend(
                chosen(count, requests.len()).map(|i| {
                    Sample::new(i * requests.len(), requests, self.data(toys.start + i as u64), true)
                }),
            );
        }
        let mut input = Input::new();
        for (request, kind) in requests.iter().zip(&self.shared.kinds) {
            input.request(session.cpu.table(), request, kind);
        }
        let probes: Vec<_> = samples.iter().map(|sample| sample.probe(&mut input)).collect();
        let range = ToyRange { draws: self.sources.address(), first: toys.start, count };
        let mut slot = session.take_slot()?;
        self.launcher.start(&mut slot, input, Some(range), &probes)?;
        Ok(Chunk { slot, toys, samples })
    }

    /// Outcomes of a chunk whose `slot` has been waited for.
    fn settle(&self, chunk: &mut Chunk<'_>) -> Result<Vec<TaskOutcome>, SessionError> {
        let (session, task) = (self.session, self.task);
        let (first, count) = (chunk.toys.start, chunk.toys.end.saturating_sub(chunk.toys.start) as usize);
        let landed = chunk.slot.wait()?;
        let constant = session.cpu.plan.gaussian.constant;
        let own = AtomicU64::new(0);
        let one = |i: usize| {
            let settling = Settling {
                cpu: &session.cpu,
                task,
                frames: &self.shared.frames,
                wanted: self.wanted,
                control: self.control,
                courses: &self.shared.courses,
                own: &own,
            };
            let place = i * task.fits.len();
            let saturated = landed.outcomes.get(place).map(|outcome| outcome.saturated + constant);
            let data = || Cow::Owned(self.data(first + i as u64));
            settling.task(&landed, place, saturated, &data, &mut |work| session.lend(work))
        };
        let checking = Checking::new(session, landed, &chunk.samples);
        let outcomes = session.settle_all(count, &one, checking.len(), &|i| checking.check(i));
        checking.end(own.load(Ordering::Relaxed))?;
        Ok(outcomes)
    }
}

impl CudaSession {
    /// Fits of toys. `more` gives the next ones, at most so many, `None` at the end; it may wait if told that nothing is
    /// left to settle. False if the processor makes these fits.
    ///
    /// # Errors
    /// The first of the device; what was under way before it is settled and delivered.
    pub(super) fn run_drawn(
        &self,
        task: &FitTask,
        drawn: &Drawn,
        wanted: Wanted,
        control: Control<'_>,
        more: &mut dyn FnMut(u64, bool) -> Option<Range<u64>>,
        deliver: &mut dyn FnMut(Range<u64>, Vec<TaskOutcome>),
    ) -> Result<bool, SessionError> {
        let prepared = self.prepare(&drawn.source, &task.fits)?;
        let Prepared { on_device: Some((shared, sources)), .. } = prepared.as_ref() else { return Ok(false) };
        let launcher = self.launcher(shared.size)?;
        let batch = Batch { session: self, task, drawn, wanted, control, shared, sources, launcher };
        // Dropped before what its work uses.
        let mut line = Line::default();
        loop {
            batch.go_on(&mut line, more, true);
            let Some(mut chunk) = line.under_way.pop_front() else { break };
            chunk.slot.wait()?;
            // The device goes on while the processor settles.
            batch.go_on(&mut line, more, false);
            let outcomes = batch.settle(&mut chunk)?;
            let Chunk { slot, toys, .. } = chunk;
            self.put_slot(slot);
            deliver(toys, outcomes);
        }
        line.failed.map_or(Ok(true), Err)
    }
}
