//! Removes systematics that hardly change their sample.
//!
//! The size of an effect is defined as in TRExFitter's pruning, separately for normalisation and shape, for
//! each sample of each channel. A normsys changes only the normalisation. The normalisation effect of a
//! histosys is the relative change of the sum over the bins. Its shape effect in a bin is the relative change
//! of the bin after the template is scaled back to the nominal sum.

use std::collections::HashSet;

use super::super::document::{Document, Effect};
use super::super::names::quoted;
use super::edited::Log;
use super::prune::for_each_sample;

/// Thresholds for the relative effects of modifiers. A modifier whose effects do not exceed them is removed.
pub(super) struct Thresholds {
    pub(super) norm: f64,
    /// Largest shape effect of a histosys that is removed. If it is `None`, no histosys is removed.
    pub(super) shape: Option<f64>,
}

/// The size of the effect of a histosys: the largest absolute relative change of the normalisation, and of the shape
/// in any bin. Both the up and the down variation are considered.
struct Size {
    norm: f64,
    shape: f64,
}

/// Removes the modifiers whose effects do not exceed the thresholds. Adds one change per removed modifier to the log,
/// and the number of removed modifiers at the end.
pub(super) fn prune(document: &mut Document, thresholds: &Thresholds, log: &mut Log) {
    let pois: HashSet<String> =
        document.measurements.iter().flat_map(|m| m.config.poi.names().iter().cloned()).collect();
    let (mut norm, mut shape) = (Count::default(), Count::default());
    for_each_sample(document, |channel, sample| {
        let place = format!("channel {}, sample {}", quoted(&channel.name), quoted(&sample.name));
        let path = sample.path(channel);
        let nominal = &sample.data;
        sample.modifiers.retain(|modifier| {
            let (count, what) = match &modifier.effect {
                Effect::NormSys { lo, hi } => {
                    let size = (lo - 1.0).abs().max((hi - 1.0).abs());
                    (&mut norm, within(size, thresholds.norm).then(|| percent("normalisation", size)))
                }
                Effect::HistoSys { lo, hi } => {
                    let size = Size::of(nominal, lo, hi);
                    let small = thresholds.shape.is_some_and(|t| within(size.shape, t));
                    let small = small && within(size.norm, thresholds.norm);
                    let said = || {
                        format!("{}, {}", percent("shape", size.shape), percent("normalisation", size.norm))
                    };
                    (&mut shape, small.then(said))
                }
                _ => return true,
            };
            count.all += 1;
            let Some(what) = what.filter(|_| !pois.contains(&modifier.name)) else { return true };
            count.pruned += 1;
            let kind = modifier.effect.kind();
            log.change(
                format!("{path}/modifiers/{}", modifier.at),
                format!("{place}: {kind} {} ({what})", quoted(&modifier.name)),
            );
            false
        });
    });
    let histosys = thresholds.shape.map_or(String::new(), |t| {
        format!(
            "; {} of {} histosys at or below {} in shape and {} in normalisation",
            shape.pruned,
            shape.all,
            show_percent(t),
            show_percent(thresholds.norm)
        )
    });
    log.change(
        "",
        format!(
            "by effect: {} of {} normsys at or below {}{histosys}",
            norm.pruned,
            norm.all,
            show_percent(thresholds.norm)
        ),
    );
}

#[derive(Default)]
struct Count {
    pruned: usize,
    all: usize,
}

impl Size {
    /// Computes the effect of a histosys from its templates. The effect is infinite if a relative change is not
    /// defined, for example because the nominal yields are 0. Such a modifier is never removed.
    fn of(nominal: &[f64], lo: &[f64], hi: &[f64]) -> Self {
        let total: f64 = nominal.iter().sum();
        let mut size = Self { norm: 0.0, shape: 0.0 };
        for side in [lo, hi] {
            if side == nominal {
                continue;
            }
            let scale = side.iter().sum::<f64>() / total;
            let fits = side.len() == nominal.len() && scale.is_finite() && scale > 0.0;
            if !fits {
                return Self { norm: f64::INFINITY, shape: f64::INFINITY };
            }
            size.norm = size.norm.max((scale - 1.0).abs());
            for (varied, nominal) in side.iter().zip(nominal) {
                let change = if varied == nominal && *nominal == 0.0 {
                    0.0
                } else {
                    (varied / (nominal * scale) - 1.0).abs()
                };
                // The relative effect is infinite in a bin in which only the nominal yield is 0. NaN counts
                // as infinite.
                size.shape = size.shape.max(if change.is_nan() { f64::INFINITY } else { change });
            }
        }
        size
    }
}

/// Returns whether `size` is at most the threshold. Rounding errors, for example in 1.05 - 1, are tolerated.
fn within(size: f64, threshold: f64) -> bool {
    size <= threshold * (1.0 + 1e-9) + 1e-12
}

fn percent(what: &str, size: f64) -> String {
    format!("{what} {}", show_percent(size))
}

/// Formats a fraction as a percentage with three significant digits.
fn show_percent(x: f64) -> String {
    let percent = 100.0 * x;
    let digits = if percent > 0.0 { (2 - percent.log10().floor() as i32).clamp(0, 12) as usize } else { 0 };
    let text = format!("{percent:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norm_and_shape_are_told_apart() {
        // All bins increase by a tenth, which changes only the normalisation.
        let size = Size::of(&[10.0, 20.0], &[10.0, 20.0], &[11.0, 22.0]);
        assert!((size.norm - 0.1).abs() < 1e-12 && size.shape < 1e-12);
        // One event moves to the other bin, which changes only the shape. The relative change is larger in the
        // smaller bin.
        let size = Size::of(&[10.0, 20.0], &[11.0, 19.0], &[10.0, 20.0]);
        assert!(size.norm < 1e-12 && (size.shape - 0.1).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_relative_effect_is_large() {
        for (nominal, lo) in [([0.0, 0.0], [0.0, 1.0]), ([0.0, 5.0], [1e-9, 5.0]), ([1.0, 1.0], [1.0, -1.0])]
        {
            assert!(Size::of(&nominal, &lo, &nominal).shape.is_infinite(), "{nominal:?} {lo:?}");
        }
        let size = Size::of(&[0.0, 5.0], &[0.0, 5.0], &[0.0, 5.5]);
        assert!((size.norm - 0.1).abs() < 1e-12 && size.shape < 1e-12);
    }

    #[test]
    fn rounding_does_not_keep_what_is_at_the_threshold() {
        assert!(within(1.05_f64 - 1.0, 0.05) && within(1.0 - 0.95, 0.05) && within(0.0, 0.0));
        assert!(!within(0.0501, 0.05) && !within(1e-6, 0.0) && !within(f64::INFINITY, 1e9));
    }

    #[test]
    fn percentages() {
        for (x, text) in
            [(0.0, "0 %"), (0.005, "0.5 %"), (0.123_456, "12.3 %"), (1.0, "100 %"), (1e-6, "0.0001 %")]
        {
            assert_eq!(show_percent(x), text);
        }
    }
}
