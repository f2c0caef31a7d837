//! Recognises a descent that returns to a minimum that is known already. Such a descent ends early.

use super::WIDTH;
use super::descend::FitKind;
use super::group::Group;
use crate::shared_constants::{CLOSE, RECOGNISABLE, SAME};

/// Largest EDM (estimated distance to the minimum) of a point whose next step is used to recognise that the descent
/// returns to a known minimum.
const LARGEST_EDM: f64 = 0.3;

/// A descent is recognised as returning to a known minimum only if its next step reduces the distance to this minimum
/// at least to this fraction.
const APPROACH: f64 = 0.5;

/// Largest height of a point above the known minimum at which the test with a parabola is used. The test compares
/// `-ln L` along the line to the known minimum with a parabola around this minimum.
const LARGEST_HEIGHT: f64 = 0.3;

/// Largest relative difference between the slope of `-ln L` towards the known minimum and the slope of a parabola
/// around this minimum. With a larger difference, the descent is not recognised as returning to the minimum.
const LARGEST_DIFFERENCE: f64 = 0.2;

/// In the test with a parabola, the next step must reduce the distance to the known minimum at least to this fraction.
/// With a fraction of 1, one of 3 474 fits of toys of the fixture `strongly_bent` did not find the lower of its two
/// minima, which are 0.3 constraint widths apart.
const APPROACH_ON_PARABOLA: f64 = 0.7;

/// Smallest accepted curvature of the parabola around the known minimum, divided by the curvature of the constraints.
const LEAST_CURVATURE: f64 = 2.0 / 3.0;

/// A low point of a toy. It is the lowest minimum found so far, or a lower point that is not certified as a minimum.
pub(super) struct KnownMinimum {
    pub(super) value: f64,
    pub(super) theta: Vec<f64>,
}

/// The minimum below which a further descent of the same fit has to end to be of use.
#[derive(Clone, Copy)]
pub(super) struct ToBeat<'a> {
    pub(super) known: &'a KnownMinimum,
    /// Whether the descent starts next to the known minimum, to look for another minimum in the same valley.
    pub(super) starts_near: bool,
}

/// The point that the descent in one lane (one of eight descents) has reached.
pub(super) struct Progress {
    pub(super) lane: usize,
    /// Value of `-ln L` minus its value in the saturated model.
    pub(super) value: f64,
    pub(super) edm: f64,
}

impl KnownMinimum {
    /// Returns whether the descent in a lane (one of eight descents) is expected to end in this minimum. This is the
    /// case if `-ln L` and the parameters are predicted to have nearly the values of this minimum after the next step.
    pub(super) fn awaits(&self, at: &Progress, kind: &FitKind<'_>, group: &Group) -> bool {
        if at.edm > RECOGNISABLE || !self.is_predicted(at) {
            return false;
        }
        kind.metric.free.iter().all(|&p| {
            let i = p * WIDTH + at.lane;
            let scale = kind.width[p].unwrap_or(self.theta[p].abs());
            (group.theta[i] + group.direction[i] - self.theta[p]).abs() <= CLOSE * scale.max(CLOSE)
        })
    }

    /// Returns whether the descent in a lane (one of eight descents) approaches this minimum. This function recognises
    /// the end of a descent several steps earlier than [`Self::awaits`]. Either of two tests is sufficient:
    ///
    /// * The next step leads to at most half the distance from the minimum, and to nearly the same value of `-ln L`.
    /// * Along the line to the minimum, the height `h` of the point, its slope `s` and its distance `d` (in widths of
    ///   the constraints) are those of a parabola around the minimum, `s d = 2 h`. The curvature of this parabola is
    ///   not much less than that of the constraints alone, as in the valley of a minimum. The next step leads towards
    ///   the minimum. This test is not used for a descent that starts next to the minimum (`starts_near`).
    ///
    /// These tests are used in fits whose metric contains the derivatives at the lane's own point, because the steps of
    /// such fits point to the minimum. Of 19 561 further descents of toys of the model 1Lbb that were not ended early,
    /// 358 found a minimum lower than the known one, in 47 fits. The first test and the prediction from the EDM would
    /// end 15 of these 358 descents, and in each of these fits another descent finds the same minimum. The second test
    /// would end no more of them, and saves 8 % of the evaluations.
    pub(super) fn recognises(
        &self,
        at: &Progress,
        starts_near: bool,
        kind: &FitKind<'_>,
        group: &Group,
    ) -> bool {
        let height = at.value - self.value;
        let by_step = at.edm <= LARGEST_EDM && self.is_predicted(at);
        let by_parabola = !starts_near && height > 0.0 && height <= LARGEST_HEIGHT;
        if !by_step && !by_parabola {
            return false;
        }
        // Squares of the distance, now and after the next step, and the slope times the distance.
        let (mut here, mut ahead, mut slope) = (0.0, 0.0, 0.0);
        for &p in &kind.metric.free {
            let i = p * WIDTH + at.lane;
            let scale = kind.width[p].unwrap_or(self.theta[p].abs()).max(CLOSE);
            let from = (group.theta[i] - self.theta[p]) / scale;
            let to = from + group.direction[i] / scale;
            (here, ahead) = (here + from * from, ahead + to * to);
            slope += group.slope[i] * (group.theta[i] - self.theta[p]);
        }
        let parabola = 2.0 * height;
        by_step && ahead <= APPROACH * APPROACH * here
            || by_parabola
                && (slope - parabola).abs() <= LARGEST_DIFFERENCE * parabola
                && LEAST_CURVATURE * here <= parabola
                && ahead <= APPROACH_ON_PARABOLA * APPROACH_ON_PARABOLA * here
    }

    /// Returns whether the value after the next step is predicted to be nearly that of this minimum.
    fn is_predicted(&self, at: &Progress) -> bool {
        (at.value - at.edm - self.value).abs() <= 0.5 * at.edm + SAME
    }
}
