//! HS3 models: text is read as an [`Hs3`], from which an [`ns_core::Model`] is made.
//!
//! The reader supports version 0.2.9 of the HS3 standard, the files of ROOT 6.40, and changes that were being merged
//! into the next version of the standard. The reader reports all problems of a file at once, with their paths and
//! remedies. If the model uses a part that is not supported, this is an error: such a part is never skipped in silence.

mod build;
mod check;
mod choose;
mod document;
mod index;
mod jumps;
mod model;
mod read;
mod references;
mod restate;
mod restate_histfactory;
mod restate_template;
mod sources;
mod words;
mod write;
mod write_functions;

pub use model::{Hs3, is_hs3};
pub use sources::{EventSources, GivenEvents, WantedColumns, wanted_columns};
pub use write::{WriteError, write};
