//! Bins that TRExFitter finds by itself (`Binning: "AutoBin"`): fine bins are merged from the highest on, until each has its
//! share of signal and background. Source: the transformations D and F of TRExFitter's documentation.

use std::collections::HashMap;

use super::config::{Automatic, Config, Sample};
use super::plan::Key;
use crate::build::sources::Filled;

/// Number of bins that columns are filled into before they are merged.
pub(super) const FINE_BINS: usize = 10_000;
/// Largest relative statistical uncertainty of the background in a bin of transformation F.
const LARGEST_ERROR: f64 = 0.10;

/// Reads `"AutoBin","TransfoD",signal,background`, or the same with `TransfoF`. `None` if it is something else.
pub(super) fn automatic(values: &[String]) -> Option<Automatic> {
    let [auto, kind, signal, background] = values else { return None };
    let number = |text: &String| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let with_statistics = match kind.as_str() {
        "TransfoD" => false,
        "TransfoF" => true,
        _ => return None,
    };
    let (signal, background) = (number(signal)?, number(background)?);
    (auto == "AutoBin" && signal + background > 0.0).then_some(Automatic {
        with_statistics,
        signal,
        background,
    })
}

/// Contents of the fine bins: background, its variance, signal.
struct Bin {
    background: f64,
    variance: f64,
    signal: f64,
}

/// Returns the edges of the bins of a region. `None` without events of a signal and of a background.
pub(super) fn edges(
    config: &Config,
    region: usize,
    how: Automatic,
    templates: &HashMap<Key, Filled>,
) -> Option<Vec<f64>> {
    let mut edges: Option<&Vec<f64>> = None;
    let mut bins: Vec<Bin> = Vec::new();
    for (s, sample) in config.samples.iter().enumerate().filter(|(_, s)| !s.data && !s.ghost) {
        let Some(filled) = templates.get(&(region, s, None)) else { continue };
        edges = edges.or(Some(&filled.edges));
        let n = filled.template.values.len();
        if bins.len() < n {
            bins.resize_with(n, || Bin { background: 0.0, variance: 0.0, signal: 0.0 });
        }
        add(&mut bins, sample, filled, scale(config, sample));
    }
    let sum = |of: fn(&Bin) -> f64| bins.iter().map(of).sum::<f64>();
    let (signal, background) = (sum(|bin| bin.signal), sum(|bin| bin.background));
    if !(signal > 0.0 && background > 0.0) {
        return None;
    }
    let edges = edges?;
    let merged = merged(&bins, how, (signal, background));
    let chosen: Vec<f64> = merged.iter().filter_map(|at| edges.get(*at)).copied().collect();
    (chosen.len() == merged.len()).then_some(chosen)
}

/// The factor that turns the contents of a sample's histograms into events.
fn scale(config: &Config, sample: &Sample) -> f64 {
    sample.scale * if sample.by_theory { config.job.lumi } else { 1.0 }
}

fn add(bins: &mut [Bin], sample: &Sample, filled: &Filled, scale: f64) {
    let variances = filled.template.variances.as_deref().unwrap_or_default();
    for (at, (bin, value)) in bins.iter_mut().zip(&filled.template.values).enumerate() {
        if sample.signal {
            bin.signal += scale * value;
        } else {
            bin.background += scale * value;
            bin.variance += scale * scale * variances.get(at).copied().unwrap_or(0.0);
        }
    }
}

/// Returns the indices of the edges that remain, in ascending order. `totals` are the sums of signal and background.
fn merged(bins: &[Bin], how: Automatic, (signal, background): (f64, f64)) -> Vec<usize> {
    // Lowest fine bin of each new bin, counted from 1, from the highest on.
    let mut lowest = vec![bins.len() + 1];
    let mut at = bins.len();
    while at > 0 {
        let mut sums = Sums::default();
        let mut before = f64::INFINITY;
        let mut passed = false;
        while !passed && at > 0 {
            let Some(bin) = bins.get(at - 1) else { break };
            sums.add(bin);
            let wanted = sums.wanted(how, signal, background);
            passed = wanted > 0.0
                && wanted < 1.0
                && (!how.with_statistics || sums.relative_error() < LARGEST_ERROR);
            // With transformation D, a bin that is nearer to its share without this one ends before it.
            let distance = if how.with_statistics { f64::INFINITY } else { (wanted - 1.0).abs() };
            if !(passed && distance > before) {
                at -= 1;
            }
            before = distance;
        }
        // What is left over at the end belongs to the last bin.
        let too_many = lowest.len() as f64 > how.signal + how.background + 0.01;
        if at == 0 && lowest.len() > 1 && (how.with_statistics || too_many) {
            lowest.pop();
        }
        lowest.push(at + 1);
    }
    let inner = lowest.iter().skip(1).take(lowest.len().saturating_sub(2)).rev().map(|bin| bin - 1);
    std::iter::once(0).chain(inner).chain([bins.len()]).collect()
}

/// Sums over the fine bins of a new bin.
#[derive(Default)]
struct Sums {
    signal: f64,
    background: f64,
    variance: f64,
    /// Sum of `s ln(1 + s/b)`.
    separation: f64,
}

impl Sums {
    fn add(&mut self, bin: &Bin) {
        self.signal += bin.signal;
        self.background += bin.background;
        self.variance += bin.variance;
        if bin.signal > 0.0 && bin.background > 0.0 {
            self.separation += bin.signal * (bin.signal / bin.background).ln_1p();
        }
    }

    /// Returns what is compared with 1: the inverse of the share that the new bin has.
    fn wanted(&self, how: Automatic, signal: f64, background: f64) -> f64 {
        let share = if how.with_statistics {
            (self.background / (background / how.background)).sqrt() + (self.separation * how.signal).sqrt()
        } else {
            self.background / (background / how.background) + self.signal / (signal / how.signal)
        };
        // Nothing is no share.
        if self.signal == 0.0 && self.background == 0.0 { 1.0 } else { 1.0 / share }
    }

    fn relative_error(&self) -> f64 {
        if self.background == 0.0 {
            1.0
        } else {
            (self.variance / (self.background * self.background)).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_equal_shares() {
        let bins: Vec<Bin> =
            (0..100).map(|i| Bin { background: 1.0, variance: 0.01, signal: f64::from(i >= 50) }).collect();
        let how = Automatic { with_statistics: false, signal: 2.0, background: 2.0 };
        let found = merged(&bins, how, (50.0, 100.0));
        // Each of the upper 50 bins has a share of 2/50 + 2/100, each of the lower ones 2/100.
        assert_eq!(found.first(), Some(&0));
        assert_eq!(found.last(), Some(&100));
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        let upper = found.iter().rev().nth(1).copied().unwrap_or_default();
        assert!((82..=84).contains(&upper), "{found:?}");
        assert_eq!(found.len(), 5, "{found:?}");
    }

    #[test]
    fn only_both_transformations_are_read() {
        let read = |words: &[&str]| automatic(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert!(read(&["AutoBin", "TransfoD", "3", "3"]).is_some());
        assert!(read(&["AutoBin", "TransfoF", "3", "0"]).is_some());
        assert!(read(&["AutoBin", "TransfoJ", "3", "3"]).is_none());
        assert!(read(&["AutoBin", "TransfoD", "0", "0"]).is_none());
    }
}
