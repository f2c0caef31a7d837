//! Finds out what a file is by its contents, and reads it as JSON: a workspace or an HS3 model.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::IgnoredAny;

use crate::Axes;
use crate::histfactory;
use crate::pyhf::{Problem, WorkspaceError, read_file};

/// How many bytes of JSON are searched for a key.
const HEAD: usize = 1 << 16;
/// How many lines of a text are looked at.
const LINES: usize = 500;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON: a workspace or an HS3 model, or what is meant as such.
    Json,
    /// XML of HistFactory, or other XML.
    Xml,
    /// A ROOT file.
    Root,
    /// A datacard of CMS Combine.
    Datacard,
    /// A configuration of TRExFitter.
    Trex,
    /// A configuration of cabinetry.
    Cabinetry,
    /// None of these.
    Unknown,
}

impl Format {
    /// Finds out what these bytes are.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        if ns_root::RootFile::is_root(bytes) {
            return Self::Root;
        }
        if histfactory::is_xml(bytes) {
            return Self::Xml;
        }
        let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        match start.first() {
            // An empty file, and what only JSON begins with.
            None | Some(b'{' | b'[') => return Self::Json,
            _ => {}
        }
        let head = start.get(..start.len().min(1 << 20)).unwrap_or(start);
        let Ok(text) = std::str::from_utf8(head).or_else(|error| {
            // The end may cut a letter.
            std::str::from_utf8(
                head.get(..error.valid_up_to()).filter(|part| !part.is_empty()).unwrap_or(b"\xff"),
            )
        }) else {
            return Self::Unknown;
        };
        let lines = || text.lines().take(LINES);
        let starts = |words: &[&str]| {
            lines().any(|line| line.split_whitespace().next().is_some_and(|first| words.contains(&first)))
        };
        let keys = |words: &[&str]| lines().any(|line| words.iter().any(|word| line.starts_with(word)));
        // Combine also reads cards without the numbers of channels and processes.
        let columns = || ["bin", "process", "rate"].iter().all(|word| starts(&[word]));
        if starts(&["imax", "jmax", "kmax"]) || columns() {
            Self::Datacard
        } else if keys(&["General:"]) && keys(&["Regions:", "Samples:"]) {
            Self::Cabinetry
        } else if is_trex(text) {
            Self::Trex
        } else {
            Self::Unknown
        }
    }

    /// Finds out what a file is by its beginning, which may be compressed. [`Self::Unknown`] if it cannot be read, and for
    /// pipes, whose bytes could not be read again.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        const LOOKED_AT: u64 = 1 << 20;
        let start = || {
            let mut bytes = Vec::new();
            File::open(path)?.take(LOOKED_AT).read_to_end(&mut bytes)?;
            if bytes.starts_with(&[0x1f, 0x8b]) {
                let mut unpacked = Vec::new();
                // The end is missing, which is an error after all that there is.
                let _ = MultiGzDecoder::new(bytes.as_slice()).take(LOOKED_AT).read_to_end(&mut unpacked);
                return Ok::<_, std::io::Error>(unpacked);
            }
            Ok(bytes)
        };
        if !path.is_file() {
            return Self::Unknown;
        }
        start().map_or(Self::Unknown, |bytes| Self::of(&bytes))
    }

    /// Name of the format, as the command shows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Xml => "XML",
            Self::Root => "a ROOT file",
            Self::Datacard => "a datacard of CMS Combine",
            Self::Trex => "a configuration of TRExFitter",
            Self::Cabinetry => "a configuration of cabinetry",
            Self::Unknown => "in no format that is known",
        }
    }

    /// The error for a format that is not a model; nothing for JSON, and for XML, which a path leads to.
    fn refused(self) -> Option<WorkspaceError> {
        let remedy = match self {
            Self::Json | Self::Xml => return None,
            Self::Root => {
                "It has no model that is read. Histograms are read through the XML of HistFactory that names the file; trees by \
                 nextstat.read_root(file, tree) in Python (pip install uproot awkward); a RooWorkspace is written as HS3 by ROOT: \
                 RooJSONFactoryWSTool(workspace).exportJSON(\"model.json\")."
            }
            Self::Datacard => {
                "It names other files. Commands that make models read it by the path in --input; commands that work on workspaces (prune, rename, \
                 sort, digest), archives and standard input take the workspace that `nextstat convert -i card.txt --to pyhf` makes. A server takes an \
                 archive with all files (the key `archive`). In Python it is read by nextstat.load_datacard(path), in Rust by ns_translate::datacard."
            }
            Self::Trex | Self::Cabinetry => {
                "It is no model, but describes how one is made of histograms: make a workspace with 'nextstat build FILE --output \
                 workspace.json', or with nextstat.build.from_config(path) in Python."
            }
            Self::Unknown => {
                "Give a pyhf workspace or an HS3 model in JSON, the combination file of HistFactory in XML, or a datacard of CMS Combine."
            }
        };
        Some(WorkspaceError::OtherFormat { what: self.name(), remedy })
    }
}

/// Whether a text is a configuration of TRExFitter: a job with blocks of other kinds, or without a job a region or a sample
/// with a type. Blocks may be indented.
fn is_trex(text: &str) -> bool {
    let lines = || text.lines().take(LINES).map(str::trim_start);
    let keys = |words: &[&str]| lines().any(|line| words.iter().any(|word| line.starts_with(word)));
    let named = |line: &str| {
        let rest = ["Region:", "Sample:"].iter().find_map(|word| line.strip_prefix(word));
        rest.is_some_and(|rest| !rest.trim().is_empty())
    };
    let types = ["SIGNAL", "BACKGROUND", "DATA", "GHOST", "CONTROL", "VALIDATION"];
    let typed = |line: &str| {
        let word = line.strip_prefix("Type:").map(|rest| rest.trim().trim_matches('"').to_uppercase());
        word.is_some_and(|word| types.iter().any(|kind| word.starts_with(kind)))
    };
    (keys(&["Job:", "MultiFit:"]) && keys(&["Fit:", "Region:", "Sample:"]))
        || (lines().any(named) && lines().any(typed))
}

/// A model file as JSON, and what is to be known about how it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceText {
    /// A workspace or an HS3 model.
    pub json: Vec<u8>,
    /// What the file is.
    pub format: Format,
    /// Warnings from a conversion to a workspace. Those of an HS3 model are in the model.
    pub warnings: Vec<Problem>,
    /// The axes of the histograms that were converted.
    pub axes: Axes,
}

impl SourceText {
    /// Reads a file, a member of an archive or a compressed file. HistFactory's XML is converted, with the files that it names.
    ///
    /// This is the one place where a format is recognised and read by its path; a new format gets its branch here.
    ///
    /// # Errors
    /// The errors of [`read_file`]; [`WorkspaceError::HistFactory`]; [`WorkspaceError::OtherFormat`] for all formats that are not
    /// models.
    pub fn read(path: &Path) -> Result<Self, WorkspaceError> {
        let bytes = read_file(path)?;
        match Format::of(&bytes) {
            Format::Xml if path.is_file() => Ok(Self::of_xml(histfactory::read(path)?)),
            _ => Self::from_bytes(bytes),
        }
    }

    /// Takes XML that was read. The warnings of an HS3 model are in the model.
    pub(crate) fn of_xml(imported: histfactory::Imported) -> Self {
        let warnings = if imported.obstacle.is_none() { imported.warnings } else { Vec::new() };
        Self { json: imported.json, format: Format::Xml, warnings, axes: imported.axes.as_found() }
    }

    /// Takes bytes without a path, such as those of standard input. They must be JSON.
    ///
    /// # Errors
    /// [`WorkspaceError::OtherFormat`] if they are something else.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, WorkspaceError> {
        let format = must_be_json(&bytes)?;
        Ok(Self { json: bytes, format, warnings: Vec::new(), axes: Axes::default() })
    }
}

/// Names what is no text in UTF-8, and what is empty.
fn no_text(bytes: &[u8]) -> Option<WorkspaceError> {
    let (what, remedy) = match bytes {
        [] => ("empty", "Give a model; maybe the program that wrote the file failed."),
        [b'P', b'K', 3, 4, ..] => (
            "a zip archive",
            "Unpack it and give the file of the model, or make a .tar.gz of it and give ARCHIVE.tar.gz:MEMBER.",
        ),
        [0xff, 0xfe, b'<', 0, ..] | [0xfe, 0xff, 0, b'<', ..] => (
            "XML in UTF-16",
            "Save the file, and those that it names, as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`, and remove encoding=\"UTF-16\" from its \
             first line.",
        ),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            ("a text in UTF-16", "Save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`.")
        }
        _ => return None,
    };
    Some(WorkspaceError::OtherFormat { what, remedy })
}

/// Whether JSON is a configuration of cabinetry, which may be written in it. Few files have the two keys and are read a second time.
fn is_configuration(bytes: &[u8]) -> bool {
    let has = |key: &[u8]| bytes.windows(key.len()).take(HEAD).any(|part| part == key);
    has(b"\"General\"")
        && serde_json::from_slice::<HashMap<String, IgnoredAny>>(bytes).is_ok_and(|map| {
            map.contains_key("General") && (map.contains_key("Regions") || map.contains_key("Samples"))
        })
}

/// Checks that bytes without a path are JSON, and returns what they are. Of other binary files the reader of JSON says more.
///
/// # Errors
/// [`WorkspaceError::OtherFormat`] if they are something else that is known.
pub(crate) fn must_be_json(bytes: &[u8]) -> Result<Format, WorkspaceError> {
    if let Some(error) = no_text(bytes) {
        return Err(error);
    }
    let format = Format::of(bytes);
    if format == Format::Json && is_configuration(bytes) {
        return Format::Cabinetry.refused().map_or(Ok(format), Err);
    }
    let binary = std::str::from_utf8(bytes).is_err() || bytes.starts_with(b"%PDF");
    if format == Format::Unknown && binary {
        return Ok(format);
    }
    if format == Format::Xml {
        return Err(WorkspaceError::OtherFormat {
            what: "XML",
            remedy: "XML of HistFactory names other files, so it is read from a file of its own: give the path of the combination file, \
                     not in an archive or through standard input. Elsewhere, give the workspace that `nextstat convert -i combination.xml \
                     --to pyhf` makes; a server takes an archive with all files (the key `archive`).",
        });
    }
    format.refused().map_or(Ok(format), Err)
}
