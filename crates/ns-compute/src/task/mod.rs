//! Functions that all devices use to run a task. They check the task, and determine the bounds, the fixed parameters
//! and the starting point of each fit.

mod check;
mod domain;
mod parts;
mod start;

pub(crate) use check::{check_data, check_points, check_task, finite, length};
pub(crate) use domain::FitDomain;
pub(crate) use parts::parts_of;
pub(crate) use start::{needed, start_of};
