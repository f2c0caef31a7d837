//! The templates of a systematic: read for it, those of another sample, or the relative change of a reference sample.

use std::collections::HashMap;

use super::config::{Config, Sample, Systematic};
use super::plan::{Key, Side};
use crate::build::describe::{Smoothing, Symmetrise};
use crate::build::fields::Reader;
use crate::build::sources::Filled;
use crate::build::workspace::finished;
use crate::pyhf::names::quoted;

/// Content that an empty or negative bin gets before it is a divisor, as in TRExFitter.
const EMPTY: f64 = 1e-6;
/// Relative change of a sum that is none.
const NONE: f64 = 1e-4;

/// Finds the templates of systematics.
pub(super) struct Variations<'a> {
    pub(super) config: &'a Config,
    pub(super) templates: &'a HashMap<Key, Filled>,
}

/// Which sample of which region a template is for, by their indices.
#[derive(Clone, Copy)]
pub(super) struct For {
    pub(super) region: usize,
    pub(super) sample: usize,
    pub(super) systematic: usize,
}

impl Variations<'_> {
    /// Returns the template of one direction, in events; `None` if the systematic has none. Problems go to the report.
    pub(super) fn template(&self, of: For, side: Side, reader: &mut Reader) -> Option<Vec<f64>> {
        let systematic = self.config.systematics.get(of.systematic)?;
        if side == Side::Up && systematic.only_down() {
            let down = self.template(of, Side::Down, reader)?;
            let nominal = self.templates.get(&(of.region, of.sample, None))?;
            let nominal = scaled(&nominal.template.values, self.scale(self.config.samples.get(of.sample)?));
            return Some(mirrored(&down, &nominal));
        }
        let varied = self.unscaled(of, side, reader)?;
        let [up, down] = systematic.scale;
        let by = if side == Side::Up { up } else { down };
        if by == 1.0 {
            return Some(varied);
        }
        let nominal = self.templates.get(&(of.region, of.sample, None))?;
        let nominal = scaled(&nominal.template.values, self.scale(self.config.samples.get(of.sample)?));
        Some(varied.iter().zip(&nominal).map(|(v, n)| n + by * (v - n)).collect())
    }

    fn unscaled(&self, of: For, side: Side, reader: &mut Reader) -> Option<Vec<f64>> {
        let systematic = self.config.systematics.get(of.systematic)?;
        let other = match side {
            Side::Up => &systematic.samples[0],
            Side::Down => &systematic.samples[1],
        };
        if let Some(other) = other {
            let (filled, scale) = self.of_sample(other, of.region, systematic, reader)?;
            return Some(scaled(&filled.template.values, scale));
        }
        let sample = self.config.samples.get(of.sample)?;
        let filled = self.templates.get(&(of.region, of.sample, Some((of.systematic, side))))?;
        let scale = self.scale(sample);
        let varied = scaled(&filled.template.values, scale);
        if let Some(subtracted) = systematic.subtracted.as_ref().filter(|other| other.sample != sample.name) {
            return self.without(&subtracted.sample, &varied, of, side, reader);
        }
        let Some((reference, keep_sum)) = &systematic.reference else { return Some(varied) };
        if *reference == sample.name {
            return Some(varied);
        }
        let nominal = self.templates.get(&(of.region, of.sample, None))?;
        let (reference, reference_scale) = self.of_sample(reference, of.region, systematic, reader)?;
        let beyond = |filled: &Filled, scale: f64| filled.beyond.map(|x| x * scale);
        let cells =
            |values: &[f64], beyond: [f64; 2]| -> Vec<f64> { [&beyond[..1], values, &beyond[1..]].concat() };
        let change = Change {
            nominal: cells(&scaled(&nominal.template.values, scale), beyond(nominal, scale)),
            reference: cells(
                &scaled(&reference.template.values, reference_scale),
                beyond(reference, reference_scale),
            ),
            varied: cells(&varied, beyond(filled, scale)),
        };
        let all = change.applied(*keep_sum);
        Some(all.get(1..all.len().saturating_sub(1)).unwrap_or_default().to_vec())
    }

    /// Returns a template from whose relative change that of the sample `name` is subtracted. In bins where that sample has
    /// nothing, nothing changes. Problems go to the report.
    fn without(
        &self,
        name: &str,
        varied: &[f64],
        of: For,
        side: Side,
        reader: &mut Reader,
    ) -> Option<Vec<f64>> {
        let systematic = self.config.systematics.get(of.systematic)?;
        let (reference, _) = self.of_sample(name, of.region, systematic, reader)?;
        let reference = &reference.template.values;
        let at = self.config.samples.iter().enumerate().filter(|(_, sample)| sample.name == name);
        let mut changed =
            at.filter_map(|(at, _)| self.templates.get(&(of.region, at, Some((of.systematic, side)))));
        let Some(changed) = changed.next() else {
            let message = format!(
                "Systematic {}: nothing says how it changes the sample {}, whose change is to be subtracted.",
                quoted(&systematic.name),
                quoted(name)
            );
            let remedy = "Add settings that end in 'UpRefSample' and 'DownRefSample' for data, such as 'HistoNameUpRefSample'.";
            reader.error(systematic.line, message, remedy);
            return None;
        };
        let nominal = self.templates.get(&(of.region, of.sample, None))?;
        let nominal = scaled(&nominal.template.values, self.scale(self.config.samples.get(of.sample)?));
        Some(subtracted(varied, &nominal, reference, &changed.template.values))
    }

    /// Returns the factor that turns the contents of a sample's histograms into events.
    pub(super) fn scale(&self, sample: &Sample) -> f64 {
        sample.scale * if sample.by_theory { self.config.job.lumi } else { 1.0 }
    }

    /// Returns the ratios of the templates upwards and downwards of the sample `name` to its nominal template, once they are
    /// smoothed and symmetric; 1 in bins where it has nothing. Problems go to the report.
    pub(super) fn smoothed_change(
        &self,
        name: &str,
        of: For,
        reader: &mut Reader,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let systematic = self.config.systematics.get(of.systematic)?;
        let (reference, scale) = self.of_sample(name, of.region, systematic, reader)?;
        let nominal = scaled(&reference.template.values, scale);
        let variances = reference.template.variances.as_deref().unwrap_or_default();
        let sigmas: Vec<f64> = variances.iter().map(|v| v.sqrt() * scale).collect();
        let sample = self.config.samples.iter().position(|sample| sample.name == name)?;
        let at = For { sample, ..of };
        let (up, down) = (self.template(at, Side::Up, reader), self.template(at, Side::Down, reader));
        let down = down.filter(|_| systematic.symmetrise != Symmetrise::Mirror || systematic.only_down());
        let symmetrise = if systematic.only_down() { Symmetrise::None } else { systematic.symmetrise };
        // Bins that are independent have no shape.
        let smoothed = systematic.smoothing > 0 && !systematic.uncorrelated;
        let smooth = smoothed.then_some(Smoothing::Merge(systematic.smoothing));
        let finished = up
            .as_deref()
            .and_then(|up| finished((&nominal, &sigmas), (up, down.as_deref()), symmetrise, smooth));
        let Some(finished) = finished else {
            let message = format!(
                "Systematic {}: the sample {} of 'ReferenceSmoothing' has no templates of it.",
                quoted(&systematic.name),
                quoted(name)
            );
            reader.error(systematic.line, message, "Add the sample to 'Samples', or name one of them.");
            return None;
        };
        let (up, down) = finished.split.together();
        let ratio = |varied: Vec<f64>| {
            varied.iter().zip(&nominal).map(|(v, n)| if *n > EMPTY { v / n } else { 1.0 }).collect()
        };
        Some((ratio(up), ratio(down)))
    }

    /// Returns the nominal template of a sample by its name, with its scale.
    fn of_sample(
        &self,
        name: &str,
        region: usize,
        systematic: &Systematic,
        reader: &mut Reader,
    ) -> Option<(&Filled, f64)> {
        let mut all = self.config.samples.iter().enumerate().filter(|(_, sample)| sample.name == name);
        let found = all.find_map(|(at, sample)| {
            self.templates.get(&(region, at, None)).map(|filled| (filled, self.scale(sample)))
        });
        if found.is_none() {
            let region = self.config.regions.get(region).map_or("", |region| region.name.as_str());
            let message = format!(
                "Systematic {}: the sample {} has no template in region {}.",
                quoted(&systematic.name),
                quoted(name),
                quoted(region)
            );
            reader.error(systematic.line, message, "Correct the name, or give the sample this region.");
        }
        found
    }
}

/// A relative change that is carried over to another template. All arrays have underflow and overflow.
struct Change {
    nominal: Vec<f64>,
    reference: Vec<f64>,
    varied: Vec<f64>,
}

impl Change {
    /// Returns the nominal template times the ratio of the varied one to the reference. With `keep_sum`, its sum changes by
    /// the same ratio as that of the reference.
    fn applied(&self, keep_sum: bool) -> Vec<f64> {
        let reference: Vec<f64> = self.reference.iter().map(|x| x.max(EMPTY)).collect();
        let mut varied: Vec<f64> = self.varied.iter().map(|x| x.max(EMPTY)).collect();
        for (v, r) in varied.iter_mut().zip(&reference) {
            if *r <= EMPTY {
                *v = EMPTY;
            }
        }
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        let of_reference = sum(&varied) / sum(&reference);
        let mut out: Vec<f64> =
            varied.iter().zip(&reference).zip(&self.nominal).map(|((v, r), n)| v / r * n).collect();
        let of_sample = sum(&out) / sum(&self.nominal);
        if keep_sum && (of_reference - 1.0).abs() > NONE && (of_sample - 1.0).abs() > NONE {
            out.iter_mut().for_each(|x| *x *= of_reference / of_sample);
        }
        out
    }
}

/// Returns `varied` without the relative change from `reference` to `changed`: v + n - n c / r.
fn subtracted(varied: &[f64], nominal: &[f64], reference: &[f64], changed: &[f64]) -> Vec<f64> {
    let bins = varied.iter().zip(nominal).zip(reference.iter().zip(changed));
    bins.map(|((v, n), (r, c))| if *r > EMPTY { v + n - n * c / r } else { *n }).collect()
}

/// Reflects a template at the nominal one. No bin becomes negative.
fn mirrored(varied: &[f64], nominal: &[f64]) -> Vec<f64> {
    varied.iter().zip(nominal).map(|(v, n)| (2.0 * n - v).max(0.0)).collect()
}

fn scaled(values: &[f64], scale: f64) -> Vec<f64> {
    values.iter().map(|value| value * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_changes_are_carried_over() {
        let change = Change {
            nominal: vec![0.0, 10.0, 30.0, 0.0],
            reference: vec![0.0, 4.0, 4.0, 0.0],
            varied: vec![0.0, 6.0, 4.0, 0.0],
        };
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(&change.applied(false), &[0.0, 15.0, 30.0, 0.0]));
        // The reference grows by a quarter.
        assert!(close(&change.applied(true), &[0.0, 50.0 / 3.0, 100.0 / 3.0, 0.0]));
    }

    #[test]
    fn the_change_of_a_reference_is_subtracted() {
        // Plus 20 % and 0 %, less 5 % and 10 %; a bin without reference does not change.
        let template =
            subtracted(&[12.0, 30.0, 6.0], &[10.0, 30.0, 5.0], &[40.0, 20.0, 0.0], &[42.0, 22.0, 3.0]);
        let wanted = [11.5, 27.0, 5.0];
        assert!(template.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{template:?}");
    }
}
