//! The chain rule: gradients and Hessians of a function whose arguments are functions of other variables.

use super::program::pair;
use super::sums::triangle;

/// A coordinate (an argument of a function) that is itself a function of other variables.
pub(super) struct Inner<'a> {
    /// Value and derivatives of the coordinate. `None` if the coordinate is itself a variable.
    pub(super) result: Option<&'a [f64]>,
    /// For each variable of the coordinate, its index among the variables with respect to which [`Derivatives`] are
    /// computed.
    pub(super) variables: &'a [usize],
}

/// Gradient and Hessian of a function. The Hessian is the sum of `squares` and `bends`. Both are lower triangles,
/// stored row by row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Derivatives {
    pub(crate) gradient: Vec<f64>,
    /// The part of the Hessian that is positive semi-definite, from products of first derivatives.
    pub(crate) squares: Vec<f64>,
    pub(crate) bends: Vec<f64>,
}

impl Derivatives {
    pub(super) fn new(variables: usize) -> Self {
        let pairs = variables * (variables + 1) / 2;
        Self { gradient: vec![0.0; variables], squares: vec![0.0; pairs], bends: vec![0.0; pairs] }
    }

    pub(super) fn clear(&mut self) {
        for array in [&mut self.gradient, &mut self.squares, &mut self.bends] {
            array.fill(0.0);
        }
    }

    /// Applies the chain rule, and adds the result to `self`. A function of coordinates is given by its gradient `g`
    /// and its Hessian `H`, which is the sum of `squares` and `bends`. Each coordinate is a function of variables,
    /// which `inner` describes.
    ///
    /// The added numbers are derivatives with respect to the variables. Let `J` be the Jacobian of the coordinates
    /// with respect to the variables. The added gradient is `J' g`. The added Hessian is `J' H J`, plus, for each
    /// coordinate `a`, the second derivatives of the coordinate times `g_a`.
    pub(super) fn pull_back<'a>(
        &mut self,
        (gradient, squares, bends): (&[f64], &[f64], &[f64]),
        inner: &dyn Fn(usize) -> Inner<'a>,
    ) {
        let slope = |of: &Inner<'_>, i: usize| of.result.map_or(1.0, |result| result[1 + i]);
        for (a, &g) in gradient.iter().enumerate() {
            let one = inner(a);
            let d = one.variables.len();
            for (i, &to) in one.variables.iter().enumerate() {
                self.gradient[to] += g * slope(&one, i);
                if let Some(result) = one.result {
                    for (j, &other) in one.variables[..=i].iter().enumerate() {
                        let twice = if i != j && to == other { 2.0 } else { 1.0 };
                        self.bends[triangle(to, other)] += twice * g * result[pair(d, i, j)];
                    }
                }
            }
            for b in 0..=a {
                let (square, bend) = (squares[triangle(a, b)], bends[triangle(a, b)]);
                if square == 0.0 && bend == 0.0 {
                    continue;
                }
                let two = inner(b);
                for (i, &to) in one.variables.iter().enumerate() {
                    let left = slope(&one, i);
                    if left == 0.0 {
                        continue;
                    }
                    // A diagonal element of the coordinates contributes to each pair of variables twice, once in each
                    // order.
                    for (j, &other) in two.variables.iter().enumerate() {
                        if a == b && other > to {
                            continue;
                        }
                        let factor = left * slope(&two, j);
                        let twice = if a != b && to == other { 2.0 } else { 1.0 };
                        let at = triangle(to, other);
                        self.squares[at] += twice * factor * square;
                        self.bends[at] += twice * factor * bend;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_of_a_composition_are_right() {
        // F(u, v) = u^2 v with u = x y and v = y, at x = 2, y = 3: F = x^2 y^3.
        let (x, y) = (2.0, 3.0);
        let (u, v) = (x * y, y);
        let gradient = [2.0 * u * v, u * u];
        let bends = [2.0 * v, 2.0 * u, 0.0];
        let product = [u, y, x, 0.0, 1.0, 0.0];
        let mut out = Derivatives::new(2);
        out.pull_back((&gradient, &[0.0; 3], &bends), &|a| match a {
            0 => Inner { result: Some(&product), variables: &[0, 1] },
            _ => Inner { result: None, variables: &[1] },
        });
        assert_eq!(out.gradient, [2.0 * x * y * y * y, 3.0 * x * x * y * y]);
        assert_eq!(out.bends, [2.0 * y * y * y, 6.0 * x * y * y, 6.0 * x * x * y]);
    }
}
