//! One launch of fits: what goes up, what comes back.

use std::collections::HashMap;
use std::sync::Arc;

use ns_core::{Condition, FitRequest, ParameterTable, SessionError, Start};

use super::arena::Arena;
use super::backend::{Backend, Buffer, Kernel, Shape};
use super::kind::Kind;
use super::layout::{self, FitLaunch};
use super::shape::Rooms;
use crate::cpu::request::Frame;

/// Memory that launches use again and again; it grows as needed.
#[derive(Default)]
pub(super) struct Workspace {
    slab: Option<Buffer>,
    input: Option<Buffer>,
    output: Option<Buffer>,
}

/// A buffer of at least this size, the old one if it is large enough.
pub(super) fn at_least<'a>(
    backend: &Arc<dyn Backend>,
    buffer: &'a mut Option<Buffer>,
    bytes: usize,
) -> Result<&'a Buffer, SessionError> {
    if buffer.as_ref().is_none_or(|old| old.bytes() < bytes) {
        // The old one goes first: there may not be room for both.
        *buffer = None;
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::new(backend, bytes + bytes / 4)?)),
    }
}

/// Requests, items and all they point to, laid out for one copy. Addresses are offsets until the end.
#[derive(Default)]
pub(super) struct Input {
    arena: Arena,
    requests: Vec<layout::Request>,
    items: Vec<layout::Item>,
    points: HashMap<(*const f64, usize), u64>,
    n_outcomes: usize,
}

impl Input {
    /// Begins with the queue's counter.
    pub(super) fn new() -> Self {
        let mut input = Self::default();
        input.arena.put(&[0_u64; 2]);
        input
    }

    /// An array that several may refer to; it must outlive this input.
    pub(super) fn shared(&mut self, values: &[f64]) -> u64 {
        let arena = &mut self.arena;
        *self.points.entry((values.as_ptr(), values.len())).or_insert_with(|| arena.put(values))
    }

    /// Main counts, then auxiliary data.
    pub(super) fn data(&mut self, main: &[f64], aux: &[f64]) -> u64 {
        let arena = &mut self.arena;
        *self.points.entry((main.as_ptr(), main.len())).or_insert_with(|| {
            let both: Vec<f64> = main.iter().chain(aux).copied().collect();
            arena.put(&both)
        })
    }

    /// Adds a request of kind `kind`.
    pub(super) fn request(&mut self, table: &ParameterTable, request: &FitRequest, kind: &Kind) {
        let frame = Frame::new(table, request);
        let overrides: Vec<layout::Override> = (0..table.init.len())
            .filter_map(|p| {
                let model = if table.fixed[p] { (table.init[p], table.init[p]) } else { table.bounds[p] };
                let value = request.fixed.iter().rev().find(|(q, _)| *q == p).map(|(_, value)| *value);
                let (lower, upper) = match value {
                    Some(value) => (value, value),
                    None if table.fixed[p] => model,
                    None => (frame.lower[p], frame.upper[p]),
                };
                let differs = (lower, upper) != model;
                differs.then_some(layout::Override {
                    param: p as i32,
                    held: i32::from(frame.fixed[p]),
                    lower,
                    upper,
                })
            })
            .collect();
        let (start, earlier, point) = match &request.start {
            Start::Init => (layout::START_AT, 0, self.shared(&table.init)),
            Start::At(point) => (layout::START_AT, 0, self.shared(point)),
            Start::Earlier(i) => (layout::START_EARLIER, *i as i32, 0),
            Start::Along(i, direction) => (layout::START_ALONG, *i as i32, self.shared(direction)),
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
            n_first: kind.first.1 as i32,
            n_second: kind.second.1 as i32,
            n_bendable: kind.bendable.1 as i32,
            n_directions: kind.directions.1 as i32,
            first: kind.first.0,
            second: kind.second.0,
            bendable: kind.bendable.0,
            directions: kind.directions.0,
        });
    }

    /// Adds an item whose requests are the last `n_requests` added; `data` from [`Self::data`].
    pub(super) fn item(&mut self, n_requests: usize, data: u64) {
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

/// Toys of one launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToyRange {
    /// Address of their sources.
    pub(super) draws: u64,
    pub(super) first: u64,
    pub(super) count: usize,
}

/// What a launch brought back: an entry per fit.
#[derive(Debug, Default)]
pub(super) struct Landed {
    pub(super) outcomes: Vec<layout::Outcome>,
    /// `n_params` numbers per fit.
    pub(super) parameters: Vec<f64>,
    /// Held parameters, then bins that expect nothing, a byte each, per fit.
    pub(super) flags: Vec<u8>,
}

/// The device side of a session.
pub(super) struct Launcher<'a> {
    pub(super) backend: &'a Arc<dyn Backend>,
    pub(super) plan: &'a layout::Plan,
    pub(super) rooms: &'a Rooms,
    pub(super) kernel: Kernel,
    pub(super) threads: u32,
    /// Blocks that run at a time.
    pub(super) blocks: usize,
}

impl Launcher<'_> {
    /// Bytes that come back per fit.
    pub(super) fn bytes_per_fit(plan: &layout::Plan) -> usize {
        let (n, bins) = (plan.n_params as usize, plan.n_bins as usize);
        size_of::<layout::Outcome>() + 9 * n + bins
    }

    /// Runs everything in `input`, or the toys with its requests, and waits for the end.
    pub(super) fn run(
        &self,
        workspace: &mut Workspace,
        input: Input,
        toys: Option<ToyRange>,
    ) -> Result<Landed, SessionError> {
        let Input { mut arena, mut requests, mut items, n_outcomes, .. } = input;
        let (n_items, fits) = match toys {
            Some(toys) => (toys.count, toys.count * requests.len()),
            None => (items.len(), n_outcomes),
        };
        let total = arena.bytes()
            + size_of_val(requests.as_slice())
            + size_of_val(items.as_slice())
            + 64;
        let base = at_least(self.backend, &mut workspace.input, total)?.address();
        for request in &mut requests {
            if request.start != layout::START_EARLIER {
                request.point += base;
            }
            request.overrides += base;
        }
        for item in &mut items {
            item.data += base;
        }
        let request_address = base + arena.put(&requests);
        let item_address = if toys.is_some() { 0 } else { base + arena.put(&items) };
        if let Some(buffer) = &workspace.input {
            arena.upload_into(self.backend, buffer)?;
        }
        let blocks = self.blocks.min(n_items).max(1);
        let slab = at_least(self.backend, &mut workspace.slab, 8 * self.rooms.slab * blocks)?.address();
        let (n, bins) = (self.plan.n_params as usize, self.plan.n_bins as usize);
        let (of_outcomes, of_parameters) = (fits * size_of::<layout::Outcome>(), fits * 8 * n);
        let bytes = of_outcomes + of_parameters + fits * (n + bins);
        let output = at_least(self.backend, &mut workspace.output, bytes)?.address();
        let launch = FitLaunch {
            plan: *self.plan,
            offset: self.rooms.offset,
            n_items: n_items as i32,
            n_requests: requests.len() as i32,
            slab,
            slab_stride: self.rooms.slab as u64,
            queue: base,
            requests: request_address,
            items: item_address,
            draws: toys.map_or(0, |toys| toys.draws),
            first_toy: toys.map_or(0, |toys| toys.first),
            outcomes: output,
            parameters: output + of_outcomes as u64,
            flags: output + (of_outcomes + of_parameters) as u64,
        };
        let shape =
            Shape { blocks: blocks as u32, threads: self.threads, shared: self.rooms.shared as u32 };
        self.backend.launch(self.kernel, shape, bytemuck::bytes_of(&launch))?;
        let mut landed = Landed {
            outcomes: vec![layout::Outcome::default(); fits],
            parameters: vec![0.0; fits * n],
            flags: vec![0; fits * (n + bins)],
        };
        self.backend.read(launch.outcomes, bytemuck::cast_slice_mut(&mut landed.outcomes))?;
        self.backend.read(launch.parameters, bytemuck::cast_slice_mut(&mut landed.parameters))?;
        self.backend.read(launch.flags, &mut landed.flags)?;
        Ok(landed)
    }
}
