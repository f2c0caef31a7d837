//! The result of a ranking, with the names of parameters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Impact;

/// Reason why an unconstrained parameter has no pre-fit impact.
pub(super) const UNCONSTRAINED: &str = "unconstrained: there is no uncertainty before the fit";

/// The shift of the target (the parameter whose shifts are the impacts) in a fit in which one nuisance parameter or its
/// auxiliary datum is moved.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Shift {
    /// Value of the target in the varied fit minus its best-fit value. `None` if this number is missing; `reason`
    /// then gives the reason.
    pub delta: Option<f64>,
    /// Value to which the parameter was moved. For the `global` definition, the value to which its auxiliary datum
    /// was moved.
    pub value: Option<f64>,
    /// Whether a bound of the parameter limited the variation, so that the parameter was moved less than intended.
    pub clipped: bool,
    /// Whether the varied fit converged; `None` if no fit was needed or made.
    pub converged: Option<bool>,
    /// Reason why `delta` is missing; `None` if `delta` exists.
    pub reason: Option<String>,
    /// Whether the reason for a missing `delta` is expected, so that no warning is needed.
    pub(super) usual: bool,
}

impl Shift {
    /// Creates a shift without a value, with the reason why the value is missing.
    pub(super) fn missing(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// Creates a shift without a value, with an expected reason for which there is no warning.
    pub(super) fn usual(reason: impl Into<String>) -> Self {
        Self { usual: true, ..Self::missing(reason) }
    }

    /// Creates a shift that was computed without a fit.
    pub(super) fn known(delta: f64) -> Self {
        Self { delta: Some(delta), ..Self::default() }
    }
}

/// One of the four variations of a nuisance parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The parameter is moved up by its post-fit uncertainty. For the `global` definition, its auxiliary datum
    /// is moved up by its width.
    Up,
    /// The parameter is moved down by its post-fit uncertainty. For the `global` definition, its auxiliary datum is
    /// moved down by its width.
    Down,
    /// The parameter is moved up by its pre-fit uncertainty.
    PrefitUp,
    /// The parameter is moved down by its pre-fit uncertainty.
    PrefitDown,
}

impl Side {
    /// All variations, in the order of the keys in the JSON.
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::PrefitUp, Self::PrefitDown];

    /// Returns the suffix of this variation in JSON keys such as `delta_mu_up`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::PrefitUp => "prefit_up",
            Self::PrefitDown => "prefit_down",
        }
    }

    /// Returns +1 for a variation up and -1 for a variation down.
    pub(super) fn direction(self) -> f64 {
        match self {
            Self::Up | Self::PrefitUp => 1.0,
            Self::Down | Self::PrefitDown => -1.0,
        }
    }

    /// Returns whether the parameter is moved by its pre-fit uncertainty.
    pub(super) fn is_prefit(self) -> bool {
        matches!(self, Self::PrefitUp | Self::PrefitDown)
    }
}

/// The impacts of one nuisance parameter by one definition.
///
/// Serialises to the keys `delta_mu_*`, `value_*`, `clipped_*` and `converged_*`. There is one key of each kind for
/// every side in [`Side::ALL`], with the name of the side in place of `*`. The key `reasons` is an object with the
/// reason for each missing shift.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Impacts {
    /// Shifts in the order of [`Side::ALL`].
    shifts: [Shift; 4],
}

impl Impacts {
    /// Creates four shifts without values. A shift that will be computed has the reason `interrupted` at first.
    /// `prefit` is true if pre-fit shifts were asked for.
    pub(super) fn pending(prefit: bool) -> Self {
        let mut impacts = Self::default();
        for side in Side::ALL {
            let wanted = prefit || !side.is_prefit();
            let reason = if wanted { "interrupted" } else { "pre-fit impacts were not asked for" };
            impacts.set(side, Shift::usual(reason));
        }
        impacts
    }

    /// Returns the shift of one variation.
    #[must_use]
    pub fn get(&self, side: Side) -> &Shift {
        let [up, down, prefit_up, prefit_down] = &self.shifts;
        match side {
            Side::Up => up,
            Side::Down => down,
            Side::PrefitUp => prefit_up,
            Side::PrefitDown => prefit_down,
        }
    }

    /// Replaces the shift of one variation.
    pub(super) fn set(&mut self, side: Side, shift: Shift) {
        let [up, down, prefit_up, prefit_down] = &mut self.shifts;
        *match side {
            Side::Up => up,
            Side::Down => down,
            Side::PrefitUp => prefit_up,
            Side::PrefitDown => prefit_down,
        } = shift;
    }

    /// Returns the shift of the target in one variation; `None` if it is missing.
    #[must_use]
    pub fn delta(&self, side: Side) -> Option<f64> {
        self.get(side).delta
    }

    /// Returns the larger of the magnitudes of the two post-fit shifts; `None` if both shifts are missing.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        [Side::Up, Side::Down].into_iter().filter_map(|side| self.delta(side)).map(f64::abs).reduce(f64::max)
    }

    /// Returns half the absolute difference of the two post-fit shifts; `None` if one of them is missing.
    #[must_use]
    pub fn symmetric(&self) -> Option<f64> {
        Some((self.delta(Side::Up)? - self.delta(Side::Down)?).abs() / 2.0)
    }
}

impl Serialize for Impacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let key = |what: &str, side: Side| format!("{what}_{}", side.name());
        for side in Side::ALL {
            map.serialize_entry(&key("delta_mu", side), &self.get(side).delta)?;
        }
        for side in Side::ALL {
            map.serialize_entry(&key("value", side), &self.get(side).value)?;
        }
        for side in Side::ALL {
            map.serialize_entry(&key("clipped", side), &self.get(side).clipped)?;
        }
        for side in Side::ALL {
            map.serialize_entry(&key("converged", side), &self.get(side).converged)?;
        }
        map.serialize_entry("reasons", &Reasons(self))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Impacts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut out = Self::default();
        for side in Side::ALL {
            let entry = |what: &str| map.get(&format!("{what}_{}", side.name()));
            let reason = map.get("reasons").and_then(|reasons| reasons.get(side.name()));
            let shift = Shift {
                delta: entry("delta_mu").and_then(Value::as_f64),
                value: entry("value").and_then(Value::as_f64),
                clipped: entry("clipped").and_then(Value::as_bool).unwrap_or(false),
                converged: entry("converged").and_then(Value::as_bool),
                reason: reason.and_then(Value::as_str).map(str::to_owned),
                usual: false,
            };
            out.set(side, shift);
        }
        Ok(out)
    }
}

/// Reads the names of definitions of impacts.
fn impact_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'static str>, D::Error> {
    Vec::<Impact>::deserialize(deserializer).map(|all| all.into_iter().map(Impact::name).collect())
}

/// Serialises the reasons for missing shifts as an object. The keys are the names of the variations.
struct Reasons<'a>(&'a Impacts);

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reasons = Side::ALL
            .into_iter()
            .filter_map(|side| self.0.get(side).reason.as_ref().map(|reason| (side.name(), reason)));
        serializer.collect_map(reasons)
    }
}

/// Sets the same shift of one variation for every target.
pub(super) fn set_all(impacts: &mut [Impacts], side: Side, shift: &Shift) {
    impacts.iter_mut().for_each(|impacts| impacts.set(side, shift.clone()));
}

/// Sets the shifts of one variation, one for every target.
pub(super) fn set_each(impacts: &mut [Impacts], side: Side, shifts: Vec<Shift>) {
    impacts.iter_mut().zip(shifts).for_each(|(impacts, shift)| impacts.set(side, shift));
}

/// One nuisance parameter of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RankedParameter {
    /// Full name of the parameter.
    pub name: String,
    /// Index of the parameter in the model's order.
    pub param_idx: usize,
    /// Types of the modifiers that use the parameter (`normsys`, `staterror`, ...).
    pub kinds: Vec<Cow<'static, str>>,
    /// Best-fit value of the parameter.
    pub value: f64,
    /// Post-fit uncertainty of the parameter; `None` for a parameter at a bound, on a kink of an interpolation, or
    /// along a direction in which `-ln L` is flat.
    pub uncertainty: Option<f64>,
    /// Change of the parameter when it is moved down, which is a negative number. Usually it is `-uncertainty`. For a
    /// parameter at a bound or on a kink of an interpolation, it is the distance to the lower value at which `-2 ln L`
    /// is 1 above its minimum. `None` if there is no such value.
    pub lower: Option<f64>,
    /// Change of the parameter when it is moved up, which is a positive number. The definition is that of `lower`, on
    /// the other side of the best fit.
    pub upper: Option<f64>,
    /// Names of the constraint terms on functions of parameters, or of another kind than a normal or Poisson distribution of
    /// this parameter alone, that depend on the parameter. They give no pre-fit uncertainty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraint_terms: Vec<String>,
    /// Pre-fit uncertainty, i.e. the width of the constraint; `None` for a parameter without a constraint of its own.
    pub prefit_uncertainty: Option<f64>,
    /// Pull: `(value - auxiliary datum) / prefit_uncertainty`; `None` for a parameter without a constraint.
    pub pull: Option<f64>,
    /// Ratio `uncertainty / prefit_uncertainty`; `None` if one of them does not exist.
    pub constraint: Option<f64>,
    /// Whether the best-fit value of the parameter is at one of its bounds.
    pub at_bound: bool,
    /// Whether the best-fit value of the parameter is on a kink of a piecewise interpolation.
    pub at_kink: bool,
    /// Impacts by the first definition in [`RankingResult::impacts`].
    #[serde(flatten)]
    pub impacts: Impacts,
    /// Impacts by refits; `None` if not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub refit: Option<Impacts>,
    /// Impacts from the covariance; `None` if not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub covariance: Option<Impacts>,
    /// Impacts by shifts of the auxiliary datum; `None` if not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub global: Option<Impacts>,
}

/// Combined impact of a group of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GroupImpact {
    /// Name of the group.
    pub name: String,
    /// Names of the members of the group that are free parameters.
    pub parameters: Vec<String>,
    /// Quadratic sum of the `global` impacts of the members. The impact of a member is half the absolute difference of
    /// its two shifts (up and down).
    pub delta_mu_global: Option<f64>,
    /// `sqrt(sigma^2 - sigma_fixed^2)`. `sigma` is the uncertainty of the target, and `sigma_fixed` is its
    /// uncertainty with the members of the group fixed at their best fit.
    pub delta_mu_fixed: Option<f64>,
    /// Reasons why the impacts of the group are missing; `None` if none is missing.
    pub reason: Option<String>,
}

/// Parts of the uncertainty of the target. The parts are computed from fits in which some parameters are fixed at their
/// best fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Breakdown {
    /// Total uncertainty of the target, from the Hessian.
    pub total: Option<f64>,
    /// Statistical part, due to the data: the uncertainty with all constrained parameters fixed.
    pub statistical: Option<f64>,
    /// Systematic part: `sqrt(total^2 - statistical^2)`.
    pub systematic: Option<f64>,
    /// Part of `systematic` that is due to the limited size of the simulation: `sqrt(total^2 - s^2)`, where `s` is
    /// the uncertainty of the target with the parameters of staterror and shapesys modifiers fixed.
    pub mc_statistical: Option<f64>,
    /// Systematic part without `mc_statistical`: `sqrt(systematic^2 - mc_statistical^2)`.
    pub systematic_without_mc: Option<f64>,
}

/// Parts of the uncertainty of the target that groups contribute if they are fixed one after another. The squares of all
/// parts add up to the square of the total uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Sequence {
    /// Total uncertainty of the target, from the Hessian.
    pub total: Option<f64>,
    /// The groups, in the order in which they are fixed.
    pub groups: Vec<SequencePart>,
    /// Part of the constrained parameters that are in no group, which are fixed after all groups.
    pub other: Option<f64>,
    /// What is left: the uncertainty with all groups and all constrained parameters fixed.
    pub statistical: Option<f64>,
    /// Square root of the sum of the squares of the parts of `groups`, `other` and `statistical`.
    pub sum: Option<f64>,
}

/// The part of one group of a [`Sequence`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SequencePart {
    /// Name of the group.
    pub name: String,
    /// `sqrt(before^2 - after^2)`, the uncertainties of the target before and after the group is fixed.
    pub delta_mu: Option<f64>,
    /// Uncertainty of the target with this group and those before it fixed.
    pub left: Option<f64>,
}

/// Sums over groups: square roots of the sums of the squares of their impacts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GroupSums {
    /// Sum of `delta_mu_global`; `None` if a group has none.
    pub delta_mu_global: Option<f64>,
    /// Sum of `delta_mu_fixed`; `None` if a group has none. Correlations between groups count in each of them, so that it is no
    /// part of the total uncertainty.
    pub delta_mu_fixed: Option<f64>,
}

/// Nuisance parameters in the order of their impact. Serialises to the JSON of `nextstat ranking`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RankingResult {
    /// Name of the target, which is the parameter whose shifts are the impacts.
    pub param: String,
    /// Best-fit value of the target.
    pub mu_hat: f64,
    /// Uncertainty of the target; `None` for a target at a bound, on a kink of an interpolation, or along a direction
    /// in which `-ln L` is flat.
    pub mu_uncertainty: Option<f64>,
    /// Names of the requested definitions of impact. The first definition determines the order of `ranking`. In the
    /// JSON, its impacts are repeated at the top level of each entry.
    #[serde(deserialize_with = "impact_names")]
    pub impacts: Vec<&'static str>,
    /// Whether pre-fit impacts were asked for.
    pub prefit: bool,
    /// Nuisance parameters in descending order of their post-fit impact. Parameters without an impact come last.
    pub ranking: Vec<RankedParameter>,
    /// Number of free nuisance parameters. If the option `top` is set, `ranking` lists only some of them.
    pub n_ranked: usize,
    /// Impacts of groups, largest first.
    pub groups: Vec<GroupImpact>,
    /// Sums over groups; `None` without groups.
    pub group_sums: Option<GroupSums>,
    /// Parts of groups that are fixed one after another; `None` without groups.
    pub sequential: Option<Sequence>,
    /// Statistical and systematic parts of the uncertainty of the target.
    pub breakdown: Breakdown,
    /// `-2 ln L` at the best fit.
    pub twice_nll: f64,
    /// Whether the best fit converged. For Asimov data with events, their error is also small enough.
    pub converged: bool,
    /// Estimated error of differences of `twice_nll` of Asimov data at the minima of all fits, which comes from the
    /// numerical integration of expected events. `None` if the data are not Asimov data with events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Number of fits made, including the best fit.
    pub n_fits: usize,
    /// Number of variations (fits with a moved parameter or auxiliary datum) that failed or did not converge.
    pub n_failed: usize,
    /// Whether the caller stopped the work. Shifts that were not computed have the reason `interrupted`.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

impl RankingResult {
    /// Returns the entry of the parameter with the full name `name`; `None` if the ranking does not list it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RankedParameter> {
        self.ranking.iter().find(|entry| entry.name == name)
    }
}
