//! Starts fits on a lane (a stream of copies and kernels) of a device, and returns their results.

use std::sync::Arc;

use ns_core::SessionError;

use super::backend::{Backend, Buffer, Kernel, Lane, Shape};
use super::input::{Input, starts_of};
use super::layout::{self, EvaluateLaunch, FitLaunch};
use super::offset::{Offset, OffsetMut};
use super::shape::ArrayPlacement;

/// A lane (a stream of copies and kernels) with device memory for one launch of fits at a time. Later launches use the
/// same lane and memory. The memory grows if a launch needs more.
pub(super) struct Slot {
    /// The stream on which the launches run. This field is the first because fields are dropped in order: dropping the
    /// lane waits for the work that uses the memory in the other fields.
    lane: Box<dyn Lane>,
    slab: Option<Buffer>,
    input: Option<Buffer>,
    output: Option<Buffer>,
    parts: Parts,
}

/// Sizes in bytes of the result arrays of a launch. In device memory, the arrays follow one another in the order of
/// these fields.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    outcomes: usize,
    parameters: usize,
    values: usize,
    gradients: usize,
    flags: usize,
}

impl Slot {
    pub(super) fn new(backend: &Arc<dyn Backend>) -> Result<Self, SessionError> {
        let lane = Arc::clone(backend).lane()?;
        Ok(Self { lane, slab: None, input: None, output: None, parts: Parts::default() })
    }

    /// Waits for the end of the launch and returns its results.
    pub(super) fn wait(&mut self) -> Result<LaunchResults<'_>, SessionError> {
        self.lane.wait()?;
        let Parts { outcomes, parameters, values, gradients, flags } = self.parts;
        let mut rest = self.lane.fetched();
        let mut next = |bytes: usize| {
            let (part, behind) = rest.split_at_checked(bytes).unwrap_or_default();
            rest = behind;
            part
        };
        let (outcomes, parameters) = (next(outcomes), next(parameters));
        next(values);
        let (gradients, flags) = (next(gradients), next(flags));
        Ok(LaunchResults {
            outcomes: numbers(outcomes),
            parameters: numbers(parameters),
            gradients: numbers(gradients),
            flags,
        })
    }
}

/// Returns `bytes` as a slice of numbers. An empty slice may have any alignment.
fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

/// Returns a buffer of at least `bytes` bytes. If the old buffer is large enough, returns it. Otherwise replaces it by
/// a new buffer.
fn at_least<'a>(
    backend: &Arc<dyn Backend>,
    buffer: &'a mut Option<Buffer>,
    bytes: usize,
) -> Result<&'a Buffer, SessionError> {
    if buffer.as_ref().is_none_or(|old| old.bytes() < bytes) {
        // The old buffer is freed first, because the memory may not suffice for both.
        *buffer = None;
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::new(backend, bytes + bytes / 4)?)),
    }
}

/// The range of toys that one launch draws and fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToyRange {
    /// Distributions from which the toys are drawn.
    pub(super) draws: Offset<layout::Draws>,
    pub(super) first: u64,
    pub(super) count: usize,
    pub(super) help: Help,
}

/// How idle thread blocks of a launch help with fits that other thread blocks have begun. A helping block makes the
/// descent of such a fit from a further starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Help {
    /// Idle blocks end at once. The next launch can then begin.
    No,
    /// Idle blocks help while starting points are left, and a few idle blocks wait for more starting points. The last
    /// launch but one of a batch uses this mode.
    Few,
    /// Idle blocks help until all fits are done. The launch has one block for each starting point that can exist at
    /// the same time, but not more blocks than the device can run at once. The last launch of a batch uses this mode.
    All,
}

/// In the mode [`Help::Few`], one out of this number of thread blocks waits for starting points.
const ONE_WAITS_OF: usize = 8;

/// Request for the gradients at the end points of consecutive fits of a launch. All these fits have the same data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Offset of the data of the fits, as [`Input::data`] returned it.
    pub(super) data: Offset<f64>,
}

/// Results of a launch, in the order of its fits. The default value contains no results; the CPU then makes all fits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LaunchResults<'a> {
    pub(super) outcomes: &'a [layout::Outcome],
    /// Parameters at the end point of each fit, `n_params` values per fit.
    pub(super) parameters: &'a [f64],
    /// Gradients at the end points of the fits that each [`Probe`] selects, in the order of the probes, with
    /// `n_params` values per fit.
    pub(super) gradients: &'a [f64],
    /// Flags of each fit, each 0 or 1. For each fit there is one byte per parameter, then one byte per bin. The flag of
    /// a parameter is 1 if the parameter is held (cannot move) at the end of the fit. The flag of a bin is 1 if its
    /// expected yield is not positive.
    pub(super) flags: &'a [u8],
}

/// A kernel, the placement of its arrays, its number of threads per block, and the number of its thread blocks that
/// run at the same time.
pub(super) struct Program {
    pub(super) kernel: Kernel,
    pub(super) placement: ArrayPlacement,
    pub(super) blocks: usize,
    pub(super) threads: u32,
}

impl Program {
    /// Returns the size of a launch of this kernel with `blocks` thread blocks.
    pub(super) fn shape(&self, blocks: usize) -> Shape {
        Shape { blocks: blocks as u32, threads: self.threads, shared: self.placement.shared as u32 }
    }

    /// Returns the parameter structure of the evaluation kernel for `count` points of the model `plan`. `slab` is the
    /// working memory of the thread blocks. The caller sets the offsets of data, points and results in the structure.
    pub(super) fn evaluation(
        &self,
        plan: &layout::Plan,
        slab: OffsetMut<f64>,
        count: usize,
    ) -> EvaluateLaunch {
        EvaluateLaunch {
            plan: *plan,
            offset: self.placement.offset,
            n_points: count as i32,
            slab,
            slab_stride: self.placement.slab as u64,
            ..EvaluateLaunch::default()
        }
    }
}

/// Everything that launches of fits need: a device, the compiled model in the memory of the device, and the kernels.
pub(super) struct Launcher<'a> {
    pub(super) backend: &'a Arc<dyn Backend>,
    pub(super) plan: &'a layout::Plan,
    pub(super) fit: Program,
    pub(super) evaluate: Program,
}

impl Launcher<'_> {
    /// Returns the size in bytes of the results of one fit.
    pub(super) fn bytes_per_fit(plan: &layout::Plan) -> usize {
        let (n, bins) = (plan.n_params as usize, plan.n_bins as usize);
        size_of::<layout::Outcome>() + 9 * n + bins
    }

    /// Plans a launch of `n_items` items (sets of data with their fits). Returns the number of thread blocks, the
    /// number of blocks that wait for starting points, and the mode of help. The mode is [`Help::No`] if the fits
    /// have no further starting points or the model has kinks.
    fn blocks(&self, input: &Input, n_items: usize, help: Option<Help>) -> (usize, usize, Help) {
        let starts = input.requests.iter().map(starts_of).max().unwrap_or(0);
        let help = help.filter(|_| starts > 0 && !self.plan.kinked.is_some()).unwrap_or(Help::No);
        let few = self.fit.blocks.min(n_items).max(1);
        // More blocks than this would have no work.
        let useful = self.fit.blocks.min(n_items.saturating_mul(starts)).max(few);
        match help {
            Help::No => (few, 0, help),
            Help::Few => (few, few.div_ceil(ONE_WAITS_OF), help),
            Help::All => (useful, useful, help),
        }
    }

    /// Starts the fits of `input`. Then starts the computation of the gradients that `probes` request. With `toys`,
    /// every request of `input` is fitted to each of these toys. Without `toys`, the items of `input` are fitted.
    pub(super) fn start(
        &self,
        slot: &mut Slot,
        mut input: Input,
        toys: Option<ToyRange>,
        probes: &[Probe],
    ) -> Result<(), SessionError> {
        let (n_items, fits) = match toys {
            Some(toys) => (toys.count, toys.count * input.requests.len()),
            None => (input.items.len(), input.n_outcomes),
        };
        let (blocks, waiting, help) = self.blocks(&input, n_items, toys.map(|toys| toys.help));
        let arena = &mut input.arena;
        let rounds = match help {
            Help::No => Offset::NULL,
            _ => arena.put(&vec![layout::Round::default(); blocks]),
        };
        let requests = arena.put(&input.requests);
        let items = if toys.is_some() { Offset::NULL } else { arena.put(&input.items) };
        let base = at_least(self.backend, &mut slot.input, arena.bytes())?.start();
        let probed: usize = probes.iter().map(|probe| probe.count).sum();
        let most = probes.iter().map(|probe| probe.count).max().unwrap_or(0);
        let room = (self.fit.placement.slab * blocks).max(self.evaluate.placement.slab * most);
        let slab: OffsetMut<f64> = at_least(self.backend, &mut slot.slab, 8 * room)?.at();
        let (n, bins) = (self.plan.n_params as usize, self.plan.n_bins as usize);
        let parts = Parts {
            outcomes: fits * size_of::<layout::Outcome>(),
            parameters: fits * 8 * n,
            values: probed * 16,
            gradients: probed * 8 * n,
            flags: fits * (n + bins),
        };
        let behind = parts.outcomes + parts.parameters + parts.values + parts.gradients;
        let output = at_least(self.backend, &mut slot.output, behind + parts.flags)?.start();
        let launch = FitLaunch {
            plan: *self.plan,
            offset: self.fit.placement.offset,
            n_items: n_items as i32,
            n_requests: input.requests.len() as i32,
            slab,
            slab_stride: self.fit.placement.slab as u64,
            queue: input.queue.moved(base).cast(),
            rounds: rounds.moved(base).cast(),
            n_blocks: blocks as i32,
            n_waiting: waiting as i32,
            requests: requests.moved(base),
            items: items.moved(base),
            draws: toys.map_or(Offset::NULL, |toys| toys.draws),
            first_toy: toys.map_or(0, |toys| toys.first),
            outcomes: output.cast(),
            parameters: output.plus(parts.outcomes).cast(),
            flags: output.plus(behind),
        };
        slot.parts = parts;
        slot.lane.write(base, arena.content(base))?;
        slot.lane.launch(self.fit.kernel, self.fit.shape(blocks), bytemuck::bytes_of(&launch))?;
        let mut values: OffsetMut<[f64; 2]> = launch.parameters.plus(fits * n).cast();
        let mut gradients: OffsetMut<f64> = values.plus(probed).cast();
        for probe in probes {
            let launch = EvaluateLaunch {
                data: probe.data.moved(base),
                points: launch.parameters.plus(probe.first * n).cast(),
                values: values.cast(),
                gradients,
                ..self.evaluate.evaluation(self.plan, slab, probe.count)
            };
            values = values.plus(probe.count);
            gradients = gradients.plus(probe.count * n);
            let shape = self.evaluate.shape(probe.count);
            slot.lane.launch(self.evaluate.kernel, shape, bytemuck::bytes_of(&launch))?;
        }
        slot.lane.fetch(output, behind + parts.flags)
    }
}
