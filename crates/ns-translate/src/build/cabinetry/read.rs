//! Reads the tree of a file as a configuration of cabinetry.

use super::super::fields::{Fields, Reader};
use super::super::yaml::Node;
use super::config::{
    Config, Fixed, General, NormFactor, Rebin, Region, Sample, SmoothingRule, Systematic, Variation,
};
use crate::pyhf::names::quoted;

const FILE: &[&str] = &["General", "Regions", "Samples", "NormFactors", "Systematics"];
const GENERAL: &[&str] = &["Measurement", "POI", "InputPath", "HistogramFolder", "VariationPath", "Fixed"];
const FIXED: &[&str] = &["Name", "Value"];
const REGION: &[&str] = &["Name", "Variable", "Binning", "Rebin", "Filter", "RegionPath"];
const REBIN: &[&str] = &["LowerIndex", "UpperIndex", "Steps"];
const SAMPLE: &[&str] =
    &["Name", "Tree", "Filter", "Weight", "SamplePath", "Data", "DisableStaterror", "Regions"];
const NORM_FACTOR: &[&str] = &["Name", "Regions", "Samples", "Nominal", "Bounds"];
const SYSTEMATIC: &[&str] =
    &["Name", "Type", "Up", "Down", "Regions", "Samples", "Smoothing", "ModifierName"];
const VARIATION: &[&str] = &[
    "Tree",
    "Weight",
    "Variable",
    "Filter",
    "RegionPath",
    "SamplePath",
    "Normalization",
    "Symmetrize",
    "VariationPath",
];
const SMOOTHING: &[&str] = &["Algorithm", "Regions", "Samples"];
/// The one algorithm of cabinetry.
const ALGORITHM: &str = "353QH, twice";

/// Reads a file. Problems go to the report.
pub(super) fn config(root: &Node, reader: &mut Reader) -> Config {
    let Some(file) = Fields::of(root, "The file", FILE, reader) else { return Config::default() };
    let general = file.required("General", reader).map(|node| general(node, reader)).unwrap_or_default();
    file.required("Regions", reader);
    file.required("Samples", reader);
    file.required("NormFactors", reader);
    Config {
        general,
        regions: each(&file, "Regions", region, reader),
        samples: each(&file, "Samples", sample, reader),
        norm_factors: each(&file, "NormFactors", norm_factor, reader),
        systematics: each(&file, "Systematics", systematic, reader),
    }
}

/// Reads every entry of a list.
fn each<T>(
    fields: &Fields<'_>,
    key: &'static str,
    one: fn(&Node, &mut Reader) -> Option<T>,
    reader: &mut Reader,
) -> Vec<T> {
    let items = fields.list(key, reader).unwrap_or_default();
    items.iter().filter_map(|item| one(item, reader)).collect()
}

fn general(node: &Node, reader: &mut Reader) -> General {
    let Some(fields) = Fields::of(node, "General", GENERAL, reader) else { return General::default() };
    // The folder is where cabinetry keeps histograms between its steps. Nothing is kept here.
    fields.text("HistogramFolder", reader);
    General {
        line: fields.line,
        measurement: fields.required_text("Measurement", reader),
        poi: fields.text("POI", reader).unwrap_or_default(),
        input_path: fields.required_text("InputPath", reader),
        variation_path: fields.text("VariationPath", reader).unwrap_or_default(),
        fixed: each(&fields, "Fixed", fixed, reader),
    }
}

fn fixed(node: &Node, reader: &mut Reader) -> Option<Fixed> {
    let fields = Fields::of(node, "A fixed parameter", FIXED, reader)?;
    fields.required("Value", reader);
    Some(Fixed {
        line: fields.line,
        name: fields.required_text("Name", reader),
        value: fields.number("Value", reader).unwrap_or_default(),
    })
}

fn region(node: &Node, reader: &mut Reader) -> Option<Region> {
    let fields = Fields::of(node, "A region", REGION, reader)?;
    let region = Region {
        line: fields.line,
        name: fields.required_text("Name", reader),
        variable: fields.text("Variable", reader),
        binning: fields.numbers("Binning", reader),
        filter: fields.text("Filter", reader),
        region_path: fields.text("RegionPath", reader),
        rebin: fields.get("Rebin").and_then(|node| rebin(node, reader)),
    };
    if region.variable.is_some() && region.binning.is_none() {
        let message = format!("The region {} has a 'Variable' but no 'Binning'.", quoted(&region.name));
        reader.error(region.line, message, "Add the edges of its bins, such as 'Binning: [0, 50, 100]'.");
    }
    if let Some(edges) = &region.binning {
        let increases = |pair: &[f64]| matches!(pair, [a, b] if a < b);
        if edges.len() < 2 || !edges.windows(2).all(increases) {
            let message = format!("The 'Binning' of the region {} does not increase.", quoted(&region.name));
            reader.error(
                region.line,
                message,
                "Give the edges of the bins in increasing order, at least two.",
            );
        }
    }
    Some(region)
}

fn rebin(node: &Node, reader: &mut Reader) -> Option<Rebin> {
    let fields = Fields::of(node, "'Rebin'", REBIN, reader)?;
    let mut whole = |key: &'static str| {
        let number = fields.number(key, reader)?;
        if number.fract() != 0.0 || number.abs() > 1e9 {
            reader.error(fields.line, format!("'{key}' is not a whole number."), "Write an index such as 2.");
            return None;
        }
        Some(number as i64)
    };
    let (lower, upper, steps) = (whole("LowerIndex"), whole("UpperIndex"), whole("Steps").unwrap_or(1));
    let steps = usize::try_from(steps).ok().filter(|steps| *steps > 0);
    if steps.is_none() {
        reader.error(fields.line, "'Steps' is not positive.", "Write the number of bins that become one.");
    }
    Some(Rebin { line: fields.line, lower: lower.unwrap_or(0), upper, steps: steps? })
}

fn sample(node: &Node, reader: &mut Reader) -> Option<Sample> {
    let fields = Fields::of(node, "A sample", SAMPLE, reader)?;
    Some(Sample {
        line: fields.line,
        name: fields.required_text("Name", reader),
        tree: fields.text("Tree", reader),
        filter: fields.text("Filter", reader),
        weight: fields.text("Weight", reader),
        paths: fields.texts("SamplePath", reader),
        data: fields.flag("Data", reader),
        disable_staterror: fields.flag("DisableStaterror", reader),
        regions: fields.texts("Regions", reader),
    })
}

fn norm_factor(node: &Node, reader: &mut Reader) -> Option<NormFactor> {
    let fields = Fields::of(node, "A norm factor", NORM_FACTOR, reader)?;
    let bounds = fields.numbers("Bounds", reader).and_then(|numbers| {
        let pair = <[f64; 2]>::try_from(numbers).ok();
        if pair.is_none() {
            reader.error(fields.line, "'Bounds' is not two numbers.", "Write '[lowest, highest]'.");
        }
        pair
    });
    Some(NormFactor {
        line: fields.line,
        name: fields.required_text("Name", reader),
        regions: fields.texts("Regions", reader),
        samples: fields.texts("Samples", reader),
        nominal: fields.number("Nominal", reader),
        bounds,
    })
}

fn systematic(node: &Node, reader: &mut Reader) -> Option<Systematic> {
    let fields = Fields::of(node, "A systematic", SYSTEMATIC, reader)?;
    let kind = fields.required_text("Type", reader);
    if !matches!(kind.as_str(), "Normalization" | "NormPlusShape" | "") {
        let line = fields.get("Type").map_or(fields.line, |node| node.line);
        let message = format!("There is no type of systematics {}.", quoted(&kind));
        reader.error(line, message, "The types are 'Normalization' and 'NormPlusShape'.");
    }
    let found = Systematic {
        line: fields.line,
        name: fields.required_text("Name", reader),
        modifier: fields.text("ModifierName", reader),
        has_templates: kind == "NormPlusShape",
        up: variation(&fields, "Up", reader),
        down: variation(&fields, "Down", reader),
        regions: fields.texts("Regions", reader),
        samples: fields.texts("Samples", reader),
        smoothing: fields.get("Smoothing").and_then(|node| smoothing(node, reader)),
    };
    if kind == "Normalization" {
        normalization(&found, reader);
    } else if kind == "NormPlusShape" {
        templates(&found, reader);
    }
    Some(found)
}

/// Checks what a systematic without templates needs.
fn normalization(found: &Systematic, reader: &mut Reader) {
    for (name, side) in [("Up", &found.up), ("Down", &found.down)] {
        if side.normalization.is_none() {
            let message = format!("{name} of the systematic {} has no 'Normalization'.", quoted(&found.name));
            let remedy = if side.symmetrize {
                "Write the number out: 'Symmetrize' is for templates."
            } else {
                "Add the relative change, such as 'Normalization: 0.05' for 5 %."
            };
            reader.error(side.line, message, remedy);
        }
    }
    if found.smoothing.is_some() {
        let message = format!("The systematic {} has no templates to smooth.", quoted(&found.name));
        reader.warn(found.line, message, "Remove 'Smoothing'.");
    }
}

/// Checks what a systematic with templates needs.
fn templates(found: &Systematic, reader: &mut Reader) {
    for (name, side) in [("Up", &found.up), ("Down", &found.down)] {
        if side.normalization.is_some() {
            let message = format!(
                "{name} of the systematic {} has templates, so its 'Normalization' is not used.",
                quoted(&found.name)
            );
            reader.warn(side.line, message, "Remove it, or write 'Type: Normalization'.");
        }
    }
    if found.up.symmetrize {
        let message = format!("Up of the systematic {} is to be symmetrised.", quoted(&found.name));
        reader.error(found.up.line, message, "Describe Up, and write 'Symmetrize: True' below Down.");
    }
}

fn variation(fields: &Fields<'_>, key: &'static str, reader: &mut Reader) -> Variation {
    let Some(node) = fields.required(key, reader) else { return Variation::default() };
    let what = if key == "Up" { "Up" } else { "Down" };
    let Some(fields) = Fields::of(node, what, VARIATION, reader) else { return Variation::default() };
    Variation {
        line: fields.line,
        tree: fields.text("Tree", reader),
        weight: fields.text("Weight", reader),
        variable: fields.text("Variable", reader),
        filter: fields.text("Filter", reader),
        region_path: fields.text("RegionPath", reader),
        sample_paths: fields.texts("SamplePath", reader),
        variation_path: fields.text("VariationPath", reader),
        normalization: fields.number("Normalization", reader),
        symmetrize: fields.flag("Symmetrize", reader),
    }
}

fn smoothing(node: &Node, reader: &mut Reader) -> Option<SmoothingRule> {
    let fields = Fields::of(node, "Smoothing", SMOOTHING, reader)?;
    let algorithm = fields.required_text("Algorithm", reader);
    if !algorithm.is_empty() && algorithm != ALGORITHM {
        let message = format!("There is no smoothing called {}.", quoted(&algorithm));
        reader.error(fields.line, message, format!("Write 'Algorithm: \"{ALGORITHM}\"'."));
    }
    Some(SmoothingRule { regions: fields.texts("Regions", reader), samples: fields.texts("Samples", reader) })
}
