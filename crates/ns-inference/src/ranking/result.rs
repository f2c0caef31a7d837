//! The named result of a ranking.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Why an unconstrained parameter has no pre-fit impact.
pub(super) const UNCONSTRAINED: &str = "unconstrained: there is no uncertainty before the fit";

/// One variation of one parameter and the shift of the target that it causes.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Shift {
    /// Value of the target with the variation less its best fit; `None` with a `reason` if there is none.
    pub delta: Option<f64>,
    /// What the parameter (for `global` its auxiliary datum) was set to.
    pub value: Option<f64>,
    /// Whether a bound stopped the variation short.
    pub clipped: bool,
    /// Whether the fit behind `delta` has its certificate; `None` if no fit was needed or made.
    pub converged: Option<bool>,
    /// Why there is no `delta`, in words.
    pub reason: Option<String>,
    /// Whether the reason is one that needs no warning of its own.
    pub(super) usual: bool,
}

impl Shift {
    /// A shift that does not exist, with a reason.
    pub(super) fn missing(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// A shift that does not exist, with a reason that needs no warning.
    pub(super) fn usual(reason: impl Into<String>) -> Self {
        Self { usual: true, ..Self::missing(reason) }
    }

    /// A shift that is known without a fit.
    pub(super) fn known(delta: f64) -> Self {
        Self { delta: Some(delta), ..Self::default() }
    }
}

/// Which of the four variations of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Up by the post-fit uncertainty (`global`: the datum up by its width).
    Up,
    /// Down by it.
    Down,
    /// Up by the pre-fit width.
    PrefitUp,
    /// Down by it.
    PrefitDown,
}

impl Side {
    /// All variations, in the order of the result.
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::PrefitUp, Self::PrefitDown];

    /// The end of the keys in the result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::PrefitUp => "prefit_up",
            Self::PrefitDown => "prefit_down",
        }
    }

    /// +1 or -1.
    pub(super) fn direction(self) -> f64 {
        match self {
            Self::Up | Self::PrefitUp => 1.0,
            Self::Down | Self::PrefitDown => -1.0,
        }
    }

    /// Whether the width is the one before the fit.
    pub(super) fn is_prefit(self) -> bool {
        matches!(self, Self::PrefitUp | Self::PrefitDown)
    }
}

/// The impacts of one parameter by one definition.
///
/// Serialises to `delta_mu_*`, `value_*`, `clipped_*`, `converged_*` for each of [`Side::ALL`], and
/// `reasons`, an object of the sides without a number.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Impacts {
    /// In the order of [`Side::ALL`].
    shifts: [Shift; 4],
}

impl Impacts {
    /// Impacts without a number yet.
    pub(super) fn pending(prefit: bool) -> Self {
        let mut impacts = Self::default();
        for side in Side::ALL {
            let wanted = prefit || !side.is_prefit();
            let reason = if wanted { "interrupted" } else { "pre-fit impacts were not asked for" };
            impacts.set(side, Shift::usual(reason));
        }
        impacts
    }

    /// One of the four.
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

    /// Replaces one of the four.
    pub(super) fn set(&mut self, side: Side, shift: Shift) {
        let [up, down, prefit_up, prefit_down] = &mut self.shifts;
        *match side {
            Side::Up => up,
            Side::Down => down,
            Side::PrefitUp => prefit_up,
            Side::PrefitDown => prefit_down,
        } = shift;
    }

    /// Shift of the target for a side.
    #[must_use]
    pub fn delta(&self, side: Side) -> Option<f64> {
        self.get(side).delta
    }

    /// The larger of the two post-fit shifts, by magnitude.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        [Side::Up, Side::Down].into_iter().filter_map(|side| self.delta(side)).map(f64::abs).reduce(f64::max)
    }

    /// Half the difference of the two post-fit shifts: the impact of either sign where they are opposite.
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

/// The sides without a number, with their reasons.
struct Reasons<'a>(&'a Impacts);

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reasons = Side::ALL
            .into_iter()
            .filter_map(|side| self.0.get(side).reason.as_ref().map(|reason| (side.name(), reason)));
        serializer.collect_map(reasons)
    }
}

/// One nuisance parameter of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankedParameter {
    /// Full name.
    pub name: String,
    /// Index in the model's order of parameters.
    pub param_idx: usize,
    /// Types of the modifiers that use it (`normsys`, `staterror`, ...).
    pub kinds: Vec<&'static str>,
    /// Best-fit value.
    pub value: f64,
    /// Post-fit uncertainty; `None` at a bound, on a kink and along a flat direction.
    pub uncertainty: Option<f64>,
    /// Distance to the post-fit variation downwards, negative: `-uncertainty`, or that of the point where
    /// twice_nll has risen by 1 for a parameter at a bound or on a kink.
    pub lower: Option<f64>,
    /// The same upwards.
    pub upper: Option<f64>,
    /// Width before the fit; `None` for an unconstrained parameter.
    pub prefit_uncertainty: Option<f64>,
    /// `(value - auxiliary datum) / prefit_uncertainty`.
    pub pull: Option<f64>,
    /// `uncertainty / prefit_uncertainty`.
    pub constraint: Option<f64>,
    /// Whether a bound holds it.
    pub at_bound: bool,
    /// Whether it sits on the kink of a piecewise interpolation.
    pub at_kink: bool,
    /// Impacts by the first definition asked for.
    #[serde(flatten)]
    pub impacts: Impacts,
    /// Impacts by refits, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refit: Option<Impacts>,
    /// Impacts from the covariance, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance: Option<Impacts>,
    /// Impacts of the auxiliary datum, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<Impacts>,
}

/// Impact of several parameters together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupImpact {
    /// Name of the group.
    pub name: String,
    /// Its free members.
    pub parameters: Vec<String>,
    /// Quadratic sum of the members' symmetrised `global` impacts.
    pub delta_mu_global: Option<f64>,
    /// `sqrt(sigma^2 - sigma_fixed^2)`, where `sigma_fixed` is the uncertainty of the target with the members
    /// held at their best fit.
    pub delta_mu_fixed: Option<f64>,
    /// Why a number is missing.
    pub reason: Option<String>,
}

/// Where the uncertainty of the target comes from, by holding parameters at their best fit.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[non_exhaustive]
pub struct Breakdown {
    /// The whole uncertainty, from the Hessian.
    pub total: Option<f64>,
    /// With all constrained parameters held: what the data alone, and free factors, leave.
    pub statistical: Option<f64>,
    /// The rest: `sqrt(total^2 - statistical^2)`.
    pub systematic: Option<f64>,
    /// Part of `systematic` from the limited size of the simulation: `sqrt(total^2 - s^2)`, `s` with the
    /// parameters of staterror and shapesys modifiers held.
    pub mc_statistical: Option<f64>,
    /// The rest of `systematic`: `sqrt(systematic^2 - mc_statistical^2)`.
    pub systematic_without_mc: Option<f64>,
}

/// Nuisance parameters in the order of their impact. Serialises to the JSON of `nextstat ranking`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankingResult {
    /// The parameter on which the impact is.
    pub param: String,
    /// Its best-fit value.
    pub mu_hat: f64,
    /// Its uncertainty; `None` at a bound, on a kink and along a flat direction.
    pub mu_uncertainty: Option<f64>,
    /// Definitions asked for; the first one sorts the list and is repeated in its top level.
    pub impacts: Vec<&'static str>,
    /// Whether pre-fit impacts were asked for.
    pub prefit: bool,
    /// Nuisance parameters, largest post-fit impact first, those without one last.
    pub ranking: Vec<RankedParameter>,
    /// How many free nuisance parameters there are, `ranking` cut short or not.
    pub n_ranked: usize,
    /// Impacts of groups, largest first.
    pub groups: Vec<GroupImpact>,
    /// Statistical and systematic parts of the uncertainty.
    pub breakdown: Breakdown,
    /// `twice_nll` at the best fit.
    pub twice_nll: f64,
    /// Whether the best fit has its certificate.
    pub converged: bool,
    /// Fits made, the best fit among them.
    pub n_fits: usize,
    /// Variations whose fit has no result, without those that an interruption left out.
    pub n_failed: usize,
    /// True if the caller stopped the work; what is missing has the reason `interrupted`.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

impl RankingResult {
    /// A parameter of the list by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RankedParameter> {
        self.ranking.iter().find(|entry| entry.name == name)
    }
}
