//! The cost of one evaluation of `-ln L`, which decides how many descents a search can afford.

use std::sync::Arc;

use ns_core::EventTable;

use super::channel::ChannelPlan;
use super::integral::{Integral, Rule};
use super::term::EventPlan;

/// Number of nodes that a numerical integral is taken to have.
const NODES: usize = 2000;

impl EventPlan {
    /// Returns the approximate number of densities at single points that one evaluation for `tables` computes. It is
    /// `None` if an external program computes a density.
    pub(crate) fn densities_per_evaluation(&self, tables: &[Arc<EventTable>]) -> Option<usize> {
        self.channels.iter().zip(tables).map(|(plan, table)| of_channel(plan, table.len())).sum()
    }
}

fn of_channel(plan: &ChannelPlan, events: usize) -> Option<usize> {
    let of_integral = |integral: &Integral| match &integral.rule {
        Rule::Closed(_) => 1,
        Rule::Numeric(..) | Rule::Normal(_) | Rule::Conditional(_) => NODES,
    };
    let integrals: usize = plan.integrals.iter().map(of_integral).sum();
    plan.conditionals.is_empty().then_some(events * plan.leaves.len() + integrals)
}
