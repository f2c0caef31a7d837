//! The order of a file: header, directories with their objects and lists, the layout of classes, free segments.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use twox_hash::XxHash64;

use super::bytes::Bytes;
use super::{Compression, Folder, histogram, streamers};

/// Position of the first record.
const BEGIN: usize = 100;
/// The version of ROOT whose layout is written.
const VERSION: u32 = 62400;
/// 1 January 1995, the first time that ROOT knows. A file does not depend on when it was written.
const TIME: u32 = (1 << 22) | (1 << 17);
/// Largest block before compression.
const BLOCK: usize = 0xff_ffff;
/// Number of bytes of the record of a directory.
const RECORD: usize = 60;
/// The last byte that ROOT takes for free in a small file.
const LAST: u32 = 2_000_000_000;

/// A key that is in the list of its directory.
#[derive(Debug, Clone)]
struct Key {
    class: &'static str,
    name: String,
    title: String,
    stored: usize,
    unpacked: usize,
    seek: usize,
    directory: usize,
}

impl Key {
    fn length(class: &str, name: &str, title: &str) -> usize {
        let text = |t: &str| t.len() + if t.len() < 255 { 1 } else { 5 };
        26 + text(class) + text(name) + text(title)
    }

    fn header(&self) -> usize {
        Self::length(self.class, &self.name, &self.title)
    }

    fn write(&self, b: &mut Bytes) {
        b.size(self.stored);
        b.u16(4);
        b.size(self.unpacked);
        b.u32(TIME);
        b.u16(self.header() as u16);
        b.u16(1);
        b.size(self.seek);
        b.size(self.directory);
        b.text(self.class);
        b.text(&self.name);
        b.text(&self.title);
    }
}

/// The file in the making.
struct Writer {
    b: Bytes,
    compression: Compression,
}

/// The bytes of a file.
pub(super) fn file(top: &Folder, name: &str, compression: Compression) -> Vec<u8> {
    let mut w = Writer { b: Bytes::default(), compression };
    w.b.out.resize(BEGIN, 0);
    let key = Key {
        class: "TFile",
        name: name.to_owned(),
        title: String::new(),
        stored: 0,
        unpacked: 0,
        seek: BEGIN,
        directory: 0,
    };
    let mut names = Bytes::default();
    names.text(name);
    names.text("");
    let named = key.header() + names.out.len();
    let unpacked = names.out.len() + RECORD;
    let key = Key { stored: key.header() + unpacked, unpacked, ..key };
    key.write(&mut w.b);
    w.b.out.extend_from_slice(&names.out);
    let record = w.record(named, BEGIN, 0);
    w.contents(top, &key, record);
    let info = w.streamers(compression);
    let free = w.free();
    let end = w.b.out.len();
    w.header(end, free, named, info);
    w.identify(record);
    w.b.out
}

impl Writer {
    /// Writes the record of a directory, without its list, and returns where it is.
    fn record(&mut self, named: usize, seek: usize, parent: usize) -> usize {
        let at = self.b.out.len();
        self.b.u16(5);
        self.b.u32(TIME);
        self.b.u32(TIME);
        self.b.u32(0);
        self.b.size(named);
        self.b.size(seek);
        self.b.size(parent);
        self.b.u32(0);
        self.b.u16(1);
        self.b.out.resize(at + RECORD, 0);
        at
    }

    /// Writes what is in a directory, and its list.
    fn contents(&mut self, folder: &Folder, own: &Key, record: usize) {
        let mut keys = Vec::new();
        for h in &folder.histograms {
            let class = histogram::class(h);
            let header = Key::length(class, &h.name, &h.title);
            let object = histogram::object(h, header);
            keys.push(self.object(class, &h.name, &h.title, &object, own.seek, self.compression));
        }
        for (name, below) in &folder.folders {
            let header = Key::length("TDirectory", name, name);
            let key = Key {
                class: "TDirectory",
                name: name.clone(),
                title: name.clone(),
                stored: header + RECORD,
                unpacked: RECORD,
                seek: self.b.out.len(),
                directory: own.seek,
            };
            key.write(&mut self.b);
            let at = self.record(header, key.seek, own.seek);
            self.contents(below, &key, at);
            keys.push(key);
        }
        let mut list = Bytes::default();
        list.size(keys.len());
        for key in &keys {
            key.write(&mut list);
        }
        let (name, title) = (own.name.clone(), own.title.clone());
        let written = self.object(own.class, &name, &title, &list.out, own.seek, Compression::None);
        self.b.replace(record + 10, written.stored as u32);
        self.b.replace(record + 26, written.seek as u32);
    }

    /// Writes an object with its key.
    fn object(
        &mut self,
        class: &'static str,
        name: &str,
        title: &str,
        bytes: &[u8],
        directory: usize,
        compression: Compression,
    ) -> Key {
        let packed = match compression {
            Compression::Zlib => compressed(bytes),
            Compression::None => None,
        };
        let stored = packed.as_deref().unwrap_or(bytes);
        let key = Key {
            class,
            name: name.to_owned(),
            title: title.to_owned(),
            stored: Key::length(class, name, title) + stored.len(),
            unpacked: bytes.len(),
            seek: self.b.out.len(),
            directory,
        };
        key.write(&mut self.b);
        self.b.out.extend_from_slice(stored);
        key
    }

    fn streamers(&mut self, compression: Compression) -> Key {
        let (class, name, title) = ("TList", "StreamerInfo", "Doubly linked list");
        let object = streamers::list(Key::length(class, name, title));
        self.object(class, name, title, &object, BEGIN, compression)
    }

    /// Writes the list of free segments: all that follows.
    fn free(&mut self) -> Key {
        let length = Key::length("TFile", "", "") + 10;
        let mut b = Bytes::default();
        b.u16(1);
        b.size(self.b.out.len() + length);
        b.u32(LAST);
        self.object("TFile", "", "", &b.out, BEGIN, Compression::None)
    }

    fn header(&mut self, end: usize, free: Key, named: usize, info: Key) {
        let mut b = Bytes::default();
        b.out.extend_from_slice(b"root");
        b.u32(VERSION);
        b.size(BEGIN);
        b.size(end);
        b.size(free.seek);
        b.size(free.stored);
        b.u32(1);
        b.size(named);
        b.u8(4);
        b.u32(match self.compression {
            Compression::None => 0,
            Compression::Zlib => 101,
        });
        b.size(info.seek);
        b.size(info.stored);
        b.u16(1);
        for (place, byte) in self.b.out.iter_mut().zip(b.out) {
            *place = byte;
        }
    }

    /// Gives the file the number by which ROOT tells files apart. It follows from the contents.
    fn identify(&mut self, record: usize) {
        let id: Vec<u8> =
            [1, 2].iter().flat_map(|&seed| XxHash64::oneshot(seed, &self.b.out).to_be_bytes()).collect();
        for at in [47, record + 32] {
            if let Some(place) = self.b.out.get_mut(at..at + id.len()) {
                place.copy_from_slice(&id);
            }
        }
    }
}

/// Compressed blocks, or nothing if they are not smaller.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for block in bytes.chunks(BLOCK) {
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(block).ok()?;
        let packed = encoder.finish().ok().filter(|packed| packed.len() < block.len())?;
        out.extend_from_slice(b"ZL\x08");
        for n in [packed.len(), block.len()] {
            out.extend(n.to_le_bytes().into_iter().take(3));
        }
        out.extend_from_slice(&packed);
    }
    (out.len() < bytes.len()).then_some(out)
}
