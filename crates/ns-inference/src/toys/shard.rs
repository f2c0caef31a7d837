//! A shard: one of several parts of a run that can be run on different machines.

use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::InferenceError;

/// One of `count` parts of a run. It is written as "3/10" for the third of ten parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// Number of this part of the run. The first part has the number 1.
    pub index: u32,
    /// Number of parts into which the run is divided.
    pub count: u32,
}

impl Shard {
    /// The whole run, as the only part.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Creates part number `index` of `count` parts.
    ///
    /// # Errors
    /// [`InferenceError::BadShard`] unless `1 <= index <= count`.
    pub fn new(index: u32, count: u32) -> Result<Self, InferenceError> {
        if index == 0 || index > count {
            return Err(InferenceError::BadShard { text: format!("{index}/{count}") });
        }
        Ok(Self { index, count })
    }

    /// Returns the range of toys in this part, if the run has `n_toys` toys. The ranges of all parts follow each
    /// other without gaps. Their lengths differ by at most one.
    #[must_use]
    pub fn range(self, n_toys: u64) -> Range<u64> {
        let cut = |part: u32| {
            let cut = u128::from(n_toys) * u128::from(part) / u128::from(self.count.max(1));
            u64::try_from(cut).unwrap_or(n_toys).min(n_toys)
        };
        cut(self.index.saturating_sub(1))..cut(self.index)
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = InferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || InferenceError::BadShard { text: text.to_owned() };
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let number = |part: &str| part.trim().parse::<u32>().map_err(|_| bad());
        Self::new(number(index)?, number(count)?).map_err(|_| bad())
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn parts_cover_all_toys_once() {
        for n_toys in [0_u64, 1, 7, 1000, 100_003, u64::MAX] {
            for count in [1, 3, 10, 1000] {
                let mut next = 0;
                for index in 1..=count {
                    let range = Shard { index, count }.range(n_toys);
                    assert_eq!(range.start, next, "{index}/{count} of {n_toys}");
                    assert!(range.end - range.start <= (n_toys / u64::from(count)).saturating_add(1));
                    next = range.end;
                }
                assert_eq!(next, n_toys);
            }
        }
    }

    #[test]
    fn spellings_are_read_and_wrong_ones_refused() {
        assert_eq!("3/10".parse::<Shard>().ok(), Some(Shard { index: 3, count: 10 }));
        assert_eq!("1/1".parse::<Shard>().ok(), Some(Shard::WHOLE));
        for wrong in ["", "3", "0/3", "4/3", "a/b", "1/0", "-1/3", "1/2/3"] {
            let message = wrong.parse::<Shard>().map_err(|e| e.to_string());
            assert!(message.is_err_and(|m| m.contains(wrong) && m.contains("K/N")), "{wrong}");
        }
    }
}
