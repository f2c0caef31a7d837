//! Templates: histograms of simulated events whose weights depend on nuisance parameters.
//!
//! The height of bin `b` is `h_b + sum_k (alpha_k S_kb + f_k(alpha_k) A_kb)`. The index `k` numbers the nuisance
//! parameters `alpha_k`, and `h_b` is the height in the nominal histogram. With the heights `hi` and `lo` of the bin
//! for `alpha_k` at +1 and -1, `S_kb = (hi - lo) / 2` and `A_kb = (hi + lo) / 2 - h_b`. `f_k` is an interpolation
//! function. This is the formula of histosys. The weights of the single events follow the same formula.

use ns_core::{HistosysCode, WeightSys};

use super::tables;
use crate::events::program::{Builder, Slot, Step, Table, Unary};
use crate::events::special::Interpolation;

/// One of the histograms whose weighted sum is the template.
struct Part {
    heights: Vec<f64>,
    factor: Factor,
}

/// The number that multiplies one histogram of a template.
enum Factor {
    One,
    /// The parameter `alpha_k` of the effect with index `k` on the shape.
    Alpha(usize),
    /// The interpolation function `f_k` of the parameter of the effect with index `k`, with its histosys interpolation
    /// code.
    Curved(usize, HistosysCode),
}

/// Returns the histograms whose weighted sum is the template: first the nominal histogram, then the variations.
/// Variations whose heights are all 0 are left out.
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

/// Appends to the program `b` the steps that compute the sum of all parts (histograms), each multiplied by its factor.
/// Returns the slot (the index) of the result. `number` returns the slot of a part's number, such as its height in the
/// bin of the event. `own` contains the slots of the parameters of the effects.
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

/// Appends to the program `b` the steps that compute the value of a template. Returns the slot (the index) of the
/// result.
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

/// Appends to the program `b` the steps that compute the integral of a template over a box. Returns the slot (the
/// index) of the result. `sides` contains the ends of the box along each axis.
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
