//! Detects hypothesis tests that cannot distinguish their two hypotheses, and explains why.

use ns_core::EvaluationRequest;

use super::TestStatistic;
use super::tester::{Tested, Tester};
use crate::present::significant;

/// Description of a hypothesis test that cannot distinguish its two hypotheses.
pub(crate) struct Powerless {
    /// Reason why the test has no power. `None` if the tested value is the value at which the Asimov set was
    /// generated, because no power is expected there.
    pub(crate) why: Option<String>,
    /// Whether CLs is undefined. If false, CLs is 1.
    pub(crate) undefined: bool,
}

impl Powerless {
    /// Returns the warning about a test: what CLs is, and why the test has no power.
    pub(crate) fn note(&self) -> Option<String> {
        let verdict = if self.undefined { "cls is null" } else { "cls is 1" };
        self.why.as_ref().map(|why| format!("{verdict}: {why}"))
    }
}

/// Returns the largest difference between two values of `2 nll` that can be due to rounding. `nll` is `-ln L` at the
/// minimum.
pub(super) fn rounding(nll: f64) -> f64 {
    1e-13 + 16.0 * f64::EPSILON * nll.abs()
}

/// Returns the largest difference of `2 nll` at which two fits count as having ended at the same minimum. `nll` is
/// `-ln L` at the minimum.
pub(super) fn indistinct(nll: f64) -> f64 {
    1e-9 + 64.0 * f64::EPSILON * nll.abs()
}

impl Tester<'_> {
    /// Returns how much `-2 ln L` of the Asimov set (expected data) rises if the POI moves from its best fit to `value`
    /// and all other parameters keep their values. No test of `value` has a larger Asimov statistic. The result is
    /// infinite if the likelihood cannot be computed there.
    fn rise_alone(&self, value: f64) -> f64 {
        let best = &self.asimov.best.parameters;
        let mut points = best.clone();
        points.extend_from_slice(best);
        if let Some(x) = points.get_mut(best.len() + self.poi) {
            *x = value;
        }
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        match self.analysis.session.evaluate(&self.asimov.data, &points, request) {
            Ok(found) => match found.nll.as_slice() {
                [here, there] if here.is_finite() && there.is_finite() => 2.0 * (there - here).abs(),
                _ => f64::INFINITY,
            },
            Err(_) => f64::INFINITY,
        }
    }

    /// Returns whether the expected data depend on the POI anywhere between its bounds.
    pub(crate) fn has_effect(&self) -> bool {
        let (lower, upper) = self.bounds();
        let best = self.asimov.best_value();
        let reach = 1.0 + best.abs();
        let ends = [lower.max(best - 1e3 * reach), upper.min(best + 1e3 * reach), 0.5 * (lower + upper)];
        ends.into_iter()
            .filter(|x| x.is_finite())
            .any(|x| self.rise_alone(x) > indistinct(self.asimov.best.nll))
    }

    /// Describes why a test has no power if its test statistic is 0 for the Asimov set (expected data). Returns `None`
    /// if this statistic is not 0, and for q0.
    pub(crate) fn powerless(&self, tested: &Tested) -> Option<Powerless> {
        let (name, value, asimov) = (self.name(), tested.value, self.statistic.asimov_value());
        let (lower, upper) = self.bounds();
        if self.statistic == TestStatistic::Q0 || tested.q_asimov > 0.0 {
            return None;
        }
        // If the Asimov statistic is 0, CLs+b and CLb of the statistic q are equal, so CLs is 1. The formula of
        // qtilde divides by the Asimov statistic, so CLs does not exist.
        let undefined = tested.q > 0.0 && self.statistic == TestStatistic::Qtilde;
        if value == asimov {
            let why = undefined.then(|| {
                format!(
                    "{name} = {value} is the value of the Asimov set itself, so that q_asimov is 0, and the \
                     best fit {} lies below it, where the formula of qtilde divides by q_asimov; test a larger value, or \
                     use the statistic q",
                    significant(self.best_value())
                )
            });
            return Some(Powerless { why, undefined });
        }
        let best = self.asimov.best_value();
        let why = if !(lower <= asimov && asimov <= upper) {
            format!(
                "the bounds [{lower}, {upper}] of {name} exclude {asimov}, where the Asimov set is made, and its best fit \
                 within them ({best}) makes the test of {value} powerless"
            )
        } else if best >= value {
            format!(
                "the one-sided test of {name} = {value} has no power, since the Asimov set made at {asimov} has its best \
                 fit at {best}"
            )
        } else if !self.has_effect() {
            format!(
                "{name} = {value} cannot be told apart from {asimov}: {name} has no effect on what is expected; check its \
                 samples"
            )
        } else if self.rise_alone(value) <= indistinct(self.asimov.best.nll) {
            format!(
                "{name} = {value} is so close to {asimov} that what is expected differs by less than rounding errors; test \
                 a value further away"
            )
        } else {
            format!(
                "{name} = {value} cannot be told apart from {asimov}: other parameters undo what {name} does to what is \
                 expected (fix one of them, if they are free)"
            )
        };
        Some(Powerless { why: Some(why), undefined })
    }
}
