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

/// Returns the part of a polygon that lies between the top and the bottom of `area` (Sutherland and Hodgman 1974).
/// `corners` are its corners in order. Its edges keep their slopes.
pub(crate) fn polygon(corners: &[Point], area: &Area) -> Vec<Point> {
    let below_top = |(x, y): Point| (x, y - area.top);
    let above_bottom = |(x, y): Point| (x, area.bottom - y);
    let mut inside = half(&corners.iter().copied().map(below_top).collect::<Vec<_>>());
    inside.iter_mut().for_each(|corner| corner.1 += area.top);
    let mut inside = half(&inside.into_iter().map(above_bottom).collect::<Vec<_>>());
    inside.iter_mut().for_each(|corner| corner.1 = area.bottom - corner.1);
    inside
}

/// Returns the part of a polygon with `y >= 0`.
fn half(corners: &[Point]) -> Vec<Point> {
    let mut kept = Vec::with_capacity(corners.len() + 2);
    let Some(last) = corners.last() else { return kept };
    let mut from = *last;
    for to in corners.iter().copied() {
        if (from.1 < 0.0) != (to.1 < 0.0) {
            let share = from.1 / (from.1 - to.1);
            kept.push((from.0 + share * (to.0 - from.0), 0.0));
        }
        if to.1 >= 0.0 {
            kept.push(to);
        }
        from = to;
    }
    kept
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
    fn edges_of_a_polygon_keep_their_slopes_at_the_frame() {
        let area = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        let inside = polygon(&[(0.0, 5.0), (10.0, -5.0), (10.0, 20.0), (0.0, 8.0)], &area);
        let wanted = [(0.0, 5.0), (5.0, 0.0), (10.0, 0.0), (10.0, 10.0), (10.0 / 6.0, 10.0), (0.0, 8.0)];
        assert_eq!(inside.len(), wanted.len(), "{inside:?}");
        for (corner, wanted) in inside.iter().zip(wanted) {
            assert!((corner.0 - wanted.0).abs() + (corner.1 - wanted.1).abs() < 1e-12, "{inside:?}");
        }
        assert!(polygon(&[(0.0, 20.0), (5.0, 11.0), (9.0, 12.0)], &area).is_empty());
    }

    #[test]
    fn a_line_that_leaves_and_returns_becomes_two() {
        let area = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        let parts = polyline(&[(1.0, 5.0), (3.0, -5.0), (5.0, 5.0), (6.0, 6.0)], &area);
        assert_eq!(parts, vec![vec![(1.0, 5.0), (2.0, 0.0)], vec![(4.0, 0.0), (5.0, 5.0), (6.0, 6.0)]]);
        assert!(polyline(&[(-5.0, 0.0), (-1.0, 3.0)], &area).is_empty());
    }
}
