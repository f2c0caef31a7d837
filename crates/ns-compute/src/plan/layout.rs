//! The order in which parameters are eliminated when the curvature (the Hessian of `-ln L`) is factored. Many elements
//! of this matrix are zero, and the order makes use of that.
//!
//! There are three classes of parameters, which are eliminated in this order:
//!
//! * *Local* parameters scale one single bin (most shapesys and staterror gammas). The curvature matrix connects them
//!   only with parameters that act on the same bin.
//! * *Dense* parameters act on whole channels. Channels that share a dense parameter belong to the same *component*.
//! * *Border* parameters act on so many channels that they would join all components into one (for example a parameter
//!   of interest or a luminosity). They are eliminated last.
//!
//! The border parameters are chosen so that a factorisation takes the fewest multiplications.

use super::Structure;
use super::incidence::Incidence;

/// Marks a channel that is not assigned to a component (a group of channels with a curvature matrix of its own) yet.
const NONE: u32 = u32::MAX;

/// Position of one parameter in the curvature matrices. A component is a group of channels with a matrix of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CurvatureSlot {
    /// The parameter acts on no bin, so that only its constraint has curvature.
    Isolated,
    /// The parameter is local (it scales a single bin). The fields are its component (a group of channels with a
    /// curvature matrix of its own) and its row among the local parameters of this component.
    Local { component: u32, row: u32 },
    /// The parameter is dense (it acts on whole channels). The fields are its component (a group of channels with a
    /// curvature matrix of its own) and its column in the matrix of this component.
    Dense { component: u32, column: u32 },
    /// The parameter is a border parameter, which is eliminated last. The field is the number of its column among the
    /// border columns, which every component (a group of channels with a curvature matrix of its own) has.
    Border { column: u32 },
}

/// Describes whether a block (one sample in one channel) has the per-bin factor that the blocks of its channel share,
/// usually a staterror. The parameters of this factor are local: each of them scales a single bin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shared {
    /// True if the block (one sample in one channel) has the factor that several blocks of the channel share.
    pub(crate) member: bool,
    /// True for the last block (sample) of the channel that has the factor.
    pub(crate) last: bool,
    /// Index of the factor's parameter in the first bin of the channel.
    pub(crate) first: u32,
}

/// A component: a group of channels that are connected by dense parameters (parameters that act on whole channels).
#[derive(Debug, Clone, Default)]
pub(crate) struct Component {
    /// Indices of the blocks (samples in channels) of the component, channel after channel. Within a channel, the
    /// blocks that share a per-bin factor (see [`Shared`]) come first.
    pub(crate) blocks: Vec<u32>,
    /// For each element of `blocks`, whether the block shares a per-bin factor with other blocks of its channel.
    pub(crate) shared: Vec<Shared>,
    /// Number of bins of the component (a group of channels with a curvature matrix of its own).
    pub(crate) n_bins: usize,
    /// For each bin of the component (a group of channels with a curvature matrix of its own), its index among all bins
    /// of the model.
    pub(crate) bins: Vec<u32>,
    /// Indices of the dense parameters of the component (those that act on whole channels), in the order of their
    /// columns.
    pub(crate) dense: Vec<u32>,
    /// Indices of the local parameters of the component (those that scale a single bin), in the order of their rows.
    /// They are grouped by bin.
    pub(crate) local: Vec<u32>,
    /// For each bin of the component, the row of its first local parameter (a parameter that scales only this bin). One
    /// more element marks the end.
    pub(crate) local_start: Vec<u32>,
    /// For each local parameter (one that scales a single bin), the index of its bin among the bins of the component.
    pub(crate) local_bin: Vec<u32>,
    /// Number of columns of the matrix of the component (a group of channels with a curvature matrix of its own),
    /// rounded up to a multiple of 16. The columns of the dense parameters come first, and those of the border
    /// parameters (which are eliminated last) follow.
    pub(crate) width: usize,
    /// Number of columns of the matrix of the component (a group of channels with a curvature matrix of its own)
    /// without the padding in `width`.
    pub(crate) columns: usize,
}

/// The order in which parameters are eliminated, and the matrix columns of the parameters of each block (one sample in
/// one channel).
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) components: Vec<Component>,
    pub(crate) border: Vec<u32>,
    /// Estimated number of multiplications of one factorisation, in the layout with the fewest. It is 0 in the other
    /// layouts.
    pub(crate) multiplications: f64,
    pub(crate) isolated: Vec<u32>,
    /// For each parameter, its position in the curvature matrices.
    pub(crate) place: Vec<CurvatureSlot>,
    /// For each event channel and penalty term, the index of its component (a group of channels with a curvature matrix
    /// of its own).
    pub(crate) event_component: Vec<u32>,
    /// For each block (one sample in one channel), the index of its first bin among the bins of its component.
    pub(crate) block_bin: Vec<u32>,
    /// For each block (one sample in one channel), the positions of its parameters in the list `Block::params`, in the
    /// order of their columns.
    pub(crate) slots: Vec<u32>,
    /// For each element of `slots` (a position in the parameter list of a block), the matrix column of the parameter.
    pub(crate) columns: Vec<u32>,
    /// The inverse of `slots`. For each block (one sample in one channel) and each position in its parameter list, the
    /// place of this position in the list that is sorted by column.
    pub(crate) rank: Vec<u32>,
}

impl Layout {
    /// Returns the layout in which all parameters are columns of one dense matrix. The columns are in the order of the
    /// parameters.
    pub(super) fn flat(structure: &Structure, incidence: &Incidence) -> Self {
        Self::build(structure, incidence, usize::MAX, false)
    }

    /// Returns the layout in which local parameters (those that scale a single bin) are eliminated first. All other
    /// parameters are columns of one dense matrix, and there are no border parameters (which would be eliminated last).
    pub(super) fn wide(structure: &Structure, incidence: &Incidence) -> Self {
        Self::build(structure, incidence, usize::MAX, true)
    }

    /// Returns the layout for which a factorisation takes the fewest multiplications. It is determined by the choice of
    /// the border parameters, which are eliminated last.
    pub(super) fn nested(structure: &Structure, incidence: &Incidence) -> Self {
        let mut limits: Vec<usize> = incidence.channels.iter().map(Vec::len).collect();
        limits.sort_unstable();
        limits.dedup();
        // Of many distinct counts, about 48 are tried.
        let step = limits.len().div_ceil(48).max(1);
        let best = limits
            .iter()
            .copied()
            .step_by(step)
            .chain([usize::MAX])
            .filter(|&l| l > 0)
            .map(|l| (incidence.cost(l), l))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (multiplications, limit) = best.unwrap_or((0.0, usize::MAX));
        Self { multiplications, ..Self::build(structure, incidence, limit, true) }
    }

    /// Returns the layout in which parameters that act on more than `limit` channels are border parameters, which means
    /// that they are eliminated last.
    #[cfg(test)]
    pub(crate) fn with_border(structure: &Structure, limit: usize) -> Self {
        Self::build(structure, &Incidence::new(structure), limit, true)
    }

    fn build(structure: &Structure, incidence: &Incidence, limit: usize, locals: bool) -> Self {
        let n = structure.table.init.len();
        let groups = if locals { incidence.groups(limit) } else { vec![0; incidence.n_channels] };
        let mut component_of = vec![NONE; incidence.n_channels];
        let mut layout = Self { place: vec![CurvatureSlot::Isolated; n], ..Self::default() };
        let mut bin_in_component = vec![0u32; structure.n_bins];
        for c in 0..incidence.n_channels {
            let root = groups[c];
            if component_of[root] == NONE {
                component_of[root] = layout.components.len() as u32;
                layout.components.push(Component::default());
            }
            component_of[c] = component_of[root];
            let component = &mut layout.components[component_of[c] as usize];
            let (first, count) = incidence.bins[c];
            for b in first..first + count {
                bin_in_component[b] = component.n_bins as u32;
                component.bins.push(b as u32);
                component.n_bins += 1;
            }
        }
        layout.event_component = component_of[incidence.first_event_term..].to_vec();
        for (index, block) in structure.blocks.iter().enumerate() {
            layout.block_bin.push(bin_in_component.get(block.bin).copied().unwrap_or(0));
            layout.components[component_of[incidence.channel[index]] as usize].blocks.push(index as u32);
        }
        let mut local: Vec<Vec<(u32, u32)>> = vec![Vec::new(); layout.components.len()];
        for p in 0..n {
            let channels = &incidence.channels[p];
            let Some(&first) = channels.first() else {
                if locals {
                    layout.isolated.push(p as u32);
                    continue;
                }
                // The flat layout contains every parameter. Its column numbers are therefore parameter indices.
                if let Some(component) = layout.components.first_mut() {
                    layout.place[p] =
                        CurvatureSlot::Dense { component: 0, column: component.dense.len() as u32 };
                    component.dense.push(p as u32);
                }
                continue;
            };
            let k = component_of[first as usize];
            match incidence.only_bin[p] {
                Some(bin) if locals => local[k as usize].push((bin_in_component[bin], p as u32)),
                _ if locals && channels.len() > limit => {
                    layout.place[p] = CurvatureSlot::Border { column: layout.border.len() as u32 };
                    layout.border.push(p as u32);
                }
                _ => {
                    let component = &mut layout.components[k as usize];
                    layout.place[p] =
                        CurvatureSlot::Dense { component: k, column: component.dense.len() as u32 };
                    component.dense.push(p as u32);
                }
            }
        }
        for (k, component) in layout.components.iter_mut().enumerate() {
            local[k].sort_unstable();
            component.local_start.push(0);
            let mut next = local[k].iter().peekable();
            for bin in 0..component.n_bins as u32 {
                while let Some(&(_, p)) = next.next_if(|&&(b, _)| b == bin) {
                    layout.place[p as usize] =
                        CurvatureSlot::Local { component: k as u32, row: component.local.len() as u32 };
                    component.local.push(p);
                    component.local_bin.push(bin);
                }
                component.local_start.push(component.local.len() as u32);
            }
            component.columns = component.dense.len() + layout.border.len();
            component.width = component.columns.div_ceil(16).max(1) * 16;
        }
        layout.sort_slots(structure);
        layout.share_factors(structure);
        layout
    }

    /// Reorders the blocks (samples) of each channel. First come the blocks that share one per-bin factor of local
    /// parameters (usually a staterror) and have no other per-bin factor.
    fn share_factors(&mut self, structure: &Structure) {
        let place = &self.place;
        for component in &mut self.components {
            let mut blocks = Vec::with_capacity(component.blocks.len());
            let mut shared = Vec::with_capacity(component.blocks.len());
            for channel in component
                .blocks
                .chunk_by(|&a, &b| structure.blocks[a as usize].bin == structure.blocks[b as usize].bin)
            {
                let single = |index: u32| {
                    let block = &structure.blocks[index as usize];
                    let first = match structure.binwise_first[block.binwise.0..block.binwise.1] {
                        [first] => first,
                        _ => return None,
                    };
                    // A function of a bin multiplies the factor, so the factor's derivative is not that of the channel.
                    let alone = block.bin_functions.0 == block.bin_functions.1;
                    let local = alone
                        && (0..block.n_bins)
                            .all(|b| matches!(place[first as usize + b], CurvatureSlot::Local { .. }));
                    local.then_some(first)
                };
                let first = channel.iter().find_map(|&index| single(index));
                let (with, without): (Vec<u32>, Vec<u32>) =
                    channel.iter().partition(|&&index| first.is_some() && single(index) == first);
                for (i, &index) in with.iter().enumerate() {
                    blocks.push(index);
                    shared.push(Shared {
                        member: true,
                        last: i + 1 == with.len(),
                        first: first.unwrap_or(0),
                    });
                }
                for index in without {
                    blocks.push(index);
                    shared.push(Shared::default());
                }
            }
            component.blocks = blocks;
            component.shared = shared;
        }
    }

    /// Returns the column of a parameter in the matrix of `component`. The columns of border parameters follow those of
    /// dense parameters. Returns `None` for parameters that have no column (local and isolated parameters).
    pub(crate) fn column(&self, component: usize, param: usize) -> Option<usize> {
        match self.place[param] {
            CurvatureSlot::Dense { column, .. } => Some(column as usize),
            CurvatureSlot::Border { column } => {
                Some(self.components[component].dense.len() + column as usize)
            }
            CurvatureSlot::Local { .. } | CurvatureSlot::Isolated => None,
        }
    }

    /// Sorts the parameters of every block (one sample in one channel) by column. As a result, a block contributes only
    /// to the upper triangle of the matrix.
    fn sort_slots(&mut self, structure: &Structure) {
        let total = structure.block_params.len();
        (self.slots, self.columns, self.rank) = (vec![0; total], vec![0; total], vec![0; total]);
        for k in 0..self.components.len() {
            for i in 0..self.components[k].blocks.len() {
                let block = &structure.blocks[self.components[k].blocks[i] as usize];
                let (start, end) = block.params;
                let mut order: Vec<(usize, u32)> = structure.block_params[start..end]
                    .iter()
                    .enumerate()
                    .map(|(slot, &p)| (self.column(k, p as usize).unwrap_or(0), slot as u32))
                    .collect();
                order.sort_unstable();
                for (rank, (column, slot)) in order.into_iter().enumerate() {
                    self.slots[start + rank] = slot;
                    self.columns[start + rank] = column as u32;
                    self.rank[start + slot as usize] = rank as u32;
                }
            }
        }
    }
}
