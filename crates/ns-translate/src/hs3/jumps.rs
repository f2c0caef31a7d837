//! Warnings about densities that jump at places that depend on free parameters.

use ns_core::Model;

use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

use super::index::Index;

/// Warns of each density that jumps at a place that depends on free parameters.
pub(super) fn warn(index: &Index<'_>, model: &Model, report: &mut Report) {
    for jump in model.density_jumps() {
        let parameters = jump.parameters.iter().filter_map(|p| model.parameters.get(*p));
        let free: Vec<String> = parameters.filter(|p| !p.fixed).map(|p| quoted(&p.name)).collect();
        let Some(channel) = model.event_channels.get(jump.channel).filter(|_| !free.is_empty()) else {
            continue;
        };
        let process = channel.processes.get(jump.process).map_or("", |process| process.name.as_str());
        let named = [process, channel.name.as_str()].into_iter().find_map(|name| index.distribution(name));
        let distribution = named.and_then(|i| index.document.distributions.get(i));
        let names = free.join(", ");
        report.warn(
            distribution.map_or_else(String::new, |distribution| distribution.path.clone()),
            format!(
                "The density {} of channel {} jumps at a place that depends on {names}: fits in which {names} is free do not \
                 converge.",
                quoted(process),
                quoted(&channel.name)
            ),
            format!("Fix {names}, scan over a grid of values (scan), or write a smooth turn-on instead of the comparison."),
        );
    }
}
