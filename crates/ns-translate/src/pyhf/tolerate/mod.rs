//! Accepts deviations from the format that have only one possible meaning, with a warning.
//!
//! Some files contain descriptions, leave out a value for which there is only one possibility, or have a
//! single number in place of a list. [`bring_into_form`] changes the JSON tree of such a file so that it
//! follows the format. The strict reader then checks the result, so that no other deviation is accepted.
//! [`remove_copies`] removes items that occur more than once with the same content.

mod copies;
mod form;
mod gathered;
mod patchset;

pub(crate) use copies::remove_copies;
pub(crate) use form::bring_into_form;
pub(crate) use gathered::Gathered;
pub(crate) use patchset::bring_patchset_into_form;
