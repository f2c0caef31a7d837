//! Checks the simulated events of templates. Their weights must have a positive sum, and the events must lie within
//! the bins.

use crate::hs3::document::{Argument, Template};
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

pub(super) fn check(template: &Template, what: &str, path: &str, report: &mut Report) {
    for ((x, edges), column) in template.x.iter().zip(template.edges()).zip(&template.columns) {
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else { continue };
        let outside = |x: &f64| x < first || x > last;
        let n_outside = column.iter().filter(|x| outside(x)).count();
        if let Some((event, value)) = column.iter().enumerate().find(|(_, x)| outside(x)) {
            let name = match &x.value {
                Argument::Name(name) => quoted(name),
                _ => String::new(),
            };
            report.error(
                path.to_owned(),
                format!(
                    "Event {event} of {what} has {name} = {}, outside of the bins from {} to {}; {n_outside} of {} events are outside.",
                    show(*value),
                    show(*first),
                    show(*last),
                    column.len()
                ),
                "Drop these events (conditions under 'where' for a file), or widen the bins.",
            );
        }
    }
    let Some(weights) = template.weights.as_ref() else { return };
    let sum: f64 = weights.iter().sum();
    if !(sum > 0.0) {
        let message = match weights.iter().all(|weight| *weight == 0.0) {
            true => format!("All weights of {what} are 0."),
            false => format!("The weights of {what} add up to {}: it is no density.", show(sum)),
        };
        report.error(
            format!("{path}/weights"),
            message,
            "Correct the weights; their sum has to be positive.",
        );
    }
}
