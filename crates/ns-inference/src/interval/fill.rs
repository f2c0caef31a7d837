//! Fills the result of a search with toys.

use super::result::{IntervalPoint, IntervalResult};
use super::search::{Search, Side, Tested};
use super::tester::Ended;
use crate::goodness::chi2_tail;
use crate::present::significant;
use crate::toys::INTERRUPTED;
use crate::toys::goodness::binomial_error;

/// Fills in the borders and points of a search with toys. Returns whether both borders are known to `accepted`.
pub(super) fn with_toys(result: &mut IntervalResult, search: &Search, accepted: f64, ended: Ended) -> bool {
    result.method = "feldman-cousins".into();
    result.accepted_error = Some(accepted);
    result.connected = Some(search.is_connected());
    result.interrupted = ended == Ended::Interrupted;
    let mut is_known = true;
    for (side, which) in [(Side::Lower, "lower"), (Side::Upper, "upper")] {
        let border = search.border(side, &result.param);
        match (border.value, border.error) {
            (Some(_), Some(error)) if error <= accepted => {}
            (Some(_), Some(error)) => {
                is_known = false;
                result.warnings.push(format!(
                    "the error {} of the {which} end is above the accepted {}; take more toys, or accept a larger error \
                     (precision)",
                    significant(error),
                    significant(accepted)
                ));
            }
            _ => {
                is_known = false;
                let reason = border.reason.as_deref().unwrap_or("it was not found");
                result.warnings.push(format!("the {which} end is null: {reason}"));
            }
        }
        match side {
            Side::Lower => result.set_lower(border),
            Side::Upper => result.set_upper(border),
        }
    }
    result.points = search.tested.iter().map(point).collect();
    if result.connected == Some(false) {
        result.warnings.push(
            "values between the ends are outside: the set of accepted values is not connected; the p-values of the \
             points show where"
                .to_owned(),
        );
    }
    let left_out: u64 = result.points.iter().map(|p| p.n_nonconverged + p.n_error).sum();
    if left_out > 0 {
        result.warnings.push(format!(
            "{left_out} toys did not converge or failed and are left out; the errors of the ends contain them"
        ));
    }
    if result.interrupted {
        result.warnings.push(INTERRUPTED.to_owned());
    }
    is_known
}

fn point(tested: &Tested) -> IntervalPoint {
    let p_value_asymptotic = chi2_tail(tested.t, 1.0);
    let counts = tested.counts.unwrap_or_default();
    IntervalPoint {
        value: tested.value,
        t: tested.t,
        p_value: if tested.counts.is_none() { Some(1.0) } else { counts.p_value() },
        p_value_error: tested.counts.and_then(|counts| binomial_error(counts.above, counts.good())),
        p_value_asymptotic,
        n_toys: counts.run,
        n_nonconverged: counts.nonconverged,
        n_error: counts.error,
    }
}
