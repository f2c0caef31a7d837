//! Fits of toys with events. A thread has the fits of many toys in progress ([`super::fiber`]). It advances each of them until
//! it needs sums over events, and the device makes these sums for all of them in one launch.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ns_core::{Device, EventSource, FitFailure, SessionError, TaskOutcome};

use super::super::backend::{Backend, Kernel, Shape};
use super::channel::ChannelOnDevice;
use super::draw::{HatOnDevice, Toy, draw};
use super::fiber::{Fiber, Mailbox, STACK, stack};
use super::layout::{EventPiece, EventToyLaunch};
use super::slot::Slot;
use super::sums::EventSums;
use crate::cpu::{EventToyFits, UnitOfToys, put, take};
use crate::events::DeviceHat;
use crate::optimise::Worker;
use crate::shared_constants::EVENT_THREADS;

/// Number of events that a thread block adds. It determines the order of sums, so that it is the same for all devices.
const EVENTS_PER_PIECE: usize = 2048;
/// Largest number of fits that a thread has in progress.
const MOST_AT_ONCE: u64 = 128;
/// Largest shared memory of a thread block in bytes. With more, too few blocks run at a time.
const MOST_SHARED: usize = 48 << 10;
/// Largest working memory of all thread blocks of one launch, in doubles, if it is not in shared memory.
const MOST_ROOM: usize = 4 << 20;
/// Number of hats that stay on the device.
const MOST_HATS: usize = 16;

/// Draws and fits toys on one device.
pub(super) struct EventToys {
    backend: Arc<dyn Backend>,
    device: Device,
    channels: Arc<[Option<ChannelOnDevice>]>,
    /// Streams and memory that no thread uses now.
    slots: Mutex<Vec<Slot>>,
    /// Hats on the device, with the distributions to which they belong.
    hats: Mutex<Vec<(EventSource, Arc<HatOnDevice>)>>,
    failure: Mutex<Option<SessionError>>,
    /// Number of fits whose sums the device made.
    done: AtomicU64,
}

impl std::fmt::Debug for EventToys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventToys").field("channels", &self.channels.len()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hat of a channel, here and on the device.
type Hats<'a> = (DeviceHat<'a>, Arc<HatOnDevice>);

/// A fit that ended: the outcome of its toy, and the worker that it used.
type Ended = (TaskOutcome, Worker);

impl EventToys {
    pub(super) fn new(sums: &EventSums, device: Device) -> Self {
        let (backend, channels) = sums.parts();
        Self {
            backend: Arc::clone(backend),
            device,
            channels: Arc::clone(channels),
            slots: Mutex::default(),
            hats: Mutex::default(),
            failure: Mutex::default(),
            done: AtomicU64::new(0),
        }
    }

    /// Returns the error of the device since the last call, and removes it.
    pub(super) fn take_failure(&self) -> Option<SessionError> {
        lock(&self.failure).take()
    }

    /// Returns the number of fits whose sums the device made.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the hat of a distribution on the device; `None` if the device cannot draw from it.
    fn hat<'a>(
        &self,
        source: &'a EventSource,
    ) -> Result<Option<Hats<'a>>, SessionError> {
        let Some(hat) = DeviceHat::of(source) else { return Ok(None) };
        let mut known = lock(&self.hats);
        if let Some((_, there)) = known.iter().find(|(other, _)| other == source) {
            return Ok(Some((hat, Arc::clone(there))));
        }
        let made = Arc::new(HatOnDevice::new(&hat, &self.backend)?);
        if known.len() >= MOST_HATS {
            known.remove(0);
        }
        known.push((source.clone(), Arc::clone(&made)));
        Ok(Some((hat, made)))
    }

    /// Draws and fits toys. If they do not fit the memory of the device, it makes half of them at a time.
    fn toys(
        &self,
        unit: &UnitOfToys<'_>,
        range: Range<u64>,
        slot: &mut Slot,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
        outcomes: &mut Vec<TaskOutcome>,
    ) -> Result<(), SessionError> {
        let drawn = self.drawn(unit, range.clone(), slot).and_then(|toys| {
            self.reserve(&toys, slot)?;
            Ok(toys)
        });
        match drawn {
            Ok(toys) => {
                outcomes.extend(self.fit(unit, toys, slot, worker, finished)?);
                Ok(())
            }
            Err(SessionError::MemoryLimit { .. } | SessionError::TooLarge { .. })
                if range.end - range.start > 1 =>
            {
                let middle = range.start + (range.end - range.start) / 2;
                self.toys(unit, range.start..middle, slot, worker, finished, outcomes)?;
                self.toys(unit, middle..range.end, slot, worker, finished, outcomes)
            }
            Err(error) => Err(error),
        }
    }

    fn drawn(
        &self,
        unit: &UnitOfToys<'_>,
        range: Range<u64>,
        slot: &mut Slot,
    ) -> Result<Vec<Toy>, SessionError> {
        let none = || -> Vec<Option<Hats<'_>>> { unit.source.events.iter().map(|_| None).collect() };
        // A twin of the model needs the events on the CPU.
        let hats: Vec<Option<Hats<'_>>> = if unit.session.has_twin() {
            none()
        } else {
            unit.source.events.iter().map(|source| self.hat(source)).collect::<Result<Vec<_>, _>>()?
        };
        if let Some(toys) = draw(unit, range.clone(), &hats, (&self.backend, slot))? {
            return Ok(toys);
        }
        Ok(draw(unit, range, &none(), (&self.backend, slot))?.unwrap_or_default())
    }

    /// Allocates the memory of the largest launch for these toys, so that no later launch is refused.
    fn reserve(&self, toys: &[Toy], slot: &mut Slot) -> Result<(), SessionError> {
        let (mut partials, mut input) = (0, 0);
        for place in toys.iter().filter(|toy| !toy.is_long()).flat_map(|toy| toy.places.iter().enumerate()) {
            let Some(channel) = self.channel(place.0) else { continue };
            let pieces = pieces(place.1.count);
            partials += pieces * channel.rows.per_piece();
            input += pieces * size_of::<EventPiece>() + 8 * channel.numbers;
        }
        // Each array of the input begins at a multiple of 16 bytes.
        slot.input.at_least(&self.backend, input + 64 * self.channels.len())?;
        slot.partials.at_least(&self.backend, 8 * partials)?;
        let rooms = self.channels.iter().flatten().map(|channel| {
            if shared(channel) <= self.most_shared() { 0 } else { 8 * room(channel) * blocks(channel) }
        });
        slot.room.at_least(&self.backend, rooms.max().unwrap_or(0))?;
        Ok(())
    }

    fn channel(&self, index: usize) -> Option<&ChannelOnDevice> {
        self.channels.get(index).and_then(Option::as_ref)
    }

    fn most_shared(&self) -> usize {
        MOST_SHARED.min(self.backend.properties().shared_per_block)
    }

    /// Makes the fits of toys that are on the device.
    fn fit(
        &self,
        unit: &UnitOfToys<'_>,
        toys: Vec<Toy>,
        slot: &mut Slot,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Result<Vec<TaskOutcome>, SessionError> {
        let (session, mut outcomes) = (unit.session, Vec::new());
        let mut fibers: Vec<(usize, Fiber<Ended>)> = Vec::with_capacity(toys.len());
        for (i, toy) in toys.iter().enumerate() {
            outcomes.push(None);
            if let Some(failure) = &toy.failure {
                finished(unit.task.fits.len());
                outcomes[i] = Some(unit.failed(failure));
                continue;
            }
            if toy.is_long() {
                outcomes[i] = Some(unit.run_one(toy.index, worker, finished));
                continue;
            }
            let counts = toy.places.iter().map(|place| pieces(place.count)).collect();
            let mailbox = Arc::new(Mailbox::new(Arc::clone(&self.channels), counts));
            let stack = stack(&mut slot.stacks).map_err(|error| no_stack(self.device, &error))?;
            let mut own = take(&session.workers, &session.plan);
            own.scratch.events.crew = None;
            own.scratch.events.elsewhere = Some(Arc::clone(&mailbox) as _);
            let count = Arc::clone(&mailbox);
            let work = move || {
                let outcome = unit.fit(&toy.data, &mut own, &|fits| count.add_finished(fits));
                own.scratch.events.elsewhere = None;
                (outcome, own)
            };
            // SAFETY: unit and toys live longer than the fibers, which are dropped at the end of this function.
            fibers.push((i, unsafe { Fiber::new(stack, &mailbox, work) }));
        }
        self.done.fetch_add((fibers.len() * unit.task.fits.len()) as u64, Ordering::Relaxed);
        let mut failure = None;
        while !fibers.is_empty() {
            let mut waiting = Vec::with_capacity(fibers.len());
            for (i, mut fiber) in fibers {
                let ended = fiber.resume();
                let fits = fiber.mailbox.take_finished();
                if fits > 0 {
                    finished(fits);
                }
                match ended {
                    Some((outcome, own)) => {
                        put(&session.workers, own);
                        slot.stacks.push(fiber.into_stack());
                        outcomes[i] = Some(outcome);
                    }
                    None => waiting.push((i, fiber)),
                }
            }
            fibers = waiting;
            // After a failure all fits end without sums.
            if failure.is_none() {
                failure = self.sum(&toys, &fibers, slot).err();
            }
        }
        let cancelled = || unit.failed(&FitFailure::Cancelled);
        match failure {
            Some(error) => Err(error),
            None => Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(cancelled)).collect()),
        }
    }

    /// Makes the sums that fits wait for, and leaves them in their mailboxes.
    fn sum(
        &self,
        toys: &[Toy],
        fibers: &[(usize, Fiber<Ended>)],
        slot: &mut Slot,
    ) -> Result<(), SessionError> {
        slot.bytes.clear();
        // For each channel: its index, the fibers that wait for it, its pieces, and where pieces, numbers and sums begin.
        let (mut launches, mut total) = (Vec::new(), 0);
        for (c, channel) in self.channels.iter().enumerate() {
            let Some(channel) = channel else { continue };
            let (mut list, mut numbers, mut asking) = (Vec::new(), Vec::new(), Vec::new());
            for (i, fiber) in fibers {
                let order = fiber.mailbox.order();
                let Some(place) = toys.get(*i).and_then(|toy| toy.places.get(c)) else { continue };
                if order.channel != c || order.numbers.len() != channel.numbers {
                    continue;
                }
                for first in (0..place.count).step_by(EVENTS_PER_PIECE) {
                    list.push(EventPiece {
                        start: place.start,
                        n_events: place.count as u64,
                        first: first as u64,
                        count: EVENTS_PER_PIECE.min(place.count - first) as i32,
                        point: asking.len() as i32,
                    });
                }
                numbers.extend_from_slice(&order.numbers);
                asking.push((fiber, pieces(place.count)));
            }
            if list.is_empty() {
                continue;
            }
            let (pieces_at, numbers_at) = (slot.put(&list), slot.put(&numbers));
            launches.push((channel, asking, list.len(), pieces_at, numbers_at, total));
            total += list.len() * channel.rows.per_piece();
        }
        if launches.is_empty() {
            return Ok(());
        }
        let input = slot.send(&self.backend)?;
        let columns = slot.columns.at_least(&self.backend, 0)?.at();
        let partials = slot.partials.at_least(&self.backend, 8 * total)?.start();
        for (channel, _, n_pieces, pieces_at, numbers_at, sums_at) in &launches {
            let needed = shared(channel);
            let in_shared = needed <= self.most_shared();
            let n_blocks = if in_shared { *n_pieces } else { blocks(channel).min(*n_pieces) };
            let in_room = if in_shared { 0 } else { 8 * room(channel) * blocks(channel) };
            let launch = EventToyLaunch {
                channel: channel.channel,
                columns,
                pieces: input.plus(*pieces_at).cast(),
                numbers: input.plus(*numbers_at).cast(),
                n_numbers: channel.numbers as u64,
                room: slot.room.at_least(&self.backend, in_room)?.at(),
                room_stride: room(channel) as u64,
                partials: partials.plus(8 * sums_at).cast(),
                n_pieces: *n_pieces as i32,
                padding: 0,
            };
            let kernel = if in_shared { Kernel::EventToys } else { Kernel::EventToysGlobal };
            let shared = if in_shared { needed as u32 } else { 0 };
            let shape = Shape { blocks: n_blocks as u32, threads: EVENT_THREADS as u32, shared };
            slot.lane.launch(kernel, shape, bytemuck::bytes_of(&launch))?;
        }
        slot.lane.fetch(partials, 8 * total)?;
        slot.lane.wait()?;
        let found: &[f64] = bytemuck::try_cast_slice(slot.lane.fetched()).unwrap_or_default();
        for (channel, asking, _, _, _, sums_at) in &launches {
            let mut at = *sums_at;
            for (fiber, n_pieces) in asking {
                let end = at + n_pieces * channel.rows.per_piece();
                fiber.mailbox.order().sums.extend_from_slice(found.get(at..end).unwrap_or_default());
                at = end;
            }
        }
        Ok(())
    }
}

/// Returns the number of pieces of a channel with this number of events.
fn pieces(events: usize) -> usize {
    events.div_ceil(EVENTS_PER_PIECE)
}

/// Returns the working memory of a thread block in doubles.
fn room(channel: &ChannelOnDevice) -> usize {
    channel.rows.count * EVENT_THREADS
}

/// Returns the working memory of a thread block in bytes.
fn shared(channel: &ChannelOnDevice) -> usize {
    8 * room(channel)
}

/// Returns the largest number of thread blocks with working memory of their own outside shared memory.
fn blocks(channel: &ChannelOnDevice) -> usize {
    (MOST_ROOM / room(channel).max(1)).max(1)
}

fn no_stack(device: Device, error: &std::io::Error) -> SessionError {
    SessionError::DeviceUnavailable {
        device,
        reason: format!("the system has no memory for the stack of a fit ({error})"),
        remedy: "Take fewer threads, or choose the device cpu".into(),
    }
}

impl EventToyFits for EventToys {
    fn run(
        &self,
        unit: &UnitOfToys<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Option<Vec<TaskOutcome>> {
        let events = &unit.session.plan().events;
        let lacks = self.channels.iter().any(Option::is_none);
        if lacks || (0..self.channels.len()).any(|channel| events.is_binned(channel)) {
            return None;
        }
        let cancelled = || unit.range.clone().map(|_| unit.failed(&FitFailure::Cancelled)).collect();
        if lock(&self.failure).is_some() {
            return Some(cancelled());
        }
        let made = self.made(unit, worker, finished);
        Some(made.unwrap_or_else(|error| {
            lock(&self.failure).get_or_insert(error);
            cancelled()
        }))
    }
}

impl EventToys {
    /// Draws and fits all toys of a unit.
    fn made(
        &self,
        unit: &UnitOfToys<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Result<Vec<TaskOutcome>, SessionError> {
        let taken = lock(&self.slots).pop();
        let mut slot = match taken {
            Some(slot) => slot,
            None => Slot::new(&self.backend)?,
        };
        let mut outcomes = Vec::new();
        let at_once = MOST_AT_ONCE.min(unit.session.fits_at_once(STACK) as u64);
        let mut first = unit.range.start;
        while first < unit.range.end {
            let end = unit.range.end.min(first + at_once);
            self.toys(unit, first..end, &mut slot, worker, finished, &mut outcomes)?;
            first = end;
        }
        lock(&self.slots).push(slot);
        Ok(outcomes)
    }
}
