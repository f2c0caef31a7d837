//! From expected yields to `-ln L`, measured from the saturated model.

use super::Scratch;
use crate::plan::Plan;
use crate::simd::{MulAdd, deviance, deviance_derivatives, isa_fn};

/// Data of one fit with everything about them that does not depend on parameters.
#[derive(Debug, Clone)]
pub(crate) struct Dataset {
    /// Main counts.
    pub(crate) main: Vec<f64>,
    /// Auxiliary data.
    pub(crate) aux: Vec<f64>,
    /// `-ln L` of the main counts if every expectation equalled its count.
    pub(crate) saturated_main: f64,
    /// The same for the constraint terms, with the Gaussian normalisations.
    pub(crate) saturated_constraint: f64,
}

impl Dataset {
    /// Precomputes the constants of a data set.
    pub(crate) fn new(plan: &Plan, main: &[f64], aux: &[f64]) -> Self {
        let mut data =
            Self { main: main.to_vec(), aux: aux.to_vec(), saturated_main: 0.0, saturated_constraint: 0.0 };
        data.saturate(plan);
        data
    }

    /// Room for data that are still to come.
    pub(crate) fn empty(plan: &Plan) -> Self {
        Self {
            main: vec![0.0; plan.n_bins],
            aux: vec![0.0; plan.n_aux],
            saturated_main: 0.0,
            saturated_constraint: 0.0,
        }
    }

    /// Computes the constants.
    pub(crate) fn saturate(&mut self, plan: &Plan) {
        self.saturated_main = self.main.iter().map(|&n| saturated(n)).sum();
        self.saturated_constraint =
            plan.gaussian.constant + plan.poisson.aux.iter().map(|&a| saturated(self.aux[a])).sum::<f64>();
    }
}

/// [`saturated`] of the counts that most toys consist of.
static OF_COUNTS: std::sync::LazyLock<Vec<f64>> =
    std::sync::LazyLock::new(|| (0..1024).map(|n| stirling(f64::from(n))).collect());

/// `-ln Poisson(n; lambda = n)` for real `n >= 0`, i.e. `n - n ln n + ln Gamma(n+1)`,
/// with Stirling's series where the terms would cancel.
fn saturated(n: f64) -> f64 {
    let index = n as usize;
    match OF_COUNTS.get(index) {
        Some(known) if index as f64 == n => *known,
        _ => stirling(n),
    }
}

fn stirling(n: f64) -> f64 {
    if n <= 0.0 {
        0.0
    } else if n < 30.0 {
        n - n * n.ln() + libm::lgamma(n + 1.0)
    } else {
        let i = 1.0 / n;
        let i2 = i * i;
        let series =
            i * (1.0 / 12.0 - i2 * (1.0 / 360.0 - i2 * (1.0 / 1260.0 - i2 * (1.0 / 1680.0 - i2 / 1188.0))));
        0.5 * (2.0 * std::f64::consts::PI * n).ln() + series
    }
}

/// `-ln L` at one point, split, and the level of its rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Likelihood {
    /// Main counts, from the saturated value.
    pub(crate) main: f64,
    /// Constraints, from the saturated value.
    pub(crate) constraint: f64,
    /// Sum of absolute terms as they were computed: rounding is a few eps times this.
    pub(crate) scale: f64,
}

impl Likelihood {
    /// Value to minimise: `-ln L` up to the constant of the data set.
    pub(crate) fn value(&self) -> f64 {
        self.main + self.constraint
    }
}

isa_fn! {
    /// Evaluates the terms for the yields in `scratch`; infinite where `lambda <= 0` and `n > 0`.
    ///
    /// With `floor > 0`, expectations below `floor * n` continue quadratically instead: finite
    /// everywhere, used to find a first point where all yields are positive.
    pub(crate) fn likelihood(plan: &Plan, theta: &[f64], data: &Dataset, floor: f64, scratch: &mut Scratch) -> Likelihood = body
}

#[inline(always)]
fn body<M: MulAdd>(
    plan: &Plan,
    theta: &[f64],
    data: &Dataset,
    floor: f64,
    scratch: &mut Scratch,
) -> Likelihood {
    let lambdas = &scratch.lambda[..plan.n_bins];
    let (slopes, curvatures) = (&mut scratch.slope[..plan.n_bins], &mut scratch.curvature[..plan.n_bins]);
    let (mut main, mut scale, mut forbidden) = (0.0, 0.0, false);
    if floor > 0.0 {
        for (b, &n) in data.main.iter().enumerate() {
            let (value, slope, curvature) = extended::<M>(lambdas[b], n, floor);
            main += value;
            scale += value.abs();
            slopes[b] = slope;
            curvatures[b] = curvature;
        }
    } else {
        let counts = &data.main[..plan.n_bins];
        let terms = &mut scratch.terms[..plan.n_bins];
        for b in 0..plan.n_bins {
            let (lambda, n) = (lambdas[b], counts[b]);
            let bad = n > 0.0 && !(lambda > 0.0);
            forbidden |= bad || lambda.is_nan();
            // Harmless operands where the other branch is taken, so that the loop stays branch-free.
            let (safe_lambda, safe_n) = if n > 0.0 && !bad { (lambda, n) } else { (1.0, 1.0) };
            let term = if n > 0.0 { deviance::<M>(safe_lambda, safe_n) } else { lambda };
            terms[b] = term;
            let (slope, curvature) = deviance_derivatives(safe_lambda, safe_n);
            slopes[b] = if n > 0.0 { slope } else { 1.0 };
            curvatures[b] = if n > 0.0 { curvature } else { 0.0 };
        }
        // On their own: sums keep the loop above from becoming vectors.
        for ((term, lambda), n) in terms.iter().zip(lambdas).zip(counts) {
            main += term;
            scale += term.abs() + (lambda - n).abs();
        }
    }
    let mut constraint = 0.5 * squared_pulls(plan, theta, data);
    for ((&p, &a), &tau) in plan.poisson.param.iter().zip(&plan.poisson.aux).zip(&plan.poisson.tau) {
        let (lambda, n) = (tau * theta[p], data.aux[a]);
        if n > 0.0 {
            if lambda > 0.0 {
                constraint += deviance::<M>(lambda, n);
            } else {
                forbidden = true;
            }
        } else {
            constraint += lambda;
        }
        scale += (lambda - n).abs();
    }
    scale += constraint.abs();
    if forbidden {
        main = f64::INFINITY;
    }
    Likelihood { main, constraint, scale }
}

/// Sum of the squared pulls of the Gaussian terms.
#[inline(always)]
fn squared_pulls(plan: &Plan, theta: &[f64], data: &Dataset) -> f64 {
    let gaussian = &plan.gaussian;
    let (params, aux, weights) = (&gaussian.param[..], &gaussian.aux[..], &gaussian.inverse_sigma[..]);
    let square = |p: usize, a: usize, w: f64| {
        let pull = (data.aux[a] - theta[p]) * w;
        pull * pull
    };
    // Four sums: one would wait for each addition.
    let mut sums = [0.0; 4];
    let fours = params.chunks_exact(4).zip(aux.chunks_exact(4)).zip(weights.chunks_exact(4));
    for ((p, a), w) in fours {
        for k in 0..4 {
            sums[k] += square(p[k], a[k], w[k]);
        }
    }
    let whole = params.len() / 4 * 4;
    for i in whole..params.len() {
        sums[i - whole] += square(params[i], aux[i], weights[i]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Poisson term with a quadratic continuation below `floor * n` (and linear for `n = 0`).
#[inline(always)]
fn extended<M: MulAdd>(lambda: f64, n: f64, floor: f64) -> (f64, f64, f64) {
    if !(n > 0.0) {
        return (lambda, 1.0, 0.0);
    }
    let edge = floor * n;
    let at = lambda.max(edge);
    let (slope, curvature) = deviance_derivatives(at, n);
    let below = lambda - at;
    (deviance::<M>(at, n) + below * (slope + 0.5 * curvature * below), slope + curvature * below, curvature)
}

#[cfg(test)]
mod tests {
    use super::saturated;

    #[test]
    fn the_saturated_constant_joins_smoothly() {
        for n in [29.999_999_9, 30.0, 30.5, 57.25, 1000.0] {
            let direct = n - n * f64::ln(n) + libm::lgamma(n + 1.0);
            assert!((saturated(n) - direct).abs() < 1e-12 * (1.0 + n), "{n}");
        }
        assert_eq!(saturated(0.0), 0.0);
    }
}
