//! Big-endian numbers, texts and objects with their lengths, one after another.

use std::collections::HashMap;

/// Set in the first four bytes of an object: they are its length.
const BYTE_COUNT: u32 = 0x4000_0000;
/// A class that comes for the first time, by its name.
const NEW_CLASS: u32 = 0xffff_ffff;
/// Set in a reference to a class that came before.
const CLASS: u32 = 0x8000_0000;
/// What is added to a position to make a reference of it.
const OFFSET: usize = 2;
/// The bits of an object in use.
const IN_USE: u32 = 0x0300_0000;

/// Bytes that grow.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) out: Vec<u8>,
    /// Positions of the classes of pointers.
    classes: HashMap<&'static str, u32>,
    /// References count from the start of the key, which has this length.
    key: usize,
}

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => {$(
        pub(super) fn $name(&mut self, value: $type) {
            self.out.extend_from_slice(&value.to_be_bytes());
        }
    )*};
}

impl Bytes {
    /// Bytes of an object behind a key of this length.
    pub(super) fn behind(key: usize) -> Self {
        Self { key, ..Self::default() }
    }

    numbers!(u8: u8, i16: i16, u16: u16, i32: i32, u32: u32, f32: f32, f64: f64);

    /// A size or position. Callers keep below 31 bits; larger files are refused at the end.
    pub(super) fn size(&mut self, value: usize) {
        self.u32(value as u32);
    }

    /// Replaces a size that was written before.
    pub(super) fn replace(&mut self, at: usize, value: u32) {
        if let Some(place) = self.out.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        match u8::try_from(text.len()) {
            Ok(n) if n < 255 => self.u8(n),
            _ => {
                self.u8(255);
                self.size(text.len());
            }
        }
        self.out.extend_from_slice(text.as_bytes());
    }

    /// An object: its length, its version, and what `fill` writes.
    pub(super) fn sized(&mut self, version: u16, fill: impl FnOnce(&mut Self)) {
        let at = self.out.len();
        self.u32(0);
        self.u16(version);
        fill(self);
        let length = (self.out.len() - at - 4) as u32;
        self.replace(at, length | BYTE_COUNT);
    }

    /// A `TObject`.
    pub(super) fn object(&mut self, id: u32) {
        self.u16(1);
        self.u32(id);
        self.u32(IN_USE);
    }

    /// A `TNamed`.
    pub(super) fn named(&mut self, name: &str, title: &str) {
        self.sized(1, |b| {
            b.object(0);
            b.text(name);
            b.text(title);
        });
    }

    /// A pointer to an object of a class.
    pub(super) fn pointer(&mut self, class: &'static str, fill: impl FnOnce(&mut Self)) {
        let at = self.out.len();
        self.u32(0);
        let place = (self.out.len() + self.key + OFFSET) as u32;
        match self.classes.get(class) {
            Some(&known) => self.u32(known | CLASS),
            None => {
                self.classes.insert(class, place);
                self.u32(NEW_CLASS);
                self.out.extend_from_slice(class.as_bytes());
                self.u8(0);
            }
        }
        fill(self);
        let length = (self.out.len() - at - 4) as u32;
        self.replace(at, length | BYTE_COUNT);
    }

    /// A `TArrayD`.
    pub(super) fn doubles(&mut self, values: &[f64]) {
        self.size(values.len());
        for &value in values {
            self.f64(value);
        }
    }

    /// A list of objects behind pointers, each with an empty option.
    pub(super) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, fill: impl Fn(&mut Self, T)) {
        self.sized(5, |b| {
            b.object(0);
            b.text("");
            b.size(items.len());
            for item in items {
                fill(b, item);
                b.text("");
            }
        });
    }
}
