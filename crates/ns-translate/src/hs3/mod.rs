//! HS3 models: text is read as a [`Hs3`], from which an [`ns_core::Model`] is made.

mod document;
mod read;
