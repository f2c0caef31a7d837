//! Fits toys with events. Each thread runs the fits of many toys at the same time, as coroutines ([`super::fiber`]).
//! Each fit runs until it needs sums over events. The device then computes the sums for all these fits in one launch.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ns_core::{Device, DeviceCheck, EventSource, FitFailure, SessionError, TaskOutcome};

use super::super::backend::Backend;
use super::channel::ChannelOnDevice;
use super::check::compare;
use super::draw::{HatOnDevice, Toy, draw};
use super::fiber::{Fiber, Mailbox, STACK, stack};
use super::slot::Slot;
use super::sums::EventSums;
use super::toy_sums::pieces;
use crate::cpu::{EventToyFits, UnitOfToys, put, take};
use crate::events::DeviceHat;
use crate::optimise::Worker;

/// Largest number of toys that one thread fits at the same time.
const MOST_AT_ONCE: u64 = 128;
/// Number of hats that stay on the device. A hat is a function that is nowhere below a density. Candidates for events
/// are drawn from it.
const MOST_HATS: usize = 16;

/// Draws and fits toys with events on one device.
pub(super) struct EventToys {
    pub(super) backend: Arc<dyn Backend>,
    device: Device,
    pub(super) channels: Arc<[Option<ChannelOnDevice>]>,
    /// Idle streams, with their memory, for fits.
    slots: Mutex<Vec<Slot>>,
    /// Hats (upper envelopes of densities) on the device, each with the distribution to which it belongs.
    hats: Mutex<Vec<(EventSource, Arc<HatOnDevice>)>>,
    failure: Mutex<Option<SessionError>>,
    /// The result of all comparisons of fits with the CPU. Also counts the fits for which the device computed the sums.
    check: Mutex<DeviceCheck>,
}

impl std::fmt::Debug for EventToys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventToys").field("channels", &self.channels.len()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hat (upper envelope of the density) of a channel, on the host and in device memory.
type Hats<'a> = (DeviceHat<'a>, Arc<HatOnDevice>);

/// The result of the fits of a toy: their outcome, and the worker that made them (the working memory of a thread).
pub(super) type Ended = (TaskOutcome, Box<Worker>);

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
            check: Mutex::default(),
        }
    }

    /// Returns the first error of the device since the last call of this function, and clears the stored error.
    pub(super) fn take_failure(&self) -> Option<SessionError> {
        lock(&self.failure).take()
    }

    /// Returns the number of fits for which the device computed the sums.
    pub(super) fn done(&self) -> u64 {
        lock(&self.check).n_fits
    }

    /// Returns the result of all comparisons of fits with the CPU.
    pub(super) fn check(&self) -> DeviceCheck {
        *lock(&self.check)
    }

    /// Returns the hat (upper envelope of the density) of a distribution on the host and on the device. Returns `None`
    /// if the device cannot draw from the distribution.
    fn hat<'a>(&self, source: &'a EventSource) -> Result<Option<Hats<'a>>, SessionError> {
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

    /// Draws and fits a range of toys. If the toys do not fit in the memory of the device, divides the range into two
    /// halves.
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
        // If the model has a smooth twin, the fit of the twin needs the events on the host. The CPU then draws them.
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

    /// Fits toys whose events are on the device.
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
            // The worker is in a box, because a coroutine can take only small values.
            let mut own = Box::new(take(&session.workers, &session.plan));
            own.scratch.events.crew = None;
            own.scratch.events.elsewhere = Some(Arc::clone(&mailbox) as _);
            let count = Arc::clone(&mailbox);
            let work = move || {
                let outcome = unit.fit(&toy.data, &mut own, &|fits| count.add_finished(fits));
                own.scratch.events.elsewhere = None;
                (outcome, own)
            };
            // SAFETY: `unit` and `toys` live longer than the fibers, which are dropped at the end of this
            // function.
            fibers.push((i, unsafe { Fiber::new(stack, &mailbox, work) }));
        }
        let n_fits = (fibers.len() * unit.task.fits.len()) as u64;
        let checked = fibers.get(fibers.len() / 2).map(|(i, _)| *i);
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
                        put(&session.workers, *own);
                        slot.stacks.push(fiber.into_stack());
                        outcomes[i] = Some(outcome);
                    }
                    None => waiting.push((i, fiber)),
                }
            }
            fibers = waiting;
            // After a failure of the device, no sums are computed, and all fits end.
            if failure.is_none() {
                failure = self.sum(&toys, &fibers, slot).err();
            }
        }
        let cancelled = || unit.failed(&FitFailure::Cancelled);
        if let Some(error) = failure {
            return Err(error);
        }
        let mut outcomes: Vec<TaskOutcome> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(cancelled)).collect();
        // Some fits may not have converged with the sums of the device. The CPU repeats the fits of these toys.
        let doubtful = |outcome: &TaskOutcome| outcome.fits.iter().flatten().any(|fit| !fit.converged());
        for (toy, outcome) in toys.iter().zip(&mut outcomes).filter(|(_, outcome)| doubtful(outcome)) {
            *outcome = unit.run_one(toy.index, worker, &|_| ());
        }
        if let Some((toy, outcome)) = checked.and_then(|i| toys.get(i).zip(outcomes.get(i))) {
            let mut check = compare(unit, (self.device, toy.index), outcome, worker)?;
            check.n_fits = n_fits;
            lock(&self.check).merge(&check);
        }
        Ok(outcomes)
    }
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
    /// Draws and fits all toys of a unit, in groups of at most [`MOST_AT_ONCE`].
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
