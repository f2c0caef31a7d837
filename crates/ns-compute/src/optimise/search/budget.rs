//! What a search may cost. See "Budget" in `docs/numerics/minima.md`.

use super::super::Problem;
use super::super::prices::Nanoseconds;
use crate::plan::Plan;

/// The budget of a search is this multiple of the price of the first descent, plus [`ALWAYS`] or [`OF_STRONG`].
pub(crate) const TIMES: f64 = 1.5;
/// Part of the budget that does not depend on the model: 1.5 ms.
pub(super) const ALWAYS: Nanoseconds = 1.5e6;

/// In place of [`ALWAYS`] in a strongly nonlinear model of at most [`MOST_STRONG`] free parameters: 100 ms. Second minima are
/// common there. With a fifth of it the search misses one more in 150 such models, with [`ALWAYS`] five.
pub(super) const OF_STRONG: Nanoseconds = 1e8;
const MOST_STRONG: usize = 150;

/// The same in other small models whose first minimum is strained (`around_best::always`): 20 ms.
pub(super) const OF_STRAINED: Nanoseconds = 2e7;

/// The search of all values within the bounds may use this part of the budget beside what the other methods have left.
const OF_BOX: f64 = 0.33;

/// The methods that vary the parameters of bins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Method {
    Flips,
    Lines,
    Crossings,
    Factors,
    Combinations,
    Restarts,
}

impl Method {
    /// The part of the budget that the method may use in one round.
    const fn share(self) -> f64 {
        match self {
            Self::Flips => 0.3,
            Self::Lines => 0.3,
            Self::Crossings => 0.3,
            Self::Factors => 0.2,
            Self::Combinations => 0.4,
            Self::Restarts => 0.3,
        }
    }
}

/// The price up to which a search may go on. Each lower minimum extends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// What the search may spend before it finds a lower minimum, and again after each one.
    allowance: Nanoseconds,
    /// The price at which the search ends.
    until: Nanoseconds,
    /// The price at which the current method ends.
    method_until: Nanoseconds,
    /// Part of the budget that the current method may use.
    share: f64,
    /// Number of lower minima that have been rewarded.
    rewarded: usize,
}

impl Budget {
    /// A budget without an end.
    pub(super) const UNLIMITED: Self = Self {
        allowance: f64::INFINITY,
        until: f64::INFINITY,
        method_until: f64::INFINITY,
        share: 1.0,
        rewarded: 0,
    };

    /// Returns whether a model with `free` free parameters is strongly nonlinear, and small enough for the budget [`OF_STRONG`].
    pub(super) fn is_of_strong(plan: &Plan, free: usize) -> bool {
        plan.policy.strongly_nonlinear && free <= MOST_STRONG
    }

    /// Returns the part of the budget of a toy that does not depend on the first descent.
    pub(crate) fn of_toys(plan: &Plan, free: usize) -> Nanoseconds {
        if Self::is_of_strong(plan, free) { OF_STRONG } else { ALWAYS }
    }

    /// The budget of a search after a first descent of the price `first`. `spent` is the price of all until now, and `always` the
    /// part that does not depend on the first descent.
    pub(super) fn after(first: Nanoseconds, always: Nanoseconds, spent: Nanoseconds) -> Self {
        Self::of(TIMES * first + always, spent)
    }

    fn of(allowance: Nanoseconds, spent: Nanoseconds) -> Self {
        Self { allowance, until: spent + allowance, method_until: spent + allowance, share: 1.0, rewarded: 0 }
    }

    /// The budget of a search of the values of parameters in which functions are not linear. Second minima are common there.
    pub(super) fn of_functions(problem: &Problem<'_>, spent: Nanoseconds) -> Self {
        Self::of(if free(problem) <= MOST_STRONG { OF_STRONG } else { ALWAYS }, spent)
    }

    /// The same budget once more, from now on.
    pub(super) fn again(self, spent: Nanoseconds) -> Self {
        Self { until: spent + self.allowance, method_until: spent + self.allowance, ..self }
    }

    /// Does not count `price`.
    pub(super) fn postpone(&mut self, price: Nanoseconds) {
        self.until += price;
        self.method_until += price;
    }

    /// The same budget for descents whose lower minima are not those of the search.
    pub(super) fn fixed(self) -> Self {
        Self { allowance: 0.0, ..self }
    }

    /// Begins a method. It may use its share of the budget.
    pub(super) fn begin(&mut self, spent: Nanoseconds, method: Method) {
        self.share = method.share();
        self.method_until = spent + self.share * self.allowance;
    }

    /// Begins the last method, which may use all that is left, and a part of the budget in any case.
    pub(super) fn begin_last(&mut self, spent: Nanoseconds) {
        self.share = 1.0;
        self.until = self.until.max(spent + OF_BOX * self.allowance);
        self.method_until = self.until;
    }

    /// Returns what is left for the current method.
    pub(super) fn left(&self, spent: Nanoseconds) -> Nanoseconds {
        self.until.min(self.method_until) - spent
    }

    /// Extends the budget if there are new lower minima. `minima` is the number of all so far, of those with a certificate: where
    /// `-ln L` falls without end, every descent ends lower than the one before.
    pub(super) fn reward(&mut self, spent: Nanoseconds, minima: usize) {
        if minima > self.rewarded {
            self.rewarded = minima;
            self.until = self.until.max(spent + self.allowance);
            self.method_until = self.method_until.max(spent + self.share * self.allowance);
        }
    }
}

/// Returns the number of free parameters.
fn free(problem: &Problem<'_>) -> usize {
    problem.fixed.iter().filter(|fixed| !**fixed).count()
}
