//! Computes Hessians of `-ln L` at many points on the device.

use ns_core::SessionError;

use super::arrays::{Extra, N_EXTRA, N_OFFSETS};
use super::backend::{Buffer, Kernel, Shape};
use super::layout::{self, EvaluateLaunch};
use super::offset::Offset;
use super::session::GpuSession;
use super::shape;
use crate::plan::{Block, Plan};
use crate::shared_constants::TILE;

/// Largest total size, in bytes, of the slabs of one launch. A slab is the working memory of a thread block in device
/// memory.
const MOST_SLABS: usize = 512 << 20;

/// Placement of the arrays of a thread block that computes Hessians. The array BLOCK_DATA is in shared memory. All
/// other arrays are in the slab of the thread block (its working memory in device memory).
#[derive(Debug, Clone)]
pub(super) struct HessianPlacement {
    offset: [u32; N_OFFSETS],
    extra: [u64; N_EXTRA],
    shared: usize,
    slab: usize,
    /// Length of a row of the Jacobian, counted in doubles, including padding.
    row: usize,
}

/// Largest number of doubles in a Hessian, and largest number of doubles in the slab (working memory) of a thread
/// block. With this limit, each of them takes at most one gibibyte, and indices stay far below 2^31.
const MOST_NUMBERS: usize = 1 << 27;

impl HessianPlacement {
    /// Determines the placement. Returns `None` if the CPU must compute the Hessians of this model. This is the case if
    /// the arrays are too large, or if two parameters interact in more than one way (see `is_regular`).
    pub(super) fn new(plan: &Plan, on_device: &layout::Plan) -> Option<Self> {
        if !is_regular(plan) {
            return None;
        }
        let evaluation = shape::place_in_slab(on_device);
        let (n, bins, width) = (plan.n_parameters(), plan.n_bins(), on_device.n_reacting as usize);
        let (blocks, cells) = (on_device.n_blocks as usize, on_device.n_cells as usize);
        let (factors, wide) = (on_device.n_factors as usize, blocks * width);
        let columns = on_device.n_columns as usize;
        let row = columns.next_multiple_of(TILE);
        let numbers = |array: Extra| match array {
            Extra::First | Extra::Second | Extra::Rank => columns,
            Extra::Curvature => bins,
            Extra::Product => cells,
            Extra::Bare => blocks,
            Extra::Left | Extra::Owner => factors,
            Extra::Ratios | Extra::Rates | Extra::Tilts => wide,
            Extra::Jacobian => bins * row,
            Extra::Whole => {
                if on_device.functions.is_some() {
                    columns * columns
                } else {
                    0
                }
            }
        };
        let mut slab = evaluation.slab;
        let mut extra = [0; N_EXTRA];
        for &array in Extra::ALL {
            extra[array as usize] = slab as u64;
            // An even size keeps every array aligned to 16 bytes.
            slab += numbers(array).next_multiple_of(2);
        }
        if slab > MOST_NUMBERS || n.saturating_mul(n) > MOST_NUMBERS {
            return None;
        }
        Some(Self {
            offset: evaluation.offset,
            extra,
            shared: evaluation.shared,
            slab: slab.next_multiple_of(2),
            row,
        })
    }
}

/// Returns whether every pair of parameters interacts in only one way. No parameter may be both a per-bin factor and
/// another modifier. No parameter may appear twice in modifiers of one type in a block (a sample in a channel). Every
/// workspace satisfies this.
fn is_regular(plan: &Plan) -> bool {
    let mut scalar = vec![false; plan.n_parameters()];
    for &p in &plan.structure.block_params {
        if let Some(scalar) = scalar.get_mut(p as usize) {
            *scalar = true;
        }
    }
    let once = |values: &[u32]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    let regular = |block: &Block| {
        let scalings = plan.per_bin_factors(block);
        let mut scaling = scalings.iter().flat_map(|&first| first as usize..first as usize + block.n_bins);
        scaling.all(|p| !scalar[p])
            && once(scalings)
            && once(plan.templates(block))
            && once(plan.scale_factors(block))
            && once(&plan.structure.norm_slot[block.norm.0..block.norm.1])
    };
    plan.structure.blocks.iter().all(regular)
}

/// Sets of data on the device. Each set contains the main counts, then the auxiliary data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sets<'a> {
    pub(super) data: Offset<f64>,
    /// For each point, the index of its set of data. If `of` is empty, all points use the first set.
    pub(super) of: &'a [i32],
}

/// Function that computes the Hessian at a point on the CPU, for points at which the device does not compute it.
pub(super) type Other<'a> = dyn Fn(&[f64]) -> Result<Vec<f64>, SessionError> + 'a;

/// Results of a computation of Hessians that has been started but may still be running. `usable` contains a 32-bit
/// integer per point: 1 if the Hessian is computed, 0 if the device leaves it to the CPU. Other buffers that the
/// computation uses may be freed before it ends, because the device reuses memory only for later work.
pub(super) struct PendingHessians {
    pub(super) hessians: Buffer,
    pub(super) gradients: Buffer,
    pub(super) usable: Buffer,
}

impl GpuSession {
    /// Returns the largest number of points whose Hessians one launch computes.
    pub(super) fn at_a_time(&self) -> usize {
        let n = self.cpu.plan.n_parameters();
        // Each point needs memory for a Hessian and five vectors over the parameters.
        shape::at_a_time(self.backend.properties(), 8 * n * (n + 5))
    }

    /// Starts the computation of Hessians and gradients at all points. `points` contains `n` values per point, one
    /// per parameter.
    pub(super) fn start_hessians(
        &self,
        placement: &HessianPlacement,
        sets: Sets<'_>,
        points: &[f64],
    ) -> Result<PendingHessians, SessionError> {
        let (plan, backend) = (&self.cpu.plan, &self.backend);
        let n = plan.n_parameters();
        let count = points.len() / n.max(1);
        let resident = backend.resident(Kernel::EvaluateGlobal, self.threads, placement.shared)?;
        let room = shape::most_slabs(backend.properties(), placement.slab, MOST_SLABS);
        let blocks = resident.min(count).min(room).max(1);
        let slab = Buffer::new(backend, 8 * placement.slab * blocks)?;
        let points = Buffer::holding(backend, points)?;
        let data_of = Buffer::holding(backend, sets.of)?;
        let made = PendingHessians {
            hessians: Buffer::new(backend, 8 * n * n * count)?,
            gradients: Buffer::new(backend, 8 * n * count)?,
            usable: Buffer::new(backend, 4 * count)?,
        };
        let alone = sets.of.is_empty();
        let launch = EvaluateLaunch {
            plan: self.plan,
            offset: placement.offset,
            extra: placement.extra,
            n_points: count as i32,
            row: placement.row as i32,
            slab: slab.at(),
            slab_stride: placement.slab as u64,
            data: sets.data,
            data_stride: if alone { 0 } else { (plan.n_bins() + plan.n_aux()) as u64 },
            data_of: if alone { Offset::NULL } else { data_of.at() },
            points: points.at(),
            gradients: made.gradients.at(),
            hessians: made.hessians.at(),
            usable: made.usable.at(),
            ..EvaluateLaunch::default()
        };
        let shape = Shape { blocks: blocks as u32, threads: self.threads, shared: placement.shared as u32 };
        backend.launch(Kernel::EvaluateGlobal, shape, bytemuck::bytes_of(&launch))?;
        Ok(made)
    }

    /// Returns the Hessians at all points for one set of data, which is at the offset `data`. The result contains
    /// `n x n` values per point for `n` parameters. `other` computes the Hessians that the device leaves to the CPU.
    pub(super) fn hessians_at(
        &self,
        placement: &HessianPlacement,
        data: Offset<f64>,
        points: &[f64],
        other: &Other<'_>,
    ) -> Result<Vec<f64>, SessionError> {
        let n = self.cpu.plan.n_parameters();
        let mut hessians = vec![0.0; points.len() * n];
        let at_a_time = self.at_a_time() * n;
        for (points, to) in points.chunks(at_a_time).zip(hessians.chunks_mut(at_a_time * n)) {
            let made = self.start_hessians(placement, Sets { data, of: &[] }, points)?;
            made.hessians.read_into(0, to)?;
            let usable = made.usable.read::<i32>(points.len() / n)?;
            let each = points.chunks_exact(n).zip(to.chunks_exact_mut(n * n));
            for ((point, hessian), _) in each.zip(usable).filter(|(_, usable)| *usable == 0) {
                hessian.copy_from_slice(&other(point)?);
            }
        }
        Ok(hessians)
    }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
