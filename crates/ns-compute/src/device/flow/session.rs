//! Computes `-ln L` and its derivatives with respect to the rates of the processes (expected numbers of events) from
//! the log-densities of events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ns_core::{Device, SessionError};

use super::super::backend::{Backend, Buffer, Guest, Kernel, Shape};
use super::super::offset::{Offset, OffsetMut};
use super::layout::{FlowLaunch, MOST_PROCESSES};
use crate::shared_constants::EVENT_THREADS;

/// Largest number of thread blocks for one set of events. The number of thread blocks determines the order of sums.
/// Therefore this limit is the same for all devices.
const MOST_BLOCKS: usize = 528;
/// Largest total size, in doubles, of the working memory of all thread blocks. It limits the number of thread blocks.
const MOST_ROOM: usize = 1 << 25;
/// Largest size, in bytes, of the working memory of a thread block in shared memory. Every device has this much shared
/// memory.
const MOST_SHARED: usize = 48 << 10;
/// Number of sums over events that are needed for any number of processes: the value of [`FlowSums`], and the index
/// of the first event without a valid density. `kernels/flow.cuh` computes the same sums.
const PLAIN_SUMS: usize = 2;

/// Log-densities in the memory of the host or of the device. There is one row per process, with one number per event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowData<'a> {
    /// An array in the memory of the host.
    Host(&'a [f64]),
    /// Device address of an array of f64 numbers.
    Device(u64),
    /// Device address of an array of f32 numbers.
    DeviceF32(u64),
}

/// The sum `-sum_i w_i ln sum_k nu_k p_k(x_i)` with its derivatives with respect to the rates `nu_k`. `i` numbers the
/// events and `k` the processes. `w_i` is the weight of an event and `p_k` the density of a process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowSums {
    /// Value of the sum. It is infinite if the density of an event is zero.
    pub value: f64,
    /// First derivatives with respect to the rates, one per process.
    pub gradient: Vec<f64>,
    /// Second derivatives with respect to the rates: the lower triangle of the matrix, row by row.
    pub curvature: Vec<f64>,
    /// Index of the first event whose density is not positive or not finite; `None` if there is no such event.
    pub bad: Option<usize>,
}

/// Computes `-ln L` from log-densities on one device. Calls from several threads run one after the other.
pub struct DeviceFlow {
    device: Device,
    work: Mutex<Work>,
    backend: Arc<dyn Backend>,
    n_processes: usize,
    weights: Option<Buffer>,
    n_weights: usize,
}

/// Working memory that the calls share. It grows when a call needs more.
struct Work {
    /// Launches kernels. This field is dropped first, because dropping it waits for the work that uses the memory in
    /// the later fields.
    guest: Box<dyn Guest>,
    log_probs: Option<Buffer>,
    /// First, for each set of events in a batch, the index of its first event. Then the rates of the processes.
    input: Option<Buffer>,
    room: Option<Buffer>,
    partials: Option<Buffer>,
    totals: Option<Buffer>,
    /// Number of thread blocks in all calls so far that had one set of events and more than one thread block, modulo
    /// 2^32. `finished` is the number in device memory, and `expected` the same number on the host.
    finished: Buffer,
    expected: u32,
    /// Number of the last call with one set of events. Results of the kernel carry this number.
    call: u32,
    /// Whether the next kernel must wait for earlier work of the backend. This is the case if memory was allocated or
    /// written after the last kernel that waited. Earlier work may still use allocated memory, and a copy to written
    /// memory may still be in progress.
    fresh: bool,
}

/// Returns a buffer of at least `bytes` bytes. If the old buffer is large enough, returns it. Otherwise allocates a new
/// buffer and sets `fresh` to true.
fn at_least<'a>(
    backend: &Arc<dyn Backend>,
    buffer: &'a mut Option<Buffer>,
    bytes: usize,
    fresh: &mut bool,
) -> Result<&'a Buffer, SessionError> {
    if buffer.as_ref().is_none_or(|old| old.bytes() < bytes) {
        *buffer = None;
        *fresh = true;
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::new(backend, bytes.max(8))?)),
    }
}

impl DeviceFlow {
    /// Prepares a device for data with `n_processes` processes. `weights` contains one weight per event, for calls with
    /// a single set of events.
    ///
    /// # Errors
    /// If there are no or too many processes, a weight is not finite, or the device has too little memory.
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        device: Device,
        n_processes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self, SessionError> {
        if !(1..=MOST_PROCESSES).contains(&n_processes) {
            return Err(SessionError::TooLarge {
                what: "the number of processes (at least 1)".to_owned(),
                needed: n_processes as u64,
                limit: MOST_PROCESSES as u64,
            });
        }
        for (index, &value) in weights.unwrap_or_default().iter().enumerate() {
            if !value.is_finite() {
                let remedy = "weights are finite";
                return Err(SessionError::BadNumber { what: "weights", index, value, remedy });
            }
        }
        let guest = Arc::clone(&backend).guest()?;
        let weights_there = weights.map(|weights| Buffer::holding(&backend, weights)).transpose()?;
        let finished = Buffer::holding(&backend, &[0_i32])?;
        let (log_probs, input, room, partials, totals) = (None, None, None, None, None);
        let (expected, call, fresh) = (0, 0, true);
        let work = Work { guest, log_probs, input, room, partials, totals, finished, expected, call, fresh };
        Ok(Self {
            device,
            work: Mutex::new(work),
            backend,
            n_processes,
            weights: weights_there,
            n_weights: weights.map_or(0, <[f64]>::len),
        })
    }

    /// Returns the device that computes the sums.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the sums over `n_events` events. `rates` has one rate (expected number of events) per process.
    /// Log-densities that are on the device are not copied: a kernel on the caller's stream reads them in place.
    /// `stream` is the driver's handle of this stream; 0 is the default stream.
    ///
    /// # Errors
    /// If a length is wrong, an address is not on the device, or the device fails.
    ///
    /// # Safety
    /// An address in `data` must be the address of an array on the device with one number for each process and event.
    /// `stream` must be a stream of the device in this process.
    pub unsafe fn nll(
        &self,
        data: FlowData<'_>,
        n_events: usize,
        rates: &[f64],
        stream: u64,
    ) -> Result<FlowSums, SessionError> {
        if self.weights.is_some() {
            length("the weights of the events", self.n_weights, n_events)?;
        }
        length("the list of rates", rates.len(), self.n_processes)?;
        let (mut guard, n, sums) = (self.lock(), self.n_processes, self.sums());
        let work = &mut *guard;
        // The kernels of the last call may still read memory that is written or freed below.
        work.guest.wait()?;
        let per_thread = n + sums;
        let most_blocks = (MOST_ROOM / (per_thread * EVENT_THREADS)).clamp(1, MOST_BLOCKS);
        let blocks = n_events.div_ceil(EVENT_THREADS).clamp(1, most_blocks);
        // SAFETY: the caller guarantees address and stream.
        let (mut launch, stream) = unsafe { self.launch(work, data, n_events, blocks, stream) }?;
        launch.weights = self.weights.as_ref().map_or(Offset::NULL, Buffer::at);
        launch.partials =
            at_least(&self.backend, &mut work.partials, 8 * sums * blocks, &mut work.fresh)?.at();
        launch.own_rates[..n].copy_from_slice(rates);
        // Zero is in the words before the first answer.
        work.call = work.call.wrapping_add(1).max(1);
        launch.call = work.call;
        launch.last = work.expected.wrapping_add(blocks as u32 - 1);
        launch.finished = work.finished.at();
        launch.answer = work.guest.answers(2 * sums)?;
        let mut found = vec![0.0; sums];
        let kernel = (Kernel::FlowNllReduce, self.shape(blocks, &launch), bytemuck::bytes_of(&launch));
        // SAFETY: the caller guarantees stream and address; the other arrays live as long as `self`.
        unsafe {
            if std::mem::take(&mut work.fresh) {
                work.guest.follow(stream)?;
            }
            work.guest.ask(stream, kernel, work.call, &mut found)?;
        }
        if blocks > 1 {
            work.expected = work.expected.wrapping_add(blocks as u32);
        }
        Ok(collected(&found, n))
    }

    /// Returns the sums for several sets of events. Set `i` has `counts[i]` events. The events of all sets follow one
    /// another. `rates` has one rate (expected number of events) per set and process, set after set. The events have
    /// weight 1.
    ///
    /// # Errors
    /// The errors of [`Self::nll`].
    ///
    /// # Safety
    /// The conditions of [`Self::nll`].
    pub unsafe fn nll_batch(
        &self,
        data: FlowData<'_>,
        counts: &[usize],
        rates: &[f64],
        stream: u64,
    ) -> Result<Vec<FlowSums>, SessionError> {
        let (n, n_sets, sums) = (self.n_processes, counts.len(), self.sums());
        length("the list of rates", rates.len(), n * n_sets)?;
        if counts.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = vec![0_u64];
        let mut n_events = 0;
        for &count in counts {
            n_events += count;
            input.push(n_events as u64);
        }
        input.extend(rates.iter().map(|rate| rate.to_bits()));
        let mut guard = self.lock();
        let work = &mut *guard;
        work.guest.wait()?;
        let blocks = n_sets.min(MOST_BLOCKS);
        // SAFETY: the caller guarantees address and stream.
        let (mut launch, stream) = unsafe { self.launch(work, data, n_events, blocks, stream) }?;
        launch.n_sets = n_sets as i32;
        let to = at_least(&self.backend, &mut work.input, 8 * input.len(), &mut work.fresh)?;
        self.backend.write(to.start(), bytemuck::cast_slice(&input))?;
        launch.starts = to.at();
        launch.rates = to.at::<f64, false>().plus(n_sets + 1);
        let totals: OffsetMut<f64> =
            at_least(&self.backend, &mut work.totals, 8 * sums * n_sets, &mut work.fresh)?.at();
        launch.totals = totals;
        let (shape, parameter) = (self.shape(blocks, &launch), bytemuck::bytes_of(&launch));
        let mut found = vec![0.0; sums * n_sets];
        work.fresh = false;
        // SAFETY: the caller guarantees stream and address; the other arrays live as long as `self`, and the array of sums
        // has this size.
        unsafe {
            work.guest.follow(stream)?;
            work.guest.launch(stream, Kernel::FlowBatchNllReduce, shape, parameter)?;
            work.guest.read(stream, totals.cast(), bytemuck::cast_slice_mut(&mut found))?;
        }
        Ok(found.chunks_exact(sums).map(|of| collected(of, n)).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of sums over the events of one set.
    fn sums(&self) -> usize {
        let n = self.n_processes;
        PLAIN_SUMS + n + n * (n + 1) / 2
    }

    /// Prepares the log-densities, and the working memory of `blocks` thread blocks. Returns the kernel's parameter,
    /// which refers to both, and the stream for the kernel. This is the caller's `stream` if the log-densities are on
    /// the device, and the device's own stream otherwise.
    ///
    /// # Safety
    /// The conditions of [`Self::nll`].
    unsafe fn launch(
        &self,
        work: &mut Work,
        data: FlowData<'_>,
        n_events: usize,
        blocks: usize,
        stream: u64,
    ) -> Result<(FlowLaunch, u64), SessionError> {
        let (n, own_stream) = (self.n_processes, work.guest.own_stream());
        let mut launch = FlowLaunch {
            n_processes: n as i32,
            n_sets: 1,
            n_events: n_events as u64,
            room_stride: ((n + self.sums()) * EVENT_THREADS) as u64,
            ..FlowLaunch::default()
        };
        let bytes = 8 * launch.room_stride as usize;
        if bytes > MOST_SHARED {
            launch.room = at_least(&self.backend, &mut work.room, bytes * blocks, &mut work.fresh)?.at();
        }
        let what = "the array of log-densities";
        match data {
            FlowData::Host(numbers) => {
                length("the list of log-densities", numbers.len(), n * n_events)?;
                let to = at_least(&self.backend, &mut work.log_probs, 8 * numbers.len(), &mut work.fresh)?;
                self.backend.write(to.start(), bytemuck::cast_slice(numbers))?;
                launch.log_probs = to.at();
                return Ok((launch, own_stream));
            }
            FlowData::Device(_) | FlowData::DeviceF32(_) if n_events == 0 => {}
            FlowData::Device(address) => {
                work.guest.check_address(what, address)?;
                launch.log_probs = Offset::new(address);
            }
            FlowData::DeviceF32(address) => {
                work.guest.check_address(what, address)?;
                launch.singles = Offset::new(address);
            }
        }
        Ok((launch, stream))
    }

    /// Returns the numbers of thread blocks and threads, and the size of shared memory, for a launch with `blocks`
    /// thread blocks. The working memory is in shared memory unless `launch` refers to other memory. Then the kernel
    /// still uses one 64-bit word of shared memory.
    fn shape(&self, blocks: usize, launch: &FlowLaunch) -> Shape {
        let room = if launch.room.is_some() { 1 } else { launch.room_stride };
        Shape { blocks: blocks as u32, threads: EVENT_THREADS as u32, shared: 8 * room as u32 }
    }
}

/// Returns an error unless the length `actual` of an array is `expected`.
fn length(what: &'static str, actual: usize, expected: usize) -> Result<(), SessionError> {
    if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
}

/// Converts the sums over the events of one set of data to [`FlowSums`].
fn collected(sums: &[f64], n: usize) -> FlowSums {
    let (plain, rest) = sums.split_at(PLAIN_SUMS);
    let (gradient, curvature) = rest.split_at(n);
    let bad = plain.get(1).filter(|bad| bad.is_finite()).map(|&bad| bad as usize);
    let value = plain.first().copied().unwrap_or(f64::NAN);
    let value = if bad.is_some() { f64::INFINITY } else { value };
    FlowSums { value, gradient: gradient.to_vec(), curvature: curvature.to_vec(), bad }
}
