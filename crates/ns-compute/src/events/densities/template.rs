//! Histograms of simulated events whose weights depend on nuisance parameters.
//!
//! The height of bin `b` is `h_b + sum_k alpha_k S_kb + f_k(alpha_k) A_kb` with `S = (hi - lo)/2` and `A =
//! (hi + lo)/2 - h`. This is the formula of histosys. The weights of all events follow the same formula.

use ns_core::{HistosysCode, WeightSys};

use super::tables;
use crate::events::program::{Builder, Slot, Step, Table, Unary};
use crate::events::special::Interpolation;

/// One of the histograms that add up to the template.
struct Part {
    heights: Vec<f64>,
    factor: Factor,
}

/// Number by which a histogram is multiplied.
enum Factor {
    One,
    /// The parameter of the effect on the shape with this index.
    Alpha(usize),
    /// The function `f` of the parameter of the effect with this index.
    Curved(usize, HistosysCode),
}

/// Returns the histograms of a template, without those that are 0.
fn parts(heights: &[f64], variations: &[WeightSys]) -> Vec<Part> {
    let mut parts = vec![Part { heights: heights.to_vec(), factor: Factor::One }];
    for (k, variation) in variations.iter().filter(|v| v.shape).enumerate() {
        let ends = || variation.hi.iter().zip(&variation.lo);
        let slopes: Vec<f64> = ends().map(|(hi, lo)| 0.5 * (hi - lo)).collect();
        let bends: Vec<f64> = ends().zip(heights).map(|((hi, lo), h)| 0.5 * (hi + lo) - h).collect();
        for (heights, factor) in [(slopes, Factor::Alpha(k)), (bends, Factor::Curved(k, variation.code))] {
            if heights.iter().any(|h| *h != 0.0) {
                parts.push(Part { heights, factor });
            }
        }
    }
    parts
}

/// Appends the sum of the parts, each times its factor. `number` gives the slot of the histogram of a part.
/// `own` are the slots of the parameters of the effects on the shape.
fn sum(
    b: &mut Builder,
    parts: &[Part],
    own: &[Slot],
    mut number: impl FnMut(&mut Builder, usize) -> Slot,
) -> Option<Slot> {
    let mut total = b.number(0.0);
    for (row, part) in parts.iter().enumerate() {
        let number = number(b, row);
        let term = match part.factor {
            Factor::One => number,
            Factor::Alpha(k) => b.mul(*own.get(k)?, number),
            Factor::Curved(k, code) => {
                let f = b.unary(Unary::Interpolation(Interpolation::curved(code)), *own.get(k)?);
                b.mul(f, number)
            }
        };
        total = b.add(total, term);
    }
    Some(total)
}

/// Appends the value of a template.
pub(super) fn value(
    b: &mut Builder,
    (observables, edges): (&[usize], &[Vec<f64>]),
    heights: &[f64],
    variations: &[WeightSys],
    own: &[Slot],
) -> Option<Slot> {
    let parts = parts(heights, variations);
    let table = b.table(Table::Histogram {
        observables: observables.to_vec(),
        edges: edges.to_vec(),
        heights: parts.iter().flat_map(|part| part.heights.iter().copied()).collect(),
    });
    sum(b, &parts, own, |b, row| b.push(Step::Table(table, row)))
}

/// Appends the integral of a template over a box with these sides along its axes.
pub(super) fn integral(
    b: &mut Builder,
    (edges, sides): (&[Vec<f64>], &[(f64, f64)]),
    heights: &[f64],
    variations: &[WeightSys],
    own: &[Slot],
) -> Option<Slot> {
    let parts = parts(heights, variations);
    sum(b, &parts, own, |b, row| tables::histogram_integral(b, edges, &parts[row].heights, sides))
}
