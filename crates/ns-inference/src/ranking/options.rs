//! The options of a ranking.

use serde::{Deserialize, Deserializer};

use crate::{FitOptions, Work, options};

/// A definition of the impact of a nuisance parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Impact {
    /// The nuisance parameter is fixed one uncertainty above and below its best fit, and all other parameters are
    /// fitted again.
    Refit,
    /// The impact is computed from the covariance matrix of the fit. For a parabolic likelihood, this impact equals the
    /// impact from refits.
    Covariance,
    /// The auxiliary datum of the parameter is moved up and down by its width, and all parameters are fitted again.
    Global,
}

impl Impact {
    /// All definitions of impact.
    pub const ALL: [Self; 3] = [Self::Refit, Self::Covariance, Self::Global];

    /// Returns the key of this definition in the result.
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

/// A group of parameters whose combined impact is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Members of the group. Each entry is a full parameter name, the name of a parameter vector (which stands for
    /// all its elements), or a pattern. In a pattern, `*` matches any text and `?` matches one character.
    pub members: Vec<String>,
}

impl Group {
    /// Creates a group from its name and its members.
    #[must_use]
    pub fn new(name: impl Into<String>, members: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), members: members.into_iter().map(Into::into).collect() }
    }

    /// Reads groups from JSON: an object whose keys are group names and whose values are lists of members. The groups
    /// keep the order of the text.
    ///
    /// # Errors
    /// If the text is not such an object.
    pub fn read_all(text: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_slice(text);
        let found = groups(&mut from)?;
        from.end()?;
        Ok(found)
    }
}

/// Options of [`ranking`](crate::ranking()), set by chained methods. The default computes the post-fit impact
/// of every nuisance parameter on the parameter of interest by refits.
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
    /// Data, fixed parameters, starting point and search effort of all fits. The options for uncertainties and
    /// intervals have no effect.
    pub fit: FitOptions,
    /// Definitions of impact to compute. The first definition determines the order of the parameters. In the JSON, the
    /// impacts by the first definition are repeated at the top level of the entry of each parameter.
    #[serde(deserialize_with = "impacts")]
    pub impacts: Vec<Impact>,
    /// Whether to compute pre-fit impacts in addition to post-fit impacts.
    pub prefit: bool,
    /// Number of parameters in the result. The parameters with the largest impacts are kept. `None` keeps all
    /// parameters.
    pub top: Option<usize>,
    /// Groups whose combined impact is computed. In JSON they are an object with group names as keys and lists of
    /// members as values.
    #[serde(deserialize_with = "groups")]
    pub groups: Vec<Group>,
    /// Full name of the target, which is the parameter whose shifts are the impacts. `None` means the parameter of
    /// interest.
    pub parameter: Option<String>,
}

/// Deserialises definitions of impact and removes repetitions.
fn impacts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Impact>, D::Error> {
    Vec::deserialize(from).map(|impacts| RankingOptions::default().impacts(impacts).impacts)
}

/// Deserialises groups from an object whose keys are group names and whose values are lists of members.
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
    /// Returns the work of the ranking, given as the number of fits per parameter. The choice of the device depends on
    /// this number. Impacts from the covariance need no fits.
    #[must_use]
    pub fn work(&self) -> Work {
        let refitted = self.impacts.iter().filter(|impact| **impact != Impact::Covariance).count() as u64;
        Work::Ranking { per_parameter: refitted * if self.prefit { 4 } else { 2 } }
    }

    /// Sets the definitions of impact and removes repetitions. An empty list means the default, [`Impact::Refit`].
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

    /// Keeps only the `n` parameters with the largest impacts.
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

    /// Sets the target, which is the parameter whose shifts are the impacts. The default is the parameter of
    /// interest.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>) -> Self {
        self.parameter = Some(name.into());
        self
    }
}
