//! Histograms and flat trees of ROOT files, without ROOT.
//!
//! [`RootFile`] reads `TH1` and `TH2` of every number type from files of any size: only the lists of names and the
//! histograms that are asked for are read. [`HistogramFile`] writes one-dimensional histograms. [`RootFile::columns`] reads branches of trees
//! that have one number for each event.
//!
//! The layout is that of ROOT's own documentation (`io/doc/TFile` of its sources). Any bytes may be read: sizes that a
//! file claims are compared with the bytes that it has, and the reader does not panic.
#![forbid(unsafe_code)]

mod axis;
mod block;
mod cursor;
mod directory;
mod error;
mod file;
mod header;
mod histogram;
mod key;
mod source;
mod tags;
mod tree;
mod write;

pub use axis::Axis;
pub use error::{Malformed, RootError};
pub use file::{Entry, RootFile};
pub use histogram::Histogram;
pub use tree::Tree;
pub use write::{Compression, HistogramFile};
