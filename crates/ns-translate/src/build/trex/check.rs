//! Checks that the names of regions and samples in a configuration exist, and that no setting is given twice.

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

/// Most names that are reported.
const MOST: usize = 100;

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
    let mut found = 0;
    for block in blocks.iter().filter(|block| BLOCKS.contains(&block.kind.as_str())) {
        for setting in &block.settings {
            let key = setting.key.as_str();
            let (what, known) = match key {
                _ if SAMPLES.contains(&key) => ("sample", &samples),
                _ if REGIONS.contains(&key) => ("region", &regions),
                _ if BOTH.contains(&key) => ("region or sample", &both),
                _ => continue,
            };
            for name in unknown(setting, known).take(MOST - found) {
                found += 1;
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
fn unknown<'a>(setting: &'a Setting, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_word = move |name: &str| {
        let name = name.to_uppercase();
        WORDS.contains(&name.as_str()) || (setting.key == "FitRegion" && FIT_REGIONS.contains(&name.as_str()))
    };
    let values = setting.values.iter().map(String::as_str);
    values
        .filter(move |name| !name.is_empty() && !is_word(name))
        .filter(move |name| !known.iter().any(|known| matches(name, known)))
}

/// Warns of a setting that is given twice, and of values for blocks that do not exist.
pub(super) fn ambiguous(block: &Block, setting: &Setting, reader: &mut Reader) {
    let name = block.names.first().map(String::as_str).unwrap_or_default();
    let what = format!("{} {}: '{}'", block.kind, quoted(name), setting.key);
    if let Some(earlier) = setting.replaces {
        let message = format!("{what} is also in line {earlier}, which has no effect.");
        reader.warn(setting.line, message, "Remove one of them; the last one counts, as in TRExFitter.");
    }
    if setting.is_cut {
        let message =
            format!("{what} has more parts between ';' than the block has names; the rest has no effect.");
        reader.warn(setting.line, message, "Put a ';' that belongs to a text in quotes.");
    }
}

#[cfg(test)]
mod tests {
    use super::super::{blocks, known};
    use super::*;
    use crate::pyhf::Report;

    /// The problems of the blocks and names of a text.
    fn problems(text: &str) -> Vec<String> {
        let mut reader = Reader { file: "f".to_owned(), report: Report::default() };
        match blocks::read(text) {
            Ok(blocks) => {
                known::check(&blocks, &mut reader);
                names(&blocks, &mut reader);
            }
            Err((line, message, remedy)) => reader.error(line, message, remedy),
        }
        reader.report.problems.iter().map(ToString::to_string).collect()
    }

    /// A configuration with these settings of a systematic.
    fn with(settings: &str) -> String {
        format!("Job: j\n\nRegion: SR_1\n\nRegion: SR_2\n\nSample: Bkg\n\nSystematic: s\n{settings}")
    }

    #[test]
    fn names_exist() {
        for settings in
            ["Samples: Bkg", "Samples: B*\nRegions: SR_?", "Samples: ALL\nRegions: none", "Exclude: Bkg,SR_2"]
        {
            assert_eq!(problems(&with(settings)), Vec::<String>::new(), "{settings}");
        }
        for (settings, wanted) in [
            ("Samples: bkg", "There is no sample 'bkg', which 'Samples' names. Did you mean 'Bkg'?"),
            ("Regions: SR_1,SRR", "There is no region 'SRR'"),
            (
                "Regions: Bkg",
                "There is no region 'Bkg', which 'Regions' names. The names are: 'SR_1', 'SR_2'.",
            ),
            ("DropShapeIn: CR*", "There is no region or sample 'CR*'"),
            ("ReferenceSample: Bgk", "Did you mean 'Bkg'?"),
        ] {
            let problems = problems(&with(settings));
            assert!(
                matches!(problems.as_slice(), [one] if one.contains(wanted) && one.contains("f:10")),
                "{problems:?}"
            );
        }
        let lenient = with("Samples: bkg").replace("Job: j", "Job: j\n  AllowWrongRegionSample: TRUE");
        assert!(problems(&lenient)[0].starts_with("warning"), "{:?}", problems(&lenient));
    }

    #[test]
    fn settings_of_the_fit_are_known() {
        let found = problems("Job: j\n\nFit: f\n  FitRegionX: CRONLY\n\nOptions: o\n  Anything: 1\n");
        assert!(
            found[0].contains("'FitRegionX' of Fit 'f' is not supported. Did you mean 'FitRegion'?"),
            "{found:?}"
        );
        assert!(found.len() == 2 && found[1].contains("settings of the fit: Anything"), "{found:?}");
    }

    #[test]
    fn settings_that_are_given_twice_have_a_warning() {
        let found = problems("Job: j\n  Lumi: 1\n  Lumi: 2\n  POI: a;b\n");
        assert!(found[0].starts_with("warning") && found[0].contains("also in line 2"), "{found:?}");
        assert!(found[1].starts_with("warning") && found[1].contains("more parts"), "{found:?}");
    }

    #[test]
    fn published_configurations_have_no_problems() {
        let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
            eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
            return;
        };
        let folder = std::path::Path::new(&folder).join("formats/trex/configs");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let errors: Vec<String> =
                problems(&text).into_iter().filter(|p| p.starts_with("error")).collect();
            assert_eq!(errors, Vec::<String>::new(), "{}", entry.path().display());
            read += 1;
        }
        assert!(read > 0);
    }
}
