//! Reads the blocks of a file as a configuration.

use super::blocks::Block;
use super::config::{Config, Factor, Formula, Interpolation, Job, Sample, Scope, matches};
use super::settings::Settings;
use crate::build::fields::Reader;
use crate::pyhf::names::quoted;

/// Reads the configuration. Problems go to the report.
pub(super) fn config(blocks: &[Block], reader: &mut Reader) -> Config {
    let mut config = Config::default();
    let mut systematics = Vec::new();
    for block in blocks {
        let [_] = block.names.as_slice() else {
            let message = format!("The block '{}' has several names.", block.kind);
            reader.error(block.line, message, "Write one block for each of them, or ';' between the names.");
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
                systematics.extend(settings.systematic(ntuples));
            }
            _ => {}
        }
    }
    if config.job.line == 0 {
        let message = "The file looks like a configuration of TRExFitter, but has no block 'Job'.";
        reader.error(1, message, "Begin it with 'Job: NAME'.");
    }
    fitted(blocks, &mut config, reader);
    // The regions and samples may come after the systematics.
    for (systematic, decorrelate) in systematics {
        let parts = match decorrelate {
            Some(decorrelate) => decorrelate.parts(systematic, &config),
            None => vec![systematic],
        };
        config.systematics.extend(parts);
    }
    config
}

/// Leaves out the regions that are not fitted (`FitRegion`).
fn fitted(blocks: &[Block], config: &mut Config, reader: &mut Reader) {
    let block = blocks.iter().filter(|block| block.kind == "Fit");
    let Some(setting) = block.filter_map(|block| Settings { block, reader }.get("FitRegion")).next_back()
    else {
        return;
    };
    let of_type = |kind: &str, reader: &mut Reader| -> Vec<String> {
        blocks
            .iter()
            .filter(|block| block.kind == "Region")
            .filter(|block| Settings { block, reader }.word("Type").as_deref() == Some(kind))
            .filter_map(|block| block.names.first().cloned())
            .collect()
    };
    let wanted = match setting.values.as_slice() {
        [word] if word.eq_ignore_ascii_case("CRSR") => return,
        [word] if word.eq_ignore_ascii_case("CRONLY") => of_type("CONTROL", reader),
        names => names.to_vec(),
    };
    let is_wanted = |region: &str| wanted.iter().any(|name| matches(name, region));
    for region in of_type("VALIDATION", reader).iter().filter(|region| is_wanted(region)) {
        let message = format!("'FitRegion' names {}, which is a region for validation.", quoted(region));
        reader.error(setting.line, message, "Make it a region of type CONTROL or SIGNAL.");
    }
    config.regions.retain(|region| is_wanted(&region.name));
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

    /// A sample, with the factors that it names.
    fn sample(&mut self, ntuples: bool) -> Option<(Sample, Vec<Factor>)> {
        let kind = self.one_of("Type", &["SIGNAL", "BACKGROUND", "DATA", "GHOST"]);
        let ghost = kind.as_deref() == Some("GHOST");
        let name = self.name();
        if self.flag("Smooth", false) {
            let line = self.get("Smooth").map_or(self.block.line, |setting| setting.line);
            let message = "'Smooth: TRUE' smooths the nominal templates, which is not supported.".to_owned();
            self.error(
                line,
                message,
                "Give histograms that are smooth, or read the XML that TRExFitter writes.",
            );
        }
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

    /// The parameter that a sample stands for a value of: `"name",value`.
    fn morphing(&mut self) -> Vec<(String, f64)> {
        let Some(setting) = self.get("Morphing") else { return Vec::new() };
        let value = match setting.values.as_slice() {
            [name, value] if !name.is_empty() => {
                value.parse().ok().filter(|x: &f64| x.is_finite()).map(|value| (name.clone(), value))
            }
            _ => None,
        };
        if value.is_none() {
            self.error(
                setting.line,
                "'Morphing' cannot be read.".to_owned(),
                "Write 'Morphing: \"parameter\",value'.",
            );
        }
        value.into_iter().collect()
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
}
