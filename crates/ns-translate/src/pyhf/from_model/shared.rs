//! Uncertainties of the simulation that samples of a channel share.

use ns_core::{Channel, Modifier};

/// The yields of the samples of a channel that share a modifier with per-bin factors, for each bin.
pub(super) struct Shared {
    /// Nominal yield summed over these samples.
    pub(super) sums: Vec<f64>,
    /// The same sum over the samples whose yield in the bin is positive.
    positive: Vec<f64>,
}

impl Shared {
    /// `first` is the index of the parameter that is the first of the factors.
    pub(super) fn of(channel: &Channel, first: usize) -> Self {
        let mut out = Self { sums: vec![0.0; channel.n_bins], positive: vec![0.0; channel.n_bins] };
        let acts = |modifier: &Modifier| modifier.first == first && modifier.effect.per_bin();
        for sample in channel.samples.iter().filter(|sample| sample.modifiers.iter().any(acts)) {
            for ((sum, positive), x) in out.sums.iter_mut().zip(&mut out.positive).zip(&sample.nominal) {
                *sum += x;
                *positive += x.max(0.0);
            }
        }
        out
    }

    /// Shares the uncertainties of the sums among the samples: pyhf adds those of the samples up in quadrature. A sample has the
    /// part of the variance that it has of the positive yields, as if all its events had the same weight, so that a sample that is
    /// removed later takes only its part along. Without positive yields the first sample has all.
    pub(super) fn part(&self, uncertainties: &[f64], nominal: &[f64], first: bool) -> Vec<f64> {
        let of = |((uncertainty, n), positive): ((&f64, &f64), &f64)| match *positive > 0.0 {
            true => uncertainty * (n.max(0.0) / positive).sqrt(),
            false if first => *uncertainty,
            false => 0.0,
        };
        uncertainties.iter().zip(nominal).zip(&self.positive).map(of).collect()
    }
}
