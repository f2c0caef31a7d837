//! Draws the contents of bins, for channels whose data are a histogram.
//!
//! The likelihood of such a channel compares the contents with the density at the bin centres, or with the mean of the
//! density over each bin. The expected content of a bin is the same density (or mean) times the volume of the bin. All
//! expected contents are scaled so that their sum is the expected number of events.

use ns_core::random::{Poisson, Stream, open_uniform};
use ns_core::{DrawEvents, EventColumns, NotDrawn};

use super::draw::Number;
use super::formula::{Formula, FormulaMemory};
use super::hat::{NEGATIVE, VANISHES};
use crate::events::asimov::add_bins;

/// The distribution from which the contents of all bins are drawn.
#[derive(Debug, Clone)]
pub(super) struct BinSampler {
    /// Coordinates of the bin centres, one column per observable.
    centres: Vec<Vec<f64>>,
    contents: Contents,
}

#[derive(Debug, Clone)]
enum Contents {
    /// Independent Poisson distributions, one per bin.
    Poisson(Vec<Poisson>),
    /// A fixed total number of events, and cumulative probabilities of the bins: element `i` is the sum of the
    /// probabilities of the bins 0 to `i`.
    Multinomial(usize, Vec<f64>),
}

impl BinSampler {
    /// Creates the distribution of bins whose expected contents are proportional to `parts` and add up to `total`.
    /// `centres` contains the bin centres, one column per observable.
    pub(super) fn new(
        centres: Vec<Vec<f64>>,
        parts: &[f64],
        total: f64,
        number: Number,
    ) -> Result<Self, &'static str> {
        let sum: f64 = parts.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(VANISHES);
        }
        let contents = match number {
            Number::Poisson(_) => {
                let poisson = |part: &f64| Poisson::new(total * part / sum).map_err(|_| NEGATIVE);
                Contents::Poisson(parts.iter().map(poisson).collect::<Result<_, _>>()?)
            }
            Number::Fixed(count) => {
                let mut before = 0.0;
                let end = |part: &f64| {
                    before += part;
                    before / sum
                };
                Contents::Multinomial(count, parts.iter().map(end).collect())
            }
        };
        Ok(Self { centres, contents })
    }
}

/// Returns two arrays for the bins within the fit ranges. The first contains the coordinates of the bin centres, one
/// column per observable. The second contains the expected contents up to a common factor: the density at the bin
/// centre times the volume of the bin.
pub(super) fn parts_at_centres(
    edges: &[Vec<f64>],
    boxes: &[Vec<(f64, f64)>],
    density: &Formula,
) -> Result<(Vec<Vec<f64>>, Vec<f64>), &'static str> {
    let mut memory = FormulaMemory::default();
    let (mut centres, mut volumes) = (vec![Vec::new(); edges.len()], Vec::new());
    add_bins(edges, boxes, &mut centres, &mut volumes);
    let mut centre = vec![0.0; edges.len()];
    let mut part = |(bin, volume): (usize, &f64)| {
        for (x, column) in centre.iter_mut().zip(&centres) {
            *x = column[bin];
        }
        let part = volume * density.at(&centre, &mut memory);
        if part >= 0.0 { Ok(part) } else { Err(NEGATIVE) }
    };
    let parts = volumes.iter().enumerate().map(&mut part).collect::<Result<Vec<_>, _>>()?;
    Ok((centres, parts))
}

impl DrawEvents for BinSampler {
    fn draw(&self, stream: &Stream, slot: u32, out: &mut EventColumns) -> Result<u32, NotDrawn> {
        out.clear(self.centres.len());
        let mut next = slot;
        match &self.contents {
            Contents::Poisson(bins) => {
                for poisson in bins {
                    out.weights.push(poisson.draw(stream, next));
                    next = next.wrapping_add(1);
                }
            }
            Contents::Multinomial(count, ends) => {
                out.weights.resize(ends.len(), 0.0);
                for _ in 0..*count {
                    let [low, high, _, _] = stream.block(next, 0);
                    let u = open_uniform(low, high);
                    let bin = ends.partition_point(|&end| end <= u).min(ends.len() - 1);
                    out.weights[bin] += 1.0;
                    next = next.wrapping_add(1);
                }
            }
        }
        for (column, centres) in out.columns.iter_mut().zip(&self.centres) {
            column.extend(centres.iter().zip(&out.weights).filter(|(_, n)| **n > 0.0).map(|(x, _)| *x));
        }
        out.weights.retain(|n| *n > 0.0);
        Ok(next)
    }
}
