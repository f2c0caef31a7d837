//! A ROOT file: finding its objects, and reading its histograms.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::block;
use crate::directory::Directory;
use crate::error::{Malformed, RootError};
use crate::header::{Header, LONGEST, Record};
use crate::histogram::{Fault, Histogram, MOST_CELLS, is_read};
use crate::key::Key;
use crate::source::Source;

/// Largest size of a list of contents, in bytes.
const LARGEST_LIST: u64 = 1 << 30;
/// Largest number of keys that a listing of a file takes.
const MOST_KEYS: u64 = 10_000_000;
/// Memory of a list of contents as a multiple of its bytes in the file. The shortest key has 26 bytes.
const KEY_GROWTH: u64 = 6;
/// Deepest nesting of directories.
const DEEPEST: usize = 64;

/// A histogram in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path with the names of directories, separated by `/`.
    pub path: String,
    /// Class, such as `TH1F`.
    pub class: String,
    /// Cycle: which of several histograms of one name this is. ROOT gives the newest the highest number.
    pub cycle: i16,
    /// Title.
    pub title: String,
}

/// A ROOT file that is open for reading. It may be shared by threads; they read one after another.
#[derive(Debug)]
pub struct RootFile {
    name: String,
    top: Record,
    inner: Mutex<Inner>,
    /// How many bytes may still be read, of this file and of others.
    allowance: Option<Arc<AtomicU64>>,
}

#[derive(Debug)]
struct Inner {
    source: Source,
    /// Number of bytes that were read.
    read: u64,
    /// Lists of contents that were read, by their positions.
    lists: HashMap<u64, Arc<Directory>>,
}

impl Inner {
    fn read(&mut self, at: u64, n: usize) -> std::io::Result<Vec<u8>> {
        let bytes = self.source.read(at, n)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }
}

impl RootFile {
    /// Largest size of one object after it is decompressed, in bytes: a histogram of 16 million cells with errors.
    pub(crate) const LARGEST_OBJECT: u64 = 256 << 20;

    /// The path of the file, or the name of its bytes.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens a file. Only its header is read.
    ///
    /// # Errors
    /// [`RootError::Read`], [`RootError::NotRoot`], [`RootError::NotClosed`] and [`RootError::Damaged`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RootError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|file| {
            if file.metadata()?.is_dir() {
                return Err(std::io::Error::other("it is a folder; give the path of a file"));
            }
            Source::disk(file)
        });
        match opened {
            Ok(source) => Self::from_source(name, source),
            Err(source) => Err(RootError::Read { file: name, source }),
        }
    }

    /// Reads a file from memory. `name` stands for it in messages.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Self, RootError> {
        Self::from_source(name.to_owned(), Source::Memory(bytes.into()))
    }

    /// Limits what is read of the file: what is read takes its memory in bytes from `allowance`, which several files may share. This is for files from strangers, whose compressed objects may unpack to a thousand times their size.
    ///
    /// From then on reading fails with [`RootError::TooLarge`] where less is left.
    #[must_use]
    pub fn with_allowance(self, allowance: Arc<AtomicU64>) -> Self {
        Self { allowance: Some(allowance), ..self }
    }

    /// Returns how many bytes of the file have been read since it was opened.
    pub fn bytes_read(&self) -> u64 {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).read
    }

    /// Whether bytes are the beginning of a ROOT file.
    #[must_use]
    pub fn is_root(bytes: &[u8]) -> bool {
        bytes.starts_with(b"root")
    }

    fn from_source(name: String, mut source: Source) -> Result<Self, RootError> {
        let read = |source: &mut Source, at, n| {
            source.read(at, n).map_err(|source| RootError::Read { file: name.clone(), source })
        };
        let bytes = read(&mut source, 0, LONGEST)?;
        if !Self::is_root(&bytes) {
            return Err(RootError::NotRoot { file: name });
        }
        let damaged = |source| RootError::Damaged { file: name.clone(), object: "header".to_owned(), source };
        let header = Header::read(&bytes).map_err(damaged)?;
        let bytes = read(&mut source, header.top, Record::LONGEST)?;
        let top = Record::read(&bytes, header.top).map_err(damaged)?;
        if top.keys == 0 {
            return Err(RootError::NotClosed { file: name, directory: "it".to_owned() });
        }
        let read = (LONGEST + Record::LONGEST) as u64;
        let inner = Mutex::new(Inner { source, read, lists: HashMap::new() });
        Ok(Self { name, top, inner, allowance: None })
    }

    /// Lists all histograms in the order of the file. Only the lists of contents are read, not the histograms.
    ///
    /// # Errors
    /// [`RootError::Damaged`], [`RootError::NotClosed`], [`RootError::TooLarge`], [`RootError::Loop`] and [`RootError::Read`].
    pub fn names(&self) -> Result<Vec<Entry>, RootError> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        let mut count = 0;
        let mut waiting = vec![(String::new(), self.top, 0)];
        while let Some((prefix, record, depth)) = waiting.pop() {
            if !seen.insert(record.keys) {
                return Err(RootError::Loop { file: self.name.clone(), path: prefix });
            }
            let directory = self.list(record, &prefix)?;
            count += directory.keys.len() as u64;
            self.within(&prefix, "the number of keys", count, MOST_KEYS)?;
            let mut below = Vec::new();
            for key in &directory.keys {
                let path = joined(&prefix, &key.name);
                if key.is_directory() {
                    self.within(&path, "the depth of directories", depth as u64 + 1, DEEPEST as u64)?;
                    below.push((path.clone(), self.record(key, &path)?, depth + 1));
                } else if is_read(&key.class) {
                    let (class, title) = (key.class.clone(), key.title.clone());
                    out.push(Entry { path, class, cycle: key.cycle, title });
                }
            }
            waiting.extend(below.into_iter().rev());
        }
        Ok(out)
    }

    /// Reads a histogram. `path` has the names of directories, separated by `/`, and the name of the histogram;
    /// `;2` at its end asks for cycle 2, otherwise the highest is taken.
    ///
    /// # Errors
    /// [`RootError::Missing`], [`RootError::NotHistogram`], [`RootError::Damaged`], [`RootError::Version`],
    /// [`RootError::Buffered`], [`RootError::TooLarge`], [`RootError::NotClosed`] and [`RootError::Read`].
    pub fn histogram(&self, path: &str) -> Result<Histogram, RootError> {
        let key = self.find(path)?;
        let file = || self.name.clone();
        if !is_read(&key.class) {
            return Err(RootError::NotHistogram { file: file(), path: path.to_owned(), class: key.class });
        }
        self.take(path, (key.unpacked as u64).saturating_mul(growth(&key.class)))?;
        let bytes = self.object(&key, path)?;
        Histogram::read(&bytes, &key.class, key.header).map_err(|fault| match fault {
            Fault::Malformed(source) => self.damaged(path, source),
            Fault::Version { class, found, known } => {
                RootError::Version { file: file(), object: format!("'{path}'"), class, found, known }
            }
            Fault::Cells(found) => {
                let (object, what, limit) = (format!("'{path}'"), "the number of cells", MOST_CELLS as u64);
                RootError::TooLarge { file: file(), object, what, found, limit }
            }
            Fault::Buffered(entries) => RootError::Buffered { file: file(), path: path.to_owned(), entries },
        })
    }

    /// Whether there is something with this path.
    ///
    /// # Errors
    /// Those of [`Self::histogram`] but [`RootError::Missing`].
    pub fn contains(&self, path: &str) -> Result<bool, RootError> {
        match self.find(path) {
            Ok(_) => Ok(true),
            Err(RootError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn find(&self, path: &str) -> Result<Key, RootError> {
        let (names, cycle) = split_cycle(path);
        let mut record = self.top;
        let mut prefix = String::new();
        let mut rest = names.trim_start_matches('/');
        let mut depth = 0;
        loop {
            let directory = self.list(record, &prefix)?;
            // Names of objects may contain slashes.
            let found =
                directory.find(rest, cycle).or_else(|| cycle.and_then(|_| directory.find(path, None)));
            if let Some(key) = found {
                return Ok(key.clone());
            }
            let below = rest.split_once('/').and_then(|(first, below)| {
                directory.find(first, None).filter(|key| key.is_directory()).map(|key| (key, below))
            });
            let Some((key, below)) = below else {
                let nearest = nearest(&directory, rest, &prefix);
                return Err(RootError::Missing { file: self.name.clone(), path: path.to_owned(), nearest });
            };
            depth += 1;
            prefix = joined(&prefix, &key.name);
            self.within(&prefix, "the depth of directories", depth, DEEPEST as u64)?;
            record = self.record(key, &prefix)?;
            rest = below.trim_start_matches('/');
        }
    }

    /// Reads a list of contents, once.
    fn list(&self, record: Record, path: &str) -> Result<Arc<Directory>, RootError> {
        let place =
            if path.is_empty() { "its list of contents".to_owned() } else { format!("directory '{path}'") };
        if record.keys == 0 {
            return Err(RootError::NotClosed { file: self.name.clone(), directory: place });
        }
        self.within(path, "the length of a list of contents", record.length as u64, LARGEST_LIST)?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.lists.get(&record.keys) {
            return Ok(Arc::clone(known));
        }
        self.take(path, (record.length as u64).saturating_mul(KEY_GROWTH))?;
        let bytes = inner.read(record.keys, record.length);
        let bytes = bytes.map_err(|source| RootError::Read { file: self.name.clone(), source })?;
        let directory = Directory::read(&bytes, record.keys).map_err(|source| RootError::Damaged {
            file: self.name.clone(),
            object: place,
            source,
        })?;
        let directory = Arc::new(directory);
        inner.lists.insert(record.keys, Arc::clone(&directory));
        Ok(directory)
    }

    /// Reads the record of a directory.
    fn record(&self, key: &Key, path: &str) -> Result<Record, RootError> {
        let at = key.seek.saturating_add(key.header as u64);
        let bytes = self.bytes(at, Record::LONGEST)?;
        Record::read(&bytes, at).map_err(|source| self.damaged(path, source))
    }

    /// Reads an object and decompresses it.
    pub(crate) fn object(&self, key: &Key, path: &str) -> Result<Vec<u8>, RootError> {
        self.within(path, "the size of the object", key.unpacked as u64, Self::LARGEST_OBJECT)?;
        self.within(path, "the stored size of the object", key.packed() as u64, Self::LARGEST_OBJECT)?;
        self.take(path, key.unpacked.max(key.packed()) as u64)?;
        let at = key.seek.saturating_add(key.header as u64);
        let bytes = self.bytes(at, key.packed())?;
        if bytes.len() < key.packed() {
            let (wanted, left) = (key.packed() as u64, bytes.len() as u64);
            return Err(self.damaged(path, Malformed::Short { at, what: "the object", wanted, left }));
        }
        if key.unpacked <= key.packed() {
            return Ok(bytes);
        }
        block::unpacked(&bytes, key.unpacked).map_err(|source| self.damaged(path, source))
    }

    /// Takes bytes from the allowance.
    pub(crate) fn take(&self, path: &str, bytes: u64) -> Result<(), RootError> {
        let Some(allowance) = &self.allowance else { return Ok(()) };
        let taken =
            allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        match taken {
            Ok(_) => Ok(()),
            Err(left) => self.within(path, "the size of what is still to be read", bytes, left),
        }
    }

    pub(crate) fn bytes(&self, at: u64, n: usize) -> Result<Vec<u8>, RootError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.read(at, n).map_err(|source| RootError::Read { file: self.name.clone(), source })
    }

    pub(crate) fn damaged(&self, path: &str, source: Malformed) -> RootError {
        RootError::Damaged { file: self.name.clone(), object: format!("'{path}'"), source }
    }

    pub(crate) fn within(
        &self,
        path: &str,
        what: &'static str,
        found: u64,
        limit: u64,
    ) -> Result<(), RootError> {
        if found <= limit {
            return Ok(());
        }
        let object = if path.is_empty() { "the file".to_owned() } else { format!("'{path}'") };
        Err(RootError::TooLarge { file: self.name.clone(), object, what, found, limit })
    }
}

/// Memory of the cells of a histogram, which are doubles, as a multiple of their bytes in the file.
fn growth(class: &str) -> u64 {
    match class.as_bytes().last() {
        Some(b'C') => 8,
        Some(b'S') => 4,
        Some(b'I' | b'F') => 2,
        _ => 1,
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}

/// Splits `name;2` into the name and the cycle.
fn split_cycle(path: &str) -> (&str, Option<i16>) {
    match path.rsplit_once(';') {
        Some((name, cycle)) => match cycle.parse() {
            Ok(cycle) => (name, Some(cycle)),
            Err(_) => (path, None),
        },
        None => (path, None),
    }
}

/// The closest name in a directory, or another cycle of the same name.
fn nearest(directory: &Directory, name: &str, prefix: &str) -> Option<String> {
    if let Some(cycle) = directory.cycles(name).into_iter().max() {
        return Some(format!("{};{cycle}", joined(prefix, name)));
    }
    let first = name.split('/').next().unwrap_or(name);
    let scored = directory.keys.iter().take(100_000).map(|key| {
        let distance = strsim::osa_distance(&key.name, name).min(strsim::osa_distance(&key.name, first));
        (distance, &key.name)
    });
    let (distance, found) = scored.min()?;
    (distance <= first.chars().count().div_ceil(2)).then(|| joined(prefix, found))
}
