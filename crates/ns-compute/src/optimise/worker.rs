//! The working memory of one thread, and the definition of one minimisation problem.

use ns_core::EventColumns;

use super::memory::Memory;
use crate::curvature::{Curvature, Point, assemble};
use crate::eval::{Dataset, Likelihood, Scratch, forward, gradient, likelihood};
use crate::plan::Plan;
use crate::simd::Level;
use crate::stop::Stop;

/// Largest number of parameters for which the time of a factorisation is negligible compared with an
/// evaluation of all events.
const MOST_FOR_FREE: usize = 64;

/// One minimisation problem: model, data, bounds and fixed parameters.
#[derive(Debug, Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) level: Level,
    pub(crate) data: &'a Dataset,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    /// Whether each parameter is fixed: by the model, by the request, or by equal bounds.
    pub(crate) fixed: Vec<bool>,
    /// Whether a descent gives up far below the saturated model (`shared_constants::BELOW_SATURATED`), as for
    /// toys.
    pub(crate) physical: bool,
    /// Flag that is set once the caller wants to stop. The outcome is then not used.
    pub(crate) stop: Stop<'a>,
}

impl<'a> Problem<'a> {
    /// Returns a problem without bounds, for points that are only evaluated.
    pub(crate) fn without_box(plan: &'a Plan, level: Level, data: &'a Dataset) -> Self {
        let (lower, upper, fixed) = Default::default();
        Self { plan, level, data, lower, upper, fixed, physical: false, stop: Stop::default() }
    }

    /// Returns whether the curvature at a point takes almost no time in addition to the value: the evaluation of
    /// the events gives both, and the matrix is small. Then every step uses the curvature at its point.
    pub(crate) fn curvature_is_free(&self) -> bool {
        self.plan.events.has_channels() && self.plan.n_parameters() <= MOST_FOR_FREE
    }

    /// Returns true once the caller has asked to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.asked()
    }
}

/// Working memory of one thread: everything that a fit writes.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) scratch: Scratch,
    pub(crate) curvature: Curvature,
    /// Curvature for the covariance, allocated when it is first needed.
    pub(crate) wide: Option<Curvature>,
    /// Hessian as one dense matrix, for flat directions and saddle points; allocated when it is first needed.
    pub(crate) flat: Option<Curvature>,
    /// Trial point of the current step.
    pub(crate) trial: Vec<f64>,
    /// Step within the bounds.
    pub(crate) step: Vec<f64>,
    /// Newton step without bounds.
    pub(crate) newton: Vec<f64>,
    /// Gradient on the chosen side of each kink; zero for parameters that do not move.
    pub(crate) slope: Vec<f64>,
    /// Right-hand side of linear systems; zero between two uses.
    pub(crate) unit: Vec<f64>,
    /// Working memory for solves with the factors of another fit.
    pub(crate) solving: Vec<f64>,
    /// Columns of the inverse Hessian that belong to parameters held at bounds.
    pub(crate) columns: Vec<f64>,
    /// Lower bounds of the current orthant.
    pub(crate) box_lower: Vec<f64>,
    /// Upper bounds of the current orthant.
    pub(crate) box_upper: Vec<f64>,
    /// Whether each parameter may move.
    pub(crate) active: Vec<bool>,
    /// Side of its kink on which each parameter moves: -1, +1, or 0.
    pub(crate) side: Vec<f64>,
    /// Value of `active` when the curvature was last factored.
    pub(crate) factored_active: Vec<bool>,
    /// Value of `side` when the curvature was last factored.
    pub(crate) factored_side: Vec<f64>,
    /// BFGS corrections to the last factor.
    pub(crate) memory: Memory,
    /// `slope` before the last step.
    pub(crate) last_slope: Vec<f64>,
    /// Expected yields that a second-order step aims at (see `curved_step`).
    pub(crate) goal: Vec<f64>,
    /// Point along a step at which a second-order step compares the linear model with the expected yields.
    pub(crate) along: Vec<f64>,
    pub(crate) n_evaluations: usize,
    /// Columns of the events of a toy that is being drawn.
    pub(crate) drawn: EventColumns,
}

impl Worker {
    /// Allocates the memory for any fit of `plan`.
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
            drawn: EventColumns::default(),
        }
    }

    /// Makes one evaluation and one assembly of the curvature, so that the pages of the memory that a fit
    /// usually needs are mapped. The numbers are not used.
    pub(crate) fn rehearse(&mut self, plan: &Plan, level: Level, data: &Dataset) {
        let problem = Problem::without_box(plan, level, data);
        let theta = &plan.structure.table.init;
        self.evaluate(&problem, theta, 0.0);
        self.gradient(&problem, theta);
        self.active.fill(true);
        self.side.fill(0.0);
        let point =
            Point { theta, data, active: &self.active, side: &self.side, exactness: 0.0, damping: 0.0 };
        assemble(level, plan, &plan.structure.layout, point, &mut self.scratch, &mut self.curvature);
        if theta.len() <= super::finish::DENSE_LIMIT {
            let mut wide = self.wide.take().unwrap_or_else(|| Curvature::new(&plan.structure.wide));
            assemble(level, plan, &plan.structure.wide, point, &mut self.scratch, &mut wide);
            self.wide = Some(wide);
        }
    }

    /// Returns `-ln L` up to the constant of the data, with `floor` as in `likelihood`. Afterwards the
    /// scratch belongs to `theta`.
    pub(crate) fn evaluate(&mut self, problem: &Problem<'_>, theta: &[f64], floor: f64) -> Likelihood {
        self.n_evaluations += 1;
        forward(problem.level, problem.plan, theta, &mut self.scratch);
        likelihood(problem.level, problem.plan, theta, problem.data, floor, &mut self.scratch)
    }

    /// Returns the exact Hessian over the active parameters as one dense matrix. `theta` must be the point of
    /// the last `evaluate`. The caller must put the returned memory back into `flat`.
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
        };
        assemble(problem.level, problem.plan, layout, point, &mut self.scratch, &mut whole);
        whole
    }

    /// Computes the gradient, and the jumps of the slope at kinks. `theta` must be the point of the last
    /// `evaluate`.
    pub(crate) fn gradient(&mut self, problem: &Problem<'_>, theta: &[f64]) {
        gradient(problem.level, problem.plan, theta, problem.data, &mut self.scratch);
    }
}
