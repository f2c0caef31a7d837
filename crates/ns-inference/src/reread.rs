//! Reads results from the JSON that commands and servers write.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::scan::{ContourLevel, ScanInterval, ScanResult, SecondAxis};
use crate::toys::INTERRUPTED;
use crate::{
    CompatibilityResult, EventGoodness, FitResult, FitToysResult, GoodnessResult, GridResult, HypotestResult,
    HypotestToysResult, InjectionResult, IntervalResult, LimitResult, LookElsewhereResult, RankingResult,
    RegionResult, SignificanceResult, SimplifyResult, SpuriousResult, UnfoldResult, YieldsResult,
};

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RereadError {
    /// The text is not JSON.
    #[error("the file is not JSON ({0}); give the JSON that a command of nextstat wrote with -o")]
    Json(serde_json::Error),
    /// No analysis writes such keys.
    #[error(
        "the file is no result that can be read; results of fit, scan, upper-limit (also of grids), ranking, yields, hypotest, \
         significance, gof, hypotest-toys, toys (also with --inject), interval, region, look-elsewhere, compatibility, unfold and spurious-signal can"
    )]
    Unknown,
    /// A key of a result is missing or has another type.
    #[error("the result of {analysis} is not complete: {source}; write it again with this version")]
    Incomplete {
        /// The command that writes such results.
        analysis: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// A result of one of the analyses.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnyResult {
    /// Of `fit`.
    Fit(Box<FitResult>),
    /// Of `scan`.
    Scan(ScanResult),
    /// Of `upper-limit`.
    Limit(LimitResult),
    /// Of `upper-limit --patchset`.
    Grid(GridResult),
    /// Of `ranking`.
    Ranking(RankingResult),
    /// Of `yields`.
    Yields(YieldsResult),
    /// Of `hypotest`.
    Hypotest(HypotestResult),
    /// Of `significance`.
    Significance(SignificanceResult),
    /// Of `gof`.
    Goodness(GoodnessResult),
    /// Of `gof --statistic`.
    EventGoodness(EventGoodness),
    /// Of `hypotest-toys`.
    HypotestToys(HypotestToysResult),
    /// Of `toys`.
    Toys(FitToysResult),
    /// Of `toys --inject`.
    Injection(InjectionResult),
    /// Of `interval`.
    Interval(IntervalResult),
    /// Of `look-elsewhere`.
    LookElsewhere(LookElsewhereResult),
    /// Of `region`.
    Region(RegionResult),
    /// Of `compatibility`.
    Compatibility(CompatibilityResult),
    /// Of `unfold`.
    Unfold(Box<UnfoldResult>),
    /// Of `spurious-signal`.
    Spurious(SpuriousResult),
    /// Of `simplify`.
    Simplify(Box<SimplifyResult>),
    /// Of an analysis of each of several parameters of interest.
    PerPoi {
        /// Names of the parameters of interest.
        pois: Vec<String>,
        /// The results, in their order. After an interruption the last ones are missing.
        results: Vec<Self>,
    },
}

impl AnyResult {
    /// Reads a result. Its keys tell which analysis it is of.
    ///
    /// # Errors
    /// [`RereadError`]
    pub fn from_slice(json: &[u8]) -> Result<Self, RereadError> {
        Self::from_value(serde_json::from_slice(json).map_err(RereadError::Json)?)
    }

    /// Reads a result like [`Self::from_slice`].
    ///
    /// # Errors
    /// [`RereadError`]
    pub fn from_value(value: Value) -> Result<Self, RereadError> {
        let has = |keys: &[&str]| keys.iter().all(|key| value.get(key).is_some());
        if has(&["pois", "results"]) {
            let PerPoi { pois, results } = read("several parameters of interest", value)?;
            let results = results.into_iter().map(Self::from_value).collect::<Result<_, _>>()?;
            Ok(Self::PerPoi { pois, results })
        } else if has(&["rows", "labels"]) {
            read("upper-limit", value).map(Self::Grid)
        } else if has(&["ranking", "mu_hat"]) {
            read("ranking", value).map(Self::Ranking)
        } else if has(&["channels", "stage"]) {
            read("yields", value).map(Self::Yields)
        } else if has(&["mu_values", "twice_delta_nll"]) {
            scan(value).map(Self::Scan)
        } else if has(&["parameter_names", "bestfit", "edm"]) {
            read("fit", value).map(|fit| Self::Fit(Box::new(fit)))
        } else if has(&["cls_at_limit", "expected"]) {
            read("upper-limit", value).map(Self::Limit)
        } else if has(&["cls", "cls_error", "n_toys"]) {
            let mut result: HypotestToysResult = read("hypotest-toys", value)?;
            result.interrupted = stopped(&result.warnings);
            Ok(Self::HypotestToys(result))
        } else if has(&["cls", "clsb", "q_asimov"]) {
            read("hypotest", value).map(Self::Hypotest)
        } else if has(&["p0", "z_expected"]) {
            read("significance", value).map(Self::Significance)
        } else if has(&["chi2", "twice_nll_saturated"]) {
            let mut result: GoodnessResult = read("gof", value)?;
            if let Some(toys) = &mut result.toys {
                toys.interrupted = stopped(&result.warnings);
            }
            Ok(Self::Goodness(result))
        } else if has(&["statistic", "p_value_toys"]) {
            let mut result: EventGoodness = read("gof", value)?;
            if let Some(toys) = &mut result.toys {
                toys.interrupted = stopped(&result.warnings);
            }
            Ok(Self::EventGoodness(result))
        } else if has(&["parameters", "n_toys", "n_nonconverged"]) {
            let mut result: FitToysResult = read("toys", value)?;
            result.interrupted = stopped(&result.warnings);
            Ok(Self::Toys(result))
        } else if has(&["points", "line", "seed"]) {
            read("toys --inject", value).map(Self::Injection)
        } else if has(&["points", "asymptotic", "method"]) {
            read("interval", value).map(Self::Interval)
        } else if has(&["places", "q0", "trial_factor"]) {
            read("look-elsewhere", value).map(Self::LookElsewhere)
        } else if has(&["border", "params", "level"]) {
            read("region", value).map(Self::Region)
        } else if has(&["common", "channels", "n_dof"]) {
            read("compatibility", value).map(Self::Compatibility)
        } else if has(&["places", "backgrounds", "spurious_signal"]) {
            read("spurious-signal", value).map(Self::Spurious)
        } else if has(&["truth", "bottom_line", "tau"]) {
            read("unfold", value).map(|result| Self::Unfold(Box::new(result)))
        } else if has(&["bins", "n_directions", "variance_error"]) {
            read("simplify", value).map(|result| Self::Simplify(Box::new(result)))
        } else {
            Err(RereadError::Unknown)
        }
    }
}

/// The keys of the results for several parameters of interest.
#[derive(Deserialize)]
struct PerPoi {
    pois: Vec<String>,
    results: Vec<Value>,
}

fn read<T: DeserializeOwned>(analysis: &'static str, value: Value) -> Result<T, RereadError> {
    serde_json::from_value(value).map_err(|source| RereadError::Incomplete { analysis, source })
}

/// Whether the warnings of a result of toys say that the run was stopped. The key of the result is not in its JSON.
fn stopped(warnings: &[String]) -> bool {
    warnings.iter().any(|warning| warning == INTERRUPTED)
}

/// The keys of a scan. Lists of points have rows if there are two parameters.
#[derive(Deserialize)]
struct ScanKeys {
    param: String,
    mu_values: Vec<f64>,
    param2: Option<String>,
    #[serde(default)]
    mu2_values: Vec<f64>,
    twice_delta_nll: Points<Option<f64>>,
    #[serde(default)]
    q_mu_values: Vec<Option<f64>>,
    mu_hat: f64,
    uncertainty: Option<f64>,
    mu2_hat: Option<f64>,
    uncertainty2: Option<f64>,
    #[serde(default)]
    levels: Vec<ContourLevel>,
    #[serde(default)]
    intervals: Vec<ScanInterval>,
    converged: Points<bool>,
    reasons: Points<Option<String>>,
    twice_nll: f64,
    bestfit_converged: bool,
    asimov_error: Option<f64>,
    n_iter: usize,
    warnings: Vec<String>,
}

/// One number per point: a list, or a list of rows.
#[derive(Deserialize)]
#[serde(untagged)]
enum Points<T> {
    Rows(Vec<Vec<T>>),
    Flat(Vec<T>),
}

impl<T> Points<T> {
    fn flat(self) -> Vec<T> {
        match self {
            Self::Rows(rows) => rows.into_iter().flatten().collect(),
            Self::Flat(list) => list,
        }
    }
}

fn scan(value: Value) -> Result<ScanResult, RereadError> {
    let keys: ScanKeys = read("scan", value)?;
    let second = keys.param2.map(|param| SecondAxis {
        param,
        mu_values: keys.mu2_values,
        mu_hat: keys.mu2_hat.unwrap_or(f64::NAN),
        uncertainty: keys.uncertainty2,
    });
    Ok(ScanResult {
        param: keys.param,
        mu_values: keys.mu_values,
        second,
        twice_delta_nll: keys.twice_delta_nll.flat(),
        q_mu_values: keys.q_mu_values,
        mu_hat: keys.mu_hat,
        uncertainty: keys.uncertainty,
        twice_nll: keys.twice_nll,
        converged: keys.converged.flat(),
        bestfit_converged: keys.bestfit_converged,
        asimov_error: keys.asimov_error,
        reasons: keys.reasons.flat(),
        levels: keys.levels,
        intervals: keys.intervals,
        n_iter: keys.n_iter,
        warnings: keys.warnings,
        n_fits: 0,
        interrupted: false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn scans_in_two_parameters_have_rows() {
        let text = r#"{"param": "a", "mu_values": [0, 1], "param2": "b", "mu2_values": [2, 3, 4],
            "twice_delta_nll": [[0.0, 1.0], [null, 3.0], [4.0, 5.0]], "mu_hat": 0.5, "uncertainty": 1.0, "mu2_hat": 2.5,
            "uncertainty2": null, "levels": [], "converged": [[true, true], [false, true], [true, true]],
            "reasons": [[null, null], ["no", null], [null, null]], "twice_nll": 7.0, "bestfit_converged": true, "n_iter": 3,
            "warnings": [], "device": "cpu"}"#;
        let AnyResult::Scan(result) = AnyResult::from_slice(text.as_bytes()).unwrap() else { unreachable!() };
        assert_eq!(result.twice_delta_nll, [Some(0.0), Some(1.0), None, Some(3.0), Some(4.0), Some(5.0)]);
        assert_eq!(result.second.unwrap().mu_values, [2.0, 3.0, 4.0]);
        // What was read is written as it was.
        let again: Value = serde_json::from_str(text).unwrap();
        let again = AnyResult::from_value(again).unwrap();
        let AnyResult::Scan(again) = again else { unreachable!() };
        let written = serde_json::to_value(&again).unwrap();
        assert_eq!(written.get("twice_delta_nll").unwrap().get(1).unwrap().get(1).unwrap(), 3.0);
    }

    #[test]
    fn what_is_no_result_says_what_is() {
        let message = |text: &str| AnyResult::from_slice(text.as_bytes()).unwrap_err().to_string();
        assert!(message("x").contains("not JSON"));
        assert!(message("{\"channels\": []}").contains("no result"));
        let limit = message("{\"cls_at_limit\": {}, \"expected\": []}");
        assert!(limit.starts_with("the result of upper-limit is not complete"), "{limit}");
    }
}
