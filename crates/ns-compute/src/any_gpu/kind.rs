//! One kind of fit, and whether the kernels can make its descents.

use ns_core::LeftToCpu;

use super::upload::Tables;
use crate::lanes::metric::Metric;
use crate::plan::Plan;

/// What all fits of one kind share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind<'a> {
    pub(super) plan: &'a Plan,
    pub(super) metric: &'a Metric,
    pub(super) lower: &'a [f64],
    pub(super) upper: &'a [f64],
}

/// Largest number of bins or primal parameters: tables have two indices in 32 bits.
const MOST_ROWS: usize = 1 << 15;

/// Largest number of elements of a table.
const MOST_NUMBERS: usize = 1 << 26;

impl Kind<'_> {
    /// Checks whether the kernels can make descents of this kind.
    ///
    /// # Errors
    /// The reason why they cannot.
    pub(super) fn check(&self) -> Result<(), LeftToCpu> {
        let plan = self.plan;
        if plan.has_function_factors() {
            return Err(LeftToCpu::Functions);
        }
        if !plan.events.correlations().is_empty() {
            return Err(LeftToCpu::Correlations);
        }
        let mut terms = vec![0_u32; plan.n_parameters()];
        plan.gaussian().for_each(|(p, _, _)| terms[p] += 1);
        plan.poisson().for_each(|(p, _, _)| terms[p] += 1);
        if terms.iter().any(|&terms| terms > 1) {
            return Err(LeftToCpu::Constraints);
        }
        let elements = plan.n_bins().saturating_mul(plan.n_parameters());
        if plan.n_bins().max(self.metric.primal.len()) > MOST_ROWS || elements > MOST_NUMBERS {
            return Err(LeftToCpu::Large);
        }
        Ok(())
    }

    /// Returns the numbers and indices of this kind of fit.
    pub(super) fn tables(&self) -> Tables {
        let mut tables = Tables::default();
        tables.effects(self.plan);
        tables.parameters(self);
        tables.metric(self);
        tables
    }
}
