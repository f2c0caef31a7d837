//! What a task is, for all devices: what is refused, the box of each fit, and where it begins.

mod check;
mod frame;
mod start;

pub(crate) use check::{check_data, check_points, check_task, finite, length};
pub(crate) use frame::Frame;
pub(crate) use start::{needed, start_of};
