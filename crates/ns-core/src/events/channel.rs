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
    /// Blinded ranges (lower and upper end). Plots show no data in these ranges. The likelihood includes them as if
    /// they were not blinded.
    pub blind: Vec<(f64, f64)>,
}

/// How the content of a bin is compared with a continuous density.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinRule {
    /// The content of a bin is compared with the density at the bin's centre, as in RooFit.
    Center,
    /// The content of a bin is compared with the mean of the density over the bin.
    Integral,
}

/// Bins of a channel whose data are a histogram. The data are stored as a table with one event per bin. This event lies
/// at the bin centre, and its weight is the content of the bin. The bin index of the last observable varies fastest.
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
    /// Expected number of events of the process in the boxes [`EventChannel::references`], if the number of events is part
    /// of the likelihood ([`EventChannel::extended`]). Otherwise the fraction of the events in these boxes that belong to
    /// the process.
    pub rate: Value,
    /// Density of the observables, normalised over the boxes [`EventChannel::references`].
    pub density: Density,
}

/// A region of the analysis whose data are single events.
///
/// The channel adds `sum_k nu_k - sum_i w_i ln(sum_k nu_k p_k(x_i))` to `-ln L`, with the rates `nu_k` and densities
/// `p_k` of the processes, and the weights `w_i` of the events. If [`EventChannel::extended`] is false, the first sum
/// is absent. If rates refer to other boxes than the fit ranges, `sum_k nu_k p_k` is the same, and the first sum is its
/// integral over the fit ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct EventChannel {
    /// Name of the channel in the file.
    pub name: String,
    /// Observables, in the order of the columns of the channel's [`crate::EventTable`].
    pub observables: Vec<Observable>,
    /// Fit ranges: boxes that do not overlap. Only events inside a box are fitted. A box has a lower and an upper limit
    /// for each observable. If the list is empty, the whole axes are fitted.
    pub ranges: Vec<Vec<(f64, f64)>>,
    /// The boxes to which rates and coefficients of mixtures refer, such as the whole axes although side bands alone are
    /// fitted. If the list is empty, they refer to the fit ranges.
    pub reference: Vec<Vec<(f64, f64)>>,
    /// Whether the number of events is part of the likelihood ("extended likelihood"). If false, the likelihood depends
    /// only on the distribution of the events.
    pub extended: bool,
    /// The processes of the channel. The density of the channel is the sum of the densities of the processes, weighted
    /// with their rates.
    pub processes: Vec<Process>,
    /// Bins of the data, if the data are a histogram.
    pub binning: Option<Binning>,
}

impl EventChannel {
    /// Returns the boxes whose events are fitted: the fit ranges, or one box of the whole axes. A
    /// box has a lower and an upper limit for each observable.
    #[must_use]
    pub fn boxes(&self) -> Vec<Vec<(f64, f64)>> {
        if self.ranges.is_empty() {
            vec![self.observables.iter().map(|o| (o.min, o.max)).collect()]
        } else {
            self.ranges.clone()
        }
    }

    /// Returns whether all densities of the channel are formulae ([`Density::has_formula`]).
    #[must_use]
    pub fn has_formulas(&self) -> bool {
        self.processes.iter().all(|process| process.density.has_formula())
    }

    /// Returns the boxes over which the densities of processes are normalised, and to which rates and coefficients refer:
    /// [`EventChannel::reference`], or the fit ranges.
    #[must_use]
    pub fn references(&self) -> Vec<Vec<(f64, f64)>> {
        if self.reference.is_empty() { self.boxes() } else { self.reference.clone() }
    }
}
