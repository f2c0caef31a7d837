//! An axis: edges of bins, and their labels.

use crate::cursor::Cursor;
use crate::error::Malformed;
use crate::tags::Tags;

/// The first version of the layout that is read, of ROOT 3; the newest is 10.
const FIRST: u16 = 6;
/// From this version on the layout has the labels where they are read here; before, they are left out.
const LABELS: u16 = 9;

/// An axis of a histogram.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// Title; in ROOT often with a unit.
    pub title: String,
    /// Edges of the bins without underflow and overflow, in increasing order; one more than there are bins.
    pub edges: Vec<f64>,
    /// Labels of the bins, one for each, where the axis has any; empty texts for bins without.
    pub labels: Option<Vec<String>>,
}

impl Axis {
    /// An axis without title and labels.
    #[must_use]
    pub fn new(edges: Vec<f64>) -> Self {
        Self { edges, ..Self::default() }
    }

    /// Number of bins without underflow and overflow.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// Reads an axis of a histogram with at most `most` bins.
    pub(crate) fn read(c: &mut Cursor<'_>, tags: &mut Tags, most: usize) -> Result<Self, AxisError> {
        let (version, end) = c.bounded("an axis")?;
        if !(FIRST..=10).contains(&version) {
            return Err(AxisError::Version(version));
        }
        let (_, title) = c.named()?;
        c.skip("the style of an axis")?;
        let at = c.position();
        let n = c.count("the number of bins")?;
        if n == 0 || n > most {
            let expected = "between 1 and the number of cells of the histogram";
            return Err(Malformed::Value { at, what: "the number of bins", found: n as i64, expected }.into());
        }
        let low = c.f64("the lower end of an axis")?;
        let high = c.f64("the upper end of an axis")?;
        let edges = c.doubles("the edges of an axis")?;
        let edges = match edges.len() {
            0 => uniform(n, low, high),
            found if found == n + 1 => edges,
            found => {
                let expected = "0 or one more than the number of bins";
                return Err(Malformed::Value {
                    at,
                    what: "the number of edges",
                    found: found as i64,
                    expected,
                }
                .into());
            }
        };
        let labels = if version >= LABELS { labels(c, tags, n)? } else { None };
        c.skip_to(end, "an axis")?;
        Ok(Self { title, edges, labels })
    }

    /// Finds edges that do not increase.
    pub(crate) fn check(&self, letter: char) -> Result<(), Malformed> {
        let increases = |pair: &&[f64]| matches!(pair, [a, b] if a < b && b.is_finite());
        let Some(pair) = self.edges.windows(2).find(|pair| !increases(pair)) else { return Ok(()) };
        let text = |i: usize| pair.get(i).map_or_else(String::new, f64::to_string);
        Err(Malformed::Edges { axis: letter, low: text(0), high: text(1) })
    }
}

/// Why an axis cannot be read.
#[derive(Debug)]
pub(crate) enum AxisError {
    Malformed(Malformed),
    Version(u16),
}

impl From<Malformed> for AxisError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

/// The edges as ROOT computes them: from the lower end, in steps.
pub(crate) fn uniform(n: usize, low: f64, high: f64) -> Vec<f64> {
    let step = (high - low) / n as f64;
    (0..=n).map(|i| if i == n { high } else { low + i as f64 * step }).collect()
}

fn labels(c: &mut Cursor<'_>, tags: &mut Tags, n: usize) -> Result<Option<Vec<String>>, Malformed> {
    c.i32("the first bin that is shown")?;
    c.i32("the last bin that is shown")?;
    c.u16("the bits of an axis")?;
    c.u8("whether an axis shows time")?;
    c.text("the format of time")?;
    let found = tags.labels(c)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut labels = vec![String::new(); n];
    for (bin, text) in found {
        if let Some(label) = (bin as usize).checked_sub(1).and_then(|i| labels.get_mut(i)) {
            *label = text;
        }
    }
    Ok(Some(labels))
}
