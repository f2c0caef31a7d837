//! Computes `-ln L` and its derivatives with respect to the rates of the processes from the log-densities of events.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Device, SessionError};

use super::super::backend::{Backend, Buffer, Guest, Kernel, Shape};
use super::super::offset::{Offset, OffsetMut};
use super::layout::FlowLaunch;
use crate::shared_constants::EVENT_THREADS;

/// Number of events that one thread sums. Together with the largest number of thread blocks it determines the order
/// of sums. Both are therefore the same for all devices.
const EVENTS_PER_THREAD: usize = 8;
const MOST_BLOCKS: usize = 264;
/// Number of sums that do not depend on the number of processes. `kernels/flow.cuh` lists them.
const PLAIN_SUMS: usize = 2;
/// Largest number of processes, because each thread keeps sums for each process.
const MOST_PROCESSES: usize = 64;

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

/// `-sum_i w_i ln sum_k nu_k p_k(x_i)` with its derivatives with respect to the rates `nu_k`. `i` numbers the events
/// and `k` the processes.
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

/// Working memory of calls. It grows when a call needs more.
struct Work {
    /// Launches kernels. This field is dropped first, because dropping it waits for the work that uses the memory
    /// below.
    guest: Box<dyn Guest>,
    log_probs: Option<Buffer>,
    /// Input of the kernels: the index of the first event of each set of data, then the rates.
    input: Option<Buffer>,
    room: Option<Buffer>,
    partials: Option<Buffer>,
    totals: Option<Buffer>,
}

/// Returns a buffer of at least `bytes` bytes: the old one if it is large enough, else a new one.
fn at_least<'a>(
    backend: &Arc<dyn Backend>,
    buffer: &'a mut Option<Buffer>,
    bytes: usize,
) -> Result<&'a Buffer, SessionError> {
    if buffer.as_ref().is_none_or(|old| old.bytes() < bytes) {
        *buffer = None;
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::new(backend, bytes.max(8))?)),
    }
}

impl DeviceFlow {
    /// Prepares a device for `n_processes` processes. `weights` contains one weight per event, for calls with a
    /// single set of data.
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
        let (log_probs, input, room, partials, totals) = (None, None, None, None, None);
        Ok(Self {
            device,
            work: Mutex::new(Work { guest, log_probs, input, room, partials, totals }),
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

    /// Returns the sums over `n_events` events. `rates` has one rate per process. A kernel on the caller's stream
    /// reads log-densities that are on the device, without a copy. `stream` is the driver's handle of the stream; 0
    /// is the default stream.
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
        if self.weights.is_some() && self.n_weights != n_events {
            let (what, actual, expected) = ("the weights of the events", self.n_weights, n_events);
            return Err(SessionError::WrongLength { what, actual, expected });
        }
        // SAFETY: the caller guarantees address and stream.
        let mut all = unsafe { self.run(data, &[0, n_events as u64], rates, stream, self.weights.as_ref()) }?;
        all.pop().ok_or(SessionError::WrongLength { what: "the sums", actual: 0, expected: 1 })
    }

    /// Returns the sums of several sets of data. Set `i` has `counts[i]` events. The events of all sets follow one
    /// another, and so do the rates, with one rate per set and process. The events have weight 1.
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
        let mut starts = vec![0_u64];
        for &count in counts {
            starts.push(starts.last().copied().unwrap_or(0) + count as u64);
        }
        if counts.is_empty() {
            return Ok(Vec::new());
        }
        // SAFETY: the caller guarantees address and stream.
        unsafe { self.run(data, &starts, rates, stream, None) }
    }

    unsafe fn run(
        &self,
        data: FlowData<'_>,
        starts: &[u64],
        rates: &[f64],
        stream: u64,
        weights: Option<&Buffer>,
    ) -> Result<Vec<FlowSums>, SessionError> {
        let (n, n_sets) = (self.n_processes, starts.len() - 1);
        let n_events = starts.last().copied().unwrap_or(0);
        let length = |what, actual, expected| {
            if actual == expected {
                Ok(())
            } else {
                Err(SessionError::WrongLength { what, actual, expected })
            }
        };
        length("the list of rates", rates.len(), n * n_sets)?;
        let sums = PLAIN_SUMS + n + n * (n + 1) / 2;
        let single = n_sets == 1;
        let parts =
            usize::try_from(n_events).unwrap_or(usize::MAX).div_ceil(EVENT_THREADS * EVENTS_PER_THREAD);
        let blocks = if single { parts.clamp(1, MOST_BLOCKS) } else { n_sets.min(MOST_BLOCKS) };
        let mut guard = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let work = &mut *guard;
        // Kernels of the last call may still read memory that is written or freed below.
        work.guest.wait()?;
        let mut launch = FlowLaunch {
            n_processes: n as i32,
            n_sets: n_sets as i32,
            n_blocks: blocks as i32,
            n_events,
            weights: weights.map_or(Offset::NULL, Buffer::at),
            ..FlowLaunch::default()
        };
        match data {
            FlowData::Host(numbers) => {
                length("the list of log-densities", numbers.len(), n * n_events as usize)?;
                let to = at_least(&self.backend, &mut work.log_probs, 8 * numbers.len())?;
                self.backend.write(to.start(), bytemuck::cast_slice(numbers))?;
                launch.log_probs = to.at();
            }
            FlowData::Device(address) | FlowData::DeviceF32(address) if n_events > 0 => {
                work.guest.check_address("the array of log-densities", address)?;
                match data {
                    FlowData::DeviceF32(_) => launch.singles = Offset::new(address),
                    _ => launch.log_probs = Offset::new(address),
                }
            }
            FlowData::Device(_) | FlowData::DeviceF32(_) => {}
        }
        let input: Vec<u64> = starts.iter().copied().chain(rates.iter().map(|x| x.to_bits())).collect();
        let to = at_least(&self.backend, &mut work.input, 8 * input.len())?;
        self.backend.write(to.start(), bytemuck::cast_slice(&input))?;
        launch.starts = to.at();
        launch.rates = to.at::<f64, false>().plus(starts.len());
        launch.room_stride = ((n + sums) * EVENT_THREADS) as u64;
        launch.room = at_least(&self.backend, &mut work.room, 8 * (n + sums) * EVENT_THREADS * blocks)?.at();
        launch.partials = at_least(&self.backend, &mut work.partials, 8 * sums * blocks)?.at();
        let totals: OffsetMut<f64> = at_least(&self.backend, &mut work.totals, 8 * sums * n_sets)?.at();
        launch.totals = totals;
        let parameter = bytemuck::bytes_of(&launch);
        let shape = |blocks: usize| Shape { blocks: blocks as u32, threads: EVENT_THREADS as u32, shared: 0 };
        // SAFETY: the caller guarantees stream and address; the other arrays live as long as `self`.
        unsafe {
            let kernel = if single { Kernel::FlowNllReduce } else { Kernel::FlowBatchNllReduce };
            work.guest.launch_after(stream, kernel, shape(blocks), parameter)?;
            if single && blocks > 1 {
                work.guest.launch(stream, Kernel::FlowNllTotal, shape(1), parameter)?;
            }
        }
        let mut found = vec![0.0; sums * n_sets];
        // SAFETY: the array on the device has this size.
        unsafe { work.guest.read(stream, totals.cast(), bytemuck::cast_slice_mut(&mut found)) }?;
        Ok(found.chunks_exact(sums).map(|of| collected(of, n)).collect())
    }
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
