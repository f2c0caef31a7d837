//! Finds effects that are too small to matter.

use serde::{Deserialize, Serialize};

use super::describe::Pruning;

/// The effect of a systematic on a sample of a channel, and which parts of it are in the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRow {
    /// Name of the channel.
    pub channel: String,
    /// Name of the sample.
    pub sample: String,
    /// Name of the systematic.
    pub systematic: String,
    /// The effect on the sum of the sample; `None` if the systematic has none.
    pub normalisation: Option<Part>,
    /// The effect on the shape of the sample; `None` if the systematic has none.
    pub shape: Option<Part>,
    /// Whether the templates were smoothed.
    pub smoothed: bool,
}

/// A part of an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// For the normalisation, the relative change of the sum upwards. For the shape, the relative change upwards of the
    /// bin that changes most. `None` if that is infinite.
    pub up: Option<f64>,
    /// The same downwards.
    pub down: Option<f64>,
    /// Why the part is not in the workspace; `None` if it is.
    pub pruned: Option<Reason>,
}

/// Why a part of an effect is not in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its changes are not above the threshold.
    Small,
    /// Its changes are so large that they must be a mistake.
    Large,
    /// The channel has one bin, and so no shapes.
    OneBin,
    /// The sample has no events in this channel.
    Empty,
    /// The configuration leaves this part out.
    LeftOut,
}

impl Reason {
    /// The reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Small => "below the threshold",
            Self::Large => "above the largest effect",
            Self::OneBin => "the channel has one bin",
            Self::Empty => "the sample has no events",
            Self::LeftOut => "left out by the configuration",
        }
    }
}

impl Part {
    /// The part of relative changes `up` and `down`. It is small if neither is above `threshold`, and large if one is above
    /// `large`.
    pub(super) fn new(up: f64, down: f64, threshold: Option<f64>, large: Option<f64>) -> Self {
        let small = threshold.is_some_and(|most| up.abs() <= most && down.abs() <= most);
        let large = large.is_some_and(|most| up.abs() > most || down.abs() > most);
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let pruned = if large { Some(Reason::Large) } else { small.then_some(Reason::Small) };
        Self { up: finite(up), down: finite(down), pruned }
    }

    /// Sets a reason, unless there is one.
    pub(super) fn without(mut self, reason: Option<Reason>) -> Self {
        self.pruned = self.pruned.or(reason);
        self
    }

    /// Takes the decision of the thresholds from another part.
    pub(super) fn pruned_as(mut self, other: Option<&Self>) -> Self {
        let by_threshold = |reason: &Reason| matches!(reason, Reason::Small | Reason::Large);
        if let Some(other) = other
            && self.pruned.is_none_or(|reason| by_threshold(&reason))
        {
            self.pruned = other.pruned.filter(by_threshold);
        }
        self
    }

    /// Sets a reason that counts more than the one there is.
    pub(super) fn rather(mut self, reason: Option<Reason>) -> Self {
        self.pruned = reason.or(self.pruned);
        self
    }

    /// Whether the part is in the workspace.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.pruned.is_none()
    }
}

impl EffectRow {
    /// Whether any part of the effect is not in the workspace, for another reason than that its channel has one bin.
    #[must_use]
    pub fn is_pruned(&self) -> bool {
        let parts = [&self.normalisation, &self.shape];
        parts.into_iter().flatten().any(|part| part.pruned.is_some_and(|reason| reason != Reason::OneBin))
    }
}

/// Returns the normalisation part of factors on the sum.
pub(super) fn normalisation(up: f64, down: f64, pruning: Pruning) -> Part {
    Part::new(up - 1.0, down - 1.0, pruning.normalisation, pruning.large)
}

/// Returns the shape part of templates with the nominal sum. A bin without nominal events has an infinite change if a
/// template has events there.
pub(super) fn shape(nominal: &[f64], up: &[f64], down: &[f64], pruning: Pruning) -> Part {
    let largest = |varied: &[f64]| {
        let change = |(v, n): (&f64, &f64)| if v == n { 0.0 } else { (v - n) / n };
        let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
        varied.iter().zip(nominal).map(change).fold(0.0, larger)
    };
    Part::new(largest(up), largest(down), pruning.shape, pruning.large)
}
