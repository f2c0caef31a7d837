//! Text of a goodness-of-fit test.

use super::Part;
use super::toys::rate;
use crate::GoodnessResult;
use crate::present::{count, or_none, significant, with_error};

impl GoodnessResult {
    /// Returns the text shown for a goodness-of-fit test.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let ndof = match self.ndof {
            None => "no degrees of freedom".to_owned(),
            Some(1) => "1 degree of freedom".to_owned(),
            Some(n) => format!("{n} degrees of freedom"),
        };
        let toys = self.toys.as_ref().map_or_else(String::new, |toys| {
            format!(
                "\np-value with toys {} ({} toys, {} not converged, {} failed, seed {}{})",
                with_error(self.p_value_toys, self.p_value_toys_error),
                toys.n_toys,
                toys.n_nonconverged,
                toys.n_error,
                toys.seed,
                rate(toys.toys_per_s),
            )
        });
        vec![Part::Text(format!(
            "goodness of fit against the saturated model\n\
             chi2 {}, {ndof} ({}, {} without a constraint)\n\
             p-value {}{toys}\n\
             twice_nll {} at the best fit, {} saturated",
            or_none(self.chi2),
            count(self.n_bins, "bin"),
            count(self.n_unconstrained, "free parameter"),
            or_none(self.p_value),
            significant(self.twice_nll),
            or_none(self.twice_nll_saturated),
        ))]
    }
}
