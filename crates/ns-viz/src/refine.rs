//! Smooth curves and surfaces through scanned points.
//!
//! A likelihood is smooth between the points of a scan. Straight lines between the points would have corners
//! that the likelihood does not have, and would cross the levels at wrong positions. In each interval the
//! curve is therefore the polynomial through the four nearest points (Lagrange). This is exact for a
//! parabola. The curve has a gap where the fit of a point failed.

/// Returns the values of the curve at the positions of [`positions`], with every interval divided into
/// `parts` steps. If the value at an end of an interval is missing, all values within the interval are
/// missing.
pub(crate) fn resample(x: &[f64], y: &[Option<f64>], parts: usize) -> Vec<Option<f64>> {
    let parts = parts.max(1);
    let mut out = Vec::with_capacity(x.len() * parts);
    for index in 0..x.len() {
        let here = y.get(index).copied().flatten();
        out.push(here);
        if index + 1 == x.len() {
            break;
        }
        let (stencil_x, stencil_y) = neighbours(x, y, index);
        let ends = here.zip(y.get(index + 1).copied().flatten());
        for part in 1..parts {
            let share = part as f64 / parts as f64;
            out.push(ends.map(|(before, after)| {
                let at = between(x, index, share);
                let straight = before + share * (after - before);
                polynomial(&stencil_x, &stencil_y, at).unwrap_or(straight)
            }));
        }
    }
    out
}

/// Returns the scanned points and equally spaced positions between them. Every interval is divided into
/// `parts` steps.
pub(crate) fn positions(x: &[f64], parts: usize) -> Vec<f64> {
    let parts = parts.max(1);
    let inner = (0..x.len().saturating_sub(1))
        .flat_map(|index| (0..parts).map(move |part| between(x, index, part as f64 / parts as f64)));
    inner.chain(x.last().copied()).collect()
}

fn between(x: &[f64], index: usize, share: f64) -> f64 {
    match (x.get(index), x.get(index + 1)) {
        (Some(before), Some(after)) => before + share * (after - before),
        (Some(only), None) => *only,
        _ => f64::NAN,
    }
}

/// Returns up to four points around the interval that starts at `index`: its two ends, and the next point on
/// each side. If one side has no further point, the other side gives two.
fn neighbours(x: &[f64], y: &[Option<f64>], index: usize) -> (Vec<f64>, Vec<f64>) {
    let is_present = |at: usize| y.get(at).copied().flatten().is_some();
    let mut first = index;
    let mut last = index + 1;
    while last - first < 3 {
        let more_left = first > 0 && is_present(first - 1);
        let more_right = is_present(last + 1);
        match (more_left, more_right) {
            (true, _) if index - first < last - index || !more_right => first -= 1,
            (_, true) => last += 1,
            _ => break,
        }
    }
    let found = (first..=last).filter_map(|at| Some((*x.get(at)?, y.get(at).copied().flatten()?)));
    found.unzip()
}

/// Returns the value at `at` of the polynomial through the points; `None` if the value lies far outside the
/// range of `y`.
fn polynomial(x: &[f64], y: &[f64], at: f64) -> Option<f64> {
    let mut sum = 0.0;
    for (i, (own, value)) in x.iter().zip(y).enumerate() {
        let others = x.iter().enumerate().filter(|(j, _)| *j != i);
        sum += value * others.map(|(_, other)| (at - other) / (own - other)).product::<f64>();
    }
    let low = y.iter().copied().fold(f64::INFINITY, f64::min);
    let high = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slack = 0.5 * (high - low);
    (sum >= low - slack && sum <= high + slack).then_some(sum)
}

/// Resamples a grid `values[y][x]` in both directions, with `parts` steps per interval in x and in y. Returns
/// the positions in x and in y, and the values.
pub(crate) fn surface(
    x: &[f64],
    y: &[f64],
    values: &[Vec<Option<f64>>],
    parts: (usize, usize),
) -> (Vec<f64>, Vec<f64>, Vec<Vec<Option<f64>>>) {
    let rows: Vec<_> = values.iter().map(|row| resample(x, row, parts.0)).collect();
    let xs = positions(x, parts.0);
    let ys = positions(y, parts.1);
    let mut out = vec![Vec::with_capacity(xs.len()); ys.len()];
    for column in 0..xs.len() {
        let down: Vec<_> = rows.iter().map(|row| row.get(column).copied().flatten()).collect();
        for (row, value) in out.iter_mut().zip(resample(y, &down, parts.1)) {
            row.push(value);
        }
    }
    (xs, ys, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_stays_one() {
        let x = [0.0, 0.5, 1.5, 2.0, 3.0];
        let q = |x: f64| 3.0 * (x - 1.2) * (x - 1.2);
        let y: Vec<_> = x.iter().map(|x| Some(q(*x))).collect();
        let (xs, ys) = (positions(&x, 8), resample(&x, &y, 8));
        assert_eq!(xs.len(), ys.len());
        for (x, y) in xs.iter().zip(ys) {
            assert!((y.unwrap() - q(*x)).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn missing_points_leave_gaps() {
        let values = resample(&[0.0, 1.0, 2.0, 3.0], &[Some(1.0), None, Some(2.0), Some(2.0)], 4);
        assert_eq!(values.len(), 13);
        assert_eq!(values.iter().filter(|v| v.is_none()).count(), 7);
        assert_eq!(values[10], Some(2.0));
    }
}
