//! Draws toys with events. In channels with one observable, the device draws the events with the rejection method. It
//! draws candidates from a hat, which is a function that is nowhere below the density. The CPU draws the events of all
//! other channels. It also draws those few events for which bounds of the density do not suffice to accept or reject a
//! candidate. The toys have the same bits as toys of the CPU.

use std::ops::Range;
use std::sync::Arc;

use ns_core::random::Stream;
use ns_core::{EventColumns, EventTable, FitFailure, NotDrawn, SessionError, ToySource};

use super::super::backend::{Backend, Buffer, Kernel, Shape};
use super::layout::{EventCell, EventDraw, EventDrawLaunch, EventPlaceLaunch};
use super::slot::Slot;
use crate::cpu::UnitOfToys;
use crate::eval::Dataset;
use crate::events::DeviceHat;
use crate::shared_constants::EVENT_THREADS;

/// Number of events that one thread block draws.
const EVENTS_PER_DRAW: usize = 4096;
/// The device may leave at most `FEW_OPEN + n / ONE_OPEN_IN` of `n` events undecided. The CPU draws these events.
const ONE_OPEN_IN: usize = 16;
const FEW_OPEN: usize = 256;
/// The device fits a toy only if each of its channels has at most this number of events. The CPU fits all larger toys:
/// such a fit begins with a subset of the events, so the events must be on the host.
const MOST_EVENTS: usize = 32_768;

/// Place of the events of one channel in a toy: their position in the columns on the device, and their number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Index of the first event's first observable in the columns on the device. The values of the other observables
    /// follow, column after column.
    pub(super) start: u64,
    pub(super) count: usize,
    /// Slot (index in the toy's random stream) of the first event. `None` if the CPU draws the events.
    slot: Option<u32>,
}

/// A toy whose events are on the device, or will be drawn there.
pub(super) struct Toy {
    pub(super) index: u64,
    /// Counts, auxiliary data, and tables of events of the toy. If the device draws the events of a channel, the
    /// channel's table is empty.
    pub(super) data: Dataset,
    pub(super) places: Vec<Place>,
    pub(super) failure: Option<FitFailure>,
}

impl Toy {
    /// Returns whether a channel has more than [`MOST_EVENTS`] events. The CPU then has to fit the toy.
    pub(super) fn is_long(&self) -> bool {
        self.places.iter().any(|place| place.count > MOST_EVENTS)
    }

    fn is_drawn(&self) -> bool {
        self.failure.is_none() && !self.is_long()
    }
}

/// The hat of one channel in device memory. A hat is a function that is nowhere below the density. Candidates for
/// events are drawn from it.
pub(super) struct HatOnDevice {
    cells: Buffer,
    guide: Buffer,
    n_guide: usize,
}

impl HatOnDevice {
    /// Copies the hat (upper envelope of the density) of a channel to the device.
    pub(super) fn new(hat: &DeviceHat<'_>, backend: &Arc<dyn Backend>) -> Result<Self, SessionError> {
        let cell = |[begin, low, last, slope, sure]: [f64; 5]| EventCell { begin, low, last, slope, sure };
        let cells: Vec<EventCell> = hat.cells().map(cell).collect();
        Ok(Self {
            cells: Buffer::holding(backend, &cells)?,
            guide: Buffer::holding(backend, hat.guide())?,
            n_guide: hat.guide().len(),
        })
    }
}

/// Draws the counts and auxiliary data of a toy, and the number of events in each channel. `hats` contains the hat
/// (upper envelope of the density) of each channel. For channels without a hat, also draws the events and appends them
/// to `columns`.
fn begin(
    unit: &UnitOfToys<'_>,
    index: u64,
    hats: &[Option<DeviceHat<'_>>],
    buffer: &mut EventColumns,
    columns: &mut Vec<f64>,
) -> Toy {
    let (source, plan) = (unit.source, unit.session.plan());
    let stream = Stream::new(source.seed, index, source.hypothesis);
    let mut data = Dataset::empty(plan);
    source.draw_into(index, &mut data.main, &mut data.aux);
    data.saturate(plan);
    let mut slot = (source.main.len() + source.auxiliary.len()) as u32;
    let mut toy = Toy { index, data, places: Vec::with_capacity(hats.len()), failure: None };
    for (channel, (events, hat)) in source.events.iter().zip(hats).enumerate() {
        let (table, place) = if let Some(hat) = hat {
            let (count, first) = hat.number(&stream, slot);
            slot = first.wrapping_add(count as u32);
            let table = EventTable { columns: vec![Arc::from([].as_slice())], weights: None };
            (table, Place { start: 0, count, slot: Some(first) })
        } else {
            match events.0.draw(&stream, slot, buffer) {
                Ok(next) => slot = next,
                Err(NotDrawn) => {
                    toy.failure = Some(FitFailure::NotDrawn { channel });
                    break;
                }
            }
            let (table, start) = (buffer.table(), columns.len() as u64);
            buffer.columns.iter().for_each(|column| columns.extend_from_slice(column));
            let count = table.len();
            (table, Place { start, count, slot: None })
        };
        toy.data.events.push(Arc::new(table));
        toy.places.push(place);
    }
    toy
}

/// Draws toys, and stores their events in the columns of `slot`. `hats` has one element per channel: the hat (upper
/// envelope of the density) that the device uses to draw the events, or `None` if the CPU draws them. Returns `None` if
/// the device leaves too many events to the CPU.
///
/// # Errors
/// If the device fails or has too little memory.
pub(super) fn draw(
    unit: &UnitOfToys<'_>,
    range: Range<u64>,
    hats: &[Option<(DeviceHat<'_>, Arc<HatOnDevice>)>],
    (backend, slot): (&Arc<dyn Backend>, &mut Slot),
) -> Result<Option<Vec<Toy>>, SessionError> {
    let (mut buffer, mut columns) = (EventColumns::default(), Vec::new());
    let on_host: Vec<Option<DeviceHat<'_>>> =
        hats.iter().map(|hat| hat.as_ref().map(|(hat, _)| *hat)).collect();
    let mut toys: Vec<Toy> =
        range.map(|index| begin(unit, index, &on_host, &mut buffer, &mut columns)).collect();
    let mut end = columns.len() as u64;
    for toy in toys.iter_mut().filter(|toy| toy.is_drawn()) {
        for place in toy.places.iter_mut().filter(|place| place.slot.is_some()) {
            place.start = end;
            end += place.count as u64;
        }
    }
    let there = slot.columns.at_least(backend, 8 * end as usize)?.start();
    if !columns.is_empty() {
        slot.lane.write(there, bytemuck::cast_slice(&columns))?;
        slot.lane.wait()?;
    }
    for (channel, hat) in hats.iter().enumerate() {
        let Some((hat, on_device)) = hat else { continue };
        if !draw_channel(unit.source, (channel, hat, on_device), &mut toys, (backend, slot))? {
            return Ok(None);
        }
    }
    Ok(Some(toys))
}

/// Draws the events of one channel of all toys on the device. Returns false if the device leaves too many events to the
/// CPU.
fn draw_channel(
    source: &ToySource,
    (channel, hat, on_device): (usize, &DeviceHat<'_>, &HatOnDevice),
    toys: &mut [Toy],
    (backend, slot): (&Arc<dyn Backend>, &mut Slot),
) -> Result<bool, SessionError> {
    let (mut draws, mut toy_of, mut events) = (Vec::new(), Vec::new(), 0);
    for (i, toy) in toys.iter().enumerate().filter(|(_, toy)| toy.is_drawn()) {
        let Some(&Place { start, count, slot: Some(first_slot) }) = toy.places.get(channel) else { continue };
        for first in (0..count).step_by(EVENTS_PER_DRAW) {
            draws.push(EventDraw {
                toy: toy.index,
                start,
                first: first as u32,
                count: EVENTS_PER_DRAW.min(count - first) as u32,
                slot: first_slot,
                padding: 0,
            });
            toy_of.push(i);
        }
        events += count;
    }
    if draws.is_empty() {
        return Ok(true);
    }
    let most_open = events / ONE_OPEN_IN + FEW_OPEN;
    slot.bytes.clear();
    slot.put(&draws);
    let counter = slot.put(&[0_i32; 2]);
    let input = slot.input.at_least(backend, slot.bytes.len() + 8 * most_open)?.start();
    let columns = slot.columns.at_least(backend, 0)?.at();
    let launch = EventDrawLaunch {
        seed: source.seed,
        hypothesis: u32::from(source.hypothesis),
        n_guide: on_device.n_guide as u32,
        cells: on_device.cells.at(),
        guide: on_device.guide.at(),
        draws: input.cast(),
        columns,
        n_open: input.plus(counter).cast(),
        open: input.plus(counter + 8).cast(),
        most_open: most_open as u32,
        padding: 0,
    };
    let shape = |blocks: usize| Shape { blocks: blocks as u32, threads: EVENT_THREADS as u32, shared: 0 };
    slot.send(backend)?;
    slot.lane.launch(Kernel::EventDraw, shape(draws.len()), bytemuck::bytes_of(&launch))?;
    slot.lane.fetch(input.plus(counter), 8 + 8 * most_open)?;
    slot.lane.wait()?;
    let open: &[[i32; 2]] = bytemuck::try_cast_slice(slot.lane.fetched()).unwrap_or_default();
    let Some(([n_open, _], open)) = open.split_first() else { return Ok(false) };
    let Some(open) = open.get(..*n_open as usize) else { return Ok(false) };
    let (mut places, mut values, mut memory) = (Vec::new(), Vec::new(), hat.memory());
    for &[block, event] in open {
        let Some((draw, &toy)) = draws.get(block as usize).zip(toy_of.get(block as usize)) else { continue };
        let stream = Stream::new(source.seed, draw.toy, source.hypothesis);
        match hat.draw(&stream, draw.slot.wrapping_add(event as u32), &mut memory) {
            Ok(x) => {
                places.push(draw.start + event as u64);
                values.push(x);
            }
            Err(NotDrawn) => {
                toys[toy].failure.get_or_insert(FitFailure::NotDrawn { channel });
            }
        }
    }
    if places.is_empty() {
        return Ok(true);
    }
    slot.bytes.clear();
    let (places_at, values_at) = (slot.put(&places), slot.put(&values));
    let input = slot.send(backend)?;
    let launch = EventPlaceLaunch {
        columns,
        places: input.plus(places_at).cast(),
        values: input.plus(values_at).cast(),
        count: places.len() as u64,
    };
    let blocks = places.len().div_ceil(EVENT_THREADS);
    slot.lane.launch(Kernel::EventPlace, shape(blocks), bytemuck::bytes_of(&launch))?;
    slot.lane.wait()?;
    Ok(true)
}
