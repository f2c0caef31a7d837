//! The options of a ranking.

use serde::{Deserialize, Deserializer};

use crate::{FitOptions, options};

/// A definition of the impact of a nuisance parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Impact {
    /// The parameter is held one uncertainty away from its best fit and everything else refitted.
    Refit,
    /// From the covariance matrix of the fit: what a refit gives on a parabola.
    Covariance,
    /// The parameter's auxiliary datum is moved by its width and everything refitted.
    Global,
}

impl Impact {
    /// All definitions.
    pub const ALL: [Self; 3] = [Self::Refit, Self::Covariance, Self::Global];

    /// The key in the result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refit => "refit",
            Self::Covariance => "covariance",
            Self::Global => "global",
        }
    }
}

impl std::str::FromStr for Impact {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|impact| impact.name() == text)
            .ok_or_else(|| format!("unknown impact '{text}'; use refit, covariance or global"))
    }
}

/// Parameters whose impact is wanted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Full parameter names, names of vectors (all their elements) or patterns with `*` (any text) and
    /// `?` (one character).
    pub members: Vec<String>,
}

impl Group {
    /// A group.
    #[must_use]
    pub fn new(name: impl Into<String>, members: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), members: members.into_iter().map(Into::into).collect() }
    }
}

/// Options of [`ranking`](crate::ranking()), built step by step; the default is the post-fit refit
/// impact of every nuisance parameter on the parameter of interest.
///
/// ```
/// use ns_inference::{Impact, RankingOptions};
/// let options = RankingOptions::default().impacts([Impact::Refit, Impact::Global]).prefit(true).top(20);
/// # assert_eq!(options.impacts.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RankingOptions {
    /// Data, fixed parameters, start and search of the fit that is varied; its options for
    /// uncertainties and intervals are ignored.
    pub fit: FitOptions,
    /// Definitions wanted; the first one sorts the list and fills its top level.
    #[serde(deserialize_with = "impacts")]
    pub impacts: Vec<Impact>,
    /// Pre-fit impacts too.
    pub prefit: bool,
    /// Keep this many parameters of largest impact; all if `None`.
    pub top: Option<usize>,
    /// Groups whose impact is wanted: in JSON an object of names and lists.
    #[serde(deserialize_with = "groups")]
    pub groups: Vec<Group>,
    /// Parameter on which the impact is wanted, by full name; the parameter of interest if `None`.
    pub parameter: Option<String>,
}

/// Definitions, each once.
fn impacts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Impact>, D::Error> {
    Vec::deserialize(from).map(|impacts| RankingOptions::default().impacts(impacts).impacts)
}

/// Groups by their names.
fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Group>, D::Error> {
    let named = options::pairs::<D, Vec<String>>(from)?;
    Ok(named.into_iter().map(|(name, members)| Group::new(name, members)).collect())
}

impl Default for RankingOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            impacts: vec![Impact::Refit],
            prefit: false,
            top: None,
            groups: Vec::new(),
            parameter: None,
        }
    }
}

options::setters! { RankingOptions {
    fit: FitOptions, prefit: bool
} }

impl RankingOptions {
    /// Sets the definitions, each once; none is the default.
    #[must_use]
    pub fn impacts(mut self, impacts: impl IntoIterator<Item = Impact>) -> Self {
        self.impacts.clear();
        for impact in impacts {
            if !self.impacts.contains(&impact) {
                self.impacts.push(impact);
            }
        }
        if self.impacts.is_empty() {
            self.impacts.push(Impact::Refit);
        }
        self
    }

    /// Keeps the `n` parameters of largest impact.
    #[must_use]
    pub fn top(mut self, n: usize) -> Self {
        self.top = Some(n);
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.groups.push(group);
        self
    }

    /// Ranks by the impact on another parameter than the parameter of interest.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>) -> Self {
        self.parameter = Some(name.into());
        self
    }
}
