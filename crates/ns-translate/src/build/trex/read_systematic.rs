//! Reads the blocks of systematics.

use super::config::{Subtracted, Systematic, Variation};
use super::decorrelate::Decorrelate;
use super::settings::Settings;
use crate::build::describe::Symmetrise;

impl Settings<'_, '_> {
    pub(super) fn systematic(&mut self, ntuples: bool) -> Option<(Systematic, Option<Decorrelate>)> {
        let kind = self.one_of("Type", &["OVERALL", "HISTO", "SHAPE", "STAT"])?;
        let (uncorrelated, statistics) = (kind == "SHAPE", kind == "STAT");
        let decorrelate = self.one_of("Decorrelate", &["REGION", "SAMPLE", "SHAPEACC"]);
        if statistics && decorrelate.as_deref() != Some("REGION") {
            let line = self.get("Type").map_or(self.block.line, |setting| setting.line);
            let message = "'Type: STAT' has no bin.".to_owned();
            self.error(line, message, "Add 'Decorrelate: REGION', which gives every bin a parameter.");
        }
        let overall = (kind == "OVERALL").then(|| {
            let (up, down) = (self.number("OverallUp"), self.number("OverallDown"));
            if up.is_none() || down.is_none() {
                let line = self.block.line;
                self.error(
                    line,
                    "It has no 'OverallUp' and 'OverallDown'.".to_owned(),
                    "Add both, such as 0.1 and -0.1.",
                );
            }
            (up.unwrap_or_default(), down.unwrap_or_default())
        });
        let symmetrise = match self.one_of("Symmetrisation", &["ONESIDED", "TWOSIDED", "ABSMEAN"]).as_deref()
        {
            Some("ONESIDED") => Symmetrise::Mirror,
            Some("TWOSIDED") => Symmetrise::TwoSided,
            Some("ABSMEAN") => Symmetrise::AbsMean,
            _ => Symmetrise::None,
        };
        let smoothing = self.number("Smoothing").unwrap_or(0.0);
        if !(0.0..100.0).contains(&smoothing) {
            let line = self.get("Smoothing").map_or(self.block.line, |setting| setting.line);
            self.error(line, "'Smoothing' is not between 0 and 99.".to_owned(), "Write 40, for example.");
        }
        let (up, down) = (self.variation(ntuples, "Up"), self.variation(ntuples, "Down"));
        let samples = [self.text("SampleUp"), self.text("SampleDown")];
        let (has_up, has_down) =
            (up.is_some() || samples[0].is_some(), down.is_some() || samples[1].is_some());
        let suffices = match symmetrise {
            _ if uncorrelated => has_up,
            Symmetrise::Mirror => has_up || has_down,
            _ => has_up && has_down,
        };
        if overall.is_none() && !statistics && !suffices {
            self.error(
                self.block.line,
                "It does not say how both templates differ from the nominal one.".to_owned(),
                "Add settings that end in Up and Down, or 'Symmetrisation: ONESIDED' with those of one direction.",
            );
        }
        let scale = [self.scale("ScaleUp"), self.scale("ScaleDown")];
        let decorrelate = decorrelate.as_deref().and_then(|word| match word {
            "REGION" => Some(Decorrelate::Regions),
            "SAMPLE" => Some(Decorrelate::Samples),
            "SHAPEACC" => Some(Decorrelate::Parts),
            _ => None,
        });
        let subtracted = self.subtracted(ntuples);
        let systematic = Systematic {
            line: self.block.line,
            name: self.name(),
            parameter: self.text("NuisanceParameter"),
            scope: self.scope(),
            overall: overall.map(|(up, down)| (up * scale[0], down * scale[1])),
            up,
            down: down.filter(|_| !uncorrelated),
            samples,
            reference: self
                .text("ReferenceSample")
                .filter(|_| subtracted.is_none())
                .map(|sample| (sample, self.flag("KeepReferenceOverallVar", true))),
            subtracted,
            smoothed_as: self.text("ReferenceSmoothing"),
            scale,
            statistics,
            pruned_as: self.text("ReferencePruning"),
            uncorrelated,
            symmetrise,
            smoothing: (smoothing / 10.0) as usize,
            drop_norm: self.dropped(&["DropNorm", "DropNormIn"], "IsShapeOnly"),
            drop_shape: self.dropped(&["DropShapeIn"], "IsNormOnly"),
        };
        Some((systematic, decorrelate))
    }

    /// The sample whose relative change is subtracted (`SubtractRefSampleVar`).
    fn subtracted(&mut self, ntuples: bool) -> Option<Subtracted> {
        if !self.flag("SubtractRefSampleVar", false) {
            return None;
        }
        let Some(sample) = self.text("ReferenceSample") else {
            let line = self.get("SubtractRefSampleVar").map_or(self.block.line, |setting| setting.line);
            let message = "'SubtractRefSampleVar' has no sample.".to_owned();
            self.error(line, message, "Add 'ReferenceSample' with the sample whose change is subtracted.");
            return None;
        };
        let of_data = [self.variation(ntuples, "UpRefSample"), self.variation(ntuples, "DownRefSample")];
        Some(Subtracted { sample, of_data })
    }

    /// A factor on the change of one direction.
    fn scale(&mut self, key: &str) -> f64 {
        if let Some(setting) = self.get(key).filter(|setting| setting.values.iter().any(|v| v.contains(':')))
        {
            let message = format!("'{key}' has factors of single regions, which are not supported.");
            self.error(setting.line, message, "Write one number, or one systematic for each region.");
            return 1.0;
        }
        self.number(key).unwrap_or(1.0)
    }

    /// Where a part of a systematic is dropped: names of regions and samples, or `all`.
    fn dropped(&mut self, lists: &[&str], everywhere: &str) -> Vec<String> {
        if self.flag(everywhere, false) {
            return vec!["all".to_owned()];
        }
        lists.iter().flat_map(|key| self.list(key)).collect()
    }

    /// What a direction changes; `None` without a setting for it.
    fn variation(&self, ntuples: bool, side: &str) -> Option<Variation> {
        let place = self.place(ntuples, side);
        let weight = self.text(&format!("Weight{side}"));
        let weight_factor = self.text(&format!("WeightSuf{side}"));
        let lists = [&place.paths, &place.files, &place.names];
        let suffixes = [&place.path_suffix, &place.file_suffix, &place.name_suffix];
        let any = lists.iter().any(|list| !list.is_empty()) || suffixes.iter().any(|text| !text.is_empty());
        (any || weight.is_some() || weight_factor.is_some()).then_some(Variation {
            place,
            weight,
            weight_factor,
        })
    }
}
