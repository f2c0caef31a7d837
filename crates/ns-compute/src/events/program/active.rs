//! Determines which derivatives of a result of a program may differ from zero.

use super::{Step, components, pair};

/// The derivatives of one result that may differ from zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::events) struct Components {
    /// Variables whose first derivative may differ from zero, in ascending order.
    pub(in crate::events) first: Vec<usize>,
    /// Pairs of variables `(i, j)` with `j <= i` whose second derivative may differ from zero.
    pub(in crate::events) second: Vec<(usize, usize)>,
}

impl Components {
    fn has(&self, i: usize) -> bool {
        self.first.contains(&i)
    }

    fn has_pair(&self, pair: (usize, usize)) -> bool {
        self.second.contains(&pair)
    }

    /// Returns the derivatives that may differ from zero in the sum of two results. `d` is the number of variables of
    /// the program.
    fn union(&self, other: &Self, d: usize) -> Self {
        Self::select(
            d,
            |i| self.has(i) || other.has(i),
            |i, j| self.has_pair((i, j)) || other.has_pair((i, j)),
        )
    }

    fn select(d: usize, first: impl Fn(usize) -> bool, second: impl Fn(usize, usize) -> bool) -> Self {
        let pairs = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Self {
            first: (0..d).filter(|&i| first(i)).collect(),
            second: pairs.filter(|&(i, j)| second(i, j)).collect(),
        }
    }

    /// Returns the derivatives that may differ from zero in a result that depends on the given variables.
    pub(in crate::events) fn of_variables(variables: &[usize]) -> Self {
        let d = variables.iter().max().map_or(0, |most| most + 1);
        let has = |i: usize| variables.contains(&i);
        Self::select(d, has, |i, j| has(i) && has(j))
    }

    /// Returns the derivatives that may differ from zero in the result of `step`. `earlier` and `inputs` say the same
    /// about earlier results and about the inputs of the program. `d` is the number of variables of the program.
    pub(super) fn of(step: Step, earlier: &[Self], inputs: &[Self], d: usize) -> Self {
        let at = |slot: usize| earlier.get(slot).cloned().unwrap_or_default();
        match step {
            Step::Number(_)
            | Step::Observable(_)
            | Step::Datum(_)
            | Step::Table(..)
            | Step::Less(..)
            | Step::LessEqual(..)
            | Step::Equal(..) => Self::default(),
            Step::Variable(i) => Self { first: vec![i], second: Vec::new() },
            Step::Input(i) => inputs.get(i).cloned().unwrap_or_default(),
            Step::Add(a, b) | Step::Sub(a, b) | Step::Select(_, a, b) => at(a).union(&at(b), d),
            Step::Mul(a, b) => {
                let (a, b) = (at(a), at(b));
                Self::select(
                    d,
                    |i| a.has(i) || b.has(i),
                    |i, j| {
                        let mixed = (a.has(i) && b.has(j)) || (a.has(j) && b.has(i));
                        mixed || a.has_pair((i, j)) || b.has_pair((i, j))
                    },
                )
            }
            Step::Unary(unary, a) => {
                let a = at(a);
                let bends = unary.is_curved();
                Self::select(d, |i| a.has(i), |i, j| a.has_pair((i, j)) || (bends && a.has(i) && a.has(j)))
            }
            Step::Binary(_, a, b) => {
                let (a, b) = (at(a), at(b));
                let has = |i: usize| a.has(i) || b.has(i);
                Self::select(d, has, |i, j| has(i) && has(j))
            }
        }
    }

    /// Iterates over the indices of those components of a result that may differ from zero: the value and the
    /// derivatives in `self`. `d` is the number of variables of the program. The value has the index 0 and comes first.
    pub(in crate::events) fn columns(&self, d: usize) -> impl Iterator<Item = usize> {
        debug_assert!(self.first.iter().all(|&i| i < components(d)));
        let first = self.first.iter().map(|&i| 1 + i);
        let second = self.second.iter().map(move |&(i, j)| pair(d, i, j));
        std::iter::once(0).chain(first).chain(second)
    }
}
