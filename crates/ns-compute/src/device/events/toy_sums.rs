//! Launches the kernels that compute the sums over the events of many toys.

use ns_core::SessionError;

use super::super::backend::{Kernel, Shape};
use super::channel::ChannelOnDevice;
use super::draw::Toy;
use super::fiber::Fiber;
use super::layout::{EventPiece, EventToyLaunch};
use super::slot::Slot;
use super::toys::{Ended, EventToys};
use crate::shared_constants::EVENT_THREADS;

/// Number of events in a piece. One thread block computes the sums over one piece. This number determines the order of
/// sums, so it is the same for all devices.
const EVENTS_PER_PIECE: usize = 2048;
/// Largest shared memory of a thread block, in bytes. With more shared memory per block, too few blocks would run at
/// the same time.
const MOST_SHARED: usize = 48 << 10;
/// Largest total size, in doubles, of the working memory of all thread blocks of a launch. It applies if this working
/// memory is in device memory, not in shared memory.
const MOST_ROOM: usize = 4 << 20;

impl EventToys {
    /// Allocates the memory for the largest launch that these toys can need. Later launches therefore cannot fail for
    /// lack of memory.
    pub(super) fn reserve(&self, toys: &[Toy], slot: &mut Slot) -> Result<(), SessionError> {
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
            if shared(channel) <= self.most_shared() { 0 } else { 8 * room(channel) * self.blocks(channel) }
        });
        slot.room.at_least(&self.backend, rooms.max().unwrap_or(0))?;
        Ok(())
    }

    fn channel(&self, index: usize) -> Option<&ChannelOnDevice> {
        self.channels.get(index).and_then(Option::as_ref)
    }

    /// Returns the largest number of thread blocks of a launch whose working memory is in device memory, not in shared
    /// memory. The working memory of all blocks takes at most `MOST_ROOM` doubles, and at most an eighth of the memory
    /// of the device.
    fn blocks(&self, channel: &ChannelOnDevice) -> usize {
        let memory = usize::try_from(self.backend.properties().memory / 64).unwrap_or(usize::MAX);
        (MOST_ROOM.min(memory) / room(channel).max(1)).max(1)
    }

    fn most_shared(&self) -> usize {
        MOST_SHARED.min(self.backend.properties().shared_per_block)
    }

    /// Computes the sums that the suspended fits wait for, and writes these sums to the mailboxes of the fits.
    pub(super) fn sum(
        &self,
        toys: &[Toy],
        fibers: &[(usize, Fiber<Ended>)],
        slot: &mut Slot,
    ) -> Result<(), SessionError> {
        slot.bytes.clear();
        // One element per channel: the channel, the fibers that wait for its sums, the number of pieces, and the
        // positions at which pieces, numbers and sums begin.
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
            let n_blocks = if in_shared { *n_pieces } else { self.blocks(channel).min(*n_pieces) };
            let in_room = if in_shared { 0 } else { 8 * room(channel) * self.blocks(channel) };
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

/// Returns the number of pieces into which `events` events of a channel are divided.
pub(super) fn pieces(events: usize) -> usize {
    events.div_ceil(EVENTS_PER_PIECE)
}

/// Returns the working memory that a thread block needs for a channel, in doubles.
fn room(channel: &ChannelOnDevice) -> usize {
    channel.rows.count * EVENT_THREADS
}

/// Returns the working memory that a thread block needs for a channel, in bytes.
fn shared(channel: &ChannelOnDevice) -> usize {
    8 * room(channel)
}
