//! The list of the different values (parameters and functions of parameters) that a channel uses.

use ns_core::Value;

/// The parameters and functions of parameters that a channel uses. Each of them is listed once.
#[derive(Debug, Clone, Default)]
pub(super) struct Locals {
    pub(super) values: Vec<Value>,
}

impl Locals {
    /// Returns the index of a value in the list, and adds the value to the list if it is new. Returns `None` for a
    /// constant.
    pub(super) fn index(&mut self, value: Value) -> Option<usize> {
        if matches!(value, Value::Number(_)) {
            return None;
        }
        Some(self.values.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        }))
    }
}
