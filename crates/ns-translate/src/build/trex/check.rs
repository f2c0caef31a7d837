//! Checks that the names of regions and samples in a configuration exist.

use super::blocks::{Block, Setting};
use super::config::matches;
use super::settings::Settings;
use crate::build::fields::Reader;
use crate::pyhf::names::{list, nearest, quoted};

/// Settings with names of samples.
const SAMPLES: &[&str] =
    &["Samples", "SampleUp", "SampleDown", "ReferenceSample", "ReferenceSmoothing", "ReferencePruning"];
/// Settings with names of regions.
const REGIONS: &[&str] = &["Regions", "FitRegion"];
/// Settings with names of regions and samples.
const BOTH: &[&str] = &["Exclude", "DropNorm", "DropNormIn", "DropShapeIn"];
/// Blocks that have such settings.
const BLOCKS: &[&str] = &["Fit", "Sample", "NormFactor", "ShapeFactor", "Systematic"];
/// Words that stand for all names or for none.
const WORDS: &[&str] = &["ALL", "NONE"];
/// Words for the regions of a fit.
pub(super) const FIT_REGIONS: &[&str] = &["CRSR", "CRONLY"];

/// Checks the names. Problems go to the report: errors, or warnings with `AllowWrongRegionSample: TRUE`.
pub(super) fn names(blocks: &[Block], reader: &mut Reader) {
    let named = |kind: &str| -> Vec<&str> {
        let blocks = blocks.iter().filter(|block| block.kind == kind);
        blocks.filter_map(|block| block.names.first().map(String::as_str)).collect()
    };
    let (regions, samples) = (named("Region"), named("Sample"));
    let both: Vec<&str> = regions.iter().chain(&samples).copied().collect();
    let lenient = blocks
        .iter()
        .filter(|block| block.kind == "Job")
        .any(|block| Settings { block, reader }.flag("AllowWrongRegionSample", false));
    for block in blocks.iter().filter(|block| BLOCKS.contains(&block.kind.as_str())) {
        for setting in &block.settings {
            let key = setting.key.as_str();
            let (what, known) = match key {
                _ if SAMPLES.contains(&key) => ("sample", &samples),
                _ if REGIONS.contains(&key) => ("region", &regions),
                _ if BOTH.contains(&key) => ("region or sample", &both),
                _ => continue,
            };
            for name in unknown(setting, known) {
                let owner = block.names.first().map(String::as_str).unwrap_or_default();
                let message = format!(
                    "{} {}: There is no {what} {}, which '{key}' names.",
                    block.kind,
                    quoted(owner),
                    quoted(name)
                );
                if lenient {
                    reader.warn(setting.line, message, "It is ignored, as 'AllowWrongRegionSample' says.");
                    continue;
                }
                let remedy = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("Did you mean {}?", quoted(near)),
                    None => list("The names are", known),
                };
                reader.error(setting.line, message, remedy);
            }
        }
    }
}

/// The values of a setting that are no names, no patterns of names, and no words for all of them.
fn unknown<'a>(setting: &'a Setting, known: &[&str]) -> Vec<&'a str> {
    let is_word = |name: &str| {
        let name = name.to_uppercase();
        WORDS.contains(&name.as_str()) || (setting.key == "FitRegion" && FIT_REGIONS.contains(&name.as_str()))
    };
    let values = setting.values.iter().map(String::as_str);
    values
        .filter(|name| !name.is_empty() && !is_word(name))
        .filter(|name| !known.iter().any(|known| matches(name, known)))
        .collect()
}
