//! Which settings are read, which have no effect on a workspace, and which are not supported.

use super::blocks::{BLOCKS, Block};
use super::check::ambiguous;
use super::steps::{STEPS, settings as settings_of};
use crate::build::fields::Reader;
use crate::pyhf::names::{nearest, quoted};

/// Settings that are read, by the word of the block.
const READ: &[(&str, &[&str])] = &[
    (
        "Job",
        &[
            "POI",
            "ReadFrom",
            "HistoPath",
            "HistoPaths",
            "HistoFile",
            "HistoFiles",
            "HistoName",
            "HistoNames",
            "NtuplePath",
            "NtuplePaths",
            "NtupleFile",
            "NtupleFiles",
            "NtupleName",
            "NtupleNames",
            "MCweight",
            "Selection",
            "Lumi",
            "SystPruningNorm",
            "SystPruningShape",
            "SystLarge",
            "MCstatThreshold",
            "MCstatConstraint",
            "SmoothingOption",
            "StatOnly",
            "MergeUnderOverFlow",
            "TemplateInterpolationOption",
            "AllowWrongRegionSample",
        ],
    ),
    ("Fit", &["FitType", "FitRegion", "TemplateInterpolationOption"]),
    (
        "Region",
        &[
            "Type",
            "Variable",
            "VariableTitle",
            "Binning",
            "Rebin",
            "Rebinning",
            "Selection",
            "MCweight",
            "DataType",
            "HistoPath",
            "HistoPaths",
            "HistoFile",
            "HistoFiles",
            "HistoName",
            "HistoNames",
            "HistoPathSuff",
            "HistoFileSuff",
            "HistoNameSuff",
            "NtuplePath",
            "NtuplePaths",
            "NtupleFile",
            "NtupleFiles",
            "NtupleName",
            "NtupleNames",
            "NtuplePathSuff",
            "NtupleFileSuff",
            "NtupleNameSuff",
        ],
    ),
    (
        "Sample",
        &[
            "Type",
            "Regions",
            "Exclude",
            "NormFactor",
            "ShapeFactor",
            "MCweight",
            "Selection",
            "IgnoreSelection",
            "LumiScale",
            "NormalizedByTheory",
            "UseMCstat",
            "UseSystematics",
            "Morphing",
            "SeparateGammas",
            "Smooth",
            "HistoPath",
            "HistoPaths",
            "HistoFile",
            "HistoFiles",
            "HistoName",
            "HistoNames",
            "HistoPathSuff",
            "HistoFileSuff",
            "HistoNameSuff",
            "NtuplePath",
            "NtuplePaths",
            "NtupleFile",
            "NtupleFiles",
            "NtupleName",
            "NtupleNames",
            "NtuplePathSuff",
            "NtupleFileSuff",
            "NtupleNameSuff",
        ],
    ),
    ("NormFactor", &["Samples", "Regions", "Exclude", "Nominal", "Min", "Max", "Constant", "Expression"]),
    // The bins of a shape factor start at 1, whatever its numbers are.
    ("ShapeFactor", &["Samples", "Regions", "Exclude", "Nominal", "Min", "Max"]),
    (
        "Systematic",
        &[
            "Type",
            "Samples",
            "Regions",
            "Exclude",
            "NuisanceParameter",
            "OverallUp",
            "OverallDown",
            "Symmetrisation",
            "Smoothing",
            "DropNorm",
            "DropNormIn",
            "DropShapeIn",
            "IsNormOnly",
            "IsShapeOnly",
            "ReferenceSample",
            "ReferencePruning",
            "SubtractRefSampleVar",
            "KeepReferenceOverallVar",
            "ReferenceSmoothing",
            "Decorrelate",
            "ScaleUp",
            "ScaleDown",
            "SampleUp",
            "SampleDown",
            "WeightUp",
            "WeightDown",
            "WeightSufUp",
            "WeightSufDown",
            "HistoPathUp",
            "HistoPathDown",
            "HistoPathsUp",
            "HistoPathsDown",
            "HistoFileUp",
            "HistoFileDown",
            "HistoFilesUp",
            "HistoFilesDown",
            "HistoNameUp",
            "HistoNameDown",
            "HistoNamesUp",
            "HistoNamesDown",
            "HistoPathSufUp",
            "HistoPathSufDown",
            "HistoFileSufUp",
            "HistoFileSufDown",
            "HistoNameSufUp",
            "HistoNameSufDown",
            "NtuplePathUp",
            "NtuplePathDown",
            "NtuplePathsUp",
            "NtuplePathsDown",
            "NtupleFileUp",
            "NtupleFileDown",
            "NtupleFilesUp",
            "NtupleFilesDown",
            "NtupleNameUp",
            "NtupleNameDown",
            "NtupleNamesUp",
            "NtupleNamesDown",
            "NtuplePathSufUp",
            "NtuplePathSufDown",
            "NtupleFileSufUp",
            "NtupleFileSufDown",
            "NtupleNameSufUp",
            "NtupleNameSufDown",
        ],
    ),
];

/// Settings of pictures, tables, messages and folders, in blocks of any kind.
const PICTURES: &[&str] = &[
    "AtlasLabel",
    "BuildPullTable",
    "Category",
    "CleanTables",
    "CmeLabel",
    "CorrelationThreshold",
    "DebugLevel",
    "DoMergedPlot",
    "DoPieChartPlot",
    "DoSignalRegionsPlot",
    "DoSummaryPlot",
    "DoTables",
    "FillColor",
    "GetChi2",
    "Group",
    "HideNP",
    "HistoChecks",
    "ImageFormat",
    "InputFolder",
    "InputName",
    "KeepPruning",
    "Label",
    "LineColor",
    "LogScale",
    "Logo",
    "LumiLabel",
    "OutputDir",
    "POIPrecision",
    "POIUnit",
    "PlotOptions",
    "PlotOptionsSummary",
    "RankingMaxNP",
    "RankingPOIName",
    "RankingPlot",
    "RatioYmax",
    "RatioYmaxPostFit",
    "RatioYmin",
    "RatioYminPostFit",
    "RegionGroups",
    "SaveSuffix",
    "ShortLabel",
    "SplitHistoFiles",
    "SubCategory",
    "Suffix",
    "SummaryPlotRegions",
    "SystCategoryTables",
    "SystControlPlots",
    "SystDataPlots",
    "SystErrorBars",
    "TableOptions",
    "TexLabel",
    "TexTitle",
    "Title",
    "UseATLASRounding",
    "UseGammaPulls",
    "YaxisTitle",
    "Ymax",
    "YmaxScale",
    "Ymin",
];

/// Returns the setting of templates that a setting for a reference sample resembles (`HistoNameUpRefSample`); other settings stay
/// as they are.
fn of_reference(key: &str) -> &str {
    let of_templates = |key: &&str| {
        (key.starts_with("Histo") || key.starts_with("Ntuple"))
            && (key.ends_with("Up") || key.ends_with("Down"))
    };
    key.strip_suffix("RefSample").filter(of_templates).unwrap_or(key)
}

/// Reports blocks and settings that are not supported, and names those of the fit, which a workspace does not contain.
pub(super) fn check(blocks: &[Block], reader: &mut Reader) {
    let mut of_fit: Vec<&str> = Vec::new();
    let mut first = None;
    for block in blocks {
        let read = READ.iter().find(|(kind, _)| *kind == block.kind).map(|(_, keys)| *keys);
        let is_step = STEPS.contains(&block.kind.as_str());
        if read.is_none() && !is_step {
            let message = format!("The block '{}' is not supported.", block.kind);
            reader.error(block.line, message, "Remove it, or read the XML that TRExFitter writes.");
            continue;
        }
        let read = read.unwrap_or_default();
        for setting in &block.settings {
            let key = setting.key.as_str();
            ambiguous(block, setting, reader);
            if read.contains(&of_reference(key)) || PICTURES.contains(&key) {
                continue;
            }
            let steps = settings_of(&block.kind);
            if is_step && steps.is_none_or(|steps| steps.contains(&key)) {
                first = first.or(Some(setting.line));
                of_fit.push(key);
                continue;
            }
            let name = block.names.first().map(String::as_str).unwrap_or_default();
            let message =
                format!("The setting {} of {} {} is not supported.", quoted(key), block.kind, quoted(name));
            let all = read.iter().chain(steps.unwrap_or_default()).chain(PICTURES).chain(BLOCKS).copied();
            let remedy = match nearest(key, all) {
                Some(near) => format!("Did you mean {}?", quoted(near)),
                None => "Remove it, or read the XML that TRExFitter writes.".to_owned(),
            };
            reader.error(setting.line, message, remedy);
        }
    }
    if let Some(line) = first {
        let message = format!("A workspace does not contain settings of the fit: {}.", of_fit.join(", "));
        reader.warn(line, message, "Give them to the command that fits; see docs/coming-from.md.");
    }
}
