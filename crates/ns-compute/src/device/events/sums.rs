//! Computes sums over the events of channels on a device. The events stay in the memory of the device. An evaluation
//! sends the values that depend on the parameters, and receives the sums.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ns_core::{EventTable, SessionError};

use super::super::backend::{Backend, Buffer, Kernel, Lane, Shape};
use super::super::offset::Offset;
use super::channel::ChannelOnDevice;
use super::layout::EventLaunch;
use crate::events::{ChannelSums, Offload, Totals};
use crate::shared_constants::EVENT_THREADS;

/// Smallest number of events for which a device computes the sums. For fewer events, computing on the CPU is faster
/// than the transfer to the device.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "tests choose smaller numbers"))]
pub(crate) const FEWEST_EVENTS: usize = 32_768;
/// Smallest number of events that one thread sums. Together with [`MOST_BLOCKS`] this number determines the order of
/// sums, so it is the same for all devices.
const EVENTS_PER_THREAD: usize = 8;
const MOST_BLOCKS: usize = 528;
/// Largest total size, in doubles, of the working memory of all thread blocks of a launch.
const MOST_ROOM: usize = 32 << 20;
/// Number of tables of events per channel that stay on the device.
const TABLES_PER_CHANNEL: usize = 2;

/// The event channels of a model on a device, with the memory for their sums.
pub(super) struct EventSums {
    backend: Arc<dyn Backend>,
    /// Smallest number of events for which the device computes the sums; for fewer events the CPU computes them.
    fewest: usize,
    channels: Arc<[Option<ChannelOnDevice>]>,
    /// Tables of events on the device, in the order of their last use.
    tables: Mutex<Vec<Arc<TableOnDevice>>>,
    /// Idle streams, with their memory, for evaluations.
    slots: Mutex<Vec<Slot>>,
    /// Error of the device, until [`Self::take_failure`] returns it. While there is an error, the CPU computes all
    /// sums.
    failure: Mutex<Option<SessionError>>,
    /// Number of evaluations for which the device has computed the sums.
    done: std::sync::atomic::AtomicU64,
}

impl std::fmt::Debug for EventSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventSums").field("channels", &self.channels.len()).finish_non_exhaustive()
    }
}

/// The table of events of one channel, in device memory.
struct TableOnDevice {
    /// The same table on the host. The address of this table identifies it.
    table: Arc<EventTable>,
    columns: Buffer,
    weights: Option<Buffer>,
}

/// Stream and device memory for one evaluation at a time.
struct Slot {
    /// The stream. This field is dropped first, because dropping it waits for the work that uses the memory.
    lane: Box<dyn Lane>,
    numbers: Buffer,
    room: Buffer,
    partials: Buffer,
    totals: Buffer,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the largest number of thread blocks of a launch in which each thread needs `per_thread` doubles of working
/// memory.
fn most_blocks(per_thread: usize) -> usize {
    (MOST_ROOM / (per_thread * EVENT_THREADS).max(1)).clamp(1, MOST_BLOCKS)
}

/// Returns the number of thread blocks for sums over `events` events. Each thread needs `per_thread` doubles of
/// working memory.
fn blocks(events: usize, per_thread: usize) -> usize {
    events.div_ceil(EVENT_THREADS * EVENTS_PER_THREAD).clamp(1, most_blocks(per_thread))
}

impl EventSums {
    /// Uploads the channels whose densities the kernels can compute. For data with fewer than `fewest` events, the
    /// CPU computes the sums.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub(super) fn new(
        backend: Arc<dyn Backend>,
        offloads: &[Option<Offload>],
        fewest: usize,
    ) -> Result<Self, SessionError> {
        let channel = |offload: &Option<Offload>| {
            offload.as_ref().map(|offload| ChannelOnDevice::new(offload, &backend)).transpose()
        };
        Ok(Self {
            channels: offloads.iter().map(channel).collect::<Result<_, SessionError>>()?,
            backend,
            fewest,
            tables: Mutex::default(),
            slots: Mutex::default(),
            failure: Mutex::default(),
            done: std::sync::atomic::AtomicU64::new(0),
        })
    }

    /// Returns the device and the event channels on the device (`None` for a channel whose density the kernels cannot
    /// compute).
    pub(super) fn parts(&self) -> (&Arc<dyn Backend>, &Arc<[Option<ChannelOnDevice>]>) {
        (&self.backend, &self.channels)
    }

    /// Returns the first error of the device since the last call of this function, and clears the stored error.
    pub(super) fn take_failure(&self) -> Option<SessionError> {
        lock(&self.failure).take()
    }

    /// Returns the number of evaluations for which the device has computed the sums.
    pub(super) fn done(&self) -> u64 {
        self.done.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns the table in device memory. The first call for a table uploads it.
    fn table(&self, table: &Arc<EventTable>) -> Result<Arc<TableOnDevice>, SessionError> {
        let mut tables = lock(&self.tables);
        if let Some(at) = tables.iter().position(|known| Arc::ptr_eq(&known.table, table)) {
            let found = tables.remove(at);
            tables.push(Arc::clone(&found));
            return Ok(found);
        }
        if tables.len() >= TABLES_PER_CHANNEL * self.channels.len() {
            tables.remove(0);
        }
        let columns = Buffer::new(&self.backend, 8 * table.len() * table.columns.len())?;
        for (i, column) in table.columns.iter().enumerate() {
            let to = columns.at::<f64, true>().plus(i * table.len()).cast();
            self.backend.write(to, bytemuck::cast_slice(column))?;
        }
        let weights =
            table.weights.as_deref().map(|weights| Buffer::holding(&self.backend, weights)).transpose()?;
        let made = Arc::new(TableOnDevice { table: Arc::clone(table), columns, weights });
        tables.push(Arc::clone(&made));
        Ok(made)
    }

    /// Returns an idle stream with memory, or allocates a new one. The memory suffices for every channel.
    fn slot(&self) -> Result<Slot, SessionError> {
        if let Some(slot) = lock(&self.slots).pop() {
            return Ok(slot);
        }
        let most =
            |of: fn(&ChannelOnDevice) -> usize| self.channels.iter().flatten().map(of).max().unwrap_or(0);
        let sums = most(|c| c.sums);
        let buffer = |numbers: usize| Buffer::new(&self.backend, 8 * numbers);
        Ok(Slot {
            lane: Arc::clone(&self.backend).lane()?,
            numbers: buffer(most(|c| c.numbers))?,
            room: buffer(most(|c| c.per_thread * EVENT_THREADS * most_blocks(c.per_thread)))?,
            partials: buffer(sums * MOST_BLOCKS)?,
            totals: buffer(sums)?,
        })
    }

    fn compute(
        &self,
        channel: &ChannelOnDevice,
        table: &Arc<EventTable>,
        numbers: &[f64],
        out: &mut Totals<'_>,
    ) -> Result<(), SessionError> {
        let events = self.table(table)?;
        let mut slot = self.slot()?;
        let n_blocks = blocks(table.len(), channel.per_thread);
        let launch = EventLaunch {
            channel: channel.channel,
            n_events: table.len() as u64,
            columns: events.columns.at(),
            weights: events.weights.as_ref().map_or(Offset::NULL, Buffer::at),
            numbers: slot.numbers.at(),
            room: slot.room.at(),
            room_stride: (channel.per_thread * EVENT_THREADS) as u64,
            partials: slot.partials.at(),
            totals: slot.totals.at::<f64, true>(),
            n_blocks: n_blocks as i32,
            padding: 0,
        };
        let parameter = bytemuck::bytes_of(&launch);
        let shape = |blocks: usize| Shape { blocks: blocks as u32, threads: EVENT_THREADS as u32, shared: 0 };
        slot.lane.write(slot.numbers.start(), bytemuck::cast_slice(numbers))?;
        slot.lane.launch(Kernel::EventSums, shape(n_blocks), parameter)?;
        slot.lane.launch(Kernel::EventTotals, shape(1), parameter)?;
        slot.lane.fetch(slot.totals.start(), 8 * channel.sums)?;
        slot.lane.wait()?;
        let found: &[f64] = bytemuck::try_cast_slice(slot.lane.fetched()).unwrap_or_default();
        let [value, scale, bad, rest @ ..] = found else { return Err(short()) };
        (*out.value, *out.scale) = (*value, *scale);
        *out.bad = bad.is_finite().then_some(*bad as usize);
        let (gradient, rest) = rest.split_at_checked(out.gradient.len()).ok_or_else(short)?;
        let (squares, bends) = rest.split_at_checked(out.squares.len()).ok_or_else(short)?;
        if bends.len() != out.bends.len() {
            return Err(short());
        }
        out.gradient.copy_from_slice(gradient);
        out.squares.copy_from_slice(squares);
        out.bends.copy_from_slice(bends);
        lock(&self.slots).push(slot);
        Ok(())
    }
}

fn short() -> SessionError {
    SessionError::WrongLength {
        what: "the sums over events that the device returned",
        actual: 0,
        expected: 1,
    }
}

impl ChannelSums for EventSums {
    fn sum(&self, channel: usize, table: &Arc<EventTable>, numbers: &[f64], out: &mut Totals<'_>) -> bool {
        let Some(on_device) = self.channels.get(channel).and_then(Option::as_ref) else { return false };
        if table.len() < self.fewest || numbers.len() != on_device.numbers || lock(&self.failure).is_some() {
            return false;
        }
        match self.compute(on_device, table, numbers, out) {
            Ok(()) => {
                self.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                true
            }
            Err(error) => {
                *lock(&self.failure) = Some(error);
                false
            }
        }
    }
}
