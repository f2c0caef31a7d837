//! Where the box of an integral is divided first.

use super::Purpose;
use crate::events::program::{Program, Table};

/// Number of equal parts of a range of one observable. A density that interval arithmetic cannot bound tightly may hide
/// peaks from a rule for the whole range.
const PARTS: usize = 4;

/// Largest number of regions at the beginning of an integral over several observables.
const MOST_REGIONS: usize = 512;

/// Returns for each observable the ends of the box, and between them the edges and knots of the tables of a program, in
/// ascending order. The integrand is smooth only between these places. The range of a single observable has further
/// places, unless the integral is one of many over bins.
pub(in crate::events) fn edges(program: &Program, sides: &[(f64, f64)], purpose: Purpose) -> Vec<Vec<f64>> {
    let along = |(axis, &(lo, hi)): (usize, &(f64, f64))| {
        let mut edges = vec![lo, hi];
        if sides.len() == 1 && purpose == Purpose::Normalisation {
            edges.extend((1..PARTS).map(|i| lo + (hi - lo) * i as f64 / PARTS as f64));
        }
        for table in program.tables() {
            match table {
                Table::Histogram { observables, edges: own, .. } => {
                    let own = observables.iter().zip(own).filter(|(x, _)| **x == axis);
                    edges.extend(own.flat_map(|(_, own)| own));
                }
                Table::Spline { observable, knots, .. } if *observable == axis => edges.extend(knots),
                Table::Spline { .. } => {}
            }
        }
        edges.retain(|x| lo <= *x && *x <= hi);
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        edges
    };
    let mut all: Vec<Vec<f64>> = sides.iter().enumerate().map(along).collect();
    if all.len() > 1 {
        while all.iter().map(|edges| edges.len() - 1).product::<usize>() > MOST_REGIONS {
            let longest = all.iter_mut().max_by_key(|edges| edges.len());
            let Some(edges) = longest else { break };
            *edges = vec![edges[0], edges[edges.len() - 1]];
        }
    }
    all
}
