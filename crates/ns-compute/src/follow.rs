//! Numbers of a model that are functions of its inputs.

/// A number of a model that is a function of inputs: a factor times a sum of inputs, or a factor divided by this sum.
/// `kernels/changing.cuh` computes the same on a GPU.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Follower {
    /// Positions of the summed inputs in the array of all inputs. A position occurs at most once.
    pub sources: Vec<usize>,
    /// Constant that is added to the sum of the inputs.
    pub held: f64,
    /// Constant factor that multiplies the sum. If `inverse` is true, it is divided by the sum instead.
    pub factor: f64,
    /// Whether the number is the factor divided by the sum. If false, it is the factor times the sum.
    pub inverse: bool,
}

impl Follower {
    /// Returns a follower that has the value `value` for all inputs.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Self { sources: Vec::new(), held: 1.0, factor: value, inverse: false }
    }

    fn sum(&self, inputs: &[f64]) -> f64 {
        let of = |&place: &usize| inputs.get(place).copied().unwrap_or(0.0);
        self.sources.iter().map(of).fold(self.held, |sum, x| sum + x)
    }

    /// Returns the value of the number. `inputs` contains the values of all inputs.
    #[must_use]
    pub fn value(&self, inputs: &[f64]) -> f64 {
        let sum = self.sum(inputs);
        if self.inverse { self.factor / sum } else { self.factor * sum }
    }

    /// Returns the derivative of the number with respect to an input in `sources`. It is the same for all of them.
    #[must_use]
    pub fn slope(&self, inputs: &[f64]) -> f64 {
        if !self.inverse {
            return self.factor;
        }
        let sum = self.sum(inputs);
        -self.factor / (sum * sum)
    }
}

#[cfg(test)]
mod tests {
    use super::Follower;

    #[test]
    fn slopes_are_those_of_differences() {
        let inputs = [2.0, 5.0, 11.0];
        for inverse in [false, true] {
            let number = Follower { sources: vec![0, 2], held: 0.5, factor: 3.0, inverse };
            assert_eq!(number.value(&inputs), if inverse { 3.0 / 13.5 } else { 3.0 * 13.5 });
            for place in 0..3 {
                let at = |step: f64| {
                    let mut moved = inputs;
                    moved[place] += step;
                    number.value(&moved)
                };
                let difference = (at(1e-4) - at(-1e-4)) / 2e-4;
                let want = if place == 1 { 0.0 } else { number.slope(&inputs) };
                assert!((difference - want).abs() < 1e-8, "{place}: {difference} instead of {want}");
            }
        }
        assert_eq!(Follower::constant(7.0).value(&inputs), 7.0);
    }
}
