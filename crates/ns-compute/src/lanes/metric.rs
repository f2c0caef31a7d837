//! The part of the Gauss-Newton metric that many fits of one model share. The metric approximates the Hessian of
//! `-ln L`.
//!
//! Toys of one model have different counts, but the derivatives of their expected yields differ little. Therefore the
//! Jacobian `J` (the derivatives of the expected yields) is computed once, at a point that all toys share. A lane is
//! one of eight fits that are computed at once. Only two things differ between lanes: the weights of the bins, and the
//! derivatives with respect to per-bin factors. A bin with the count `n` and the expected yield `lambda` has the
//! weight `n / lambda^2`.
//!
//! The metric is `D + J' W J`. The diagonal matrix `D` contains the curvatures of the constraint terms, and the
//! diagonal matrix `W` the weights of the bins. How the metric is inverted depends on the class of each parameter:
//!
//! * A *local* parameter is constrained and acts on one bin, like most gammas. It only changes the weight of that bin.
//! * *Dual* parameters are constrained parameters that are eliminated from the metric. They enter the matrix
//!   `M = 1 + W^(1/2) (J D^-1 J') W^(1/2)` over the bins. Its part `J D^-1 J'` is the same for all lanes.
//! * *Primal* parameters are all other parameters. The matrix over the primal parameters is
//!   `K = D + J' W^(1/2) M^-1 W^(1/2) J`. Parameters with correlated constraints are primal, because `D` is not diagonal for
//!   them.
//!
//! Constrained parameters that are not local are either all dual or all primal. The choice with fewer multiplications
//! is used. Approximately, these parameters are dual if there are more of them than bins. The exception are large
//! models on a GPU: constrained parameters that act on most bins are primal there, so that `M` consists of blocks (see
//! `bin_groups`).

use std::ops::Range;

use super::bin_groups::BinGroups;
use super::derivatives;
use super::jacobian::Jacobian;
use crate::plan::Plan;
use crate::shared_constants::FEWEST;
use crate::terms::gaussian;

/// Largest number of multiplications for one search direction. In models that need more multiplications, single fits
/// are faster than fits in SIMD lanes.
const MOST_WORK: usize = 400_000;

/// Largest number of bins of a model with dual parameters (constrained parameters that are eliminated from the metric).
/// With more bins the number of multiplications would exceed [`MOST_WORK`].
pub(crate) const MOST_DUAL_BINS: usize = 134;

/// Largest number of elements of the Jacobian (the derivatives of the expected yields). With more elements, the state
/// of eight fits would not fit into the cache.
const MOST_ELEMENTS: usize = 400_000;

/// Largest number of primal parameters (those that are not eliminated from the metric) of a model whose bins fall into
/// groups. The matrix over these parameters is inverted as a whole.
const MOST_PRIMAL: usize = 48;

/// A local parameter: a constrained parameter that acts on one bin.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) param: usize,
    pub(crate) bin: usize,
    /// Derivative of the expected yield of the bin with respect to the parameter, at the point that all fits share.
    pub(crate) reaction: f64,
    /// Whether the parameter is a per-bin factor and has no other effect. If so, the derivative is computed at the
    /// point of each fit, and `reaction` is not used.
    pub(crate) factor: bool,
    /// Curvature of the constraint term. It is used if `count` is `None` (a Gaussian constraint).
    pub(crate) stiffness: f64,
    /// Index of the auxiliary count of a Poisson constraint. The curvature of the constraint term is the count divided
    /// by `theta^2`, where `theta` is the parameter. `None` for a Gaussian constraint.
    pub(crate) count: Option<usize>,
}

/// A group of bins, with the dual parameters (constrained parameters that are eliminated from the metric) that act on
/// them.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) bins: Range<usize>,
    /// Range of the group's parameters in [`Metric::dual`].
    pub(crate) dual: Range<usize>,
}

/// The part of the Gauss-Newton metric that all lanes (eight fits that are computed at once) share.
#[derive(Debug)]
pub(crate) struct Metric {
    /// Whether each lane uses the derivatives at its own point in place of those in `dual_rows` and `primal_rows`.
    pub(crate) own_derivatives: bool,
    /// Indices of the free parameters of the fits.
    pub(crate) free: Vec<usize>,
    pub(crate) locals: Vec<Local>,
    /// Indices of the dual parameters (constrained parameters that are eliminated from the metric), group by group.
    pub(crate) dual: Vec<usize>,
    /// Groups of bins. Each dual parameter acts on bins of one group only. There is a single group, except in large
    /// models on a GPU.
    pub(crate) groups: Vec<Group>,
    /// Whether the model is so large that its bins were divided into groups. Fits in SIMD lanes cannot use such a
    /// metric, because they invert the matrix over all bins as a whole.
    pub(crate) divided: bool,
    /// For each dual parameter (a constrained parameter that is eliminated from the metric), 1 divided by the curvature
    /// of its constraint.
    pub(crate) dual_inverse: Vec<f64>,
    /// Derivatives of the expected yields with respect to the dual parameters (constrained parameters that are
    /// eliminated from the metric). The index order is parameter, bin.
    pub(crate) dual_rows: Vec<f64>,
    /// The matrix `J D^-1 J'` over the bins of each group, stored as a lower triangle, row by row. `J` contains the derivatives of
    /// the expected yields with respect to the dual parameters (constrained parameters that are eliminated from the
    /// metric), and `D` the curvatures of their constraints. Empty if there are no dual parameters.
    pub(crate) kernel: Vec<f64>,
    pub(crate) primal: Vec<usize>,
    /// For each primal parameter (one that is not eliminated from the metric), the curvature of its constraint; 0
    /// without a constraint.
    pub(crate) primal_stiffness: Vec<f64>,
    /// Elements of `D` outside the diagonal. Each contains the positions of two parameters in `primal`, the larger first,
    /// and the element. Empty without correlated constraints.
    pub(crate) primal_couplings: Vec<(usize, usize, f64)>,
    /// Derivatives of the expected yields with respect to the primal parameters (those that are not eliminated from the
    /// metric). The index order is parameter, bin.
    pub(crate) primal_rows: Vec<f64>,
    /// For each primal parameter (one that is not eliminated from the metric), whether a function that is a factor depends on
    /// it. If lanes have derivatives of their own, such parameters have the positive part of the second derivatives of the
    /// expected yields in the metric.
    pub(crate) primal_bends: Vec<bool>,
}

impl Metric {
    /// Computes the shared part of the metric. All parameters that are not `fixed` move. Each of them is classified as
    /// local (acts on one bin), dual (eliminated from the metric) or primal (all others). `jacobian` contains the
    /// derivatives of the expected yields at `theta`, and `aux` the expected auxiliary data at `theta`. Returns `None`
    /// if the model does not suit SIMD lanes: it is too large, a derivative is not finite, or an unconstrained
    /// parameter has no effect at `theta`. If `divides` is true, as for a GPU, the bins of a model that is too large are
    /// divided into groups, and the result is `None` only if this is not possible.
    pub(crate) fn new(
        plan: &Plan,
        theta: &[f64],
        aux: &[f64],
        fixed: &[bool],
        jacobian: &Jacobian,
        divides: bool,
    ) -> Option<Self> {
        let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
        let mut stiffness = vec![0.0; n];
        let mut count = vec![None; n];
        for (p, _, w) in plan.gaussian() {
            stiffness[p] = gaussian::second(w);
        }
        for (p, a, _) in plan.poisson() {
            stiffness[p] = aux[a].max(FEWEST) / (theta[p] * theta[p]).max(f64::MIN_POSITIVE);
            count[p] = Some(a);
        }
        let correlated = correlated(plan);
        for own in plan.events.correlations() {
            for (i, (p, _, _)) in own.constraints().enumerate() {
                stiffness[p] += own.second(i, i);
            }
        }
        let factors = pure_factors(plan);
        let mut metric = Self {
            own_derivatives: false,
            free: (0..n).filter(|&p| !fixed[p]).collect(),
            locals: Vec::new(),
            dual: Vec::new(),
            groups: Vec::new(),
            divided: false,
            dual_inverse: Vec::new(),
            dual_rows: Vec::new(),
            kernel: Vec::new(),
            primal: Vec::new(),
            primal_stiffness: Vec::new(),
            primal_couplings: Vec::new(),
            primal_rows: Vec::new(),
            primal_bends: Vec::new(),
        };
        let mut others = Vec::new();
        for &p in &metric.free {
            if jacobian.row(p).any(|(_, x)| !x.is_finite()) {
                return None;
            }
            let mut touched = jacobian.row(p).filter(|(_, x)| *x != 0.0);
            match (touched.next(), touched.next(), stiffness[p] > 0.0) {
                (Some((bin, reaction)), None, true) if !correlated[p] => {
                    let stiffness = stiffness[p];
                    let (count, factor) = (count[p], factors[p]);
                    metric.locals.push(Local { param: p, bin, reaction, factor, stiffness, count });
                }
                (None, _, false) => return None,
                (_, _, constrained) => others.push((p, constrained && !correlated[p])),
            }
        }
        // Parameters without a constraint of their own, which are primal.
        let loose = others.iter().filter(|(_, constrained)| !constrained).count();
        if is_small(n_bins, others.len(), loose) {
            let (dual_work, primal_work) = work(n_bins, others.len(), loose);
            for &(p, constrained) in &others {
                if constrained && dual_work < primal_work {
                    metric.dual.push(p);
                } else {
                    metric.primal.push(p);
                }
            }
            metric.groups = vec![Group { bins: 0..n_bins, dual: 0..metric.dual.len() }];
        } else if divides {
            metric.divide(&others, n_bins, jacobian)?;
        } else {
            return None;
        }
        for &p in &metric.dual {
            metric.dual_inverse.push(1.0 / stiffness[p]);
            jacobian.write_row(p, n_bins, &mut metric.dual_rows);
        }
        for &p in &metric.primal {
            metric.primal_stiffness.push(stiffness[p]);
            jacobian.write_row(p, n_bins, &mut metric.primal_rows);
            metric.primal_bends.push(plan.factors.all_parameters().any(|q| q == p));
        }
        metric.couple(plan);
        if !metric.dual.is_empty() {
            metric.fill_kernel(n_bins);
        }
        metric.own_derivatives = metric.may_have_own_derivatives(plan) && derivatives::are_better(plan);
        Some(metric)
    }

    /// Returns whether each lane can have a Jacobian of its own.
    pub(super) fn may_have_own_derivatives(&self, plan: &Plan) -> bool {
        (!self.dual.is_empty() || plan.has_function_factors()) && derivatives::numbers(plan) > 0
    }

    /// Returns the number of multiplications in one factorisation with one solution, for one lane.
    pub(super) fn multiplications(&self, n_bins: usize) -> usize {
        let loose = self.primal.len();
        let (dual, primal) = work(n_bins, self.dual.len() + loose, loose);
        let own = if self.own_derivatives { n_bins * n_bins * self.dual.len() / 2 } else { 0 };
        own + if self.dual.is_empty() { primal } else { dual }
    }

    /// Sets `primal_couplings`.
    fn couple(&mut self, plan: &Plan) {
        let mut place = vec![None; plan.n_parameters()];
        for (u, &p) in self.primal.iter().enumerate() {
            place[p] = Some(u);
        }
        for own in plan.events.correlations() {
            let places: Vec<Option<usize>> = own.constraints().map(|(p, _, _)| place[p]).collect();
            for (i, &u) in places.iter().enumerate() {
                for (j, &v) in places[..i].iter().enumerate() {
                    // A fixed parameter has no place.
                    if let (Some(u), Some(v)) = (u, v) {
                        self.primal_couplings.push((u.max(v), u.min(v), own.second(i, j)));
                    }
                }
            }
        }
    }

    /// Computes `kernel` from the derivatives in `dual_rows`.
    fn fill_kernel(&mut self, n_bins: usize) {
        for group in &self.groups {
            let rows = || {
                let rows = &self.dual_rows[group.dual.start * n_bins..group.dual.end * n_bins];
                rows.chunks_exact(n_bins).zip(&self.dual_inverse[group.dual.clone()])
            };
            for i in group.bins.clone() {
                for j in group.bins.start..=i {
                    self.kernel.push(rows().map(|(row, inverse)| row[i] * row[j] * inverse).sum());
                }
            }
        }
    }

    /// Sets `dual`, `primal` and `groups` of a large model. `others` contains the parameters that are not local, each
    /// with whether it has a constraint that is independent of others. Returns `None` if the bins do not fall into groups.
    fn divide(&mut self, others: &[(usize, bool)], n_bins: usize, jacobian: &Jacobian) -> Option<()> {
        let constrained: Vec<usize> = others.iter().filter(|(_, is)| *is).map(|(p, _)| *p).collect();
        let BinGroups { groups, kept } = divisible(jacobian, others.len(), &constrained, n_bins)?;
        for bins in groups {
            let first = self.dual.len();
            let acts = |p: &&usize| bins.contains(&jacobian.reach(**p).start) && !kept.contains(p);
            self.dual.extend(constrained.iter().filter(acts));
            self.groups.push(Group { bins, dual: first..self.dual.len() });
        }
        let is_primal = |&&(p, constrained): &&(usize, bool)| !constrained || kept.contains(&p);
        self.primal = others.iter().filter(is_primal).map(|(p, _)| *p).collect();
        self.divided = true;
        Some(())
    }
}

/// Divides the bins of a large model into groups. `all` is the number of parameters that are not local; `constrained`
/// contains those of them that are constrained. Returns `None` if the bins do not fall into groups, or if the metric
/// is too large even so.
fn divisible(jacobian: &Jacobian, all: usize, constrained: &[usize], n_bins: usize) -> Option<BinGroups> {
    if !elements_fit(n_bins, all) {
        return None;
    }
    let divided = BinGroups::new(jacobian, constrained, n_bins)?;
    (all - constrained.len() + divided.kept.len() <= MOST_PRIMAL).then_some(divided)
}

/// Returns two numbers of multiplications for one search direction: the number if constrained parameters are dual
/// (eliminated from the metric), and the number if they are primal (not eliminated). `all` is the number of parameters
/// that are not local. `loose` is the number of unconstrained parameters among them.
fn work(n_bins: usize, all: usize, loose: usize) -> (usize, usize) {
    let square = n_bins.saturating_mul(n_bins);
    let dual = square.saturating_mul(n_bins + 3 * loose) / 6 + 2 * n_bins * all;
    let primal = all.saturating_mul(all).saturating_mul(3 * n_bins + all) / 6 + 2 * n_bins * all;
    (dual, primal)
}

fn is_small(n_bins: usize, all: usize, loose: usize) -> bool {
    let (dual, primal) = work(n_bins, all, loose);
    dual.min(primal) <= MOST_WORK && elements_fit(n_bins, all)
}

/// Returns whether the Jacobian over `n_bins` bins and `all` parameters has at most [`MOST_ELEMENTS`] elements.
fn elements_fit(n_bins: usize, all: usize) -> bool {
    n_bins.saturating_mul(all) <= MOST_ELEMENTS
}

/// Returns whether the model is too large for fits in SIMD lanes. In contrast to [`Metric::new`], which knows the
/// derivatives at a point, only constrained per-bin factors without another effect count as local.
pub(crate) fn is_too_large(plan: &Plan) -> bool {
    let (all, constrained) = not_local(plan);
    !is_small(plan.n_bins(), all.len(), all.len() - constrained.len())
}

/// Returns whether the model is too large for fits on a GPU.
pub(crate) fn is_too_large_for_gpus(plan: &Plan) -> bool {
    if !is_too_large(plan) {
        return false;
    }
    let (all, constrained) = not_local(plan);
    if !elements_fit(plan.n_bins(), all.len()) {
        return true;
    }
    divisible(&Jacobian::new(plan), all.len(), &constrained, plan.n_bins()).is_none()
}

/// Returns the free parameters that are not local (constrained per-bin factors that act on one bin), and those of them
/// that have a constraint that is independent of others.
fn not_local(plan: &Plan) -> (Vec<usize>, Vec<usize>) {
    let mut constrained = vec![false; plan.n_parameters()];
    plan.gaussian().for_each(|(p, _, _)| constrained[p] = true);
    plan.poisson().for_each(|(p, _, _)| constrained[p] = true);
    for (constrained, correlated) in constrained.iter_mut().zip(correlated(plan)) {
        *constrained &= !correlated;
    }
    let factors = pure_factors(plan);
    let free = (0..plan.n_parameters()).filter(|&p| !plan.structure.table.fixed[p]);
    let all: Vec<usize> = free.filter(|&p| !(factors[p] && constrained[p])).collect();
    let of_all = all.iter().copied().filter(|&p| constrained[p]).collect();
    (all, of_all)
}

/// Returns for each parameter whether its constraint is correlated with others.
fn correlated(plan: &Plan) -> Vec<bool> {
    let mut correlated = vec![false; plan.n_parameters()];
    let all = plan.events.correlations().iter().flat_map(|own| own.constraints());
    all.for_each(|(p, _, _)| correlated[p] = true);
    correlated
}

/// Returns for each parameter whether it is a per-bin factor and has no other effect.
fn pure_factors(plan: &Plan) -> Vec<bool> {
    let mut factors = vec![false; plan.n_parameters()];
    for block in &plan.structure.blocks {
        for &first in plan.per_bin_factors(block) {
            factors[first as usize..first as usize + block.n_bins].fill(true);
        }
    }
    for &p in plan.structure.hist_param.iter().chain(&plan.structure.factor_param) {
        factors[p as usize] = false;
    }
    for run in &plan.structure.norm_runs {
        factors[run.param] = false;
    }
    for p in plan.factors.all_parameters() {
        factors[p] = false;
    }
    factors
}
