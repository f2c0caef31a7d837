//! Reads the blocks of a file as a configuration.

use super::auto_bins::{FINE_BINS, automatic};
use super::blocks::Block;
use super::config::{
    Config, Factor, Formula, Interpolation, Job, Rebin, Region, Sample, Scope, Systematic, Variation,
};
use super::settings::Settings;
use crate::build::describe::Symmetrise;
use crate::build::fields::Reader;

/// Reads the configuration. Problems go to the report.
pub(super) fn config(blocks: &[Block], reader: &mut Reader) -> Config {
    let mut config = Config::default();
    for block in blocks {
        let [_] = block.names.as_slice() else {
            let message = format!("The block '{}' has several names.", block.kind);
            reader.error(block.line, message, "Write one block for each of them.");
            continue;
        };
        let mut settings = Settings { block, reader };
        match block.kind.as_str() {
            "Job" => config.job = settings.job(),
            "Fit" => {
                config.job.interpolation = settings.interpolation().unwrap_or(config.job.interpolation);
                if let Some(kind) = settings.word("FitType").filter(|kind| kind != "SPLUSB") {
                    let message = format!("A workspace does not contain 'FitType: {kind}'.");
                    reader.warn(
                        block.line,
                        message,
                        "Fit it with --fix NAME=0 for the parameter of interest.",
                    );
                }
            }
            "Region" => {
                let ntuples = config.job.ntuples;
                config.regions.extend(settings.region(ntuples));
            }
            "Sample" => {
                let ntuples = config.job.ntuples;
                if let Some((sample, factors)) = settings.sample(ntuples) {
                    config.samples.push(sample);
                    config.factors.extend(factors);
                }
            }
            "NormFactor" | "ShapeFactor" => {
                let factor = settings.factor();
                config.factors.push(factor);
            }
            "Systematic" if !config.job.stat_only => {
                let ntuples = config.job.ntuples;
                config.systematics.extend(settings.systematic(ntuples));
            }
            _ => {}
        }
    }
    if config.job.line == 0 {
        reader.error(1, "The file has no 'Job'.", "Begin it with 'Job: NAME'.");
    }
    let only_control = blocks
        .iter()
        .find(|block| block.kind == "Fit")
        .is_some_and(|block| Settings { block, reader }.word("FitRegion").as_deref() == Some("CRONLY"));
    if only_control {
        let control: Vec<&str> = blocks
            .iter()
            .filter(|block| block.kind == "Region")
            .filter(|block| Settings { block, reader }.word("Type").as_deref() == Some("CONTROL"))
            .filter_map(|block| block.names.first().map(String::as_str))
            .collect();
        config.regions.retain(|region| control.contains(&region.name.as_str()));
    }
    config
}

impl Settings<'_, '_> {
    fn job(&mut self) -> Job {
        let ntuples = self.one_of("ReadFrom", &["HIST", "NTUP"]).as_deref() == Some("NTUP");
        self.one_of("SmoothingOption", &["MAXVARIATION"]);
        let no_threshold = self.word("MCstatThreshold").as_deref() == Some("NONE");
        let stat_only = self.flag("StatOnly", false);
        let outside = self.flag("MergeUnderOverFlow", ntuples);
        let threshold = if no_threshold { None } else { Some(self.number("MCstatThreshold").unwrap_or(0.0)) };
        Job {
            line: self.block.line,
            name: self.name(),
            poi: self.text("POI").unwrap_or_default(),
            ntuples,
            place: self.place(ntuples, ""),
            weight: self.text("MCweight"),
            selection: self.text("Selection"),
            lumi: self.number("Lumi").unwrap_or(1.0),
            prune_norm: self.number("SystPruningNorm"),
            prune_shape: self.number("SystPruningShape"),
            prune_large: self.number("SystLarge"),
            mc_threshold: threshold.filter(|_| !stat_only),
            gaussian: self.one_of("MCstatConstraint", &["POISSON", "GAUSSIAN"]).as_deref()
                == Some("GAUSSIAN"),
            stat_only,
            outside,
            interpolation: self.interpolation().unwrap_or_default(),
        }
    }

    fn interpolation(&mut self) -> Option<Interpolation> {
        let word = self.one_of("TemplateInterpolationOption", &["LINEAR", "SMOOTHLINEAR", "SQUAREROOT"])?;
        Some(match word.as_str() {
            "SMOOTHLINEAR" => Interpolation::SmoothLinear,
            "SQUAREROOT" => Interpolation::SquareRoot,
            _ => Interpolation::Linear,
        })
    }

    /// A region of the fit; regions for validation are left out.
    fn region(&mut self, ntuples: bool) -> Option<Region> {
        if self.one_of("Type", &["SIGNAL", "CONTROL", "VALIDATION"]).as_deref() == Some("VALIDATION") {
            return None;
        }
        let asimov = self.one_of("DataType", &["DATA", "ASIMOV"]).as_deref() == Some("ASIMOV");
        let (variable, edges) = if ntuples { self.binning() } else { (None, Vec::new()) };
        Some(Region {
            line: self.block.line,
            name: self.name(),
            place: self.place(ntuples, ""),
            variable,
            edges,
            rebin: self.rebinning(ntuples),
            selection: self.text("Selection"),
            weight: self.text("MCweight"),
            asimov,
        })
    }

    /// Changes of the bins of histograms that have been read or filled.
    fn rebinning(&mut self, ntuples: bool) -> Vec<(usize, Rebin)> {
        let mut found = Vec::new();
        if let Some(setting) = self.get("Rebin") {
            let n = setting.values.join(",").parse::<usize>().ok().filter(|n| *n > 0);
            if n.is_none() {
                let message = "'Rebin' is no positive whole number.".to_owned();
                self.error(setting.line, message, "Write how many bins become one.");
            }
            found.extend(n.map(|n| (setting.line, Rebin::Merge(n))));
        }
        for key in ["Binning", "Rebinning"] {
            let Some(setting) = self.get(key) else { continue };
            if let Some(automatic) = automatic(&setting.values).filter(|_| key == "Binning") {
                found.push((setting.line, Rebin::Automatic(automatic)));
                continue;
            }
            // The edges of columns are those that they are filled with.
            if key == "Binning" && ntuples {
                continue;
            }
            match edges(&setting.values) {
                Some(edges) => found.push((setting.line, Rebin::Edges(edges))),
                None => {
                    let message = format!(
                        "'{key}' is no list of ascending edges, and no 'AutoBin' with TransfoD or TransfoF."
                    );
                    self.error(setting.line, message, "Write the edges that TRExFitter has found.");
                }
            }
        }
        found
    }

    /// The variable with the edges of its bins.
    fn binning(&mut self) -> (Option<String>, Vec<f64>) {
        let Some(variable) = self.get("Variable") else {
            self.error(
                self.block.line,
                "It has no 'Variable'.".to_owned(),
                "Add 'Variable: \"x\",10,0,100': expression, number of bins, lowest and highest value.",
            );
            return (None, Vec::new());
        };
        let numbers =
            |values: &[String]| values.iter().map(|v| v.parse::<f64>().ok()).collect::<Option<Vec<_>>>();
        let expression = variable.values.first().cloned();
        let is_automatic = self.get("Binning").is_some_and(|setting| automatic(&setting.values).is_some());
        let edges = match self.get("Binning").filter(|_| !is_automatic) {
            Some(setting) => {
                let edges = numbers(&setting.values);
                if edges.is_none() {
                    self.error(
                        setting.line,
                        "'Binning' is no list of edges, and no 'AutoBin' with TransfoD or TransfoF."
                            .to_owned(),
                        "Write the edges that TRExFitter has found.",
                    );
                }
                edges.unwrap_or_default()
            }
            None => match numbers(variable.values.get(1..).unwrap_or_default()).as_deref() {
                Some([n, low, high]) if *n >= 1.0 && *n <= 1e6 && low < high => {
                    let n = if is_automatic { FINE_BINS } else { *n as usize };
                    (0..=n).map(|i| low + (high - low) * i as f64 / n as f64).collect()
                }
                _ => {
                    self.error(
                        variable.line,
                        "'Variable' has no bins.".to_owned(),
                        "Write 'Variable: \"x\",10,0,100': expression, number of bins, lowest and highest value.",
                    );
                    Vec::new()
                }
            },
        };
        (expression, edges)
    }

    /// A sample, with the factors that it names.
    fn sample(&mut self, ntuples: bool) -> Option<(Sample, Vec<Factor>)> {
        let kind = self.one_of("Type", &["SIGNAL", "BACKGROUND", "DATA", "GHOST"]);
        let ghost = kind.as_deref() == Some("GHOST");
        let name = self.name();
        let mut factors = Vec::new();
        for setting in &self.block.settings {
            let per_bin = setting.key == "ShapeFactor";
            if setting.key == "NormFactor" || per_bin {
                let numbers: Vec<Option<f64>> =
                    setting.values.iter().skip(1).map(|v| v.parse().ok()).collect();
                let number = |i: usize, usual: f64| numbers.get(i).copied().flatten().unwrap_or(usual);
                factors.push(Factor {
                    line: setting.line,
                    name: setting.values.first().cloned().unwrap_or_default(),
                    scope: Scope { samples: vec![name.clone()], ..Scope::default() },
                    per_bin,
                    nominal: number(0, 1.0),
                    bounds: [number(1, 0.0), number(2, 10.0)],
                    constant: setting.values.get(4).is_some_and(|v| v.eq_ignore_ascii_case("true")),
                    formula: None,
                });
            }
        }
        let sample = Sample {
            line: self.block.line,
            name,
            data: kind.as_deref() == Some("DATA"),
            signal: kind.as_deref() == Some("SIGNAL"),
            ghost,
            morphing: self.morphing(),
            separate_gammas: self.flag("SeparateGammas", false),
            place: self.place(ntuples, ""),
            scope: Scope { samples: Vec::new(), ..self.scope() },
            selection: self.text("Selection"),
            ignore_selection: self.flag("IgnoreSelection", false),
            weight: self.text("MCweight"),
            scale: self.number("LumiScale").unwrap_or(1.0),
            by_theory: self.flag("NormalizedByTheory", true),
            mc_statistics: self.flag("UseMCstat", true),
            systematics: self.flag("UseSystematics", !ghost),
        };
        Some((sample, factors))
    }

    /// The values of parameters that a sample stands for: `"name",value`, one setting for each parameter.
    fn morphing(&mut self) -> Vec<(String, f64)> {
        let mut found: Vec<(String, f64)> = Vec::new();
        for setting in self.block.settings.iter().filter(|setting| setting.key == "Morphing") {
            let value = match setting.values.as_slice() {
                [name, value] if !name.is_empty() => {
                    value.parse().ok().filter(|x: &f64| x.is_finite()).map(|value| (name.clone(), value))
                }
                _ => None,
            };
            match value {
                Some((name, _)) if found.iter().any(|(known, _)| *known == name) => {
                    let message = format!("'Morphing' names the parameter '{name}' twice.");
                    self.error(setting.line, message, "Write it once.");
                }
                Some(value) => found.push(value),
                None => self.error(
                    setting.line,
                    "'Morphing' cannot be read.".to_owned(),
                    "Write 'Morphing: \"parameter\",value'.",
                ),
            }
        }
        found
    }

    fn factor(&mut self) -> Factor {
        Factor {
            line: self.block.line,
            name: self.name(),
            scope: self.scope(),
            per_bin: self.block.kind == "ShapeFactor",
            nominal: self.number("Nominal").unwrap_or(1.0),
            bounds: [self.number("Min").unwrap_or(0.0), self.number("Max").unwrap_or(10.0)],
            constant: self.flag("Constant", false),
            formula: self.formula(),
        }
    }

    /// The formula of a factor: `expression:name[start,low,high],...`.
    fn formula(&mut self) -> Option<Formula> {
        let text = self.text("Expression")?;
        let line = self.get("Expression").map_or(self.block.line, |setting| setting.line);
        let read = || {
            let (expression, list) = text.get(..text.find('[')?)?.rfind(':').map(|at| text.split_at(at))?;
            let mut parameters = Vec::new();
            let mut rest = list.strip_prefix(':')?.trim();
            while !rest.is_empty() {
                let (name, after) = rest.split_once('[')?;
                let (numbers, after) = after.split_once(']')?;
                let numbers: Vec<f64> =
                    numbers.split(',').map(|n| n.trim().parse::<f64>()).collect::<Result<_, _>>().ok()?;
                let [start, low, high] = numbers[..] else { return None };
                parameters.push((name.trim().to_owned(), start, [low, high]));
                rest = after.trim_start().trim_start_matches(',').trim();
            }
            Some(Formula { expression: expression.trim().to_owned(), parameters })
        };
        let formula = read();
        if formula.is_none() {
            self.error(
                line,
                "'Expression' cannot be read.".to_owned(),
                "Write FORMULA:NAME[START,LOW,HIGH],... with all parameters of the formula.",
            );
        }
        formula
    }

    fn systematic(&mut self, ntuples: bool) -> Option<Systematic> {
        let kind = self.one_of("Type", &["OVERALL", "HISTO", "SHAPE"])?;
        let uncorrelated = kind == "SHAPE";
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
        let one_sided = uncorrelated || symmetrise == Symmetrise::Mirror;
        if overall.is_none() && (!has_up || (!has_down && !one_sided)) {
            self.error(
                self.block.line,
                "It does not say how both templates differ from the nominal one.".to_owned(),
                "Add settings that end in Up and Down, or 'Symmetrisation: ONESIDED' with those of Up.",
            );
        }
        Some(Systematic {
            line: self.block.line,
            name: self.name(),
            parameter: self.text("NuisanceParameter"),
            scope: self.scope(),
            overall,
            up,
            down: down.filter(|_| !uncorrelated),
            samples,
            reference: self
                .text("ReferenceSample")
                .map(|sample| (sample, self.flag("KeepReferenceOverallVar", true))),
            pruned_as: self.text("ReferencePruning"),
            uncorrelated,
            symmetrise,
            smoothing: (smoothing / 10.0) as usize,
            drop_norm: self.dropped(&["DropNorm", "DropNormIn"], "IsShapeOnly"),
            drop_shape: self.dropped(&["DropShapeIn"], "IsNormOnly"),
        })
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

/// Ascending, finite edges of bins; `None` if the values are something else.
fn edges(values: &[String]) -> Option<Vec<f64>> {
    let edges: Vec<f64> = values.iter().map(|value| value.parse().ok()).collect::<Option<_>>()?;
    let ascending = edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
    (edges.len() > 1 && ascending && edges.iter().all(|edge| edge.is_finite())).then_some(edges)
}
