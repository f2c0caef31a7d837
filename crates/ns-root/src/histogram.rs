//! Histograms, and how their bytes are read.

use crate::axis::{Axis, AxisError};
use crate::cursor::Cursor;
use crate::error::Malformed;
use crate::tags::Tags;

/// A histogram of one or two dimensions.
///
/// Cells are bins with underflow and overflow: `n + 2` for an axis of `n` bins. The index of the first axis runs
/// fastest, as in ROOT: cell `ix + (nx + 2) * iy`. Methods without `cells` in their name leave underflow and overflow out.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Name within its directory.
    pub name: String,
    /// Title.
    pub title: String,
    /// Class in the file, such as `TH1F`.
    pub class: String,
    /// One axis or two.
    pub axes: Vec<Axis>,
    /// Number of entries, as the file says.
    pub entries: f64,
    cells: Vec<f64>,
    sumw2: Option<Vec<f64>>,
}

/// Why the bytes of a histogram cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Malformed(Malformed),
    Version { class: &'static str, found: u16, known: &'static str },
    Buffered(u64),
    Cells(u64),
}

/// Largest number of cells of a histogram.
pub(crate) const MOST_CELLS: usize = 1 << 24;

impl From<Malformed> for Fault {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<AxisError> for Fault {
    fn from(error: AxisError) -> Self {
        match error {
            AxisError::Malformed(error) => Self::Malformed(error),
            AxisError::Version(found) => Self::Version { class: "TAxis", found, known: "6 to 10" },
        }
    }
}

/// Whether histograms of this class are read.
pub(crate) fn is_read(class: &str) -> bool {
    matches!(class.as_bytes(), [b'T', b'H', b'1' | b'2', b'C' | b'S' | b'I' | b'F' | b'D' | b'L'])
}

impl Histogram {
    /// A histogram of class `TH1D`.
    ///
    /// `cells` has the contents of underflow, bins and overflow, and `sumw2`, if there is one, the squared errors of the same.
    /// Both must have one element more than `edges`; otherwise `None` is returned.
    #[must_use]
    pub fn one_dimensional(
        name: &str,
        title: &str,
        edges: Vec<f64>,
        cells: Vec<f64>,
        sumw2: Option<Vec<f64>>,
    ) -> Option<Self> {
        let n = edges.len() + 1;
        let fits = edges.len() >= 2 && cells.len() == n && sumw2.as_ref().is_none_or(|s| s.len() == n);
        fits.then(|| Self {
            name: name.to_owned(),
            title: title.to_owned(),
            class: "TH1D".to_owned(),
            axes: vec![Axis::new(edges)],
            entries: cells.iter().sum(),
            cells,
            sumw2,
        })
    }

    /// Contents of the bins, without underflow and overflow; the index of the first axis runs fastest.
    #[must_use]
    pub fn contents(&self) -> Vec<f64> {
        self.inner(&self.cells)
    }

    /// Squared errors of the bins if the histogram has them (`Sumw2`). Otherwise the square of an error is the content.
    #[must_use]
    pub fn sumw2(&self) -> Option<Vec<f64>> {
        self.sumw2.as_ref().map(|values| self.inner(values))
    }

    /// Errors of the bins as ROOT defines them: roots of [`Self::sumw2`], or of the contents' magnitudes without.
    #[must_use]
    pub fn errors(&self) -> Vec<f64> {
        let squares = self.sumw2().unwrap_or_else(|| self.contents());
        squares.into_iter().map(|v| v.abs().sqrt()).collect()
    }

    /// Contents of all cells, with underflow and overflow.
    #[must_use]
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// Squared errors of all cells, with underflow and overflow.
    #[must_use]
    pub fn cells_sumw2(&self) -> Option<&[f64]> {
        self.sumw2.as_deref()
    }

    /// Content below the first bin of a histogram of one dimension; `None` for two.
    #[must_use]
    pub fn underflow(&self) -> Option<f64> {
        if self.axes.len() == 1 { self.cells.first().copied() } else { None }
    }

    /// Content above the last bin of a histogram of one dimension; `None` for two.
    #[must_use]
    pub fn overflow(&self) -> Option<f64> {
        if self.axes.len() == 1 { self.cells.last().copied() } else { None }
    }

    fn inner(&self, cells: &[f64]) -> Vec<f64> {
        let width = self.axes.first().map_or(0, Axis::n_bins);
        let Some(second) = self.axes.get(1) else {
            return cells.iter().skip(1).take(width).copied().collect();
        };
        let rows = cells.chunks(width + 2).skip(1).take(second.n_bins());
        rows.flat_map(|row| row.iter().skip(1).take(width)).copied().collect()
    }

    /// Reads a histogram of a class of [`is_read`]. `header` is the length of its key.
    pub(crate) fn read(bytes: &[u8], class: &str, header: usize) -> Result<Self, Fault> {
        let mut c = Cursor::new(bytes, 0);
        let mut tags = Tags::new(header);
        c.bounded("a histogram")?;
        let two = class.starts_with("TH2");
        let mut out = if two {
            let (_, end) = c.bounded("a TH2")?;
            let out = base(&mut c, &mut tags, class)?;
            c.skip_to(end, "a TH2")?;
            out
        } else {
            base(&mut c, &mut tags, class)?
        };
        let what = "the contents";
        out.cells = match class.as_bytes().last() {
            Some(b'C') => c.elements(what, |b| i8::from_be_bytes(b).into())?,
            Some(b'S') => c.elements(what, |b| i16::from_be_bytes(b).into())?,
            Some(b'I') => c.elements(what, |b| i32::from_be_bytes(b).into())?,
            Some(b'L') => c.elements(what, |b| i64::from_be_bytes(b) as f64)?,
            Some(b'F') => c.elements(what, |b| f32::from_be_bytes(b).into())?,
            _ => c.elements(what, f64::from_be_bytes)?,
        };
        let expected = out.axes.iter().map(|axis| axis.n_bins() as u64 + 2).fold(1, u64::saturating_mul);
        let counts = [(what, Some(out.cells.len())), ("Sumw2", out.sumw2.as_ref().map(Vec::len))];
        for (what, found) in counts {
            if let Some(found) = found.map(|n| n as u64).filter(|&n| n != expected) {
                return Err(Malformed::Count { what, found, expected }.into());
            }
        }
        Ok(out)
    }
}

/// Reads the part that all histograms share.
fn base(c: &mut Cursor<'_>, tags: &mut Tags, class: &str) -> Result<Histogram, Fault> {
    let (version, end) = c.bounded("a TH1")?;
    if !(3..=8).contains(&version) {
        return Err(Fault::Version { class: "TH1", found: version, known: "3 to 8" });
    }
    let (name, title) = c.named()?;
    for style in ["the style of lines", "the style of areas", "the style of points"] {
        c.skip(style)?;
    }
    let cells = c.count("the number of cells")?;
    if cells > MOST_CELLS {
        return Err(Fault::Cells(cells as u64));
    }
    // Every cell has a byte at least, so an axis has no more bins than there are bytes.
    let most = cells.min(c.left());
    let mut axes = Vec::new();
    for _ in 0..3 {
        axes.push(Axis::read(c, tags, most)?);
    }
    axes.truncate(if class.starts_with("TH2") { 2 } else { 1 });
    c.i16("the offset of bars")?;
    c.i16("the width of bars")?;
    let entries = c.f64("the number of entries")?;
    for _ in 0..4 {
        c.f64("sums of the entries")?;
    }
    for _ in 0..3 {
        c.f64("limits of the picture")?;
    }
    c.doubles("the contours")?;
    let sumw2 = Some(c.doubles("Sumw2")?).filter(|values| !values.is_empty());
    c.text("the option of the picture")?;
    c.skip("the functions of a histogram")?;
    let buffered = waiting(c, end)?;
    if buffered > 0 {
        return Err(Fault::Buffered(buffered));
    }
    // Only now, because ROOT chooses the edges when it empties the buffer.
    for (axis, letter) in axes.iter().zip(['x', 'y']) {
        axis.check(letter)?;
    }
    c.skip_to(end, "a TH1")?;
    Ok(Histogram { name, title, class: class.to_owned(), axes, entries, cells: Vec::new(), sumw2 })
}

/// Number of entries that wait in the buffer of a histogram. Its first number is negative if the bins have them too.
fn waiting(c: &mut Cursor<'_>, end: usize) -> Result<u64, Malformed> {
    if end.saturating_sub(c.at()) < 5 {
        return Ok(0);
    }
    let n = c.count("the size of the buffer")?;
    let is_there = c.u8("whether there is a buffer")? != 0;
    if n == 0 || !is_there {
        return Ok(0);
    }
    let first = c.f64("the buffer")?;
    Ok(if first > 0.0 { first as u64 } else { 0 })
}
