//! Lists the sums over the events of a toy that a device computes, and adds them to the sums of the channel.

use crate::events::{Offload, Totals};

/// Number of rows between the slopes and the second derivatives. A row is an array with one number per event. These
/// rows contain `-ln f` of each event, where `f` is the density, and the absolute value of `ln f`.
const PLAIN: usize = 2;

/// Describes the sums over the events of a toy. A *row* is an array with one number per event. The order of the rows
/// is that of `kernels/event_toys.cuh`:
///
/// * the components (values and derivatives) of the leaves (basic densities),
/// * the slopes: for each coordinate (variable of the channel's density), the derivative of `ln f`, where `f` is the
///   density of the channel,
/// * `-ln f` and its absolute value,
/// * the second derivatives of `f` that are not always zero, divided by `-f`.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// Total number of rows.
    pub(super) count: usize,
    /// Number of second derivatives of the density, with respect to the channel's coordinates, that are not always
    /// zero.
    pub(super) n_bends: usize,
    /// For each pair of coordinates (variables of the channel's density), the index of the second derivative with
    /// respect to them among the `n_bends` second derivatives. The index is -1 if this derivative is always zero. The
    /// pairs are in the order of a lower triangle, row by row.
    pub(super) bends: Vec<i32>,
    /// For each sum, the indices of two rows whose product is summed over the events. If the second index is -1, only
    /// the first row is summed.
    pub(super) outputs: Vec<[i32; 2]>,
}

fn triangle(a: usize, b: usize) -> usize {
    let (a, b) = if a < b { (b, a) } else { (a, b) };
    a * (a + 1) / 2 + b
}

/// Marks the pairs of coordinates (variables of the channel's density) for which the density can have a second
/// derivative that is not zero: sets their elements of `marked` to true. The pairs are in the order of a lower
/// triangle, row by row.
fn mark(offload: &Offload, marked: &mut [bool]) {
    for (t, leaves) in offload.terms.iter().enumerate() {
        for (j, leaf) in leaves.iter().map(|&l| &offload.leaves[l]).enumerate() {
            for &v in &leaf.ones {
                marked[triangle(leaf.first + v, t)] = true;
            }
            for &(v, w) in &leaf.pairs {
                marked[triangle(leaf.first + v, leaf.first + w)] = true;
            }
            for partner in leaves[j + 1..].iter().map(|&l| &offload.leaves[l]) {
                for (v, w) in leaf.ones.iter().flat_map(|v| partner.ones.iter().map(move |w| (v, w))) {
                    marked[triangle(leaf.first + v, partner.first + w)] = true;
                }
            }
        }
    }
}

impl Rows {
    pub(super) fn new(offload: &Offload) -> Self {
        let n = offload.coordinates;
        let mut marked = vec![false; n * (n + 1) / 2];
        mark(offload, &mut marked);
        let mut n_bends = 0;
        let index = |is_marked: bool| {
            n_bends += usize::from(is_marked);
            if is_marked { n_bends as i32 - 1 } else { -1 }
        };
        let bends: Vec<i32> = marked.into_iter().map(index).collect();
        let slope = |a: usize| (offload.event_components + a) as i32;
        let behind = slope(n);
        let mut outputs = vec![[behind, -1], [behind + 1, -1]];
        outputs.extend((0..n).map(|a| [slope(a), -1]));
        outputs.extend((0..n).flat_map(|a| (0..=a).map(move |b| [slope(a), slope(b)])));
        outputs.extend((0..n_bends as i32).map(|i| [behind + PLAIN as i32 + i, -1]));
        Self { count: offload.event_components + n + PLAIN + n_bends, n_bends, bends, outputs }
    }

    /// Returns how many sums the device writes for one piece of a toy's events.
    pub(super) fn per_piece(&self) -> usize {
        self.outputs.len() + 1
    }

    /// Adds up the sums over all pieces of a toy's events, in the order of the pieces. Writes the totals to `out`.
    pub(super) fn add(&self, pieces: &[f64], out: &mut Totals<'_>) {
        let (n, pairs) = (out.gradient.len(), out.squares.len());
        let mut bad = f64::INFINITY;
        (*out.value, *out.scale) = (0.0, 0.0);
        for array in [&mut *out.gradient, &mut *out.squares, &mut *out.bends] {
            array.fill(0.0);
        }
        for piece in pieces.chunks_exact(self.per_piece()) {
            let [value, scale, rest @ .., first_bad] = piece else { continue };
            let (gradient, rest) = rest.split_at(n);
            let (squares, bends) = rest.split_at(pairs);
            *out.value += value;
            *out.scale += scale;
            out.gradient.iter_mut().zip(gradient).for_each(|(to, slope)| *to -= slope);
            out.squares.iter_mut().zip(squares).for_each(|(to, square)| *to += square);
            for (to, &index) in out.bends.iter_mut().zip(&self.bends) {
                if let Some(bend) = usize::try_from(index).ok().and_then(|index| bends.get(index)) {
                    *to += bend;
                }
            }
            bad = bad.min(*first_bad);
        }
        *out.bad = bad.is_finite().then_some(bad as usize);
    }
}
