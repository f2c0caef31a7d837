//! HS3 models: text is read as an [`Hs3`], from which an [`ns_core::Model`] is made.
//!
//! Supported are version 0.2.9 of the HS3 standard, files that ROOT 6.40 writes, and changes that were being merged
//! into the next version of the standard. All problems of a file are reported at once, with their paths in the file
//! and remedies. A part that is not supported is an error if the model uses it. No part is ignored.

mod build;
mod check;
mod choose;
mod document;
mod index;
mod model;
mod read;
mod references;
mod restate;
mod restate_histfactory;
mod restate_template;
mod sources;
mod words;
mod write;

pub use model::{Hs3, is_hs3};
pub use sources::{EventSources, GivenEvents, WantedColumns, wanted_columns};
pub use write::{WriteError, write};
