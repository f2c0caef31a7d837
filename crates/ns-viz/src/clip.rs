//! Clips lines at the edges of a panel.

use crate::drawing::Area;

/// Returns the parts of a line that lie inside `area`, each as a separate line (Liang and Barsky 1984).
/// `points` are the corners of the line.
pub(crate) fn polyline(points: &[(f64, f64)], area: &Area) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1], area) else { continue };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
    }
    parts
}

type Point = (f64, f64);

fn segment(from: Point, to: Point, area: &Area) -> Option<(Point, Point)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    let edges = [
        (-dx, from.0 - area.left),
        (dx, area.right - from.0),
        (-dy, from.1 - area.top),
        (dy, area.bottom - from.1),
    ];
    for (slope, room) in edges {
        if slope == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if slope < 0.0 {
            enter = enter.max(room / slope);
        } else {
            leave = leave.min(room / slope);
        }
    }
    let at = |share: f64| match share {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + share * dx, from.1 + share * dy),
    };
    (enter <= leave).then(|| (at(enter), at(leave)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_leaves_and_returns_becomes_two() {
        let area = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        let parts = polyline(&[(1.0, 5.0), (3.0, -5.0), (5.0, 5.0), (6.0, 6.0)], &area);
        assert_eq!(parts, vec![vec![(1.0, 5.0), (2.0, 0.0)], vec![(4.0, 0.0), (5.0, 5.0), (6.0, 6.0)]]);
        assert!(polyline(&[(-5.0, 0.0), (-1.0, 3.0)], &area).is_empty());
    }
}
