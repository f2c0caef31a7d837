//! The picture of pruning: which effects of systematics on samples are in a workspace.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::colour::{BLACK, Colour, GREY};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, same_length};
use crate::font;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::text::{Style, drop, fit};

const PICTURE: &str = "pruning";
const MARGIN: f64 = 16.0;
/// Size of a cell, in pixels.
const WIDTH: f64 = 17.0;
const HEIGHT: f64 = 15.0;
/// Largest width for the name of a channel with few samples, in pixels.
const MOST_NAME: f64 = 120.0;
/// Space between channels.
const GUTTER: f64 = 12.0;
const SIZE: f64 = 10.5;
/// Largest width of names of systematics, and largest length of names of samples.
const WIDEST: f64 = 320.0;
const LONGEST: f64 = 130.0;
/// Systematics on a page of a PDF, if there are more.
const ON_PAGE: usize = 60;

/// What is left of the effect of a systematic on a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The systematic has no effect on the sample.
    #[default]
    Absent,
    /// Everything is in the workspace.
    All,
    /// The change of the shape is, the change of the sum is not.
    Shape,
    /// The change of the sum is, the change of the shape is not.
    Normalisation,
    /// Nothing is in the workspace.
    Nothing,
}

/// A sample of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruningColumn {
    /// Name of the channel. Samples of a channel are next to each other.
    pub channel: String,
    /// Name of the sample.
    pub sample: String,
}

/// The effects of a systematic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruningRow {
    /// Name of the systematic.
    pub systematic: String,
    /// What is left of its effect on the sample of each column.
    pub kept: Vec<Kept>,
}

/// The picture of pruning: a row for each systematic, a column for each sample of each channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pruning {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The samples of the channels.
    pub columns: Vec<PruningColumn>,
    /// The systematics, from top to bottom.
    pub rows: Vec<PruningRow>,
}

impl Kept {
    /// All values, in the order of the legend.
    const DRAWN: [Self; 4] = [Self::All, Self::Shape, Self::Normalisation, Self::Nothing];

    fn colour(self) -> Colour {
        match self {
            Self::Absent => Colour(243, 245, 248),
            Self::All => Colour(0, 158, 115),
            Self::Shape => Colour(86, 180, 233),
            Self::Normalisation => Colour(240, 228, 66),
            Self::Nothing => Colour(213, 94, 0),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Absent => "no effect",
            Self::All => "kept",
            Self::Shape => "normalisation left out",
            Self::Normalisation => "shape left out",
            Self::Nothing => "left out",
        }
    }
}

/// Returns the width of the columns of a channel, or more if its name needs it.
fn channel_room(columns: &[PruningColumn]) -> f64 {
    let name = columns.first().map_or(0.0, |column| font::width(&column.channel, 9.0));
    (WIDTH * columns.len() as f64).max(name.min(MOST_NAME))
}

impl Pruning {
    /// Creates a picture from effects, each with its channel, sample and systematic. Channels, samples and systematics are
    /// in the order in which they occur first.
    pub fn of<'a>(effects: impl IntoIterator<Item = (&'a str, &'a str, &'a str, Kept)>) -> Self {
        let effects: Vec<_> = effects.into_iter().collect();
        let mut channels: Vec<&str> = Vec::new();
        let mut columns: Vec<PruningColumn> = Vec::new();
        let mut rows: Vec<PruningRow> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (channel, sample, systematic, _) in &effects {
            if !channels.contains(channel) {
                channels.push(channel);
            }
            if !columns.iter().any(|column| column.channel == *channel && column.sample == *sample) {
                columns.push(PruningColumn { channel: (*channel).to_owned(), sample: (*sample).to_owned() });
            }
            places.entry(systematic).or_insert_with(|| {
                rows.push(PruningRow { systematic: (*systematic).to_owned(), kept: Vec::new() });
                rows.len() - 1
            });
        }
        // Samples have the same order in all channels.
        let samples: Vec<String> = columns.iter().map(|column| column.sample.clone()).collect();
        columns.sort_by_key(|column| {
            let channel = channels.iter().position(|channel| *channel == column.channel);
            (channel, samples.iter().position(|sample| *sample == column.sample))
        });
        for row in &mut rows {
            row.kept = vec![Kept::Absent; columns.len()];
        }
        for (channel, sample, systematic, kept) in effects {
            let column = columns.iter().position(|c| c.channel == channel && c.sample == sample);
            let row = places.get(systematic).and_then(|row| rows.get_mut(*row));
            if let Some(place) = column.zip(row).and_then(|(column, row)| row.kept.get_mut(column)) {
                *place = kept;
            }
        }
        Self { columns, rows, ..Self::default() }
    }

    /// Draws the table of effects. A PDF has pages of 60 systematics if there are more.
    ///
    /// # Errors
    /// If there is no systematic or no sample, or the lengths of lists differ.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        for (field, empty) in [("rows", self.rows.is_empty()), ("columns", self.columns.is_empty())] {
            if empty {
                let remedy = "at least one systematic on a sample";
                return Err(PictureError::Empty { picture: PICTURE, field: field.into(), remedy });
            }
        }
        for row in &self.rows {
            let field = format!("kept of '{}'", row.systematic);
            same_length(PICTURE, &field, row.kept.len(), "columns", self.columns.len())?;
        }
        let mut sheet = self.page(&self.rows, &self.subtitle);
        if self.rows.len() > ON_PAGE {
            let count = self.rows.len().div_ceil(ON_PAGE);
            for (index, rows) in self.rows.chunks(ON_PAGE).enumerate() {
                let place = format!("page {} of {count}", index + 1);
                let subtitle = match self.subtitle.as_str() {
                    "" => place,
                    own => format!("{own} · {place}"),
                };
                sheet.pages.push(self.page(rows, &subtitle));
            }
        }
        Ok(sheet)
    }

    /// Left edges of the columns, from the first one on.
    fn places(&self) -> Vec<f64> {
        let mut left = 0.0;
        let mut places = Vec::with_capacity(self.columns.len());
        for group in self.columns.chunk_by(|one, next| one.channel == next.channel) {
            places.extend((0..group.len()).map(|column| left + WIDTH * column as f64));
            left += channel_room(group) + GUTTER;
        }
        places
    }

    fn page(&self, rows: &[PruningRow], subtitle: &str) -> Drawing {
        let widest = |names: &mut dyn Iterator<Item = &str>| {
            names.map(|name| font::width(name, SIZE)).fold(20.0, f64::max)
        };
        let names = widest(&mut rows.iter().map(|row| row.systematic.as_str())).min(WIDEST) + 8.0;
        let samples =
            widest(&mut self.columns.iter().map(|column| column.sample.as_str())).min(LONGEST) + 8.0;
        let places = self.places();
        let groups = self.columns.chunk_by(|one, next| one.channel == next.channel);
        let table = groups.map(|group| channel_room(group) + GUTTER).sum::<f64>() - GUTTER;
        let width = (2.0 * MARGIN + names + table).max(520.0);
        let header = Header { title: &self.title, subtitle, entries: self.legend() };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 22.0 + samples;
        let height = top + HEIGHT * rows.len() as f64 + MARGIN;
        let mut page =
            Drawing::new(width, height, "Effects of systematics that were kept and left out".into());
        header.draw(&mut page, MARGIN, room);
        let left = MARGIN + names;
        self.heads(&mut page, &places, left, top, samples);
        for (line, row) in rows.iter().enumerate() {
            let y = top + HEIGHT * line as f64;
            let (text, size) = fit(&row.systematic, WIDEST, SIZE, 7.0);
            page.text(left - 8.0, y + 0.5 * HEIGHT + drop(size), text, Style::new(size).ending());
            for (kept, x) in row.kept.iter().zip(&places) {
                let cell = Area {
                    left: left + x + 1.0,
                    right: left + x + WIDTH - 1.0,
                    top: y + 1.0,
                    bottom: y + HEIGHT - 1.0,
                };
                page.rect(cell, Ink::tile(kept.colour()));
            }
        }
        page
    }

    /// Writes the names of channels and samples above the columns.
    fn heads(&self, page: &mut Drawing, places: &[f64], left: f64, top: f64, samples: f64) {
        for (column, x) in self.columns.iter().zip(places) {
            let (text, size) = fit(&column.sample, LONGEST, SIZE, 7.0);
            let middle = left + x + 0.5 * WIDTH;
            page.text(middle + drop(size), top - 5.0, text, Style::new(size).upwards());
        }
        let mut at = 0;
        while let Some(first) = self.columns.get(at) {
            let n = self.columns.iter().skip(at).take_while(|column| column.channel == first.channel).count();
            let (Some(from), Some(to)) = (places.get(at), places.get(at + n - 1)) else { return };
            let (from, to) = (left + from, left + to + WIDTH);
            let room = self.columns.get(at..at + n).map_or(0.0, channel_room);
            let (text, size) = fit(&first.channel, room, 12.0, 6.0);
            let y = top - samples - 6.0;
            let style = Style::new(size).coloured(GREY);
            if room > to - from {
                page.text(from, y - 4.0, text, style);
            } else {
                page.text(0.5 * (from + to), y - 4.0, text, style.centred());
            }
            page.line((from + 1.0, y), (to - 1.0, y), Stroke::solid(GREY, 0.8));
            at += n;
        }
    }

    /// The entries that occur, with their numbers.
    fn legend(&self) -> Vec<Entry> {
        let entry = |kept: Kept| {
            let all = self.rows.iter().flat_map(|row| &row.kept);
            let n = all.filter(|other| **other == kept).count();
            let ink = Ink::outlined(kept.colour(), Stroke::solid(BLACK, 0.6));
            (n > 0).then(|| Entry::new(Symbol::Box(ink), format!("{} ({n})", kept.words())))
        };
        Kept::DRAWN.into_iter().filter_map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_become_a_table_with_pages() {
        let names: Vec<String> = (0..100).map(|i| format!("syst_{i}")).collect();
        let effects = names.iter().flat_map(|name| {
            [
                ("SR", "signal", name.as_str(), Kept::All),
                ("CR", "signal", name, Kept::Nothing),
                ("SR", "background", name, Kept::Shape),
            ]
        });
        let picture = Pruning::of(effects);
        let columns: Vec<&str> = picture.columns.iter().map(|column| column.channel.as_str()).collect();
        assert_eq!(columns, ["SR", "SR", "CR"]);
        assert_eq!(picture.rows[7].kept, [Kept::All, Kept::Shape, Kept::Nothing]);
        let sheet = picture.draw().unwrap();
        assert_eq!(sheet.pages(), 2);
        let texts: Vec<String> = sheet.labels().into_iter().map(|label| label.text).collect();
        for wanted in ["kept (100)", "left out (100)", "normalisation left out (100)", "syst_99", "CR"] {
            assert!(texts.iter().any(|text| text == wanted), "{wanted}: {texts:?}");
        }
        assert!(Pruning::default().draw().is_err());
    }
}
