//! Words for the parts of a model's file that a user can change, in the words of its format.

use ns_core::ModelFormat;

/// Returns where the bounds of parameters are written.
pub(crate) fn bounds(format: ModelFormat) -> &'static str {
    match format {
        ModelFormat::Pyhf => "the measurement's \"parameters\"",
        ModelFormat::Hs3 => "the \"domains\" (\"min\" and \"max\" of its axis)",
        ModelFormat::Datacard => "the range of the parameter, [LOWER,UPPER] on its line or in --map",
    }
}

/// Returns how a parameter is made free.
pub(crate) fn release(format: ModelFormat) -> &'static str {
    match format {
        ModelFormat::Pyhf => "\"fixed\": false in the measurement's \"parameters\"",
        ModelFormat::Hs3 => "without \"const\" in the \"parameter_points\"",
        ModelFormat::Datacard => "without [nofloat] and 'nuisance edit freeze' in the card",
    }
}

/// Says that a measurement or an analysis has no parameter of interest, and where to name one.
pub(crate) fn without_poi(format: ModelFormat, name: &str) -> String {
    match format {
        ModelFormat::Pyhf => format!(
            "measurement '{name}' has none that any modifier uses; name one in its \"config\": {{\"poi\": ...}}"
        ),
        ModelFormat::Hs3 => {
            format!("analysis '{name}' has none; name one in its \"parameters_of_interest\"")
        }
        ModelFormat::Datacard => {
            format!("the card '{name}' has no signal; give a process the number 0, or name one with --map")
        }
    }
}
