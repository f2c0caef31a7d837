//! A configuration of TRExFitter as data. Lines are those of the file, counted from 1.

use wildmatch::WildMatch;

use crate::build::describe::Symmetrise;

#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    pub(super) job: Job,
    pub(super) regions: Vec<Region>,
    pub(super) samples: Vec<Sample>,
    pub(super) factors: Vec<Factor>,
    pub(super) systematics: Vec<Systematic>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) poi: String,
    /// Whether templates are filled from columns of trees.
    pub(super) ntuples: bool,
    pub(super) place: Locations,
    pub(super) weight: Option<String>,
    pub(super) selection: Option<String>,
    pub(super) lumi: f64,
    pub(super) prune_norm: Option<f64>,
    pub(super) prune_shape: Option<f64>,
    pub(super) prune_large: Option<f64>,
    /// `None` if the statistics of simulation have no parameters.
    pub(super) mc_threshold: Option<f64>,
    pub(super) gaussian: bool,
    /// How the templates of morphed samples are interpolated.
    pub(super) interpolation: Interpolation,
    pub(super) stat_only: bool,
    /// Whether events outside of the bins belong to the outer bins.
    pub(super) outside: bool,
}

/// How templates are interpolated between the values of a parameter (`TemplateInterpolationOption`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Interpolation {
    #[default]
    Linear,
    SmoothLinear,
    SquareRoot,
}

/// How the bins of histograms are changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rebin {
    /// So many neighbouring bins become one. Bins that are left over at the end are dropped.
    Merge(usize),
    /// New edges, which are edges of the histograms.
    Edges(Vec<f64>),
    /// Bins that are found from the nominal templates of signals and backgrounds.
    Automatic(Automatic),
}

/// How bins are found: by TRExFitter's transformation D or F, with its numbers for signals and backgrounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Automatic {
    pub(super) with_statistics: bool,
    pub(super) signal: f64,
    pub(super) background: f64,
}

/// Folders, files without their ending, and names of histograms or trees; several of each are added up. Endings are
/// appended to each of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Locations {
    pub(super) paths: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) path_suffix: String,
    pub(super) file_suffix: String,
    pub(super) name_suffix: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) place: Locations,
    pub(super) variable: Option<String>,
    /// Title of the horizontal axis.
    pub(super) title: Option<String>,
    pub(super) edges: Vec<f64>,
    /// Changes of the bins, in their order, with their lines.
    pub(super) rebin: Vec<(usize, Rebin)>,
    pub(super) selection: Option<String>,
    pub(super) weight: Option<String>,
    /// Whether the data are the sum of the samples.
    pub(super) asimov: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) data: bool,
    pub(super) signal: bool,
    /// Whether the sample is not part of the model, but others refer to it.
    pub(super) ghost: bool,
    /// Parameters between whose values templates are interpolated, with the value of this one.
    pub(super) morphing: Vec<(String, f64)>,
    /// Whether the statistics of simulation have parameters of this sample alone.
    pub(super) separate_gammas: bool,
    pub(super) place: Locations,
    pub(super) scope: Scope,
    pub(super) selection: Option<String>,
    pub(super) ignore_selection: bool,
    pub(super) weight: Option<String>,
    pub(super) scale: f64,
    pub(super) by_theory: bool,
    pub(super) mc_statistics: bool,
    pub(super) systematics: bool,
}

/// Where something acts. Empty lists, and `all`, mean everywhere.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) samples: Vec<String>,
    pub(super) regions: Vec<String>,
    /// Names of samples or regions.
    pub(super) exclude: Vec<String>,
}

/// A free factor, on a sample or on each of its bins.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) per_bin: bool,
    pub(super) nominal: f64,
    pub(super) bounds: [f64; 2],
    pub(super) constant: bool,
    /// The formula of a factor that is a function of other parameters.
    pub(super) formula: Option<Formula>,
}

/// A formula of parameters.
#[derive(Debug, Clone, Default)]
pub(super) struct Formula {
    pub(super) expression: String,
    /// Name, start value and bounds of each parameter.
    pub(super) parameters: Vec<(String, f64, [f64; 2])>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Systematic {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) parameter: Option<String>,
    pub(super) scope: Scope,
    /// Relative changes upwards and downwards, of a systematic without templates.
    pub(super) overall: Option<(f64, f64)>,
    pub(super) up: Option<Variation>,
    pub(super) down: Option<Variation>,
    /// Samples that are the templates upwards and downwards.
    pub(super) samples: [Option<String>; 2],
    /// Sample whose relative change is taken, and whether its change of the sum is kept.
    pub(super) reference: Option<(String, bool)>,
    /// Sample whose relative change is subtracted.
    pub(super) subtracted: Option<Subtracted>,
    /// Sample whose smoothed relative change is taken.
    pub(super) smoothed_as: Option<String>,
    /// Factors on the changes upwards and downwards.
    pub(super) scale: [f64; 2],
    /// Whether it is the statistics of the simulation, with a parameter for each bin that all samples share (`STAT`).
    pub(super) statistics: bool,
    /// Sample whose pruning is taken.
    pub(super) pruned_as: Option<String>,
    /// Whether each bin is independent (`SHAPE`).
    pub(super) uncorrelated: bool,
    pub(super) symmetrise: Symmetrise,
    /// Largest number of changes of slope; 0 without smoothing.
    pub(super) smoothing: usize,
    pub(super) drop_norm: Vec<String>,
    pub(super) drop_shape: Vec<String>,
}

/// A sample, mostly the data, whose relative change by a systematic is subtracted from that of other samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Subtracted {
    pub(super) sample: String,
    /// What the systematic changes of the data, upwards and downwards. Of a simulated sample it is what it changes of all.
    pub(super) of_data: [Option<Variation>; 2],
}

/// What one direction of a systematic changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Variation {
    pub(super) place: Locations,
    /// Replaces the weight of the sample.
    pub(super) weight: Option<String>,
    /// Multiplies the weight.
    pub(super) weight_factor: Option<String>,
}

impl Config {
    /// Whether a systematic takes templates of a sample.
    pub(super) fn refers_to(&self, sample: &str) -> bool {
        self.systematics.iter().any(|systematic| {
            let reference = systematic.reference.as_ref().map(|(name, _)| name.as_str());
            reference == Some(sample)
                || systematic.subtracts(sample)
                || systematic.samples.iter().flatten().any(|name| name == sample)
        })
    }
}

impl Systematic {
    /// Whether the template upwards is the mirror image of the one downwards.
    pub(super) fn only_down(&self) -> bool {
        let [up, down] = &self.samples;
        let (has_up, has_down) = (self.up.is_some() || up.is_some(), self.down.is_some() || down.is_some());
        self.symmetrise == Symmetrise::Mirror && !has_up && has_down
    }

    /// Whether the relative change of this sample is subtracted.
    pub(super) fn subtracts(&self, sample: &str) -> bool {
        self.subtracted.as_ref().is_some_and(|subtracted| subtracted.sample == sample)
    }
}

/// Whether a list of names has this one. An empty list, and `all`, have all names.
fn includes(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|known| matches(known, name) || known.eq_ignore_ascii_case("all"))
}

/// Whether a name is that of a pattern, in which `*` is any text and `?` any letter.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    pattern == name || (pattern.contains(['*', '?']) && WildMatch::new(pattern).matches(name))
}

/// Whether a list that says where something is dropped has a region or a sample.
pub(super) fn drops(names: &[String], region: &str, sample: &str) -> bool {
    !names.is_empty() && (includes(names, region) || includes(names, sample))
}

impl Scope {
    /// Whether a region is within the scope.
    pub(super) fn has_region(&self, region: &str) -> bool {
        includes(&self.regions, region) && !self.exclude.iter().any(|name| matches(name, region))
    }

    /// Whether a sample is within the scope.
    pub(super) fn has_sample(&self, sample: &str) -> bool {
        includes(&self.samples, sample) && !self.exclude.iter().any(|name| matches(name, sample))
    }

    /// Whether a sample in a region is within the scope.
    pub(super) fn has(&self, region: &str, sample: &str) -> bool {
        self.has_region(region) && self.has_sample(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn names_match_patterns() {
        for (pattern, name) in [
            ("ttbar", "ttbar"),
            ("tt*", "ttbar"),
            ("*b*r", "ttbar"),
            ("tt?ar", "ttbar"),
            ("*", ""),
            ("a*", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("tt", "ttbar"), ("ttbar", "tt"), ("*x", "ttbar"), ("?", ""), ("TT*", "ttbar")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
