//! Reads decays.

use ns_core::DecaySides;

use super::fields::Fields;
use crate::hs3::document::{Arg, Argument, Distribution, Placed, Waves};
use crate::pyhf::problem::Report;

/// Reads a decay. Its resolution is the name of a distribution. ROOT writes the sides of 0 as `decayType`: 0 for decays after
/// 0, 1 for both sides, 2 for decays before 0.
pub(super) fn decay(fields: &Fields<'_>, kind: &str, report: &mut Report) -> Option<Distribution> {
    let (t, tau) = (fields.argument("t", report), fields.argument("tau", report));
    let resolution = fields.argument("resolutionModel", report);
    let sides = sides(fields, report)?;
    let oscillation = (kind != "decay_dist").then(|| {
        let mut optional = |key: &'static str, default: f64| -> Arg {
            if fields.has(key) {
                return fields.argument(key, report);
            }
            fields.ignore(&[key]);
            Placed { value: Argument::Number(default), path: fields.here() }
        };
        Box::new(Waves {
            delta_gamma: optional("delta_gamma", 0.0),
            delta_m: optional("delta_m", 0.0),
            cosh: optional("cosh", 1.0),
            sinh: optional("sinh", 0.0),
            cos: optional("cos", 0.0),
            sin: optional("sin", 0.0),
        })
    });
    Some(Distribution::Decay { t, tau, sides, oscillation, resolution })
}

fn sides(fields: &Fields<'_>, report: &mut Report) -> Option<DecaySides> {
    let value = fields.required("decayType", report)?;
    match value.as_u64() {
        Some(0) => Some(DecaySides::After),
        Some(1) => Some(DecaySides::Both),
        Some(2) => Some(DecaySides::Before),
        _ => {
            report.error(
                fields.path("decayType"),
                format!("There is no decayType {value}."),
                "Write 0 for decays after the time 0, 1 for both sides of 0, or 2 for decays before 0.",
            );
            None
        }
    }
}
