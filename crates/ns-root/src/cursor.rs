//! Big-endian numbers and texts, taken one after another from bytes that may be anything.

use crate::error::Malformed;

/// Set in the first four bytes of an object if they are its length.
const BYTE_COUNT: u32 = 0x4000_0000;
/// Set in the bits of a `TObject` if the number of a process follows.
const IS_REFERENCED: u32 = 1 << 4;

/// A place in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Position of the first byte, for messages.
    base: u64,
}

/// Version of an object, and where it ends if the file says so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) version: u16,
    pub(crate) end: Option<usize>,
}

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => {$(
        pub(crate) fn $name(&mut self, what: &'static str) -> Result<$type, Malformed> {
            self.array(what).map(<$type>::from_be_bytes)
        }
    )*};
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Position for messages.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Position within the bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..n) else {
            return Err(Malformed::Short {
                at: self.position(),
                what,
                wanted: n as u64,
                left: rest.len() as u64,
            });
        };
        self.at += n;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    numbers!(u8: u8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, f64: f64);

    /// Moves to a position within the bytes. Moving backwards is damage too, because objects do not overlap.
    pub(crate) fn skip_to(&mut self, end: usize, what: &'static str) -> Result<(), Malformed> {
        match end.checked_sub(self.at) {
            Some(n) => self.take(n, what).map(drop),
            None => Err(Malformed::Value {
                at: self.position(),
                what,
                found: end as i64,
                expected: "after the parts that were read",
            }),
        }
    }

    /// Reads four bytes or eight of a position in a file.
    pub(crate) fn seek(&mut self, wide: bool, what: &'static str) -> Result<u64, Malformed> {
        let at = self.position();
        let value = if wide { self.i64(what)? } else { i64::from(self.i32(what)?) };
        u64::try_from(value).map_err(|_| Malformed::Value { at, what, found: value, expected: "0 or more" })
    }

    /// Reads a number of elements or bytes.
    pub(crate) fn count(&mut self, what: &'static str) -> Result<usize, Malformed> {
        let at = self.position();
        let value = self.i32(what)?;
        usize::try_from(value).map_err(|_| Malformed::Value {
            at,
            what,
            found: value.into(),
            expected: "0 or more",
        })
    }

    /// Reads a text with its length before it. Bytes that are no UTF-8 are read as Latin-1, which old programs wrote.
    pub(crate) fn text(&mut self, what: &'static str) -> Result<String, Malformed> {
        let n = match self.u8(what)? {
            255 => self.count(what)?,
            n => usize::from(n),
        };
        Ok(decoded(self.take(n, what)?))
    }

    /// Reads a text that ends with a zero byte.
    pub(crate) fn terminated(&mut self, what: &'static str) -> Result<String, Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let n = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
        let text = decoded(self.take(n, what)?);
        self.u8(what)?;
        Ok(text)
    }

    /// Reads the version of an object, and its length if there is one.
    pub(crate) fn start(&mut self, what: &'static str) -> Result<Start, Malformed> {
        let first = self.clone().u32(what).unwrap_or(0);
        if first & BYTE_COUNT == 0 {
            return Ok(Start { version: self.u16(what)?, end: None });
        }
        let at = self.position();
        self.u32(what)?;
        let n = (first & !BYTE_COUNT) as usize;
        if n < 2 || n > self.left() {
            return Err(Malformed::Short { at, what, wanted: n.max(2) as u64, left: self.left() as u64 });
        }
        let end = self.at + n;
        Ok(Start { version: self.u16(what)?, end: Some(end) })
    }

    /// Reads the version of an object that has a length, and returns where it ends.
    pub(crate) fn bounded(&mut self, what: &'static str) -> Result<(u16, usize), Malformed> {
        let at = self.position();
        let start = self.start(what)?;
        match start.end {
            Some(end) => Ok((start.version, end)),
            None => Err(Malformed::Value {
                at,
                what,
                found: start.version.into(),
                expected: "an object with its length",
            }),
        }
    }

    /// Skips an object that has a length.
    pub(crate) fn skip(&mut self, what: &'static str) -> Result<(), Malformed> {
        let (_, end) = self.bounded(what)?;
        self.skip_to(end, what)
    }

    /// Reads a `TObject` and returns its number.
    pub(crate) fn object(&mut self) -> Result<u32, Malformed> {
        let start = self.start("a TObject")?;
        let id = self.u32("the number of a TObject")?;
        let bits = self.u32("the bits of a TObject")?;
        if bits & IS_REFERENCED != 0 {
            self.u16("the process of a TObject")?;
        }
        if let Some(end) = start.end {
            self.skip_to(end, "a TObject")?;
        }
        Ok(id)
    }

    /// Reads a `TNamed` and returns name and title.
    pub(crate) fn named(&mut self) -> Result<(String, String), Malformed> {
        let (_, end) = self.bounded("a TNamed")?;
        self.object()?;
        let name = self.text("a name")?;
        let title = self.text("a title")?;
        self.skip_to(end, "a TNamed")?;
        Ok((name, title))
    }

    /// Reads the elements of an array of `N` bytes each, after their number.
    pub(crate) fn elements<const N: usize>(
        &mut self,
        what: &'static str,
        number: impl Fn([u8; N]) -> f64,
    ) -> Result<Vec<f64>, Malformed> {
        let n = self.count(what)?;
        let bytes = self.take(n.saturating_mul(N), what)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|chunk| number(*chunk)).collect())
    }

    /// Reads a `TArrayD`.
    pub(crate) fn doubles(&mut self, what: &'static str) -> Result<Vec<f64>, Malformed> {
        self.elements(what, f64::from_be_bytes)
    }
}

fn decoded(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}
