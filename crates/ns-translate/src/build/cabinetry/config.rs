//! A configuration of cabinetry as data. Lines are those of the file, counted from 1.

/// The whole file.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    pub(super) general: General,
    pub(super) regions: Vec<Region>,
    pub(super) samples: Vec<Sample>,
    pub(super) norm_factors: Vec<NormFactor>,
    pub(super) systematics: Vec<Systematic>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct General {
    pub(super) line: usize,
    pub(super) measurement: String,
    pub(super) poi: String,
    pub(super) input_path: String,
    pub(super) variation_path: String,
    pub(super) fixed: Vec<Fixed>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Fixed {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) value: f64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    pub(super) line: usize,
    pub(super) name: String,
    /// Expression of the columns of ntuples; without one, histograms are read.
    pub(super) variable: Option<String>,
    pub(super) binning: Option<Vec<f64>>,
    pub(super) filter: Option<String>,
    pub(super) region_path: Option<String>,
    pub(super) rebin: Option<Rebin>,
}

/// Which bins of the histograms are used, as in slices of Python: negative indices count from the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rebin {
    pub(super) line: usize,
    pub(super) lower: i64,
    /// The first bin that is not used; `None` for all bins to the end.
    pub(super) upper: Option<i64>,
    /// Number of bins that become one. What is left over at the end is not used.
    pub(super) steps: usize,
}

impl Rebin {
    /// Returns the indices of the edges that are left, of a histogram with `n` bins; `None` if that is less than a bin.
    pub(super) fn edges(self, n: usize) -> Option<Vec<usize>> {
        let index = |at: i64| -> usize {
            let at = if at < 0 { at.saturating_add(n as i64) } else { at };
            usize::try_from(at).unwrap_or(0).min(n)
        };
        let (lower, upper) = (index(self.lower), self.upper.map_or(n, index));
        let bins = upper.checked_sub(lower)? / self.steps;
        (bins > 0).then(|| (0..=bins).map(|bin| lower + bin * self.steps).collect())
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) tree: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) weight: Option<String>,
    pub(super) paths: Vec<String>,
    pub(super) data: bool,
    pub(super) disable_staterror: bool,
    pub(super) regions: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct NormFactor {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) regions: Vec<String>,
    pub(super) samples: Vec<String>,
    pub(super) nominal: Option<f64>,
    pub(super) bounds: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Systematic {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) modifier: Option<String>,
    pub(super) has_templates: bool,
    pub(super) up: Variation,
    pub(super) down: Variation,
    pub(super) regions: Vec<String>,
    pub(super) samples: Vec<String>,
    pub(super) smoothing: Option<SmoothingRule>,
}

/// What one direction of a systematic changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Variation {
    pub(super) line: usize,
    pub(super) tree: Option<String>,
    pub(super) weight: Option<String>,
    pub(super) variable: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) region_path: Option<String>,
    pub(super) sample_paths: Vec<String>,
    pub(super) variation_path: Option<String>,
    pub(super) normalization: Option<f64>,
    pub(super) symmetrize: bool,
}

/// Where templates are smoothed; empty lists mean everywhere.
#[derive(Debug, Clone, Default)]
pub(super) struct SmoothingRule {
    pub(super) regions: Vec<String>,
    pub(super) samples: Vec<String>,
}

/// Whether a list of names has this one. An empty list has all names.
pub(super) fn includes(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|known| known == name)
}

impl Systematic {
    /// The name of its parameter.
    pub(super) fn parameter(&self) -> &str {
        self.modifier.as_deref().unwrap_or(&self.name)
    }

    /// Whether it acts on a sample in a region.
    pub(super) fn acts_on(&self, region: &Region, sample: &Sample) -> bool {
        includes(&self.regions, &region.name) && includes(&self.samples, &sample.name)
    }

    /// Whether its templates are smoothed for a sample in a region.
    pub(super) fn is_smoothed(&self, region: &Region, sample: &Sample) -> bool {
        self.smoothing.as_ref().is_some_and(|rule| {
            includes(&rule.regions, &region.name) && includes(&rule.samples, &sample.name)
        })
    }
}
