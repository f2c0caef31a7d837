//! One file per command: read the flags, call the library, present.

pub(crate) mod devices;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod validate;
