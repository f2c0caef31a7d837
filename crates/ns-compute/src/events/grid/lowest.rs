//! Finds where a density is negative between the nodes of a grid.

use ns_core::LogProbError;

use super::gauss::Rule;
use super::tree::{Tree, add_nodes};

/// A density below this fraction of the density at the first point may be negative nearby.
const LOW: f64 = 0.1;

/// The search around the lowest node ends at this fraction of the distance between nodes.
const FINEST: f64 = 1e-7;

/// Where a density is lowest.
#[derive(Debug, Clone)]
pub(super) struct Lowest {
    /// The density in units of the density at the first point.
    pub(super) ratio: f64,
    pub(super) at: Vec<f64>,
    /// The box that contains it.
    part: usize,
}

impl Tree<'_> {
    /// Returns, for each parameter point, where its density is lowest in units of the density at the first point. The densities
    /// are evaluated at equal distances and at the ends of all sides of the boxes, which the nodes of a rule do not reach,
    /// and then around the lowest of these values.
    ///
    /// # Errors
    /// If a density that is not a formula cannot be evaluated.
    pub(super) fn lowest(&mut self, boxes: &[Vec<(f64, f64)>]) -> Result<Vec<Lowest>, LogProbError> {
        let n = self.rules.full.nodes.len();
        let step = 2.0 / (n - 1) as f64;
        let closed = equidistant(n);
        let mut all: Vec<Lowest> = Vec::new();
        for (part, sides) in boxes.iter().enumerate() {
            let nodes = corners(sides, &closed);
            self.take_lowest(&nodes, part, None, &mut all)?;
        }
        let around = equidistant(3);
        for index in 0..all.len() {
            let mut size = step;
            while all[index].ratio < LOW && size > step * FINEST {
                let Lowest { ratio, ref at, part } = all[index];
                let near = |(x, &(lo, hi)): (&f64, &(f64, f64))| {
                    let half = 0.25 * size * (hi - lo);
                    ((x - half).max(lo), (x + half).min(hi))
                };
                let sides: Vec<(f64, f64)> = at.iter().zip(&boxes[part]).map(near).collect();
                self.take_lowest(&corners(&sides, &around), part, Some(index), &mut all)?;
                if !(all[index].ratio < ratio) {
                    size *= 0.5;
                }
            }
        }
        Ok(all)
    }

    /// Evaluates the densities at `columns`, in the box `part`, and keeps the lowest values in `all`. With `only`, those
    /// of one parameter point alone.
    fn take_lowest(
        &mut self,
        columns: &[Vec<f64>],
        part: usize,
        only: Option<usize>,
        all: &mut Vec<Lowest>,
    ) -> Result<(), LogProbError> {
        self.evaluator.evaluate(None, columns, &mut self.values)?;
        let densities = &self.values.densities;
        all.resize(densities.len(), Lowest { ratio: f64::INFINITY, at: Vec::new(), part });
        for (index, (lowest, density)) in all.iter_mut().zip(densities).enumerate() {
            if only.is_some_and(|own| own != index) {
                continue;
            }
            for (i, (f, g)) in densities[0].iter().zip(density).enumerate() {
                if *f > 0.0 && g / f < lowest.ratio {
                    let at = columns.iter().map(|column| column[i]).collect();
                    *lowest = Lowest { ratio: g / f, at, part };
                }
            }
        }
        Ok(())
    }
}

/// Returns a rule with `n` nodes at equal distances, which include both ends.
fn equidistant(n: usize) -> Rule {
    let step = 2.0 / (n - 1) as f64;
    Rule { nodes: (0..n).map(|i| (-1.0 + step * i as f64).min(1.0)).collect(), weights: vec![step; n] }
}

/// Returns the columns of the nodes of the product of `rule` in a box.
fn corners(sides: &[(f64, f64)], rule: &Rule) -> Vec<Vec<f64>> {
    let (mut columns, mut volumes) = (vec![Vec::new(); sides.len()], Vec::new());
    add_nodes(sides, &vec![rule; sides.len()], &mut columns, &mut volumes);
    columns
}
