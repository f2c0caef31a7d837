//! Checks the events of templates: weights that are not negative, and events within the bins.

use crate::hs3::document::{Argument, Template};
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

pub(super) fn check(template: &Template, what: &str, path: &str, report: &mut Report) {
    for ((x, edges), column) in template.x.iter().zip(&template.edges).zip(&template.columns) {
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
    let ups = template.responses.iter().flat_map(|response| {
        [(&response.up, format!("{}/up", response.path)), (&response.down, format!("{}/down", response.path))]
    });
    let own = template.weights.iter().map(|weights| (weights, format!("{path}/weights")));
    for (weights, place) in own.chain(ups) {
        if let Some((event, weight)) = weights.iter().enumerate().find(|(_, weight)| **weight < 0.0) {
            let n = weights.iter().filter(|weight| **weight < 0.0).count();
            report.error(
                place,
                format!(
                    "Event {event} of {what} has the negative weight {}; {n} of {} weights are negative.",
                    show(*weight),
                    weights.len()
                ),
                "Give weights that are not negative; a histogram_dist may be made of events with negative weights.",
            );
        }
    }
    if template.weights.as_ref().is_some_and(|weights| weights.iter().all(|weight| *weight == 0.0)) {
        report.error(
            format!("{path}/weights"),
            format!("All weights of {what} are 0."),
            "Correct the weights.",
        );
    }
}
