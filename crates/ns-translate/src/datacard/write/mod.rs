//! Writes a card as text, for `combine-cards`.

mod lines;
mod shapes;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use super::card::Card;
use super::document::{Document, Kind};
use lines::Lines;

impl Card {
    /// Returns the text of the card, with one column per process of a channel. `folder` is where the text is to be: names
    /// of files are relative to it. Lines `nuisance edit` have been carried out; options are not part of the text.
    #[must_use]
    pub fn to_text(&self, folder: &Path) -> String {
        let document = &self.document;
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = head(document, folder, &self.file, &mut text);
        let _ = Lines { document }.write(&mut text);
        text
    }
}

/// Writes the lines up to the rates.
fn head(document: &Document, folder: &Path, file: &str, text: &mut String) -> std::fmt::Result {
    let ids = ids(document);
    writeln!(text, "# {}", file.replace(['\n', '\r'], " "))?;
    writeln!(text, "imax {} channels", document.channels.len())?;
    writeln!(text, "jmax {} processes minus 1", ids.len().saturating_sub(1))?;
    writeln!(text, "kmax * uncertainties")?;
    rule(text)?;
    for line in shapes::lines(document, folder) {
        writeln!(text, "{line}")?;
    }
    rule(text)?;
    let mut rows = [vec!["bin".to_owned()], vec!["observation".to_owned()]];
    for channel in &document.channels {
        rows[0].push(channel.name.clone());
        rows[1].push(number(channel.observation.unwrap_or(-1.0)));
    }
    table(&rows, text)?;
    rule(text)?;
    let mut rows = ["bin", "process", "process", "rate"].map(|word| vec![word.to_owned()]);
    for column in &document.columns {
        let id = ids.get(column.process.as_str()).copied().unwrap_or(1);
        let words = [
            document.channel_of(column).to_owned(),
            column.process.clone(),
            id.to_string(),
            number(column.rate),
        ];
        rows.iter_mut().zip(words).for_each(|(row, word)| row.push(word));
    }
    table(&rows, text)?;
    rule(text)
}

/// Returns a number for each process: signals have 0, -1 and so on, backgrounds 1, 2 and so on.
fn ids(document: &Document) -> HashMap<&str, i64> {
    let mut ids = HashMap::new();
    let (mut signals, mut backgrounds) = (0, 0);
    for column in &document.columns {
        ids.entry(column.process.as_str()).or_insert_with(|| {
            if column.signal {
                signals += 1;
                1 - signals
            } else {
                backgrounds += 1;
                backgrounds
            }
        });
    }
    ids
}

fn rule(text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}", "-".repeat(80))
}

/// Returns the shortest text that is read as the same number.
fn number(x: f64) -> String {
    x.to_string()
}

/// Writes rows of words in columns of equal width.
fn table(rows: &[Vec<String>], text: &mut String) -> std::fmt::Result {
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
    let widths: Vec<usize> = (0..n).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let words: Vec<String> =
            row.iter().zip(&widths).map(|(word, width)| format!("{word:width$}")).collect();
        writeln!(text, "{}", words.join("  ").trim_end())?;
    }
    Ok(())
}

/// Returns whether the names of histograms matter for a line.
fn has_templates(kind: Kind) -> bool {
    matches!(kind, Kind::Shape { .. })
}
