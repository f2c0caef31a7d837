//! The picture of a test statistic in toys, with the observed value.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE, Colour, GREY, VERMILION, WHITE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, drawable, increasing, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, fixed, present, trimmed, usable};
use crate::panel::{Layout, Panel};

const PICTURE: &str = "toy distribution";
const OBSERVED: Stroke = Stroke { colour: BLACK, width: 2.0, dash: None };
const CURVE: Stroke = Stroke { colour: GREY, width: 1.8, dash: Some((6.0, 4.0)) };
/// Colours of the histograms, in order of use. Further histograms are grey.
const COLOURS: [Colour; 2] = [BLUE, VERMILION];
/// Width in pixels of the bar for the toys at 0, and of the gap to its right.
const SPIKE: f64 = 6.0;
const SPIKE_GAP: f64 = 2.0;
/// Room for the bars of the toys at 0, as a fraction of the range of the axis.
const SPIKE_ROOM: f64 = 0.04;
/// Largest distance between the observed value and the toys at which the axis holds both, as a fraction of the range of
/// the toys. An observed value that is farther away is an arrow at the edge.
const FARTHEST: f64 = 1.5;

/// The histogram of the statistic in the toys of one hypothesis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyHistogram {
    /// Name of the hypothesis. It may be empty if there is only one.
    pub name: String,
    /// Number of toys in each bin, without those at 0.
    pub counts: Vec<u64>,
    /// Number of toys whose statistic is 0. They are drawn as a bar to the left of 0.
    pub at_zero: u64,
    /// Number of toys whose statistic is beyond the last bin.
    pub beyond: u64,
    /// Number of toys that have no statistic, because a fit failed or did not converge.
    pub left_out: u64,
    /// Text about the part of the histogram from the observed value on, such as its probability with its error. This
    /// part is filled if there is a text.
    pub tail: String,
}

impl ToyHistogram {
    /// Returns the number of toys that have a statistic.
    fn total(&self) -> f64 {
        self.counts.iter().chain([&self.at_zero, &self.beyond]).map(|count| *count as f64).sum()
    }

    /// Returns the fraction `count` of all toys with a statistic; 0 if there are none.
    fn fraction(&self, count: u64) -> f64 {
        count as f64 / self.total().max(1.0)
    }

    /// Returns the text of the legend.
    fn text(&self) -> String {
        let mut text = fixed(self.total(), 0) + " toys";
        if !self.name.is_empty() {
            text = format!("{}: {text}", self.name);
        }
        if self.at_zero > 0 {
            text += &format!(", {} % at 0 (left bar)", trimmed(100.0 * self.fraction(self.at_zero), 3));
        }
        if self.beyond > 0 {
            text += &format!(", {} beyond the axis", self.beyond);
        }
        if self.left_out > 0 {
            text += &format!(", {} more without a value", self.left_out);
        }
        text
    }
}

/// The picture of the distributions of a statistic in toys, as fractions of the toys per bin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyDistribution {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Name of the statistic, the title of the horizontal axis.
    pub statistic: String,
    /// Edges of the bins, strictly increasing.
    pub bin_edges: Vec<f64>,
    /// One histogram for each hypothesis.
    pub histograms: Vec<ToyHistogram>,
    /// Positions at which the curve of an expected distribution is given, strictly increasing. If the list is empty, no
    /// curve is drawn.
    pub curve_positions: Vec<f64>,
    /// Expected fraction of the toys in a bin around each position of the curve.
    pub curve: Vec<f64>,
    /// Name of the curve.
    pub curve_name: String,
    /// Observed value of the statistic.
    pub observed: Option<f64>,
    /// Text of the legend about the observed value.
    pub observed_text: String,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
}

impl ToyDistribution {
    /// Draws the histograms as steps, fills the parts from the observed value on, and marks the observed value.
    ///
    /// # Errors
    /// If no toy has a statistic, the lengths of fields differ, or edges or positions do not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "bin_edges", &self.bin_edges)?;
        increasing(PICTURE, "curve_positions", &self.curve_positions)?;
        drawable(PICTURE, "curve", &self.curve)?;
        same_length(PICTURE, "curve", self.curve.len(), "curve_positions", self.curve_positions.len())?;
        for one in &self.histograms {
            let field = format!("histograms '{}', counts", one.name);
            same_length(
                PICTURE,
                &field,
                one.counts.len(),
                "bin_edges",
                self.bin_edges.len().saturating_sub(1),
            )?;
        }
        let Some(least) =
            self.histograms.iter().map(ToyHistogram::total).filter(|n| *n > 0.0).reduce(f64::max)
        else {
            let remedy = "at least one toy whose fits converged";
            return Err(PictureError::Empty { picture: PICTURE, field: "histograms".into(), remedy });
        };
        let mut panel = self.layout(1.0 / least).start();
        self.tails(&mut panel);
        for (index, one) in self.histograms.iter().enumerate() {
            let mut steps = Vec::with_capacity(2 * one.counts.len() + 2);
            steps.extend(self.bin_edges.first().map(|edge| (*edge, 0.0)));
            for (count, pair) in one.counts.iter().zip(self.bin_edges.windows(2)) {
                let height = one.fraction(*count);
                steps.extend([(pair[0], height), (pair[1], height)]);
            }
            steps.extend(self.bin_edges.last().map(|edge| (*edge, 0.0)));
            panel.curve(&steps, Stroke::solid(colour(index), 1.8));
            self.spike(&mut panel, index, one);
        }
        let curve: Vec<_> = self.curve_positions.iter().copied().zip(self.curve.iter().copied()).collect();
        panel.curve(&curve, CURVE);
        if let Some(observed) = present(self.observed) {
            if panel.x.holds(observed) {
                panel.curve(&[(observed, panel.y.lo), (observed, panel.y.hi)], OBSERVED);
            } else {
                let right = observed > panel.x.hi;
                arrow(&mut panel, right);
            }
        }
        Ok(panel.finish())
    }

    /// Describes the page. `smallest` is the smallest fraction of toys above 0 that a bin may have.
    fn layout(&self, smallest: f64) -> Layout<'_> {
        let fractions = self
            .histograms
            .iter()
            .flat_map(|one| one.counts.iter().chain([&one.at_zero]).map(|count| one.fraction(*count)));
        let most = fractions.chain(self.curve.iter().copied()).fold(0.0, f64::max).max(smallest);
        let y =
            if self.log_y { Axis::log(0.5 * smallest, 3.0 * most) } else { Axis::linear(0.0, 1.12 * most) };
        let ends = self.bin_edges.iter().chain(&self.curve_positions).copied();
        let spikes = self.histograms.iter().any(|one| one.at_zero > 0);
        let ends = ends.chain(spikes.then_some(0.0));
        let (first, last) =
            extent(ends.chain(self.bin_edges.is_empty().then_some(1.0))).unwrap_or((0.0, 1.0));
        let observed = present(self.observed);
        let near = observed.filter(|value| {
            (first - FARTHEST * (last - first)..=last + FARTHEST * (last - first)).contains(value)
        });
        let (first, last) = near.map_or((first, last), |value| (first.min(value), last.max(value)));
        let room = |wanted: bool| if wanted { SPIKE_ROOM * (last - first) } else { 0.0 };
        let mut entries = Vec::new();
        for (index, one) in self.histograms.iter().enumerate() {
            entries.push(Entry::new(Symbol::Line(Stroke::solid(colour(index), 1.8)), one.text()));
            if !one.tail.is_empty() {
                entries.push(Entry::new(Symbol::Box(Ink::fill(light(index))), one.tail.clone()));
            }
        }
        if !self.curve.is_empty() {
            entries.push(Entry::new(Symbol::Line(CURVE), self.curve_name.clone()));
        }
        if observed.is_some() {
            let beyond = if near.is_none() { " (beyond the axis)" } else { "" };
            entries.push(Entry::new(Symbol::Line(OBSERVED), format!("{}{beyond}", self.observed_text)));
        }
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Distribution of {} in toys", self.statistic),
            x: Axis::linear(
                // The line of an observed value at the end of the axis would be hidden by the frame.
                first - room(spikes || near.is_some_and(|value| value <= first)),
                last + room(near.is_some_and(|value| value >= last)),
            ),
            y,
            x_title: &self.statistic,
            y_title: "fraction of toys per bin",
            right: frame::RIGHT,
        }
    }

    /// Fills the parts of the histograms from the observed value on. In each bin the lower histogram is in front.
    fn tails(&self, panel: &mut Panel<'_>) {
        let Some(observed) = present(self.observed) else { return };
        for (bin, pair) in self.bin_edges.windows(2).enumerate() {
            let (left, right) = (pair[0].max(observed), pair[1]);
            if left >= right {
                continue;
            }
            let height = |one: &ToyHistogram| one.counts.get(bin).map_or(0.0, |count| one.fraction(*count));
            let mut bars: Vec<_> = self.histograms.iter().map(height).enumerate().collect();
            bars.sort_by(|a, b| b.1.total_cmp(&a.1));
            for (index, height) in bars {
                let filled = self.histograms.get(index).is_some_and(|one| !one.tail.is_empty());
                if filled && usable(height).is_some_and(|height| height > panel.y.lo) {
                    let area = Area {
                        left: panel.x.at(left),
                        right: panel.x.at(right),
                        top: panel.y.clamped(height),
                        bottom: panel.area.bottom,
                    };
                    panel.drawing.rect(area, Ink::tile(light(index)));
                }
            }
        }
    }

    /// Draws the bar of the toys at 0. The bars of several histograms stand side by side, the last one next to 0.
    fn spike(&self, panel: &mut Panel<'_>, index: usize, one: &ToyHistogram) {
        let height = one.fraction(one.at_zero);
        if one.at_zero == 0 || height <= panel.y.lo {
            return;
        }
        let place = self.histograms.len().saturating_sub(index) as f64;
        let left = panel.x.at(0.0) - place * (SPIKE + SPIKE_GAP);
        let top = panel.y.clamped(height);
        let bar = Area { left, right: left + SPIKE, top, bottom: panel.area.bottom };
        if left >= panel.area.left && bar.right <= panel.area.right {
            panel.drawing.rect(bar, Ink::fill(colour(index)));
        }
    }
}

/// Draws an arrow at the right or left edge, for an observed value beyond the axis.
fn arrow(panel: &mut Panel<'_>, right: bool) {
    let y = panel.area.top + 0.3 * panel.area.height();
    let (tip, inwards) = if right { (panel.area.right - 2.0, -1.0) } else { (panel.area.left + 2.0, 1.0) };
    panel.drawing.line((tip + 42.0 * inwards, y), (tip + 8.0 * inwards, y), OBSERVED);
    let back = tip + 11.0 * inwards;
    panel.drawing.polygon(&[(tip, y), (back, y - 5.5), (back, y + 5.5)], Ink::fill(BLACK));
}

fn colour(index: usize) -> Colour {
    COLOURS.get(index).copied().unwrap_or(GREY)
}

fn light(index: usize) -> Colour {
    colour(index).mix(WHITE, 0.65)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> ToyDistribution {
        let one = |name: &str, counts: [u64; 3], at_zero| ToyHistogram {
            name: name.into(),
            counts: counts.into(),
            at_zero,
            tail: "filled".into(),
            ..ToyHistogram::default()
        };
        ToyDistribution {
            statistic: "q".into(),
            bin_edges: vec![0.0, 1.0, 2.0, 3.0],
            histograms: vec![one("b", [10, 20, 30], 40), one("s+b", [50, 30, 10], 110)],
            observed: Some(1.5),
            observed_text: "observed".into(),
            ..ToyDistribution::default()
        }
    }

    #[test]
    fn fractions_are_of_the_toys_with_a_statistic() {
        let mut one = example().histograms.remove(0);
        (one.beyond, one.left_out) = (25, 7);
        assert_eq!((one.total(), one.fraction(25)), (125.0, 0.2));
        assert_eq!(
            one.text(),
            "b: 125 toys, 32 % at 0 (left bar), 25 beyond the axis, 7 more without a value"
        );
    }

    #[test]
    fn toys_at_zero_alone_have_a_picture() {
        let mut all_zero = example();
        for one in &mut all_zero.histograms {
            one.counts = vec![0; 3];
        }
        all_zero.observed = Some(0.0);
        for log_y in [false, true] {
            let labels = ToyDistribution { log_y, ..all_zero.clone() }.draw().unwrap().labels();
            assert!(
                labels.iter().any(|label| label.text == "b: 40 toys, 100 % at 0 (left bar)"),
                "{labels:?}"
            );
        }
    }

    #[test]
    fn a_distribution_without_toys_says_what_is_missing() {
        let mut none = example();
        for one in &mut none.histograms {
            (one.counts, one.at_zero, one.left_out) = (vec![0; 3], 0, 9);
        }
        let error = none.draw().unwrap_err().to_string();
        assert!(error.contains("`histograms` has no usable value; give at least one toy"), "{error}");
        let mut short = example();
        short.histograms[1].counts.pop();
        let error = short.draw().unwrap_err().to_string();
        assert!(error.contains("`histograms 's+b', counts` has 2 entries"), "{error}");
    }
}
