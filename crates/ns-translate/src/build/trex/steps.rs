//! Settings of blocks that say what is done with a workspace.

/// Blocks of what is done with a workspace.
pub(super) const STEPS: &[&str] = &["Fit", "Limit", "Significance", "Options"];

/// Settings of these blocks. A block without an entry has settings of any name.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        "Fit",
        &[
            "BinnedLikelihoodOptimisation",
            "BlindedParameters",
            "DoGroupedSystImpactTable",
            "DoNonProfileFit",
            "DoNonProfileFitSystThreshold",
            "FitBlind",
            "FitRegion",
            "FitStrategy",
            "FitToys",
            "FitType",
            "FixNPs",
            "GetGoodnessOfFit",
            "InjectGlobalObservables",
            "LHscanMax",
            "LHscanMaxY",
            "LHscanMin",
            "LHscanMinY",
            "LHscanSteps",
            "LHscanStepsY",
            "NPValues",
            "NPValuesFromFitResults",
            "NumCPU",
            "POIAsimov",
            "Parallel2Dscan",
            "Parallel2DscanStep",
            "SaturatedModel",
            "SetRandomInitialNPval",
            "SetRandomInitialNPvalSeed",
            "StatOnlyFit",
            "TemplateInterpolationOption",
            "ToysHistoMax",
            "ToysHistoMin",
            "ToysHistoNbins",
            "ToysPseudodataNP",
            "ToysPseudodataNPShift",
            "ToysSeed",
            "UseHesseBeforeMigrad",
            "UseMinos",
            "UseNllInLHscan",
            "UsePOISinRanking",
            "do2DLHscan",
            "doLHscan",
        ],
    ),
    (
        "Limit",
        &[
            "ConfidenceLevel",
            "LimitBlind",
            "LimitFile",
            "LimitPlot",
            "LimitToysScanMax",
            "LimitToysScanMin",
            "LimitToysScanSteps",
            "LimitToysSeed",
            "LimitToysStepsB",
            "LimitToysStepsSplusB",
            "LimitType",
            "OutputPrefixName",
            "POIAsimov",
            "ParamName",
            "ParamValue",
            "SignalInjection",
            "SignalInjectionValue",
        ],
    ),
    ("Significance", &["OutputPrefixName", "POIAsimov", "ParamName", "ParamValue", "SignificanceBlind"]),
];

/// The settings of a block, if they are known.
pub(super) fn settings(block: &str) -> Option<&'static [&'static str]> {
    SETTINGS.iter().find(|(kind, _)| *kind == block).map(|(_, keys)| *keys)
}
