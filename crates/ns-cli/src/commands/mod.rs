//! The commands, one file for each. A command reads its flags, calls the library crates and writes the result.

pub(crate) mod combine;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod devices;
pub(crate) mod digest;
pub(crate) mod fit;
pub(crate) mod gof;
pub(crate) mod hypotest;
pub(crate) mod hypotest_toys;
pub(crate) mod inspect;
pub(crate) mod licences;
pub(crate) mod limit_grid;
pub(crate) mod man;
pub(crate) mod merge_toys;
pub(crate) mod patch;
pub(crate) mod prune;
pub(crate) mod ranking;
pub(crate) mod rename;
pub(crate) mod scan;
pub(crate) mod selftest;
pub(crate) mod significance;
pub(crate) mod sort;
pub(crate) mod toys;
pub(crate) mod upper_limit;
pub(crate) mod validate;
pub(crate) mod yields;
