//! Correlations between Gaussian constraints, on the device.

use super::arena::Arena;
use super::layout;
use super::offset::Offset;
use crate::plan::Plan;

/// Adds the correlations of a model with `n_columns` parameters and columns to `arena`. Returns a null offset if its constraints
/// are independent.
pub(super) fn put(plan: &Plan, arena: &mut Arena, n_columns: usize) -> Offset<layout::Correlations> {
    let all = plan.events.correlations();
    if all.is_empty() {
        return Offset::NULL;
    }
    let mut place = vec![-1; n_columns];
    let (mut members, mut weights, mut rows, mut excess) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for own in all {
        let first = members.len();
        for (i, (p, a, weight)) in own.constraints().enumerate() {
            if let Some(place) = place.get_mut(p) {
                *place = members.len() as i32;
            }
            members.push([p, a, first, first + own.len()].map(|index| index as i32));
            weights.push(weight);
            rows.push(excess.len());
            excess.extend_from_slice(own.excess(i));
        }
    }
    let correlations = layout::Correlations {
        member: arena.put(&members),
        weight: arena.put(&weights),
        row: arena.put_indices(rows),
        excess: arena.put(&excess),
        place: arena.put(&place),
    };
    arena.put(&[correlations])
}
