//! Collects many small arrays and uploads them together, with one copy, to one buffer of device memory.

use std::sync::Arc;

use bytemuck::{NoUninit, Pod};
use ns_core::SessionError;

use super::backend::{Backend, Buffer};
use super::declare::Field;
use super::offset::{Memory, Offset};

/// Alignment of every array in the arena, in bytes.
const ALIGNMENT: usize = 16;

/// Arrays that are not uploaded yet. The arrays may contain offsets (positions) of other arrays. Until the upload,
/// these offsets count from the start of the arena.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    /// Byte positions of all offsets that are stored in the arrays. The values of these offsets change when the arrays
    /// are copied to a buffer.
    offsets: Vec<usize>,
}

impl Arena {
    /// Adds an array to the arena and returns the position of the array.
    pub(super) fn put<T: NoUninit + Field>(&mut self, values: &[T]) -> Offset<T> {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        if T::HAS_OFFSETS {
            for i in 0..values.len() {
                T::offsets(at + i * size_of::<T>(), &mut self.offsets);
            }
        }
        Offset::in_arena(at)
    }

    /// Adds indices to the arena and returns their position. The indices are converted to 32-bit integers, which the
    /// kernels read.
    pub(super) fn put_indices(&mut self, values: impl IntoIterator<Item = usize>) -> Offset<i32> {
        let values: Vec<i32> = values.into_iter().map(|i| i as i32).collect();
        self.put(&values)
    }

    /// Returns the first `n` floating-point numbers of the array at the position `from`.
    pub(super) fn doubles<T>(&self, from: Offset<T>, n: usize) -> Vec<f64> {
        let bytes = from.within_arena().and_then(|at| self.bytes.get(at..at + n * size_of::<f64>()));
        let number = |chunk: &[u8]| bytemuck::pod_read_unaligned(chunk);
        bytes.unwrap_or_default().chunks_exact(size_of::<f64>()).map(number).collect()
    }

    /// Returns the total size of the arrays in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes of all arrays, ready for a copy to device memory at `base`. All offsets that are stored in the
    /// arrays are converted to positions in that device memory.
    pub(super) fn content(&mut self, base: Memory) -> &[u8] {
        move_offsets(&mut self.bytes, &self.offsets, base);
        &self.bytes
    }

    /// Copies all arrays to a new buffer on the device and returns the buffer.
    pub(super) fn upload(mut self, backend: &Arc<dyn Backend>) -> Result<Buffer, SessionError> {
        let buffer = Buffer::new(backend, self.bytes())?;
        backend.write(buffer.start(), self.content(buffer.start()))?;
        Ok(buffer)
    }
}

/// Returns `structure` with its offsets converted from positions in the arena to positions in device memory. `base` is
/// the start of the arena's copy in device memory.
pub(super) fn moved<T: Field + Pod>(mut structure: T, base: Memory) -> T {
    let mut offsets = Vec::new();
    T::offsets(0, &mut offsets);
    move_offsets(bytemuck::bytes_of_mut(&mut structure), &offsets, base);
    structure
}

/// Converts the offsets at the byte positions `at` of `bytes` from positions in the arena to positions in device
/// memory. `base` is the start of the arena's copy.
fn move_offsets(bytes: &mut [u8], at: &[usize], base: Memory) {
    for &at in at {
        if let Some(place) = bytes.get_mut(at..at + size_of::<u64>()) {
            let within: Memory = bytemuck::pod_read_unaligned(place);
            place.copy_from_slice(bytemuck::bytes_of(&within.moved(base)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout;
    use super::*;

    const BASE: Memory = Offset::new(0x7f00_0000_0000);

    #[test]
    fn what_is_in_an_arena_moves_with_it_and_nothing_else_does() {
        let once = |offset: Offset<f64>| offset.moved(BASE).moved(BASE).bytes();
        assert_eq!(once(Offset::in_arena(0)), BASE.bytes());
        assert_eq!(once(Offset::in_arena(48).plus(2)), BASE.bytes() + 64);
        assert_eq!(once(Offset::new(4096)), 4096);
        assert_eq!(once(Offset::NULL), 0);
    }

    /// Regression test: the recorded positions of offsets were wrong by one 64-bit word. The upload then added the
    /// address of the buffer to the bits of the EDM tolerance.
    #[test]
    fn offsets_of_a_plan_move_and_its_numbers_stay() {
        let before = layout::Plan {
            n_params: 3,
            normsys: 4,
            n_scaled: 7,
            strongly_nonlinear: 1,
            edm_tolerance: 1e-9,
            block: Offset::in_arena(8),
            upper: Offset::in_arena(16),
            ..layout::Plan::default()
        };
        let after = moved(before, BASE);
        assert_eq!(after.edm_tolerance.to_bits(), before.edm_tolerance.to_bits());
        assert_eq!((after.n_params, after.normsys, after.n_scaled, after.strongly_nonlinear), (3, 4, 7, 1));
        let words =
            [after.block.bytes(), after.upper.bytes(), after.factor_param.bytes(), after.kinked.bytes()];
        assert_eq!(words, [BASE.bytes() + 8, BASE.bytes() + 16, 0, 0]);
    }

    #[test]
    fn offsets_in_an_arena_move_and_numbers_beside_them_stay() {
        let mut arena = Arena::default();
        let numbers = arena.put(&[1.0, f64::from_bits(1 << 63)]);
        let metrics = [1, 2].map(|n_local| layout::Metric {
            n_local,
            n_dual: -1,
            local_count: Offset::new(64),
            primal_rows: numbers,
            ..layout::Metric::default()
        });
        let at = arena.put(&metrics).moved(BASE).bytes() - BASE.bytes();
        let content = arena.content(BASE).to_vec();
        assert_eq!(content[8..16], (1_u64 << 63).to_ne_bytes());
        for (k, metric) in content[at as usize..].chunks_exact(size_of::<layout::Metric>()).enumerate() {
            let metric: layout::Metric = bytemuck::pod_read_unaligned(metric);
            assert_eq!((metric.n_local, metric.n_dual, metric.n_primal), (k as i32 + 1, -1, 0));
            assert_eq!((metric.local_count.bytes(), metric.primal_rows.bytes()), (64, BASE.bytes()));
        }
    }
}
