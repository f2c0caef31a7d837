//! HS3 models: text is read as an [`Hs3`], from which an [`ns_core::Model`] is made.
//!
//! Read are the words of the HS3 text, version 0.2.9, those that ROOT 6.40 writes, and those that were being
//! merged into the next version of the text. All problems of a file are reported at once, with their paths in
//! the file and remedies. What is not supported is an error where it is used, and never left out.

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
