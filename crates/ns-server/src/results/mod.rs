//! The JSON schemas of results, generated from the types that are serialised.
//!
//! Each command and each path of an analysis has a schema with the name `COMMAND-output`. It refers to the schemas of the
//! types that are parts of the result.

mod collect;
mod devices;
mod text;
mod tidy;

use ns_inference::blue::BlueResult;
use ns_inference::goodness::EventGoodness;
use ns_inference::scan::schema::{ScanOfOne, ScanOfTwo};
use ns_inference::toys::{FitToysResult, HypotestToysResult, ToyLimitResult};
use ns_inference::{
    CompatibilityResult, FitResult, GoodnessResult, GridResult, HypotestResult, InjectionResult,
    IntervalResult, LimitResult, LookElsewhereResult, PointResult, PosteriorResult, RankingResult,
    RegionResult, SignificanceResult, SpuriousResult, UnfoldResult, YieldsResult,
};
use ns_translate::Contents;
use serde_json::{Map, Value, json};

use crate::analyses::{Batch, Simplified};
use collect::Collected;

pub(crate) use devices::Devices;

/// Returns the name of the schema for the result of a command or an analysis.
pub(crate) fn name_of(command: &str) -> String {
    format!("{command}-output")
}

/// Returns all schemas by their names. They refer to each other by `#/components/schemas/NAME`.
///
/// # Errors
/// If a schema cannot be written as JSON.
pub(crate) fn schemas() -> serde_json::Result<Map<String, Value>> {
    let mut all = Collected::default();
    all.result_of("fit").ran::<FitResult>();
    all.result_of("fit-batch").ran::<Batch<'_>>();
    all.result_of("scan").ran::<ScanOfOne>().ran::<ScanOfTwo>().for_each_poi::<ScanOfOne>();
    all.result_of("ranking").ran::<RankingResult>().for_each_poi::<RankingResult>();
    all.result_of("hypotest").ran::<HypotestResult>().ran::<PointResult>();
    all.result_of("hypotest-toys").ran::<HypotestToysResult>();
    all.result_of("toys").ran::<FitToysResult>();
    all.result_of("injection").ran::<InjectionResult>();
    all.result_of("merge-toys").ran::<HypotestToysResult>().ran::<FitToysResult>();
    let limits = all.result_of("upper-limit").ran::<LimitResult>().ran::<ToyLimitResult>();
    limits.for_each_poi::<LimitResult>().for_each_poi::<ToyLimitResult>();
    all.result_of("limit-grid").ran::<GridResult>();
    all.result_of("interval").ran::<IntervalResult>().for_each_poi::<IntervalResult>();
    all.result_of("region").ran::<RegionResult>();
    all.result_of("look-elsewhere").ran::<LookElsewhereResult>();
    all.result_of("sample").ran::<PosteriorResult>();
    all.result_of("significance").ran::<SignificanceResult>().for_each_poi::<SignificanceResult>();
    all.result_of("gof").ran::<GoodnessResult>().ran::<EventGoodness>();
    all.result_of("yields").ran::<YieldsResult>();
    all.result_of("compatibility").ran::<CompatibilityResult>().for_each_poi::<CompatibilityResult>();
    all.result_of("spurious-signal").ran::<SpuriousResult>();
    all.result_of("unfold").ran::<UnfoldResult>();
    all.result_of("simplify").ran::<Simplified<'_>>();
    all.result_of("blue").alone::<BlueResult>();
    all.result_of("inspect").ran::<Contents>();
    all.result_of("validate").ran::<Contents>();
    for edit in ["prune", "rename", "decorrelate", "combine"] {
        all.result_of(edit).workspace();
    }
    all.part::<Devices>();
    all.finish()
}

/// Returns the schemas as one document of JSON schema (draft 2020-12), which has them in `$defs`.
///
/// # Errors
/// If a schema cannot be written as JSON.
pub(crate) fn document() -> serde_json::Result<Value> {
    let mut definitions = Value::Object(schemas()?);
    tidy::refer_to_definitions(&mut definitions);
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of NextStat",
        "description": "`$defs` has the schema of the result of each command as `COMMAND-output`, and the schemas of its parts. \
            Keys that are not listed in `required` are absent if they have nothing to say. Later versions may add keys.",
        "$defs": definitions,
    }))
}
