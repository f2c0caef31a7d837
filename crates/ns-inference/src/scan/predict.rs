//! Predicts the minimum of a conditional fit by interpolation between neighbouring conditional fits.

/// Largest number of fitted points that an interpolation uses.
pub(super) const MOST: usize = 6;

/// A fitted point of a scan. Minima are interpolated between such points.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    /// Value of the scanned parameter.
    pub(super) x: f64,
    /// Values of all parameters.
    pub(super) point: &'a [f64],
    /// Change of each parameter per unit of the scanned parameter, from the covariance of the best fit. `None` for all
    /// points except the best fit.
    pub(super) slope: Option<&'a [f64]>,
}

/// Predicts the values of all parameters at the conditional minimum with the scanned parameter at `x`. The prediction
/// is the polynomial through the fitted points (nodes) nearest to `x`, in the form of Newton's divided differences.
/// At a node with a slope, the polynomial also has this slope. Returns `None` if there are no nodes.
pub(super) fn interpolate(nodes: &[Node<'_>], x: f64) -> Option<Vec<f64>> {
    let near = nearest(nodes, x);
    let width = near.first()?.point.len();
    // The polynomial has one knot per node, and a second knot for a node with a slope. A knot is a position, the
    // index of the node, and whether the knot is the slope of the node.
    let mut knots: Vec<(f64, usize, bool)> = Vec::with_capacity(2 * near.len());
    for (i, node) in near.iter().enumerate() {
        knots.push((node.x, i, false));
        if node.slope.is_some() {
            knots.push((node.x, i, true));
        }
    }
    knots.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    let positions: Vec<f64> = knots.iter().map(|k| k.0).collect();
    let mut sum = vec![0.0; width];
    let mut add = |weight: f64, vector: &[f64]| {
        for (s, v) in sum.iter_mut().zip(vector) {
            *s += weight * v;
        }
    };
    for (i, node) in near.iter().enumerate() {
        let unit: Vec<(f64, f64)> =
            knots.iter().map(|k| if k.1 == i { (1.0, 0.0) } else { (0.0, 0.0) }).collect();
        add(newton(&positions, &unit, x), node.point);
        if let Some(slope) = node.slope {
            let unit: Vec<(f64, f64)> =
                knots.iter().map(|k| if k.1 == i { (0.0, 1.0) } else { (0.0, 0.0) }).collect();
            add(newton(&positions, &unit, x), slope);
        }
    }
    sum.iter().all(|s| s.is_finite()).then_some(sum)
}

/// Interpolates a single number at `x` as [`interpolate`] does. Each pair is a position and a number. Returns `None`
/// if there are no pairs.
pub(super) fn interpolate_value(pairs: &[(f64, f64)], x: f64) -> Option<f64> {
    let values: Vec<[f64; 1]> = pairs.iter().map(|p| [p.1]).collect();
    let nodes: Vec<Node<'_>> =
        pairs.iter().zip(&values).map(|(p, v)| Node { x: p.0, point: v, slope: None }).collect();
    interpolate(&nodes, x)?.first().copied()
}

/// Returns up to [`MOST`] fitted points near `x`, the nearest first. If two points have almost the same `x`, only one
/// is returned, preferably one with a slope.
fn nearest<'a>(nodes: &[Node<'a>], x: f64) -> Vec<Node<'a>> {
    let mut sorted = nodes.to_vec();
    sorted.sort_by(|a, b| {
        (a.x - x).abs().total_cmp(&(b.x - x).abs()).then(b.slope.is_some().cmp(&a.slope.is_some()))
    });
    let span = nodes.iter().fold(0.0_f64, |span, node| span.max((node.x - x).abs()));
    let mut near: Vec<Node<'a>> = Vec::with_capacity(MOST);
    for node in sorted {
        if near.len() < MOST && near.iter().all(|other| (other.x - node.x).abs() > 1e-6 * span) {
            near.push(node);
        }
    }
    near
}

/// Evaluates Newton's interpolation polynomial at `x`. `given` has a value and a slope for each position. If a
/// position occurs twice, the polynomial has the given slope there.
fn newton(positions: &[f64], given: &[(f64, f64)], x: f64) -> f64 {
    let mut c: Vec<f64> = given.iter().map(|g| g.0).collect();
    for order in 1..c.len() {
        for i in (order..c.len()).rev() {
            let width = positions[i] - positions[i - order];
            c[i] = if width == 0.0 { given[i].1 } else { (c[i] - c[i - 1]) / width };
        }
    }
    c.iter().zip(positions).rev().fold(0.0, |sum, (c, p)| sum * (x - p) + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_come_back_exactly() {
        let f = |x: f64| 1.0 - 2.0 * x + 0.5 * x.powi(3) - 0.1 * x.powi(5);
        let points: Vec<[f64; 2]> = [-2.0, -1.0, 0.0, 1.0, 2.5, 4.0].iter().map(|x| [*x, f(*x)]).collect();
        let nodes: Vec<Node<'_>> = points.iter().map(|p| Node { x: p[0], point: p, slope: None }).collect();
        for x in [-1.7, 0.3, 3.9] {
            let at = interpolate(&nodes, x).unwrap();
            assert!((at[0] - x).abs() < 1e-12 && (at[1] - f(x)).abs() < 1e-12, "{at:?}");
        }
    }

    #[test]
    fn a_slope_counts_as_a_node() {
        // A cubic through two nodes, one with a slope, and a third node. Then a line through one node with its slope.
        let f = |x: f64| x.powi(3) - x;
        let node = |x: f64| [f(x)];
        let (a, b, c, slope) = (node(-1.0), node(0.5), node(2.0), [3.0 * 0.25 - 1.0]);
        let nodes = [
            Node { x: -1.0, point: &a, slope: None },
            Node { x: 0.5, point: &b, slope: Some(&slope) },
            // The same position again, as in a scan with a point at the best fit.
            Node { x: 0.5, point: &b, slope: None },
            Node { x: 2.0, point: &c, slope: None },
        ];
        assert!((interpolate(&nodes, 1.3).unwrap()[0] - f(1.3)).abs() < 1e-12);
        let line = interpolate(&nodes[1..2], 1.5).unwrap()[0];
        assert!((line - (f(0.5) + slope[0])).abs() < 1e-12);
        assert!(interpolate(&[], 0.0).is_none());
        assert_eq!(interpolate_value(&[(0.0, 1.0), (1.0, 3.0)], 0.5), Some(2.0));
    }
}
