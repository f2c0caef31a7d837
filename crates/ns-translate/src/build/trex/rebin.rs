//! Changes the bins of templates: `Rebin`, `Rebinning`, and `Binning` of histograms.

use std::collections::HashMap;

use super::auto_bins;
use super::config::{Config, Rebin};
use super::plan::Key;
use crate::build::fields::Reader;
use crate::build::sources::Filled;
use crate::pyhf::names::{quoted, show};

/// Part of the width of a bin by which an edge may differ from that of the histogram.
const TOLERANCE: f64 = 1e-6;

/// Gives the templates of all regions their new bins. Problems go to the report.
pub(super) fn apply(config: &Config, templates: &mut HashMap<Key, Filled>, reader: &mut Reader) {
    for (r, region) in config.regions.iter().enumerate() {
        for (line, rebin) in &region.rebin {
            let found;
            let rebin = match rebin {
                Rebin::Automatic(how) => match auto_bins::edges(config, r, *how, templates) {
                    Some(edges) => {
                        found = Rebin::Edges(edges);
                        &found
                    }
                    None => {
                        let message = format!(
                            "Region {}: automatic bins need events of a signal and of a background.",
                            quoted(&region.name)
                        );
                        reader.error(*line, message, "Write the edges.");
                        continue;
                    }
                },
                other => other,
            };
            let mut said = false;
            for (_, filled) in templates.iter_mut().filter(|((of, ..), _)| *of == r) {
                match ends(&filled.edges, rebin) {
                    Ok(ends) => filled.regroup(&ends, config.job.outside),
                    Err(problem) if !said => {
                        said = true;
                        let message = format!("Region {}: {problem}", quoted(&region.name));
                        reader.error(*line, message, "Write edges of the histograms' bins.");
                    }
                    Err(_) => {}
                }
            }
        }
    }
}

/// Returns the indices of the old edges that are the new ones.
fn ends(edges: &[f64], rebin: &Rebin) -> Result<Vec<usize>, String> {
    let n = edges.len().saturating_sub(1);
    match rebin {
        Rebin::Merge(by) if *by > n => Err(format!("The histograms have {n} bins, fewer than {by}.")),
        Rebin::Merge(by) => Ok((0..=n / by).map(|i| i * by).collect()),
        Rebin::Edges(wanted) => wanted
            .iter()
            .map(|edge| {
                let at = edges.partition_point(|known| known < edge);
                let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
                let width = (edges.last().unwrap_or(&0.0) - edges.first().unwrap_or(&0.0)) / n.max(1) as f64;
                near.into_iter()
                    .find(|i| edges.get(*i).is_some_and(|known| (known - edge).abs() <= TOLERANCE * width))
                    .ok_or_else(|| format!("The histograms have no edge at {}.", show(*edge)))
            })
            .collect(),
        // They were replaced by edges.
        Rebin::Automatic(_) => Ok((0..=n).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::describe::Template;

    fn filled() -> Filled {
        let values = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        let template = Template { variances: Some(values.clone()), values };
        Filled { template, edges: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], beyond: [0.5, 0.25] }
    }

    #[test]
    fn bins_are_merged_and_what_is_left_over_is_beyond() {
        let mut merged = filled();
        merged.regroup(&ends(&filled().edges, &Rebin::Merge(2)).unwrap_or_default(), false);
        assert_eq!((merged.template.values, merged.edges), (vec![3.0, 12.0], vec![0.0, 2.0, 4.0]));
        assert_eq!(merged.beyond, [0.5, 16.25]);
        let mut inner = filled();
        inner.regroup(&ends(&filled().edges, &Rebin::Edges(vec![1.0, 3.0, 4.0])).unwrap_or_default(), true);
        assert_eq!(inner.template.values, [7.0, 24.0]);
        assert_eq!(inner.template.variances, Some(vec![7.0, 24.0]));
        assert!(ends(&filled().edges, &Rebin::Edges(vec![0.0, 2.5])).is_err());
        assert!(ends(&filled().edges, &Rebin::Merge(6)).is_err());
    }
}
