//! What a task is, for all devices: what is refused, the box of each fit, and where it begins.

mod check;
mod domain;
mod start;

pub(crate) use check::{check_data, check_points, check_task, finite, length};
pub(crate) use domain::FitDomain;
pub(crate) use start::{needed, start_of};
