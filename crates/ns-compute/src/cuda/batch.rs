//! One launch of fits on a lane: its input and its results.

use std::collections::HashMap;
use std::sync::Arc;

use ns_core::{Condition, FitRequest, ParameterTable, SessionError, Start};

use super::address::{DeviceAddress, DeviceAddressMut};
use super::arena::Arena;
use super::backend::{Backend, Buffer, Kernel, Lane, Shape};
use super::declare::Field;
use super::fit_kind::DeviceFitKind;
use super::layout::{self, EvaluateLaunch, FitLaunch, N_EXTRA};
use super::shape::ArrayPlacement;
use crate::shared_constants::{MOST_FLIPS, N_COUNTERS, PLACES, START_ALONG, START_AT, START_EARLIER};

/// A lane with memory that its launches use again and again; it grows as needed.
pub(super) struct Slot {
    /// Dropped first: that waits for the work that uses the memory.
    lane: Box<dyn Lane>,
    slab: Option<Buffer>,
    input: Option<Buffer>,
    output: Option<Buffer>,
    parts: Parts,
}

/// Sizes, in bytes, of the result arrays of a launch, which are stored one after another.
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

    /// Waits for the launch.
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

/// The numbers in `bytes`. An empty slice may have any address.
fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

/// A buffer of at least this size, the old one if it is large enough.
pub(super) fn at_least<'a>(
    backend: &Arc<dyn Backend>,
    buffer: &'a mut Option<Buffer>,
    bytes: usize,
) -> Result<&'a Buffer, SessionError> {
    if buffer.as_ref().is_none_or(|old| old.bytes() < bytes) {
        // The old one is freed first: there may not be enough memory for both.
        *buffer = None;
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::new(backend, bytes + bytes / 4)?)),
    }
}

/// Requests, items and all arrays that they point to, arranged for one copy. Addresses are offsets until the end.
#[derive(Default)]
pub(super) struct Input {
    arena: Arena,
    requests: Vec<layout::Request>,
    items: Vec<layout::Item>,
    points: HashMap<(*const f64, usize), DeviceAddress<f64>>,
    n_outcomes: usize,
    /// Counters of the queue.
    queue: DeviceAddress<i32>,
}

impl Input {
    /// Begins with the queue's counters.
    pub(super) fn new() -> Self {
        let mut input = Self::default();
        input.queue = input.arena.put(&[0_i32; N_COUNTERS]);
        input
    }

    /// An array that several may refer to; it must outlive this input.
    pub(super) fn shared(&mut self, values: &[f64]) -> DeviceAddress<f64> {
        let arena = &mut self.arena;
        *self.points.entry((values.as_ptr(), values.len())).or_insert_with(|| arena.put(values))
    }

    /// Main counts, then auxiliary data.
    pub(super) fn data(&mut self, main: &[f64], aux: &[f64]) -> DeviceAddress<f64> {
        let arena = &mut self.arena;
        *self.points.entry((main.as_ptr(), main.len())).or_insert_with(|| {
            let both: Vec<f64> = main.iter().chain(aux).copied().collect();
            arena.put(&both)
        })
    }

    /// Adds a request of kind `kind`; `looks`: it also starts from further points.
    pub(super) fn request(
        &mut self,
        table: &ParameterTable,
        request: &FitRequest,
        kind: &DeviceFitKind,
        looks: bool,
    ) {
        let count = |n: usize| if looks { n as i32 } else { 0 };
        let overrides = overrides(table, request);
        let (start, earlier, point) = match &request.start {
            Start::Init => (START_AT, 0, self.shared(&table.init)),
            Start::At(point) => (START_AT, 0, self.shared(point)),
            Start::Earlier(i) => (START_EARLIER, *i as i32, DeviceAddress::NULL),
            Start::Along(i, direction) => (START_ALONG, *i as i32, self.shared(direction)),
        };
        let (held_param, held_value) = request.fixed.first().map_or((-1, 0.0), |&(p, x)| (p as i32, x));
        let n_overrides = overrides.len() as i32;
        let overrides = self.arena.put(&overrides);
        let (condition_fit, condition_param, range) = match request.only_if {
            Some(Condition { fit, parameter, range }) => (fit as i32, parameter as i32, range),
            None => (-1, 0, (0.0, 0.0)),
        };
        self.requests.push(layout::Request {
            start,
            earlier,
            point,
            held_param,
            n_overrides,
            held_value,
            overrides,
            condition_fit,
            condition_param,
            condition_low: range.0,
            condition_high: range.1,
            metric: kind.metric,
            n_first: count(kind.first.1),
            n_second: count(kind.second.1),
            n_nonlinear: count(kind.nonlinear.1),
            n_directions: count(kind.directions.1),
            first: kind.first.0,
            second: kind.second.0,
            nonlinear: kind.nonlinear.0,
            directions: kind.directions.0,
        });
    }

    /// Adds an item whose requests are the last `n_requests` added; `data` from [`Self::data`].
    pub(super) fn item(&mut self, n_requests: usize, data: DeviceAddress<f64>) {
        self.items.push(layout::Item {
            first_request: (self.requests.len() - n_requests) as i32,
            n_requests: n_requests as i32,
            first_outcome: self.n_outcomes as i32,
            padding: 0,
            data,
        });
        self.n_outcomes += n_requests;
    }
}

/// The most start points of a fit that can be fitted at the same time: those of its largest round (`starts_of` and `choose_flips`
/// in `kernels/search.cuh`). 0 if it has only its own.
fn starts_of(request: &layout::Request) -> usize {
    let count = |n: i32| usize::try_from(n).unwrap_or(0);
    let nonlinear = count(request.n_nonlinear);
    let shared = count(request.n_first + PLACES as i32 * request.n_directions).max(count(request.n_second));
    (shared + usize::from(nonlinear > 0)).max(nonlinear.min(MOST_FLIPS))
}

/// The parameters whose bounds in a request differ from the model's.
fn overrides(table: &ParameterTable, request: &FitRequest) -> Vec<layout::Override> {
    let named = request.fixed.iter().map(|(p, _)| *p).chain(request.bounds.iter().map(|(p, _)| *p));
    let mut named: Vec<usize> = named.collect();
    named.sort_unstable();
    named.dedup();
    let differing = named.into_iter().filter_map(|p| {
        let (init, bounds, fixed) = (*table.init.get(p)?, *table.bounds.get(p)?, *table.fixed.get(p)?);
        let model = if fixed { (init, init) } else { bounds };
        // The last of several counts.
        let held = request.fixed.iter().rev().find(|(q, _)| *q == p).map(|(_, value)| *value);
        let own = request.bounds.iter().rev().find(|(q, _)| *q == p).map_or(bounds, |(_, own)| *own);
        let (lower, upper) = match held {
            Some(value) => (value, value),
            None if fixed => model,
            None => own,
        };
        let held = held.is_some() || fixed || own.0 == own.1;
        let differs = (lower, upper) != model;
        differs.then_some(layout::Override { param: p as i32, held: i32::from(held), lower, upper })
    });
    differing.collect()
}

/// Toys of one launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToyRange {
    /// Their sources.
    pub(super) draws: DeviceAddress<layout::Draws>,
    pub(super) first: u64,
    pub(super) count: usize,
    pub(super) help: Help,
}

/// Whether blocks without work of their own help those whose toys take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Help {
    /// No: they end, so that the next launches can begin.
    No,
    /// As long as there are further starts; a few blocks wait for more. The next launch is the last one.
    Few,
    /// Yes, to the end, as many blocks as there can be starts: no launch follows.
    All,
}

/// One of this many blocks waits, if only a few blocks wait.
const ONE_WAITS_OF: usize = 8;

/// Consecutive fits of a launch, with the same data, for which the gradient at the end is computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) first: usize,
    pub(super) count: usize,
    /// From [`Input::data`].
    pub(super) data: DeviceAddress<f64>,
}

/// The results of a launch, one entry per fit. The default is empty, as if the device had left all fits to the CPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LaunchResults<'a> {
    pub(super) outcomes: &'a [layout::Outcome],
    /// `n_params` numbers per fit.
    pub(super) parameters: &'a [f64],
    /// `n_params` numbers per probed fit, probe after probe.
    pub(super) gradients: &'a [f64],
    /// Held parameters, then bins that expect nothing, a byte each, per fit.
    pub(super) flags: &'a [u8],
}

/// A kernel, where its arrays lie, and how many blocks run at a time.
pub(super) struct Program {
    pub(super) kernel: Kernel,
    pub(super) placement: ArrayPlacement,
    pub(super) blocks: usize,
}

/// The device side of a session.
pub(super) struct Launcher<'a> {
    pub(super) backend: &'a Arc<dyn Backend>,
    pub(super) plan: &'a layout::Plan,
    pub(super) threads: u32,
    pub(super) fit: Program,
    pub(super) evaluate: Program,
}

impl Launcher<'_> {
    /// Bytes of the results of one fit.
    pub(super) fn bytes_per_fit(plan: &layout::Plan) -> usize {
        let (n, bins) = (plan.n_params as usize, plan.n_bins as usize);
        size_of::<layout::Outcome>() + 9 * n + bins
    }

    fn shape(&self, program: &Program, blocks: usize) -> Shape {
        Shape { blocks: blocks as u32, threads: self.threads, shared: program.placement.shared as u32 }
    }

    /// Starts everything in `input`, or the toys with its requests, and the gradients of `probes`.
    pub(super) fn start(
        &self,
        slot: &mut Slot,
        input: Input,
        toys: Option<ToyRange>,
        probes: &[Probe],
    ) -> Result<(), SessionError> {
        let Input { mut arena, mut requests, mut items, n_outcomes, queue, .. } = input;
        let (n_items, fits) = match toys {
            Some(toys) => (toys.count, toys.count * requests.len()),
            None => (items.len(), n_outcomes),
        };
        let starts =
            requests.iter().map(starts_of).max().filter(|_| !self.plan.kinked.is_some()).unwrap_or(0);
        let help = toys.filter(|_| starts > 0).map_or(Help::No, |toys| toys.help);
        let few = self.fit.blocks.min(n_items).max(1);
        // More blocks would have nothing to do.
        let useful = self.fit.blocks.min(n_items.saturating_mul(starts)).max(few);
        let (blocks, waiting) = match help {
            Help::No => (few, 0),
            Help::Few => (few, few.div_ceil(ONE_WAITS_OF)),
            Help::All => (useful, useful),
        };
        let rounds = (help != Help::No).then(|| arena.put(&vec![layout::Round::default(); blocks]));
        let total = arena.bytes() + size_of_val(requests.as_slice()) + size_of_val(items.as_slice()) + 64;
        let base = at_least(self.backend, &mut slot.input, total)?.address();
        for request in &mut requests {
            request.relocate(base);
        }
        for item in &mut items {
            item.relocate(base);
        }
        let request_address = arena.put(&requests).at(base);
        let item_address = if toys.is_some() { DeviceAddress::NULL } else { arena.put(&items).at(base) };
        let probed: usize = probes.iter().map(|probe| probe.count).sum();
        let most = probes.iter().map(|probe| probe.count).max().unwrap_or(0);
        let room = (self.fit.placement.slab * blocks).max(self.evaluate.placement.slab * most);
        let slab = at_least(self.backend, &mut slot.slab, 8 * room)?.address();
        let (n, bins) = (self.plan.n_params as usize, self.plan.n_bins as usize);
        let parts = Parts {
            outcomes: fits * size_of::<layout::Outcome>(),
            parameters: fits * 8 * n,
            values: probed * 16,
            gradients: probed * 8 * n,
            flags: fits * (n + bins),
        };
        let behind = parts.outcomes + parts.parameters + parts.values + parts.gradients;
        let output = at_least(self.backend, &mut slot.output, behind + parts.flags)?.address();
        let launch = FitLaunch {
            plan: *self.plan,
            offset: self.fit.placement.offset,
            n_items: n_items as i32,
            n_requests: requests.len() as i32,
            slab: slab.into(),
            slab_stride: self.fit.placement.slab as u64,
            queue: queue.at(base).cast(),
            rounds: rounds.map_or(DeviceAddressMut::NULL, |rounds| rounds.at(base).cast()),
            n_blocks: blocks as i32,
            n_waiting: waiting as i32,
            requests: request_address,
            items: item_address,
            draws: toys.map_or(DeviceAddress::NULL, |toys| toys.draws),
            first_toy: toys.map_or(0, |toys| toys.first),
            outcomes: output.into(),
            parameters: (output + parts.outcomes as u64).into(),
            flags: (output + behind as u64).into(),
        };
        slot.parts = parts;
        slot.lane.write(base, arena.content())?;
        slot.lane.launch(self.fit.kernel, self.shape(&self.fit, blocks), bytemuck::bytes_of(&launch))?;
        let mut values: DeviceAddressMut<f64> = launch.parameters.plus(fits * n);
        let mut gradients = values.plus(2 * probed);
        for probe in probes {
            let launch = EvaluateLaunch {
                plan: *self.plan,
                offset: self.evaluate.placement.offset,
                n_points: probe.count as i32,
                extra: [0; N_EXTRA],
                row: 0,
                slab: slab.into(),
                slab_stride: self.evaluate.placement.slab as u64,
                data: probe.data.at(base),
                data_stride: 0,
                data_of: DeviceAddress::NULL,
                points: launch.parameters.plus(probe.first * n).cast(),
                values,
                gradients,
                hessians: DeviceAddressMut::NULL,
                usable: DeviceAddressMut::NULL,
            };
            values = values.plus(2 * probe.count);
            gradients = gradients.plus(probe.count * n);
            let shape = self.shape(&self.evaluate, probe.count);
            slot.lane.launch(self.evaluate.kernel, shape, bytemuck::bytes_of(&launch))?;
        }
        slot.lane.fetch(output, behind + parts.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_blocks_help_as_the_largest_round_has_starts() {
        let starts = |n_first, n_second, n_directions, n_nonlinear| {
            starts_of(&layout::Request {
                n_first,
                n_second,
                n_directions,
                n_nonlinear,
                ..layout::Request::default()
            })
        };
        assert_eq!(starts(0, 0, 0, 0), 0);
        // Both places of a direction, and points that all fits share.
        assert_eq!(starts(3, 4, 2, 0), 7);
        assert_eq!(starts(3, 9, 1, 0), 9);
        // The mirror image, or up to eight parameters one by one.
        assert_eq!(starts(0, 0, 0, 1), 1);
        assert_eq!(starts(9, 2, 0, 3), 10);
        assert_eq!(starts(0, 1, 1, 5), 5);
        assert_eq!(starts(0, 1, 1, 50), 8);
    }
}
