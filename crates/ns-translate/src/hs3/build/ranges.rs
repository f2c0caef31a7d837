//! Fit ranges of a channel, and the ranges to which its rates refer.

use crate::hs3::document::{Distribution, Likelihood, Placed};
use crate::pyhf::names::{quoted, show};

use super::Builder;
use super::channel::Space;

/// Largest number of boxes into which the fit ranges of all observables are divided.
const MOST: usize = 1000;

/// A box: one (lower, upper) pair per observable.
type Box = Vec<(f64, f64)>;

impl Builder<'_, '_> {
    /// Returns the fit ranges as boxes. The list is empty if the likelihood has no fit ranges. `edges` has the bin edges of
    /// each observable, if the data are a histogram.
    pub(super) fn ranges(
        &mut self,
        likelihood: &Likelihood,
        space: &Space,
        edges: Option<&[Vec<f64>]>,
    ) -> Vec<Box> {
        if !likelihood.regions.is_empty() {
            return self.regions(likelihood, space, edges);
        }
        let mut boxes: Vec<Box> = vec![Vec::new()];
        let mut restricted = false;
        for (i, observable) in space.observables.iter().enumerate() {
            let whole = vec![(observable.min, observable.max)];
            let given = likelihood.ranges.iter().find(|(name, _)| *name == observable.name);
            let pairs = given.map_or(&whole, |(_, ranges)| &ranges.value);
            if let Some((_, ranges)) = given {
                restricted = true;
                for (k, &pair) in pairs.iter().enumerate() {
                    self.check_range(format!("{}/{k}", ranges.path), pair, (space, i), edges);
                }
            }
            let grown = boxes.iter().flat_map(|region| {
                pairs.iter().map(move |pair| region.iter().copied().chain([*pair]).collect::<Vec<_>>())
            });
            boxes = grown.take(MOST + 1).collect();
        }
        if boxes.len() > MOST {
            let message = format!("The fit ranges of all observables make more than {MOST} boxes.");
            self.report.error(String::new(), message, "Use fewer ranges.");
        }
        if restricted { boxes } else { Vec::new() }
    }

    /// Returns the boxes of fit ranges that are given for several observables together.
    fn regions(&mut self, likelihood: &Likelihood, space: &Space, edges: Option<&[Vec<f64>]>) -> Vec<Box> {
        let mut boxes: Vec<Box> = Vec::new();
        for region in &likelihood.regions {
            let mut sides = Vec::with_capacity(space.observables.len());
            for (i, observable) in space.observables.iter().enumerate() {
                let given = region.value.iter().find(|(name, _)| *name == observable.name);
                if let Some((name, pair)) = given {
                    self.check_range(format!("{}/{name}", region.path), *pair, (space, i), edges);
                }
                sides.push(given.map_or((observable.min, observable.max), |(_, pair)| *pair));
            }
            let overlap = |other: &Box| other.iter().zip(&sides).all(|(a, b)| a.0 < b.1 && b.0 < a.1);
            if boxes.iter().any(overlap) {
                let remedy = "Write boxes that do not overlap.";
                self.report.error(region.path.clone(), "The box overlaps an earlier one.", remedy);
            }
            boxes.push(sides);
        }
        if boxes.len() > MOST {
            let message = format!("There are more than {MOST} boxes of fit ranges.");
            self.report.error(String::new(), message, "Use fewer ranges.");
        }
        boxes
    }

    /// Reports a fit range that leaves the axis of the observable with the index `i`, or does not end at edges of bins.
    fn check_range(
        &mut self,
        path: String,
        (from, to): (f64, f64),
        (space, i): (&Space, usize),
        edges: Option<&[Vec<f64>]>,
    ) {
        let Some(observable) = space.observables.get(i) else { return };
        let name = quoted(&observable.name);
        let own = edges.and_then(|edges| edges.get(i));
        if from < observable.min || to > observable.max {
            self.report.error(
                path,
                format!(
                    "The fit range from {} to {} lies outside of the axis {name} from {} to {}.",
                    show(from),
                    show(to),
                    show(observable.min),
                    show(observable.max)
                ),
                "Correct the range.",
            );
        } else if own.is_some_and(|edges| !edges.contains(&from) || !edges.contains(&to)) {
            let message = format!(
                "The fit range from {} to {} does not end at bin edges of {name}.",
                show(from),
                show(to)
            );
            self.report.error(path, message, "Let fit ranges begin and end at bin edges.");
        }
    }

    /// Returns the boxes to which rates and coefficients of the distributions `shapes` refer; `None` if these are the fit
    /// ranges.
    pub(super) fn reference(
        &mut self,
        likelihood: &Likelihood,
        shapes: &[usize],
        space: &Space,
    ) -> Option<Vec<Box>> {
        let whole: Box = space.observables.iter().map(|axis| (axis.min, axis.max)).collect();
        let word = likelihood.coefficients.as_ref();
        let axes = match word.map(|word| word.value.as_str()) {
            Some("axes") => Some(vec![whole.clone()]),
            Some("ranges") | None => None,
            Some(other) => {
                let message = format!("{} is nothing that rates can refer to.", quoted(other));
                let path = word.map(|word| word.path.clone()).unwrap_or_default();
                self.report.error(path, message, "Write \"ranges\" or \"axes\".");
                None
            }
        };
        let index = self.index;
        let named = shapes.iter().find_map(|&i| match &index.document.distributions.get(i)?.content {
            Distribution::RateExtended { range, .. } => range.as_ref(),
            _ => None,
        });
        let Some(range) = named else { return axes };
        if word.is_some() {
            self.report.error(
                range.path.clone(),
                "The rate belongs to a range, and the likelihood has 'nextstat.coefficients' too.",
                "Remove one of the two.",
            );
        }
        self.domain(range, space, whole).map(|sides| vec![sides])
    }

    /// Returns the box of a domain with a name. An observable that it lacks has its whole axis.
    fn domain(&mut self, range: &Placed<String>, space: &Space, mut sides: Box) -> Option<Box> {
        let Some(domain) = self.index.document.domains.iter().find(|domain| domain.name == range.value)
        else {
            self.report.error(
                range.path.clone(),
                format!("There is no domain {}, to which the rate belongs.", quoted(&range.value)),
                "Add a product_domain of this name, or leave the range out.",
            );
            return None;
        };
        for (observable, side) in space.observables.iter().zip(&mut sides) {
            let Some(axis) = domain.content.iter().find(|axis| axis.name == observable.name) else {
                continue;
            };
            let (from, to) = (axis.min.unwrap_or(side.0), axis.max.unwrap_or(side.1));
            if from < to && from >= side.0 && to <= side.1 {
                *side = (from, to);
                continue;
            }
            self.report.error(
                axis.path.clone(),
                format!(
                    "The range {} of {} from {} to {} is empty or leaves the axis from {} to {}.",
                    quoted(&range.value),
                    quoted(&observable.name),
                    show(from),
                    show(to),
                    show(side.0),
                    show(side.1)
                ),
                "Correct the range, or widen the axis of the data.",
            );
        }
        Some(sides)
    }
}
