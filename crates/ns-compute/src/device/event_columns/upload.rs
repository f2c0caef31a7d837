//! Decodes a file on several threads, and copies the decoded columns to a device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use ns_core::RowGroups;

use super::super::backend::{Buffer, Pinned};
use super::super::offset::OffsetMut;
use super::columns::{DeviceEvents, EventTarget, OutsideBounds};
use super::error::UploadError;

/// Largest size, in bytes, of a table that is copied without page-locked memory and without further threads. For such a
/// table, preparing memory and threads would take longer than the copy.
const SMALL: usize = 64 << 10;

/// Options for copying events to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadOptions {
    /// Number of threads that decode the file; 0 means all threads of the machine.
    pub threads: usize,
    /// Largest number of bytes of host memory that may be used. This memory consists of page-locked memory and of
    /// compressed bytes that are being decoded.
    pub host_memory: usize,
}

impl Default for UploadOptions {
    /// Returns the default options: all threads of the machine, and 512 MiB of host memory.
    fn default() -> Self {
        Self { threads: 0, host_memory: 512 << 20 }
    }
}

/// Copies all rows of a file to a device.
///
/// # Errors
/// If the file cannot be decoded, the device fails or has too little memory, or the largest group of rows needs more
/// host memory than the options allow.
pub fn upload_events_to_cuda<R: RowGroups>(
    file: &R,
    target: &EventTarget,
    options: UploadOptions,
) -> Result<DeviceEvents, UploadError<R::Error>> {
    upload(file, None, target, options)
}

/// Copies rows of a file to a device if all numbers of the row are within `bounds`. `bounds` has one pair (lower,
/// upper) for each column. Both ends are included. [`DeviceEvents::outside`] counts the rows that are left out.
///
/// # Errors
/// The errors of [`upload_events_to_cuda`]. Also if the number of pairs of bounds is wrong, or a lower bound is above
/// its upper bound.
pub fn upload_events_with_bounds_to_cuda<R: RowGroups>(
    file: &R,
    bounds: &[(f64, f64)],
    target: &EventTarget,
    options: UploadOptions,
) -> Result<DeviceEvents, UploadError<R::Error>> {
    let names = file.names();
    if bounds.len() != names.len() {
        return Err(UploadError::Bounds { actual: bounds.len(), expected: names.len() });
    }
    for (name, &(lower, upper)) in names.iter().zip(bounds) {
        if !(lower <= upper) {
            return Err(UploadError::EmptyBounds { column: name.clone(), lower, upper });
        }
    }
    upload(file, Some(bounds), target, options)
}

/// Result of applying the bounds to one group of rows: the number of rows within all bounds, and for each column the
/// number of rows outside its bounds.
struct Selected {
    kept: usize,
    outside: Vec<u64>,
}

/// Decodes a group of rows into `to`, column after column. Then moves the rows that are within the bounds to the front
/// of each column.
fn decode<R: RowGroups>(
    file: &R,
    group: usize,
    rows: usize,
    bounds: Option<&[(f64, f64)]>,
    to: &mut [f64],
) -> Result<Selected, R::Error> {
    let columns = file.names().len();
    for (column, out) in to.chunks_exact_mut(rows.max(1)).take(columns).enumerate() {
        file.decode(group, column, out)?;
    }
    let mut selected = Selected { kept: rows, outside: vec![0; columns] };
    let Some(bounds) = bounds else { return Ok(selected) };
    let mut keep = vec![true; rows];
    for ((numbers, (lower, upper)), outside) in
        to.chunks_exact(rows.max(1)).zip(bounds).zip(&mut selected.outside)
    {
        for (x, keep) in numbers.iter().zip(&mut keep) {
            let inside = lower <= x && x <= upper;
            *outside += u64::from(!inside);
            *keep &= inside;
        }
    }
    selected.kept = keep.iter().filter(|keep| **keep).count();
    if selected.kept < rows {
        for numbers in to.chunks_exact_mut(rows.max(1)).take(columns) {
            let kept = keep.iter().enumerate().filter(|(_, keep)| **keep);
            for (next, (row, _)) in kept.enumerate() {
                numbers.copy_within(row..=row, next);
            }
        }
    }
    Ok(selected)
}

/// State of a copy: the number of rows for which each column has space, the number of rows that previous groups have
/// filled, and the counts of rows that were left out.
struct Progress {
    capacity: usize,
    rows: usize,
    outside: OutsideBounds,
}

impl Progress {
    /// Adds a decoded group of `rows` rows to the counts. Returns the index of the group's first row in the columns on
    /// the device.
    fn next(&mut self, rows: usize, selected: &Selected) -> usize {
        let first = self.rows;
        self.rows += selected.kept;
        self.outside.rows += rows as u64;
        self.outside.outside += (rows - selected.kept) as u64;
        for (sum, own) in self.outside.by_column.iter_mut().zip(&selected.outside) {
            *sum += own;
        }
        first
    }
}

fn upload<R: RowGroups>(
    file: &R,
    bounds: Option<&[(f64, f64)]>,
    target: &EventTarget,
    options: UploadOptions,
) -> Result<DeviceEvents, UploadError<R::Error>> {
    let (names, groups) = (file.names(), file.groups());
    let (columns, capacity) = (names.len(), groups.iter().sum::<usize>());
    let wide = Buffer::new(&target.backend, 8 * columns * capacity)?;
    let outside = OutsideBounds { by_column: vec![0; columns], ..OutsideBounds::default() };
    let mut progress = Progress { capacity, rows: 0, outside };
    if 8 * columns * capacity <= SMALL {
        small(file, bounds, target, &wide, &mut progress)?;
    } else {
        in_pieces(file, bounds, target, options, &wide, &mut progress)?;
    }
    let Progress { rows, outside, .. } = progress;
    let buffer = DeviceEvents::packed(target, wide, columns, (capacity, rows))?;
    Ok(DeviceEvents { device: target.device, names: names.to_vec(), buffer, rows, outside })
}

/// Copies a small table without page-locked memory and without further threads.
fn small<R: RowGroups>(
    file: &R,
    bounds: Option<&[(f64, f64)]>,
    target: &EventTarget,
    wide: &Buffer,
    progress: &mut Progress,
) -> Result<(), UploadError<R::Error>> {
    let columns = file.names().len();
    let mut all: Vec<Vec<f64>> = vec![Vec::with_capacity(progress.capacity); columns];
    for (group, &rows) in file.groups().iter().enumerate() {
        let mut numbers = vec![0.0; rows * columns];
        let selected = decode(file, group, rows, bounds, &mut numbers).map_err(UploadError::File)?;
        progress.next(rows, &selected);
        for (column, own) in all.iter_mut().zip(numbers.chunks_exact(rows.max(1))) {
            column.extend_from_slice(&own[..selected.kept]);
        }
    }
    all.iter_mut().for_each(|column| column.resize(progress.capacity, 0.0));
    target.backend.write(wide.start(), bytemuck::cast_slice(&all.concat()))?;
    Ok(())
}

/// A decoded group of rows: the index of the group, and its result. The result is an error, or the memory that
/// contains the decoded rows together with the result of applying the bounds.
type Decoded<E> = (usize, Result<(Box<dyn Pinned>, Selected), UploadError<E>>);

fn in_pieces<R: RowGroups>(
    file: &R,
    bounds: Option<&[(f64, f64)]>,
    target: &EventTarget,
    options: UploadOptions,
    wide: &Buffer,
    progress: &mut Progress,
) -> Result<(), UploadError<R::Error>> {
    let (columns, groups) = (file.names().len(), file.groups());
    let largest = groups.iter().copied().max().unwrap_or(0);
    // The compressed bytes of a column hardly need more memory than its decoded numbers.
    let needed = 8 * largest * (columns + 1);
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    // There are two pieces of memory more than threads. Thus no thread waits while two groups are being copied.
    let count = (threads + 2).min(groups.len()).min(options.host_memory / needed.max(1));
    if count == 0 {
        let limit = options.host_memory;
        return Err(UploadError::HostMemory { rows: largest, needed, limit });
    }
    let (give, free) = mpsc::channel::<Box<dyn Pinned>>();
    let (post, decoded) = mpsc::channel::<Decoded<R::Error>>();
    let (free, next) = (Mutex::new(free), AtomicUsize::new(0));
    let work = |post: mpsc::Sender<Decoded<R::Error>>| {
        loop {
            // A thread takes memory first and a group second. Therefore the next group in order always has memory.
            let got = free.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(mut memory) = got else { return };
            let group = next.fetch_add(1, Ordering::Relaxed);
            let Some(&rows) = groups.get(group) else { return };
            let result = memory.wait().map_err(UploadError::Device).and_then(|()| {
                let numbers = memory.content(rows * columns);
                decode(file, group, rows, bounds, numbers).map_err(UploadError::File)
            });
            let stop = result.is_err();
            if post.send((group, result.map(|selected| (memory, selected)))).is_err() || stop {
                return;
            }
        }
    };
    let finished = std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let (post, work) = (post.clone(), &work);
            scope.spawn(move || work(post));
        }
        drop(post);
        // Threads decode the first groups while further memory is being page-locked.
        let mut locked = Ok(());
        for _ in 0..count {
            match Arc::clone(&target.backend).pinned(8 * largest * columns) {
                Ok(memory) => drop(give.send(memory)),
                Err(error) => {
                    locked = Err(UploadError::Device(error));
                    break;
                }
            }
        }
        let result = locked.and_then(|()| copy(&decoded, &give, (groups, columns), wide, progress));
        // This store ends the threads that wait for memory.
        next.store(groups.len(), Ordering::Relaxed);
        drop(give);
        drop(decoded);
        result
    })?;
    for mut memory in finished {
        memory.wait()?;
    }
    // Each thread has waited for the copies from its memory before it freed this memory. The read below reports
    // errors of those copies.
    let mut first = [0_u8; 8];
    target.backend.read(wide.start(), &mut first)?;
    Ok(())
}

/// Copies decoded groups to the device in order. Returns the memory whose copies may still be in progress.
fn copy<E: std::error::Error>(
    decoded: &mpsc::Receiver<Decoded<E>>,
    give: &mpsc::Sender<Box<dyn Pinned>>,
    (groups, columns): (&[usize], usize),
    wide: &Buffer,
    progress: &mut Progress,
) -> Result<Vec<Box<dyn Pinned>>, UploadError<E>> {
    let (mut waiting, mut finished) = (BTreeMap::new(), Vec::new());
    for (group, &rows) in groups.iter().enumerate() {
        let (mut memory, selected) = loop {
            if let Some(ready) = waiting.remove(&group) {
                break ready;
            }
            // The channel can close before this group arrives only if a thread ended with an error. That error was
            // received before.
            let Ok((other, result)) = decoded.recv() else { return Ok(finished) };
            waiting.insert(other, result?);
        };
        let first = progress.next(rows, &selected);
        for column in 0..columns {
            let to: OffsetMut<f64> = wide.at().plus(column * progress.capacity + first);
            memory.send(column * rows..column * rows + selected.kept, to.cast())?;
        }
        // The memory of the last group is kept until its copies have ended.
        if group + 1 < groups.len() {
            if let Err(back) = give.send(memory) {
                finished.push(back.0);
            }
        } else {
            finished.push(memory);
        }
    }
    Ok(finished)
}
