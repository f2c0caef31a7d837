//! Ranges in which a broken line through points is below 0.

/// A range of positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Whether the line crosses 0 at `from`. Otherwise it begins there.
    pub(crate) opens: bool,
    /// Whether the line crosses 0 at `to`. Otherwise it ends there.
    pub(crate) closes: bool,
}

/// Returns the ranges in which the straight lines between neighbouring points are below 0. `heights` has one height per
/// position; a missing height ends a line. A point without neighbours is a range of length 0.
pub(crate) fn ranges_below(x: &[f64], heights: &[Option<f64>]) -> Vec<Range> {
    let points: Vec<Option<(f64, f64)>> =
        x.iter().zip(heights).map(|(x, height)| Some((*x, (*height)?))).collect();
    let mut ranges = Vec::new();
    for line in points.split(Option::is_none) {
        let line: Vec<(f64, f64)> = line.iter().flatten().copied().collect();
        let mut open: Option<Range> = None;
        for (i, &(x, height)) in line.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| line.get(i)).copied();
            let cross = before.map(|(x0, h0)| x0 + (x - x0) * (h0 / (h0 - height)).clamp(0.0, 1.0));
            match (open, height < 0.0) {
                (None, true) => {
                    let from = cross.unwrap_or(x);
                    open = Some(Range { from, to: x, opens: cross.is_some(), closes: false });
                }
                (Some(range), true) => open = Some(Range { to: x, ..range }),
                (Some(range), false) => {
                    ranges.push(Range { to: cross.unwrap_or(x), closes: true, ..range });
                    open = None;
                }
                (None, false) => {}
            }
        }
        ranges.extend(open);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_at_crossings_or_where_the_line_ends() {
        let ends = |heights: &[Option<f64>]| -> Vec<(f64, f64, bool, bool)> {
            let x: Vec<f64> = (0..heights.len()).map(|i| i as f64).collect();
            ranges_below(&x, heights).iter().map(|r| (r.from, r.to, r.opens, r.closes)).collect()
        };
        assert_eq!(ends(&[Some(-1.0), Some(1.0)]), [(0.0, 0.5, false, true)]);
        assert_eq!(ends(&[Some(1.0), Some(-1.0), Some(3.0)]), [(0.5, 1.25, true, true)]);
        assert_eq!(
            ends(&[Some(-1.0), None, Some(-1.0)]),
            [(0.0, 0.0, false, false), (2.0, 2.0, false, false)]
        );
        assert_eq!(ends(&[Some(1.0), Some(0.0), Some(1.0)]), []);
        assert_eq!(ends(&[]), []);
    }
}
