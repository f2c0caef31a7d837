//! Chooses combinations of many parameters with an additive model of the likelihood.
//!
//! In nonlinear models the lowest minimum may differ from a known minimum in many parameters at once. Close to the
//! known minimum, the expected yields are nearly the sum of the shifts by each parameter, and `-ln L` is quadratic in
//! this sum. The parameters are divided into those with linear effects and those with nonlinear effects. For each
//! combination of values of the nonlinear parameters, the best values of the linear parameters are known. Minimising
//! over the linear parameters only changes the metric in which shifts of the expected yields are measured.
//!
//! In this metric, the value of `-ln L` for a combination is, up to a constant, half the squared length of a vector
//! with one element per bin, plus the constraint terms. The effect of changing one parameter takes one scalar product.
//! Simulated annealing over a few values of each parameter therefore takes less time than one descent. Descents start
//! from the best combinations.

use super::super::active::classify;
use super::super::prices::{Nanoseconds, Prices};
use super::super::{Problem, Worker};
use super::scatter::Scatter;
use crate::linalg::{Pivots, factor_until, solve_lower};
use crate::simd::{Level, MulAdd, Vector, exp, isa_fn};
use crate::stop::Stop;

/// Values that are tried for a nonlinear parameter, in addition to its value at the minimum.
const VALUES: [f64; 17] =
    [-3.0, -2.4, -1.9, -1.5, -1.1, -0.75, -0.4, -0.15, 0.0, 0.15, 0.4, 0.75, 1.1, 1.5, 1.9, 2.4, 3.0];

/// Number of options of a nonlinear parameter: the values that it can have in a combination. The first option is its
/// value at the minimum.
const OPTIONS: usize = VALUES.len() + 1;

/// The number of options of a parameter ([`OPTIONS`]), rounded up to whole SIMD vectors of eight numbers.
const LANES: usize = OPTIONS.next_multiple_of(8);

/// Largest number of parameters that have options (several values that are tried). The most nonlinear parameters have
/// options.
const MOST_PARAMETERS: usize = 256;

/// Largest number of bins for which the additive model is built. Its metric is a dense matrix over the bins.
const MOST_BINS: usize = 512;

/// Change of a parameter with which a difference quotient of expected yields is computed.
const STEP: f64 = 0.05;

/// Temperatures of the first and the last sweep of the simulated annealing, in units of `-ln L`.
const TEMPERATURES: (f64, f64) = (4.0, 0.3);

/// A parameter counts as lying on neither side of 0 if its absolute value is below this number.
const NEAR_ZERO: f64 = 0.1;

/// Number of multiplications that take as long as drawing an option with given weights.
const DRAWING: usize = 400;

/// A Boltzmann weight counts as 0 if its exponent is below this number.
const LEAST_EXPONENT: f64 = -100.0;

/// Smallest count from which the weight of a bin is computed. Bins without counts thus also have a weight.
const LEAST_COUNT: f64 = 0.3;

/// An additive model of `-ln L` around one point: the expected yields are approximated by a sum of shifts, one for each
/// parameter.
pub(super) struct Additive {
    level: Level,
    n_bins: usize,
    /// Indices of the parameters that have options (several values that are tried).
    parameters: Vec<usize>,
    /// Shift of the expected yields for each option (tried value) of a parameter. The shifts are whitened, which means
    /// that they are measured in units of the metric of the bins. The index order is parameter, option, bin.
    shift: Vec<f64>,
    /// The same numbers as `shift`, but in the index order parameter, bin, option. After the last option there are
    /// zeros up to [`LANES`] numbers. The numbers of options with an infinite cost are zeros too.
    beside: Vec<f64>,
    /// For each option (tried value) of a parameter, half the squared length of its whitened shift, plus the change of
    /// the parameter's constraint term. It is infinite for options outside the bounds. The index order is parameter,
    /// option, with [`LANES`] numbers per parameter.
    cost: Vec<f64>,
    /// Value of the parameter for each of its options. The index order is parameter, option.
    values: Vec<f64>,
    /// Derivatives of `-ln L` with respect to the expected yields, whitened like the shifts (measured in units of the
    /// metric). Every sum of shifts begins with these numbers.
    offset: Vec<f64>,
    /// Change of each linear parameter per unit of whitened shift (shift of the expected yields in units of the
    /// metric). The index order is linear parameter, bin.
    follow: Vec<f64>,
    /// Indices of the parameters whose effects are linear. They have no options.
    linear: Vec<usize>,
}

impl Additive {
    /// Returns the number of parameters that have options (several values that are tried).
    pub(super) fn len(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the price of building the model. `nonlinear` is the number of nonlinear parameters.
    pub(super) fn price(worker: &Worker, problem: &Problem<'_>, nonlinear: usize) -> Nanoseconds {
        let bins = problem.plan.n_bins() as f64;
        let options = nonlinear.min(MOST_PARAMETERS) as f64;
        let linear = problem.fixed.iter().filter(|fixed| !**fixed).count() as f64 - options;
        let evaluations = worker.prices.evaluation * (OPTIONS as f64 * options + 2.0 * linear);
        let squares = linear + 0.5 * options * OPTIONS as f64 + bins / 6.0;
        evaluations + Prices::multiplications(squares * bins * bins)
    }

    /// Returns the price of drawing one combination.
    pub(super) fn price_of_drawing(&self, sweeps: usize) -> Nanoseconds {
        let visits = (sweeps * self.parameters.len()) as f64;
        Prices::multiplications(visits * (LANES * self.n_bins + DRAWING) as f64)
    }

    /// Builds the model around `theta`. The parameters `nonlinear` get options (several values that are tried). Returns
    /// `None` if there are no such parameters, if there are more than [`MOST_BINS`] bins, or if the metric is singular.
    pub(super) fn new(
        worker: &mut Worker,
        problem: &Problem<'_>,
        theta: &[f64],
        nonlinear: &[usize],
    ) -> Option<Self> {
        let n_bins = problem.plan.n_bins();
        let parameters: Vec<usize> = nonlinear.iter().copied().take(MOST_PARAMETERS).collect();
        if parameters.is_empty() || n_bins > MOST_BINS {
            return None;
        }
        // The evaluations below have their own prices.
        let before = worker.spent;
        let here = worker.evaluate(problem, theta, 0.0);
        worker.gradient(problem, theta);
        classify(worker, problem, theta);
        let active = worker.active.clone();
        let lambda = worker.scratch.lambda[..n_bins].to_vec();
        let slopes = worker.scratch.slope[..n_bins].to_vec();
        let mut trial = theta.to_vec();
        // The inverse metric of the bins is the sum of two parts: the statistical variance of each bin, and the
        // contribution of the linear parameters.
        let mut metric = vec![0.0; n_bins * n_bins];
        for b in 0..n_bins {
            let count = problem.data.main[b].max(LEAST_COUNT);
            metric[b * n_bins + b] = lambda[b] * lambda[b] / count + 1e-12;
        }
        let (mut linear, mut follow) = (Vec::new(), Vec::new());
        for p in 0..theta.len() {
            if !active[p] || parameters.contains(&p) {
                continue;
            }
            trial[p] = theta[p] - STEP;
            let below = worker.evaluate(problem, &trial, 0.0).constraint;
            trial[p] = theta[p] + STEP;
            let above = worker.evaluate(problem, &trial, 0.0).constraint;
            trial[p] = theta[p];
            // The variance is limited. A free factor can thus move by about ten times its value at most.
            let least = 0.01 / theta[p].abs().max(1.0).powi(2);
            let variance = 1.0 / ((above + below - 2.0 * here.constraint) / (STEP * STEP)).max(least);
            let column: Vec<f64> =
                worker.scratch.lambda[..n_bins].iter().zip(&lambda).map(|(l, o)| (l - o) / STEP).collect();
            if !variance.is_finite() || column.iter().any(|c| !c.is_finite()) {
                continue;
            }
            for (a, &left) in column.iter().enumerate().filter(|(_, c)| **c != 0.0) {
                for (b, right) in column.iter().enumerate() {
                    metric[a * n_bins + b] += variance * left * right;
                }
            }
            linear.push(p);
            follow.extend(column.iter().map(|c| -variance * c));
        }
        let metric = Metric::factored(problem.level, &metric, n_bins)?;
        let mut offset = vec![0.0; n_bins];
        for b in 0..n_bins {
            let row = &metric.values[b * metric.stride..b * metric.stride + n_bins];
            offset[b] = (b..n_bins).map(|a| row[a] * slopes[a]).sum();
        }
        // A shift s of the expected yields moves the linear parameters by -C^-1 J^T (U^T U)^-1 s. For the whitened
        // shift y = U^-T s this is -C^-1 J^T U^-1 y. The loop computes the rows of this matrix in `follow`.
        for row in follow.chunks_exact_mut(n_bins) {
            metric.whiten(row);
        }
        let mut model = Self {
            level: problem.level,
            n_bins,
            shift: vec![0.0; parameters.len() * OPTIONS * n_bins],
            beside: vec![0.0; parameters.len() * n_bins * LANES],
            cost: vec![f64::INFINITY; parameters.len() * LANES],
            values: vec![0.0; parameters.len() * OPTIONS],
            parameters,
            offset,
            follow,
            linear,
        };
        for (k, &p) in model.parameters.iter().enumerate() {
            for option in 0..OPTIONS {
                let at = k * OPTIONS + option;
                let value = if option == 0 { theta[p] } else { VALUES[option - 1] };
                model.values[at] = value;
                if option == 0 {
                    model.cost[k * LANES] = 0.0;
                    continue;
                }
                if value < problem.lower[p] || value > problem.upper[p] {
                    continue;
                }
                trial[p] = value;
                let there = worker.evaluate(problem, &trial, 0.0);
                let shift = &mut model.shift[at * n_bins..(at + 1) * n_bins];
                for (b, s) in shift.iter_mut().enumerate() {
                    *s = worker.scratch.lambda[b] - lambda[b];
                }
                metric.whiten(shift);
                let half: f64 = 0.5 * shift.iter().map(|s| s * s).sum::<f64>();
                let cost = half + there.constraint - here.constraint;
                if cost.is_finite() {
                    model.cost[k * LANES + option] = cost;
                    for (b, s) in shift.iter().enumerate() {
                        model.beside[(k * n_bins + b) * LANES + option] = *s;
                    }
                }
            }
            trial[p] = theta[p];
        }
        worker.spent = before + Self::price(worker, problem, nonlinear.len());
        Some(model)
    }

    /// Draws one combination by simulated annealing, and returns the index of the chosen option (tried value) of each
    /// parameter.
    ///
    /// All parameters begin at the minimum, and the annealing has `sweeps` sweeps over all parameters. Then each
    /// parameter in turn is set to the option with the lowest `-ln L`, until no parameter changes. The parameter
    /// `forced`, an index into `parameters`, must have the opposite sign to its value at the minimum.
    pub(super) fn anneal(&self, sweeps: usize, forced: Option<usize>, draw: &mut Scatter) -> Vec<u8> {
        let n = self.parameters.len();
        let draw_side = draw.uniform().signum();
        // If the value at the minimum is close to 0, the sign is random.
        let side = |k: usize| {
            if self.values[k * OPTIONS].abs() < NEAR_ZERO {
                draw_side
            } else {
                -self.values[k * OPTIONS].signum()
            }
        };
        let forced = forced.map(|k| (k, side(k)));
        let mut options = vec![0_u8; n];
        let mut at = self.offset.clone();
        let (first, last) = TEMPERATURES;
        let ratio = (last / first).powf(1.0 / sweeps.max(2) as f64);
        let mut temperature = first;
        for sweep in 0.. {
            let greedy = sweep >= sweeps;
            let mut changed = false;
            for k in 0..n {
                let old = options[k];
                self.add(&mut at, k, old, -1.0);
                let mut rises = [0.0; LANES];
                self.rises(&at, k, &mut rises);
                if let Some((which, side)) = forced
                    && which == k
                {
                    for (option, rise) in rises.iter_mut().enumerate().take(OPTIONS) {
                        if self.values[k * OPTIONS + option] * side <= 0.0 {
                            *rise = f64::INFINITY;
                        }
                    }
                }
                let new = if greedy {
                    let mut least = if rises[usize::from(old)].is_finite() { usize::from(old) } else { 0 };
                    for (option, rise) in rises.iter().enumerate() {
                        if *rise < rises[least] - 1e-12 {
                            least = option;
                        }
                    }
                    least as u8
                } else {
                    choose(self.level, &mut rises, temperature, 0.5 * (draw.uniform() + 1.0))
                };
                changed |= new != old;
                options[k] = new;
                self.add(&mut at, k, new, 1.0);
            }
            temperature *= ratio;
            if greedy && !changed || sweep > 4 * sweeps + 20 {
                break;
            }
        }
        options
    }

    /// Adds `factor` times the whitened shift of an option to `at`. `k` is the position of the parameter in
    /// `parameters`.
    fn add(&self, at: &mut [f64], k: usize, option: u8, factor: f64) {
        let index = k * OPTIONS + usize::from(option);
        let shift = &self.shift[index * self.n_bins..(index + 1) * self.n_bins];
        for (a, s) in at.iter_mut().zip(shift) {
            *a += factor * s;
        }
    }

    /// Computes the rise of `-ln L` for each option (tried value) of the parameter with position `k` in `parameters`.
    /// `at` is the sum of the whitened shifts of all other parameters.
    fn rises(&self, at: &[f64], k: usize, rises: &mut [f64; LANES]) {
        let width = self.n_bins * LANES;
        let shifts = &self.beside[k * width..(k + 1) * width];
        sum_up(self.level, &self.cost[k * LANES..(k + 1) * LANES], shifts, at, rises);
    }

    /// Returns the parameter values of a combination. `options` contains the index of the chosen option of each
    /// parameter that has options. The linear parameters have their best values for this combination.
    pub(super) fn point(&self, problem: &Problem<'_>, theta: &[f64], options: &[u8]) -> Vec<f64> {
        let mut point = theta.to_vec();
        let mut shift = vec![0.0; self.n_bins];
        for (k, (&p, &option)) in self.parameters.iter().zip(options).enumerate() {
            point[p] = self.values[k * OPTIONS + usize::from(option)];
            self.add(&mut shift, k, option, 1.0);
        }
        for (&p, row) in self.linear.iter().zip(self.follow.chunks_exact(self.n_bins)) {
            let move_by: f64 = row.iter().zip(&shift).map(|(f, s)| f * s).sum();
            point[p] = (point[p] + move_by).clamp(problem.lower[p], problem.upper[p]);
        }
        point
    }
}

isa_fn! {
    /// Writes the rise of `-ln L` for each option (tried value) of a parameter to `to`. The rise is the option's
    /// element of `cost` plus the scalar product over the bins of `at` and the option's shifts. `shifts` has [`LANES`]
    /// numbers per bin.
    fn sum_up(cost: &[f64], shifts: &[f64], at: &[f64], to: &mut [f64; LANES]) = sum_up_body
}

#[inline(always)]
fn sum_up_body<M: MulAdd>(cost: &[f64], shifts: &[f64], at: &[f64], to: &mut [f64; LANES]) {
    let mut sums: [M::V8; LANES / 8] = std::array::from_fn(|i| M::V8::load(&cost[8 * i..]));
    for (row, a) in shifts.chunks_exact(LANES).zip(at) {
        let a = M::V8::splat(*a);
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = M::V8::load(&row[8 * i..]).mul_add(a, *sum);
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        sum.store(&mut to[8 * i..]);
    }
}

isa_fn! {
    /// Chooses an option (tried value) at random. Its probability is proportional to its Boltzmann weight
    /// `e^(-rise / temperature)`. `unit` is a random number in [0, 1). The function replaces the rises by the weights.
    fn choose(rises: &mut [f64; LANES], temperature: f64, unit: f64) -> u8 = choose_body
}

#[inline(always)]
fn choose_body<M: MulAdd>(rises: &mut [f64; LANES], temperature: f64, unit: f64) -> u8 {
    let mut least = M::V8::load(&rises[..8]);
    for eight in rises.chunks_exact(8).skip(1) {
        let eight = M::V8::load(eight);
        least = eight.below(least, eight, least);
    }
    let mut lanes = [0.0; 8];
    least.store(&mut lanes);
    let least = lanes.iter().copied().fold(f64::INFINITY, f64::min);
    let per_temperature = 1.0 / temperature;
    for rise in rises.iter_mut() {
        let exponent = (least - *rise) * per_temperature;
        // The exponent is limited, because operations on subnormal numbers take a hundred times as long.
        let weight = exp::<M>(exponent.max(LEAST_EXPONENT));
        *rise = if exponent < LEAST_EXPONENT { 0.0 } else { weight };
    }
    let mut sum = M::V8::splat(0.0);
    for eight in rises.chunks_exact(8) {
        sum = sum.add(M::V8::load(eight));
    }
    let mut left = unit * sum.sum();
    for (option, weight) in rises.iter().enumerate().take(OPTIONS) {
        left -= weight;
        if left < 0.0 {
            return option as u8;
        }
    }
    0
}

/// Cholesky factor `U` of the inverse metric `U^T U` of the bins, with the padding that `linalg` requires.
struct Metric {
    level: Level,
    n: usize,
    stride: usize,
    values: Vec<f64>,
}

impl Metric {
    /// Computes the Cholesky factor of a symmetric `n x n` matrix. Returns `None` if the matrix is not positive
    /// definite.
    fn factored(level: Level, matrix: &[f64], n: usize) -> Option<Self> {
        let stride = n.div_ceil(16) * 16;
        let mut values = vec![0.0; n * stride];
        for (row, given) in values.chunks_exact_mut(stride).zip(matrix.chunks_exact(n)) {
            row[..n].copy_from_slice(given);
        }
        let limits: Vec<(f64, f64)> = (0..n).map(|b| (matrix[b * n + b], 0.0)).collect();
        let mut pivots = Pivots::default();
        factor_until(level, &mut values, stride, n, n, &limits, &mut pivots, Stop::default());
        pivots.is_regular().then_some(Self { level, n, stride, values })
    }

    /// Replaces a shift `x` of the expected yields by the whitened shift `U^-T x`, where `U` is this Cholesky factor.
    fn whiten(&self, x: &mut [f64]) {
        solve_lower(self.level, &self.values, self.stride, self.n, self.n, x);
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, choose};
    use crate::simd::Level;

    #[test]
    fn options_are_drawn_by_their_weights_and_never_out_of_bounds() {
        for level in Level::available() {
            let (mut often, mut seldom, mut never) = (0, 0, 0);
            for k in 0..1000 {
                let mut rises = [f64::INFINITY; LANES];
                (rises[3], rises[5]) = (7.0, 7.0 + 2.0 * 3.0_f64.ln());
                match choose(level, &mut rises, 2.0, f64::from(k) / 1000.0) {
                    3 => often += 1,
                    5 => seldom += 1,
                    _ => never += 1,
                }
            }
            assert_eq!((often, seldom, never), (750, 250, 0), "{level:?}");
        }
    }
}
