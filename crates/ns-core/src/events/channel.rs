//! Regions of an analysis in which single events are fitted.

use super::{Density, Value};

/// A quantity that is measured for every event.
#[derive(Debug, Clone, PartialEq)]
pub struct Observable {
    /// Name of the observable in the file.
    pub name: String,
    /// Lower end of the observable's axis.
    pub min: f64,
    /// Upper end of the observable's axis.
    pub max: f64,
    /// Blinded ranges: pictures show no data there. They do not change the likelihood.
    pub blind: Vec<(f64, f64)>,
}

/// How the content of a bin is compared with a continuous density.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinRule {
    /// By the density at the bin's centre, as by RooFit.
    Center,
    /// By the mean of the density over the bin.
    Integral,
}

/// Bins of a channel whose data are a histogram. Such data are a table of events at the bin centres, weighted
/// with the contents; the last observable varies fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Binning {
    /// Bin edges of each observable, ascending.
    pub edges: Vec<Vec<f64>>,
    /// How the content of a bin is compared with the density.
    pub rule: BinRule,
}

/// One process in an event channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Name of the process in the file.
    pub name: String,
    /// Expected number of events in the fit ranges if the channel is extended, otherwise the fraction of
    /// events.
    pub rate: Value,
    /// Density of the observables, normalised over the fit ranges.
    pub density: Density,
}

/// A region of the analysis in which every event has a density.
///
/// Its term of `-ln L` is `sum_k nu_k - sum_i w_i ln sum_k nu_k p_k(x_i)` with rates `nu_k`, densities `p_k`
/// and event weights `w_i`; without the first sum if the channel is not extended.
#[derive(Debug, Clone, PartialEq)]
pub struct EventChannel {
    /// Name of the channel in the file.
    pub name: String,
    /// Observables, in the order of the columns of the channel's [`crate::EventTable`].
    pub observables: Vec<Observable>,
    /// Fit ranges: a union of boxes that do not overlap, each with a lower and upper limit per observable.
    /// Empty: the whole axes.
    pub ranges: Vec<Vec<(f64, f64)>>,
    /// Whether the number of events is part of the likelihood.
    pub extended: bool,
    /// Processes whose densities add up.
    pub processes: Vec<Process>,
    /// Bins of the data, if they are a histogram.
    pub binning: Option<Binning>,
}

impl EventChannel {
    /// Returns the boxes over which densities are normalised: the fit ranges, or the whole axes.
    #[must_use]
    pub fn boxes(&self) -> Vec<Vec<(f64, f64)>> {
        if self.ranges.is_empty() {
            vec![self.observables.iter().map(|o| (o.min, o.max)).collect()]
        } else {
            self.ranges.clone()
        }
    }
}
