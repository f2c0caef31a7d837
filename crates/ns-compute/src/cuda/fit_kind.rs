//! The shared inputs of all fits of one kind, on the device: the metric and the further start points.

use std::sync::Arc;

use ns_core::SessionError;

use super::address::DeviceAddress;
use super::arena::Arena;
use super::backend::{Backend, Buffer};
use super::declare::Field;
use super::layout;
use crate::lanes::ToyFitter;
use crate::lanes::directions::Direction;
use crate::lanes::metric::Metric;

/// A [`ToyFitter`] on the device.
pub(super) struct DeviceFitKind {
    _memory: Buffer,
    pub(super) metric: DeviceAddress<layout::Metric>,
    /// Addresses of lists, and their lengths.
    pub(super) first: (DeviceAddress<f64>, usize),
    pub(super) second: (DeviceAddress<f64>, usize),
    pub(super) nonlinear: (DeviceAddress<i32>, usize),
    pub(super) directions: (DeviceAddress<layout::Direction>, usize),
    pub(super) size: Size,
}

/// Sizes, besides the plan, that the working memory of a fit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) locals: usize,
    pub(super) dual: usize,
    pub(super) primal: usize,
}

impl Size {
    /// The larger of both sizes.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            locals: self.locals.max(other.locals),
            dual: self.dual.max(other.dual),
            primal: self.primal.max(other.primal),
        }
    }
}

impl DeviceFitKind {
    /// Uploads what `fitter` has prepared; without further start points if its fits do not `search`.
    pub(super) fn new(
        backend: &Arc<dyn Backend>,
        fitter: &ToyFitter,
        n_bins: usize,
        search: bool,
    ) -> Result<Self, SessionError> {
        let mut arena = Arena::default();
        let mut metric = metric(fitter.metric(), n_bins, &mut arena);
        let metric_at = arena.put(&[metric]);
        let (first, second) = if search { fitter.starts() } else { (&[][..], &[][..]) };
        let nonlinear = if search { fitter.nonlinear() } else { &[] };
        let starts = |starts: &[Vec<f64>], arena: &mut Arena| {
            let all: Vec<f64> = starts.iter().flatten().copied().collect();
            (arena.put(&all), starts.len())
        };
        let (first, second) = (starts(first, &mut arena), starts(second, &mut arena));
        let nonlinear = (arena.put_indices(nonlinear.iter().copied()), nonlinear.len());
        let found = if search { fitter.directions() } else { &[] };
        let mut directions: Vec<layout::Direction> =
            found.iter().map(|direction| of_direction(direction, &mut arena)).collect();
        let directions_at = arena.put(&directions);
        let memory = Buffer::new(backend, arena.bytes())?;
        let base = memory.address();
        metric.relocate(base);
        arena.set(metric_at, &metric);
        for (i, direction) in directions.iter_mut().enumerate() {
            direction.relocate(base);
            arena.set(directions_at.plus(i), direction);
        }
        arena.upload_into(backend, &memory)?;
        let shared = fitter.metric();
        Ok(Self {
            metric: metric_at.at(base),
            first: (first.0.at(base), first.1),
            second: (second.0.at(base), second.1),
            nonlinear: (nonlinear.0.at(base), nonlinear.1),
            directions: (directions_at.at(base), found.len()),
            size: Size { locals: shared.locals.len(), dual: shared.dual.len(), primal: shared.primal.len() },
            _memory: memory,
        })
    }
}

/// Adds a direction; addresses are offsets.
fn of_direction(direction: &Direction, arena: &mut Arena) -> layout::Direction {
    layout::Direction {
        n: direction.params.len() as i32,
        padding: 0,
        params: arena.put_indices(direction.params.iter().copied()),
        parts: arena.put(&direction.parts),
        widths: arena.put(&direction.widths),
        places: direction.places,
    }
}

/// Adds the shared part of a metric to `arena`; addresses are offsets.
fn metric(metric: &Metric, n_bins: usize, arena: &mut Arena) -> layout::Metric {
    let mut locals: Vec<&crate::lanes::metric::Local> = metric.locals.iter().collect();
    locals.sort_by_key(|local| local.bin);
    let starts = (0..=n_bins).map(|b| locals.partition_point(|local| local.bin < b));
    let counts: Vec<i32> = locals.iter().map(|local| local.count.map_or(-1, |a| a as i32)).collect();
    let reactions: Vec<f64> = locals.iter().map(|local| local.reaction).collect();
    let stiffness: Vec<f64> = locals.iter().map(|local| local.stiffness).collect();
    // Both triangles: kernels read whole rows.
    let mut kernel = Vec::new();
    if !metric.dual.is_empty() {
        for i in 0..n_bins {
            for j in 0..n_bins {
                let (low, high) = (i.min(j), i.max(j));
                kernel.push(metric.kernel[high * (high + 1) / 2 + low]);
            }
        }
    }
    let rows = |b: usize| metric.dual_rows.iter().skip(b).step_by(n_bins.max(1)).copied();
    let columns: Vec<f64> = (0..n_bins).flat_map(rows).collect();
    layout::Metric {
        n_local: locals.len() as i32,
        n_dual: metric.dual.len() as i32,
        n_primal: metric.primal.len() as i32,
        padding: 0,
        local_start: arena.put_indices(starts),
        local_param: arena.put_indices(locals.iter().map(|local| local.param)),
        local_bin: arena.put_indices(locals.iter().map(|local| local.bin)),
        local_factor: arena.put_indices(locals.iter().map(|local| usize::from(local.factor))),
        local_count: arena.put(&counts),
        local_reaction: arena.put(&reactions),
        local_stiffness: arena.put(&stiffness),
        dual_param: arena.put_indices(metric.dual.iter().copied()),
        dual_inverse: arena.put(&metric.dual_inverse),
        dual_rows: arena.put(&metric.dual_rows),
        dual_columns: arena.put(&columns),
        kernel: arena.put(&kernel),
        primal_param: arena.put_indices(metric.primal.iter().copied()),
        primal_stiffness: arena.put(&metric.primal_stiffness),
        primal_rows: arena.put(&metric.primal_rows),
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::DeviceAddress;
    use super::{Field, layout};

    const BASE: u64 = 0x7f00_0000_0000;

    /// Relocation once counted one word too few, and added the address of the buffer to the bits of the tolerance.
    #[test]
    fn relocation_changes_the_addresses_of_a_plan_and_nothing_else() {
        let before = layout::Plan {
            n_params: 3,
            normsys: 4,
            n_scaled: 7,
            strongly_nonlinear: 1,
            edm_tolerance: 1e-9,
            block: DeviceAddress::pending(8),
            upper: DeviceAddress::pending(16),
            ..layout::Plan::default()
        };
        let mut after = before;
        after.relocate(BASE);
        assert_eq!(after.edm_tolerance.to_bits(), before.edm_tolerance.to_bits());
        assert_eq!((after.n_params, after.normsys, after.n_scaled, after.strongly_nonlinear), (3, 4, 7, 1));
        let words = [after.block, after.upper.cast(), after.factor_param.cast(), after.kinked.cast()];
        assert_eq!(words.map(u64::from), [BASE + 8, BASE + 16, 0, 0]);
    }

    #[test]
    fn relocation_changes_the_addresses_of_a_metric_and_nothing_else() {
        let mut metric = layout::Metric {
            n_local: 1,
            n_dual: 2,
            n_primal: 3,
            local_start: DeviceAddress::pending(0),
            primal_rows: DeviceAddress::pending(256),
            ..layout::Metric::default()
        };
        metric.relocate(BASE);
        assert_eq!((metric.n_local, metric.n_dual, metric.n_primal, metric.padding), (1, 2, 3, 0));
        assert_eq!((u64::from(metric.local_start), u64::from(metric.primal_rows)), (BASE, BASE + 256));
    }
}
