//! The parameter points at which the toys of one tested point are drawn.

/// Toy `i` is drawn at the draw `STRIDE i` of the posterior. Neighbouring draws of a chain resemble each other, so a few toys
/// should not take neighbours. It has no factor in common with the number of draws.
const STRIDE: u64 = 1567;

/// The parameter points at which the toys of one tested point are drawn.
pub(crate) struct Origin {
    /// The point at which the fits of toys begin.
    pub(crate) centre: Vec<f64>,
    /// The points at which single toys are drawn; empty if all are drawn at the centre.
    pub(crate) points: Vec<Vec<f64>>,
    /// Why the points may not have the wanted distribution.
    pub(crate) doubt: Option<String>,
}

impl Origin {
    /// Returns whether all toys are drawn at the centre.
    pub(super) fn is_one_point(&self) -> bool {
        self.points.is_empty()
    }

    /// Returns the point at which the toy with this index is drawn.
    pub(super) fn of_toy(&self, index: u64) -> &[f64] {
        let n = self.points.len().max(1) as u64;
        let place = (index % n) * STRIDE % n;
        self.points.get(place as usize).unwrap_or(&self.centre)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toys_take_all_points_in_turns() {
        let n = 4000_u64;
        let points = (0..n).map(|i| vec![i as f64]).collect();
        let origin = Origin { centre: vec![-1.0], points, doubt: None };
        let mut seen: Vec<f64> = (0..n).map(|i| origin.of_toy(i)[0]).collect();
        seen.sort_by(f64::total_cmp);
        assert_eq!(seen, (0..n).map(|i| i as f64).collect::<Vec<_>>());
        assert_eq!(origin.of_toy(n), origin.of_toy(0));
    }
}
