//! What is no part of the format but has one meaning only: read as what is meant, with a warning.
//!
//! Files of other programs, and of people, have descriptions, leave out what can only be one thing, or write a
//! single number for a list of one. [`bring_into_form`] changes the tree of such a file into what the format
//! asks for; the strict reader then judges the result, so nothing else gets in this way.
//! [`remove_copies`] drops what is written twice with the same content.

mod copies;
mod form;
mod gathered;
mod patchset;

pub(crate) use copies::remove_copies;
pub(crate) use form::bring_into_form;
pub(crate) use gathered::Gathered;
pub(crate) use patchset::bring_patchset_into_form;
