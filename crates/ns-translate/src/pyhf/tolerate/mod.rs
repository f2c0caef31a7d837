//! Accepts deviations from the format that can have only one meaning, with a warning.
//!
//! Some files contain descriptions, leave out a value that can only be one thing, or write a single number for a
//! list of one. [`bring_into_form`] changes the tree of such a file into what the format
//! asks for. The strict reader then checks the result, so that no other deviation is accepted.
//! [`remove_copies`] removes items that occur twice with the same content.

mod copies;
mod form;
mod gathered;
mod patchset;

pub(crate) use copies::remove_copies;
pub(crate) use form::bring_into_form;
pub(crate) use gathered::Gathered;
pub(crate) use patchset::bring_patchset_into_form;
