//! Options of reading a datacard: what Combine takes on its command line.

use std::str::FromStr;

use super::error::CardError;
use crate::files::Files;

/// What is done with `autoMCStats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McStats {
    /// Parameters as in Combine: one per bin, whose effect follows the norms of the processes; in bins with few effective
    /// events one per bin and process.
    #[default]
    Combine,
    /// Templates have no statistical uncertainty.
    Ignore,
    /// One factor per bin with a Gaussian constraint, as pyhf's `staterror`: it multiplies all backgrounds of the bin,
    /// and its width is the relative statistical uncertainty of their sum.
    StatError,
}

impl FromStr for McStats {
    type Err = CardError;

    fn from_str(value: &str) -> Result<Self, CardError> {
        match value {
            "combine" => Ok(Self::Combine),
            "ignore" => Ok(Self::Ignore),
            "staterror" => Ok(Self::StatError),
            _ => Err(CardError::BadOption {
                option: "mc_stats",
                value: value.to_owned(),
                message: "this is not known.".to_owned(),
                remedy: "Use 'combine', 'ignore' or 'staterror'.".to_owned(),
            }),
        }
    }
}

/// A parameter of interest and the processes that it multiplies, as Combine's `multiSignalModel` takes them:
/// `bin/process:name[init,lo,hi]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PoiMap {
    /// Patterns of `channel/process`, separated by commas in the text. As in Combine, a pattern is a regular
    /// expression that has to match the beginning (`.*/ggH` matches `incl/ggH_hgg`). If the part before the slash or
    /// after it is a single `*`, it matches every name.
    pub patterns: Vec<String>,
    /// What multiplies the processes.
    pub target: PoiTarget,
}

/// What a [`PoiMap`] multiplies processes with.
#[derive(Debug, Clone, PartialEq)]
pub enum PoiTarget {
    /// A parameter of interest. `range` is its start value and its bounds; `None` for a parameter whose range another
    /// map gives. If none does, the range is `1, 0, 20`.
    Parameter {
        /// Name of the parameter.
        name: String,
        /// Start value, lower and upper bound.
        range: Option<(f64, f64, f64)>,
    },
    /// The number 1: the processes are not scaled.
    Unscaled,
    /// The number 0: the processes are left out.
    Zero,
}

impl FromStr for PoiMap {
    type Err = CardError;

    fn from_str(value: &str) -> Result<Self, CardError> {
        let bad = |message: &str| CardError::BadOption {
            option: "map",
            value: value.to_owned(),
            message: message.to_owned(),
            remedy: "Write 'channel/process:name[start,lower,upper]', such as '.*/ggH:r_ggH[1,0,20]'."
                .to_owned(),
        };
        let (patterns, target) = value.split_once(':').ok_or_else(|| bad("there is no colon."))?;
        if let Some((_, formula)) = target.split_once('=')
            && !formula.is_empty()
        {
            return Err(bad("functions of parameters are not supported."));
        }
        let patterns: Vec<String> = patterns.split(',').map(|p| p.trim().to_owned()).collect();
        if patterns.iter().any(|pattern| pattern.is_empty() || !pattern.contains('/')) {
            return Err(bad("a pattern has no slash between channel and process."));
        }
        let target = match target.trim() {
            "1" => PoiTarget::Unscaled,
            "0" => PoiTarget::Zero,
            text => match text.split_once('[') {
                None => PoiTarget::Parameter { name: text.to_owned(), range: None },
                Some((name, range)) => {
                    let range = range.strip_suffix(']').ok_or_else(|| bad("the bracket is not closed."))?;
                    let numbers: Option<Vec<f64>> =
                        range.split(',').map(|x| super::lines::number(x.trim())).collect();
                    let Some(&[init, lo, hi]) = numbers.as_deref() else {
                        return Err(bad("the brackets do not contain three numbers."));
                    };
                    if !(lo <= init && init <= hi && lo < hi) {
                        return Err(bad("the start value is not between the bounds."));
                    }
                    PoiTarget::Parameter { name: name.trim().to_owned(), range: Some((init, lo, hi)) }
                }
            },
        };
        if matches!(&target, PoiTarget::Parameter { name, .. } if name.is_empty()) {
            return Err(bad("the parameter has no name."));
        }
        Ok(Self { patterns, target })
    }
}

/// Options of reading a datacard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardOptions {
    /// Value of `$MASS` in the names of histograms and files (`--mass`).
    pub mass: Option<f64>,
    /// Values of further keywords `$NAME` (`--keyword-value NAME=VALUE`).
    pub keywords: Vec<(String, String)>,
    /// What is done with `autoMCStats`.
    pub mc_stats: McStats,
    /// Names of the channels that are left out of the likelihood (`--mask`).
    pub masks: Vec<String>,
    /// Parameters of interest (`--map`); if the list is empty, `r` in 0 to 20 multiplies all signal processes.
    pub maps: Vec<PoiMap>,
    /// Names of the parameters of interest, also as lists separated by commas; an empty vector for those of the maps.
    pub pois: Vec<String>,
    /// Where the files are that the card names. This is an archive for cards from strangers.
    pub files: Files,
}
