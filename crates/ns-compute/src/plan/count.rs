//! Counts the floating-point operations of an evaluation. The number is used in predictions of time and in roofline
//! models.

use super::Plan;

/// Number of floating-point operations of an exponential or a logarithm. It follows from the degrees of the polynomials
/// in `exp` and `log1p`.
const ELEMENTARY: usize = 25;

impl Plan {
    /// Returns the number of parameters that the model does not fix.
    #[must_use]
    pub fn n_free(&self) -> usize {
        self.structure.table.fixed.iter().filter(|fixed| !**fixed).count()
    }

    /// Returns the number of floating-point operations of one evaluation of `-ln L` and its full gradient. A
    /// fused multiply-add counts as two.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let mut count = self.structure.normsys.operations * self.structure.norm_of_block.len()
            + ELEMENTARY * self.structure.blocks.len();
        for block in &self.structure.blocks {
            let terms = |(from, to): (usize, usize)| to - from;
            // A template takes part in the yields and in the gradient.
            let templates = terms(block.hist) + (block.hist_curved - block.hist.0);
            let of_a_bin = 4 * templates + 4 * terms(block.binwise) + 7;
            count += of_a_bin * block.n_bins + 3 * terms(block.factor);
        }
        count += (ELEMENTARY + 8) * self.n_bins();
        count += 6 * self.gaussian().len() + (ELEMENTARY + 8) * self.poisson().len();
        let squares = self.events.correlations().iter().map(|own| own.len() * own.len());
        count += 2 * squares.sum::<usize>();
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}
