//! The picture of yields. For each channel it shows the stacked samples, the data, and the ratio of data and
//! prediction.

mod catalogue;
mod hidden;

use serde::{Deserialize, Serialize};

use crate::drawing::{Area, Drawing};
use crate::error::PictureError;
use crate::frame;
use crate::header::Header;
use crate::stack::Stack;

pub(crate) const PICTURE: &str = "yields";
const MARGIN: f64 = 16.0;
const GUTTER: f64 = 14.0;
const CAPTION: f64 = 22.0;
/// Width to the right of a channel.
const RIGHT: f64 = 8.0;
/// Largest number of samples that a remark names.
const MOST_NAMED: usize = 3;

/// The expected yields of one sample in a channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleYields {
    /// Name of the sample. A sample has the same colour in all channels.
    pub name: String,
    /// Expected yield of each bin.
    pub counts: Vec<f64>,
    /// Whether the sample is signal. Signal is drawn in red, on top of the other samples.
    pub signal: bool,
    /// Expected yield at each of the channel's `curve_positions`; empty for a histogram.
    pub curve: Vec<f64>,
    /// Colour as red, green and blue; `None` for the next colour of the palette.
    pub colour: Option<[u8; 3]>,
}

/// How the samples of a channel are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Components {
    /// The samples are filled, one on top of the other.
    #[default]
    Stack,
    /// Each sample is a line, and another line shows their sum.
    Lines,
}

impl std::str::FromStr for Components {
    type Err = String;

    /// Parses `stack` or `lines`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "stack" => Ok(Self::Stack),
            "lines" => Ok(Self::Lines),
            other => Err(format!("'{other}' is no way to draw components; use stack or lines")),
        }
    }
}

/// Expected and observed events of one channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelYields {
    /// Name of the channel.
    pub name: String,
    /// Remark in brackets after the name. If empty, there is no remark.
    pub note: String,
    /// Title of the horizontal axis. If empty, the title is `bin`.
    pub x_title: String,
    /// Edges of the bins, strictly increasing, one more than there are bins. If empty, the edges are 0, 1, 2
    /// and so on.
    pub bin_edges: Vec<f64>,
    /// Names of the bins, which are drawn in place of numbers. If empty, the bins have no names.
    pub bin_labels: Vec<String>,
    /// The samples, from the bottom of the stack to its top. Signal samples are always on top.
    pub samples: Vec<SampleYields>,
    /// Observed events of each bin; `None` for a bin whose data must not be shown. If the list is empty, no
    /// data are drawn.
    pub data: Vec<Option<f64>>,
    /// Size of the error bar of the data in each bin, both up and down, as for sums of weights. If the list
    /// is empty, the data are counts with Poisson intervals.
    pub data_errors: Vec<Option<f64>>,
    /// Positions on the horizontal axis at which the curves of all samples are given, in ascending order. A
    /// position may occur twice, where a curve has a step. If the list is empty, samples are drawn as
    /// histograms.
    pub curve_positions: Vec<f64>,
    /// Blinded ranges of the horizontal axis. Bins that overlap with such a range show no data.
    pub blind: Vec<(f64, f64)>,
    /// Whether the expectation was fitted to the data of blinded ranges. It is then not drawn there, either, and nothing
    /// in the file depends on it.
    pub fitted: bool,
    /// Uncertainty of the total expected yield of each bin; empty if unknown.
    pub uncertainty: Vec<Option<f64>>,
    /// Total expected yield of each bin before the fit, drawn as a dashed line; empty if it is not drawn.
    pub before: Vec<Option<f64>>,
    /// Whether the lower panel shows pulls in place of ratios. A pull is the difference between data and
    /// prediction, divided by the error bar of the data.
    pub pulls: bool,
}

/// The picture of expected and observed events of one or more channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Yields {
    /// Title of the picture, such as "Post-fit". If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The channels, in reading order.
    pub channels: Vec<ChannelYields>,
    /// Whether the axis of events is logarithmic.
    pub log_y: bool,
    /// Number of channels next to each other. By default there are about as many columns as rows. There are at most four
    /// columns for up to sixteen channels; more channels make a page that is about square.
    pub columns: Option<usize>,
    /// Largest number of colours for background samples, including the colour for "other". If there are more
    /// background samples, the smallest are added up and drawn as "other".
    pub max_samples: usize,
    /// The way in which samples are drawn.
    pub components: Components,
    /// Ends of the axis of ratios, for all channels; `None` for an axis as long as the channels of a page need.
    pub ratio: Option<[f64; 2]>,
    /// Whether a PDF has a page for each channel.
    pub pages: bool,
}

impl Default for Yields {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            channels: Vec::new(),
            log_y: false,
            columns: None,
            max_samples: 12,
            components: Components::Stack,
            ratio: None,
            pages: false,
        }
    }
}

impl Yields {
    /// Draws all channels on one page with a common legend.
    ///
    /// # Errors
    /// If there is no channel, a channel has no bins or neither samples nor data, the lengths of fields
    /// differ, or bin edges do not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let shown = self.shown();
        let all: Vec<&ChannelYields> = shown.channels.iter().collect();
        let mut drawing = shown.draw_channels(&all, "Expected and observed events")?;
        if self.pages && all.len() > 1 {
            drawing.pages = self.draw_each()?.into_iter().map(|(_, page)| page).collect();
        }
        Ok(drawing)
    }

    /// Draws each channel on a separate page, with the same colours as on the common page. Returns the name
    /// and the page of each channel.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw).
    pub fn draw_each(&self) -> Result<Vec<(String, Drawing)>, PictureError> {
        let shown = self.shown();
        let one = |channel: &ChannelYields| {
            let description = format!("Expected and observed events in {}", channel.name);
            Ok((channel.name.clone(), shown.draw_channels(&[channel], &description)?))
        };
        shown.channels.iter().map(one).collect()
    }

    fn draw_channels(&self, channels: &[&ChannelYields], description: &str) -> Result<Drawing, PictureError> {
        if channels.is_empty() {
            let remedy = "at least one channel";
            return Err(PictureError::Empty { picture: PICTURE, field: "channels".into(), remedy });
        }
        let catalogue = self.catalogue();
        let stacks = channels
            .iter()
            .map(|channel| catalogue.stack(channel, self.log_y, self.components == Components::Lines))
            .collect::<Result<Vec<_>, _>>()?;
        let stacks = Stack::share_ratio(stacks);
        let stacks: Vec<_> = stacks.into_iter().map(|stack| stack.with_ratio(self.ratio)).collect();

        let count = channels.len();
        let single = count == 1;
        let (block, main, ratio) = if single { (688.0, 340.0, 110.0) } else { (440.0, 240.0, 80.0) };
        let block = stacks.iter().map(Stack::named_width).fold(block, f64::max);
        let data = |stack: &Stack| if stack.has_ratio() { ratio + frame::SPLIT } else { 0.0 };
        let lower = stacks.iter().map(data).fold(0.0, f64::max);
        let named =
            stacks.iter().map(|stack| stack.below_labels(block - RIGHT)).reduce(f64::max).unwrap_or(0.0);
        // A summary has no name of a channel above its panel.
        let caption = if stacks.iter().all(Stack::is_unnamed) { 6.0 } else { CAPTION };
        let each = caption + main + lower + frame::BELOW + named;
        let root = (count as f64).sqrt().ceil() as usize;
        let square = (count as f64 * each / (block + GUTTER)).sqrt().ceil() as usize;
        let by_default = if count > 16 { square } else { root.min(4) };
        let columns = self.columns.unwrap_or(by_default).clamp(1, count);
        let width = 2.0 * MARGIN + columns as f64 * block + (columns - 1) as f64 * GUTTER;
        let room = width - 2.0 * MARGIN;
        let subtitle = self.full_subtitle(channels);
        let header = Header {
            title: &self.title,
            subtitle: &subtitle,
            entries: catalogue.legend(channels, self.components),
        };
        let top = header.height(room);
        let height = top + each * count.div_ceil(columns) as f64;
        let mut page = Drawing::new(width, height, description.to_owned());
        header.draw(&mut page, MARGIN, room);
        for (index, stack) in stacks.iter().enumerate() {
            let left = MARGIN + (index % columns) as f64 * (block + GUTTER);
            let top = top + (index / columns) as f64 * each;
            let area = Area { left, right: left + block - RIGHT, top, bottom: top + caption + main + lower };
            stack.draw(&mut page, area, caption, if stack.has_ratio() { ratio } else { 0.0 });
        }
        Ok(page)
    }

    /// Returns the subtitle with a remark about samples that a logarithmic axis cannot show.
    fn full_subtitle(&self, channels: &[&ChannelYields]) -> String {
        let mut names: Vec<&str> = Vec::new();
        for sample in channels.iter().flat_map(|channel| &channel.samples).filter(|_| self.log_y) {
            let is_negative = sample.counts.iter().chain(&sample.curve).any(|count| *count < 0.0);
            if is_negative && !names.contains(&sample.name.as_str()) {
                names.push(&sample.name);
            }
        }
        if names.is_empty() {
            return self.subtitle.clone();
        }
        let rest = names.len().saturating_sub(MOST_NAMED);
        let mut listed = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
        if rest > 0 {
            listed += &format!(" and {rest} more");
        }
        let remark = format!("negative events are not on the logarithmic axis: {listed}");
        if self.subtitle.is_empty() { remark } else { format!("{} · {remark}", self.subtitle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(name: &str, counts: Vec<f64>, data: Vec<f64>) -> ChannelYields {
        let sample = SampleYields { name: format!("of {name}"), counts, ..SampleYields::default() };
        let data = data.into_iter().map(Some).collect();
        ChannelYields { name: name.into(), samples: vec![sample], data, ..ChannelYields::default() }
    }

    #[test]
    fn panels_of_a_page_share_their_ratios() {
        let narrow = channel("A", vec![1e4, 1e4], vec![1.01e4, 0.99e4]);
        let wide = channel("B", vec![10.0, 12.0], vec![19.0, 9.0]);
        let stacks = |channels: &[&ChannelYields]| -> Vec<(f64, f64)> {
            let channels: Vec<_> = channels.iter().map(|channel| (*channel).clone()).collect();
            let yields = Yields { channels, ..Yields::default() };
            let catalogue = yields.catalogue();
            let stack = |channel: &ChannelYields| catalogue.stack(channel, false, false).unwrap();
            let shared = Stack::share_ratio(yields.channels.iter().map(stack).collect());
            shared.iter().map(Stack::ratio_ends).collect()
        };
        let [one, other] = [stacks(&[&narrow]), stacks(&[&wide])].map(|ends| ends[0]);
        assert!(other.0 < one.0 && other.1 > one.1, "{one:?} {other:?}");
        assert_eq!(stacks(&[&narrow, &wide]), [other, other]);
    }

    #[test]
    fn no_empty_strip_is_below_names() {
        for n in 2..60 {
            let counts = vec![10.0; n];
            let bin_labels: Vec<String> = (0..n).map(|bin| format!("region {bin}")).collect();
            let regions = ChannelYields { bin_labels, ..channel("", counts.clone(), counts) };
            let page = Yields { channels: vec![regions], ..Yields::default() }.draw().unwrap();
            let lowest = page.labels().iter().map(|label| label.bottom).fold(0.0, f64::max);
            let strip = page.height() - lowest;
            assert!((0.0..20.0).contains(&strip), "{n} regions: {strip} pixels");
        }
    }

    #[test]
    fn negative_samples_are_named_on_a_logarithmic_axis() {
        let subtitle = |log_y: bool, subtitle: &str| {
            let channels = ["a", "b", "c", "d", "e"]
                .map(|name| channel(name, vec![5.0, if name == "b" { 1.0 } else { -1.0 }], vec![]));
            let yields =
                Yields { channels: channels.to_vec(), log_y, subtitle: subtitle.into(), ..Yields::default() };
            yields.full_subtitle(&yields.channels.iter().collect::<Vec<_>>())
        };
        assert_eq!(subtitle(false, "late"), "late");
        assert_eq!(
            subtitle(true, "late"),
            "late · negative events are not on the logarithmic axis: of a, of c, of d and 1 more"
        );
        assert!(subtitle(true, "").starts_with("negative events"));
    }
}
