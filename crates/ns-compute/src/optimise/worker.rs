//! The working memory of one thread, and the definition of one minimisation problem.

use ns_core::{EventColumns, INTEGRAL_TOLERANCE};

use super::memory::Memory;
use super::prices::{Nanoseconds, Prices};
use crate::curvature::{Curvature, Point, assemble};
use crate::eval::{Dataset, Likelihood, Scratch, forward, gradient, likelihood};
use crate::plan::{EDM_TOLERANCE, Plan};
use crate::simd::Level;
use crate::stop::Stop;

/// Largest number of parameters of a model for which a factorisation of the Hessian takes negligible time compared with
/// an evaluation of all events.
const MOST_FOR_FREE: usize = 64;

/// Factor by which the EDM (estimated distance to the minimum) of a fit with a tether is smaller than usual.
const TETHERED: f64 = 1e-10;

/// A quadratic term `sum_p strength_p (theta_p - centre_p)^2 / 2` that is added to `-ln L`. It chooses one point of a
/// valley in which `-ln L` is constant (see `flat`).
#[derive(Debug, Clone)]
pub(crate) struct Tether {
    pub(crate) centre: Vec<f64>,
    /// One number per parameter; 0 for parameters that are not drawn anywhere.
    pub(crate) strength: Vec<f64>,
}

impl Tether {
    fn value(&self, theta: &[f64]) -> f64 {
        let distances = theta.iter().zip(&self.centre).map(|(x, centre)| x - centre);
        distances.zip(&self.strength).map(|(distance, strength)| 0.5 * strength * distance * distance).sum()
    }
}

/// One minimisation problem: model, data, bounds and fixed parameters.
#[derive(Debug, Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) level: Level,
    pub(crate) data: &'a Dataset,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    /// For each parameter, whether it is fixed by the model, by the request, or by equal bounds.
    pub(crate) fixed: Vec<bool>,
    /// Largest relative error of the integrals in `-ln L` at a minimum that counts as converged.
    pub(crate) integral_tolerance: f64,
    /// Point to which the fit stays as close as possible in directions along which `-ln L` is constant. Empty in
    /// problems that are evaluated only.
    pub(crate) origin: Vec<f64>,
    /// Term that is added to `-ln L` while a point of a flat valley is chosen.
    pub(crate) tether: Option<Tether>,
    /// Whether a descent ends when `-ln L` falls far below its value in the saturated model
    /// (`shared_constants::BELOW_SATURATED`). It is true for toys.
    pub(crate) physical: bool,
    /// Flag that the caller sets to request a stop. The outcome is not used after that.
    pub(crate) stop: Stop<'a>,
}

impl<'a> Problem<'a> {
    /// Returns a problem without bounds, for evaluations at given points.
    pub(crate) fn without_box(plan: &'a Plan, level: Level, data: &'a Dataset) -> Self {
        let (lower, upper, fixed, origin) = Default::default();
        Self {
            plan,
            level,
            data,
            lower,
            upper,
            fixed,
            integral_tolerance: INTEGRAL_TOLERANCE,
            origin,
            tether: None,
            physical: false,
            stop: Stop::default(),
        }
    }

    /// Returns the second derivatives of the tether; empty if there is none.
    pub(crate) fn tether(&self) -> &[f64] {
        self.tether.as_ref().map_or(&[], |tether| &tether.strength)
    }

    /// Returns the largest EDM (estimated distance to the minimum) of a certified minimum. A tether is weak, so its
    /// minimum needs a smaller one.
    pub(crate) fn edm_tolerance(&self) -> f64 {
        if self.tether.is_some() { TETHERED * EDM_TOLERANCE } else { EDM_TOLERANCE }
    }

    /// Returns whether computing the curvature at a point takes almost no more time than computing the value. This is
    /// the case if the evaluation of the events gives both and the matrix is small. Every step then uses the curvature
    /// at its own point.
    pub(crate) fn curvature_is_free(&self) -> bool {
        self.plan.events.has_channels() && self.plan.n_parameters() <= MOST_FOR_FREE
    }

    /// Returns true once the caller has asked to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.asked()
    }
}

/// Working memory of one thread. It contains everything that a fit writes.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) scratch: Scratch,
    pub(crate) curvature: Curvature,
    /// Memory for the curvature matrix from which the covariance is computed. It is allocated when it is first needed.
    pub(crate) wide: Option<Curvature>,
    /// Memory for the full Hessian as one dense matrix. It is used for flat directions and saddle points, and allocated
    /// when it is first needed.
    pub(crate) flat: Option<Curvature>,
    /// Trial point of the current step.
    pub(crate) trial: Vec<f64>,
    /// The step of the current iteration, within the bounds.
    pub(crate) step: Vec<f64>,
    /// The Newton step of the current iteration, without bounds.
    pub(crate) newton: Vec<f64>,
    /// Gradient of `-ln L`, on the chosen side of each kink. It is zero for parameters that may not move.
    pub(crate) slope: Vec<f64>,
    /// Right-hand side of linear systems. All elements are zero between two uses.
    pub(crate) unit: Vec<f64>,
    /// Working memory for products of vectors with the factored inverse Hessian of a nearby fit (see `neighbour`).
    pub(crate) solving: Vec<f64>,
    /// Columns of the inverse Hessian that belong to parameters which are held at bounds.
    pub(crate) columns: Vec<f64>,
    /// Lower bounds of the current orthant, which is the region in which no parameter crosses its kink.
    pub(crate) box_lower: Vec<f64>,
    /// Upper bounds of the current orthant, which is the region in which no parameter crosses its kink.
    pub(crate) box_upper: Vec<f64>,
    /// For each parameter, whether it may move.
    pub(crate) active: Vec<bool>,
    /// For each parameter, the side of its kink on which it moves: -1, +1, or 0 if it does not move from a kink.
    pub(crate) side: Vec<f64>,
    /// Value of `active` at the last factorisation of the curvature.
    pub(crate) factored_active: Vec<bool>,
    /// Value of `side` at the last factorisation of the curvature.
    pub(crate) factored_side: Vec<f64>,
    /// BFGS pairs that correct the Cholesky factor from the last factorisation.
    pub(crate) memory: Memory,
    /// Value of `slope` before the last step.
    pub(crate) last_slope: Vec<f64>,
    /// Expected yields that the correction to a curved step aims at (see `curved_step`).
    pub(crate) goal: Vec<f64>,
    /// Working memory for a point on a step, at which `curved_step` computes the linear model.
    pub(crate) along: Vec<f64>,
    pub(crate) n_evaluations: usize,
    /// Price of all that the current search has done. It begins at 0, so that a sum of prices does not depend on earlier
    /// fits of this thread.
    pub(super) spent: Nanoseconds,
    pub(super) prices: Prices,
    /// Columns of the events of a toy that is being drawn.
    pub(crate) drawn: EventColumns,
}

impl Worker {
    /// Allocates working memory that suffices for any fit of `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let n = plan.n_parameters();
        let vector = || vec![0.0; n];
        Self {
            scratch: Scratch::new(plan),
            curvature: Curvature::new(&plan.structure.layout),
            wide: None,
            flat: None,
            trial: vector(),
            step: vector(),
            newton: vector(),
            slope: vector(),
            unit: vector(),
            solving: Vec::new(),
            columns: Vec::new(),
            box_lower: vector(),
            box_upper: vector(),
            active: vec![false; n],
            side: vector(),
            factored_active: vec![false; n],
            factored_side: vector(),
            memory: Memory::default(),
            last_slope: vector(),
            goal: Vec::new(),
            along: Vec::new(),
            n_evaluations: 0,
            spent: 0.0,
            prices: Prices::new(plan),
            drawn: EventColumns::default(),
        }
    }

    /// Evaluates the model and its curvature once, and ignores the results. As a result, the operating system provides
    /// the memory before the first fit.
    pub(crate) fn rehearse(&mut self, plan: &Plan, level: Level, data: &Dataset) {
        let problem = Problem::without_box(plan, level, data);
        let theta = &plan.structure.table.init;
        self.evaluate(&problem, theta, 0.0);
        self.gradient(&problem, theta);
        self.active.fill(true);
        self.side.fill(0.0);
        let point = Point {
            theta,
            data,
            active: &self.active,
            side: &self.side,
            exactness: 0.0,
            damping: 0.0,
            tether: &[],
        };
        assemble(level, plan, &plan.structure.layout, point, &mut self.scratch, &mut self.curvature);
        if theta.len() <= super::finish::DENSE_LIMIT {
            let mut wide = self.wide.take().unwrap_or_else(|| Curvature::new(&plan.structure.wide));
            assemble(level, plan, &plan.structure.wide, point, &mut self.scratch, &mut wide);
            self.wide = Some(wide);
        }
    }

    /// Returns `-ln L` without the constants that depend on the data alone. If `floor` is positive, a parabola
    /// replaces the Poisson terms of small expected yields (see `likelihood`). After the call, the scratch belongs to
    /// the point `theta`.
    pub(crate) fn evaluate(&mut self, problem: &Problem<'_>, theta: &[f64], floor: f64) -> Likelihood {
        self.n_evaluations += 1;
        self.spent += self.prices.evaluation;
        forward(problem.level, problem.plan, theta, &mut self.scratch);
        let mut value =
            likelihood(problem.level, problem.plan, theta, problem.data, floor, &mut self.scratch);
        if let Some(tether) = &problem.tether {
            value.constraint += tether.value(theta);
        }
        value
    }

    /// Returns the exact Hessian over the active parameters (those that may move) as one dense matrix. The last call of
    /// [`Self::evaluate`] must have been at `theta`. The caller must put the returned memory back into `flat`.
    pub(super) fn whole_hessian(&mut self, problem: &Problem<'_>, theta: &[f64]) -> Curvature {
        let layout = &problem.plan.structure.flat;
        let mut whole = self.flat.take().unwrap_or_else(|| Curvature::new(layout));
        let point = Point {
            theta,
            data: problem.data,
            active: &self.active,
            side: &self.side,
            exactness: 1.0,
            damping: 0.0,
            tether: problem.tether(),
        };
        assemble(problem.level, problem.plan, layout, point, &mut self.scratch, &mut whole);
        whole
    }

    /// Computes the gradient of `-ln L`, and the jumps of its slope at kinks. The last call of [`Self::evaluate`] must
    /// have been at `theta`.
    pub(crate) fn gradient(&mut self, problem: &Problem<'_>, theta: &[f64]) {
        self.spent += self.prices.evaluation;
        gradient(problem.level, problem.plan, theta, problem.data, &mut self.scratch);
        if let Some(Tether { centre, strength }) = &problem.tether {
            for (p, slope) in self.scratch.gradient.iter_mut().enumerate().take(theta.len()) {
                *slope += strength[p] * (theta[p] - centre[p]);
            }
        }
    }
}
