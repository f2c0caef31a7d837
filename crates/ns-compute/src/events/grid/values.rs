//! Evaluates the densities of a channel at the nodes of a grid, at several parameter points.

use ns_core::LogProbError;

use super::Point;
use crate::events::block::multiply_leaves;
use crate::events::channel::ChannelPlan;
use crate::events::conditional::ConditionalMemory;
use crate::events::sums::{BLOCK, SumMemory};
use crate::simd::Level;

/// Evaluates the densities of a channel.
pub(in crate::events) struct Evaluator<'a> {
    level: Level,
    plan: &'a ChannelPlan,
    points: Vec<&'a Point>,
    memories: Vec<SumMemory>,
    /// For each parameter point and each term, whether the shape of the term differs from that at the first point.
    /// True for all terms of the first point.
    is_moved: Vec<Vec<bool>>,
}

/// Densities at the nodes of a part of a grid.
#[derive(Debug, Default)]
pub(in crate::events) struct Values {
    /// For each parameter point and each term of the density, the product of the term's leaves at each node. Empty for
    /// terms with the same shape as at the first point.
    pub(in crate::events) products: Vec<Vec<Vec<f64>>>,
    /// For each parameter point, the density at each node.
    pub(in crate::events) densities: Vec<Vec<f64>>,
}

impl<'a> Evaluator<'a> {
    pub(in crate::events) fn new(level: Level, plan: &'a ChannelPlan, points: Vec<&'a Point>) -> Self {
        let ready = |point: &&Point| {
            let mut memory = SumMemory::new(plan);
            memory.prepare(level, plan, &point.locals);
            memory
        };
        let memories = points.iter().map(ready).collect();
        let is_moved = |(which, point): (usize, &&Point)| {
            let differs = |leaf: &usize| {
                let own = &plan.leaves[*leaf].variables;
                own.iter().any(|&v| point.locals[v] != points[0].locals[v])
            };
            plan.terms.iter().map(|term| which == 0 || term.leaves.iter().any(differs)).collect()
        };
        let is_moved = points.iter().enumerate().map(is_moved).collect();
        Self { level, plan, points, memories, is_moved }
    }

    /// Evaluates the densities at the nodes whose observables are `columns`. `part` identifies the nodes, if they may be
    /// needed again at other parameter points. Returns the columns of log-densities.
    ///
    /// # Errors
    /// If a density that is not a formula cannot be evaluated at a node.
    pub(in crate::events) fn evaluate(
        &mut self,
        part: Option<Vec<u64>>,
        columns: &[Vec<f64>],
        out: &mut Values,
    ) -> Result<Vec<Vec<f64>>, LogProbError> {
        let plan = self.plan;
        let n = columns.first().map_or(0, Vec::len);
        out.densities.resize_with(self.points.len(), Vec::new);
        out.products.resize_with(self.points.len(), Vec::new);
        out.products.iter_mut().for_each(|products| products.resize_with(plan.terms.len(), Vec::new));
        out.products.iter_mut().flatten().for_each(Vec::clear);
        for values in &mut out.densities {
            values.clear();
            values.resize(n, 0.0);
        }
        let logs = plan.logs_at(part, columns)?;
        let points = self.points.iter().zip(&mut self.memories).zip(&self.is_moved);
        for (((point, memory), is_moved), (densities, products)) in
            points.zip(out.densities.iter_mut().zip(&mut out.products))
        {
            let further =
                plan.conditionals.iter().map(|of| ConditionalMemory::once(of, columns, &point.locals));
            let further = further.collect::<Result<Vec<_>, LogProbError>>()?;
            let all = columns.iter().chain(&logs).chain(further.iter().flatten());
            let views: Vec<&[f64]> = all.map(Vec::as_slice).collect();
            for from in (0..n).step_by(BLOCK) {
                let here = BLOCK.min(n - from);
                for (leaf, own) in plan.leaves.iter().zip(&mut memory.leaves) {
                    leaf.run(self.level, &views, from, here, own);
                }
                multiply_leaves(plan, memory);
                for (t, (product, a)) in memory.products.iter().zip(&point.amplitudes).enumerate() {
                    for (density, product) in densities[from..from + here].iter_mut().zip(product) {
                        *density += a * product;
                    }
                    if is_moved[t] {
                        products[t].extend_from_slice(&product[..here]);
                    }
                }
            }
        }
        Ok(logs)
    }
}
