//! Values, gradients, Hessians and expected data at given points.

use std::sync::Arc;

use ns_core::{
    Data, EXPECTED, Evaluation, EvaluationRequest, Expected, Observations, SessionError, SquaredWeights,
};

use super::{CpuSession, put, take};
use crate::curvature::{Curvature, Factored, Point, assemble, combined_variances, factor};
use crate::eval::{Dataset, forward, likelihood};
use crate::events::{asimov, expected_data, squared_weights};
use crate::optimise::{Problem, Worker};
use crate::task::{check_data, check_points, finite, length};

impl CpuSession {
    pub(super) fn evaluate_points(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        let (plan, n) = (&self.plan, self.plan.n_parameters());
        let n_points = check_points(plan, points)?;
        self.check_results(n_points, request)?;
        let own = self.dataset(data)?;
        let data = own.as_ref().unwrap_or(&self.observed);
        let problem = Problem::without_box(plan, self.level, data);
        let mut worker = take(&self.workers, plan);
        worker.scratch.events.crew = self.crew(true);
        worker.scratch.events.elsewhere.clone_from(&self.event_sums);
        let mut out = Evaluation::default();
        for theta in (0..n_points).map(|k| &points[k * n..(k + 1) * n]) {
            let terms = worker.evaluate(&problem, theta, 0.0);
            if request.nll {
                out.nll.push(terms.value() + data.saturated_main + data.saturated_constraint);
                out.nll_main.push(terms.main + data.saturated_main);
                out.nll_constraint.push(terms.constraint + data.saturated_constraint);
            }
            if request.samples {
                let scratch = &worker.scratch;
                for (block, scale) in plan.structure.blocks.iter().zip(&scratch.scale) {
                    let cells = block.cell..block.cell + block.n_bins;
                    let cells = scratch.additive[cells.clone()].iter().zip(&scratch.binwise[cells]);
                    out.samples.extend(cells.map(|(additive, factor)| additive * scale * factor));
                }
            }
            if request.gradient {
                worker.gradient(&problem, theta);
                out.gradient.extend_from_slice(&worker.scratch.gradient);
            }
            if request.hessian {
                self.add_matrix(&mut worker, (theta, data), 1.0, &mut out.hessian);
            }
            if request.expected {
                out.expected.extend_from_slice(&worker.scratch.lambda[..plan.n_bins()]);
                out.expected.extend(self.expected_auxiliary(theta));
            }
        }
        put(&self.workers, worker);
        Ok(out)
    }

    /// Appends the Hessian of `-ln L` at `theta` to `out`, as `n x n` numbers row by row, where `n` is the number of
    /// parameters. The last evaluation of `worker` must have been at `theta`. `exactness` has the same meaning as in
    /// [`Point`].
    fn add_matrix(
        &self,
        worker: &mut Worker,
        (theta, data): (&[f64], &Dataset),
        exactness: f64,
        out: &mut Vec<f64>,
    ) {
        let (plan, n) = (&self.plan, self.plan.n_parameters());
        let layout = &plan.structure.flat;
        let mut flat = worker.flat.take().unwrap_or_else(|| Curvature::new(layout));
        let (active, side) = (vec![true; n], vec![0.0; n]);
        let point = Point { theta, data, active: &active, side: &side, exactness, damping: 0.0, tether: &[] };
        assemble(self.level, plan, layout, point, &mut worker.scratch, &mut flat);
        if let (Some(component), Some(m)) = (layout.components.first(), flat.matrices.first()) {
            for i in 0..n {
                out.extend((0..n).map(|j| m.h[i.min(j) * component.width + i.max(j)]));
            }
        }
        worker.flat = Some(flat);
    }

    /// Computes the matrix that [`ns_core::Session::squared_weights`] describes, at the point `theta`.
    pub(super) fn with_squared_weights(
        &self,
        data: &Data,
        theta: &[f64],
        form: SquaredWeights,
    ) -> Result<Vec<f64>, SessionError> {
        let plan = &self.plan;
        length("the point", theta.len(), plan.n_parameters())?;
        finite("point", theta)?;
        let own = self.dataset(data)?;
        let data = own.as_ref().unwrap_or(&self.observed);
        let problem = Problem::without_box(plan, self.level, data);
        let mut worker = take(&self.workers, plan);
        worker.evaluate(&problem, theta, 0.0);
        let events = &mut worker.scratch.events;
        squared_weights(self.level, &plan.events, (theta, &data.aux), &data.events, events);
        let exactness = match form {
            SquaredWeights::Scores => {
                // The matrix of scores also contains the full curvature of the constraint terms.
                events.penalties_are_certain(&plan.events);
                0.0
            }
            SquaredWeights::Hessian => 1.0,
        };
        let mut matrix = Vec::new();
        self.add_matrix(&mut worker, (theta, data), exactness, &mut matrix);
        put(&self.workers, worker);
        Ok(matrix)
    }

    pub(super) fn variances_of(
        &self,
        data: &Data,
        theta: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        let (plan, n) = (&self.plan, self.plan.n_parameters());
        length("the point", theta.len(), n)?;
        length("the list of free parameters", free.len(), n)?;
        finite("point", theta)?;
        if let Some(&(index, _)) = combinations.iter().flatten().find(|(p, _)| *p >= n) {
            return Err(SessionError::NoSuchParameter { index, n_parameters: n });
        }
        let own = self.dataset(data)?;
        let data = own.as_ref().unwrap_or(&self.observed);
        let mut worker = take(&self.workers, plan);
        forward(self.level, plan, theta, &mut worker.scratch);
        likelihood(self.level, plan, theta, data, 0.0, &mut worker.scratch);
        let side = vec![0.0; n];
        let point =
            Point { theta, data, active: free, side: &side, exactness: 1.0, damping: 0.0, tether: &[] };
        let (layout, curvature) = (&plan.structure.layout, &mut worker.curvature);
        assemble(self.level, plan, layout, point, &mut worker.scratch, curvature);
        let factored = factor(self.level, layout, curvature);
        let found = matches!(factored, Factored::Positive { .. })
            .then(|| combined_variances(self.level, layout, curvature, combinations));
        put(&self.workers, worker);
        Ok(found)
    }

    /// Returns the expected auxiliary data at `theta`. For a Gaussian constraint the expected value is the parameter.
    /// For a Poisson constraint it is the parameter times `tau`, the expected value at the parameter value 1.
    pub(crate) fn expected_auxiliary(&self, theta: &[f64]) -> Vec<f64> {
        let plan = &self.plan;
        let mut aux = vec![0.0; plan.n_aux()];
        for (p, a, _) in plan.gaussian() {
            aux[a] = theta[p];
        }
        for (p, a, tau) in plan.poisson() {
            aux[a] = tau * theta[p];
        }
        aux
    }

    /// Returns the expected counts of all bins and the expected auxiliary data at one point.
    pub(super) fn expected_counts(
        &self,
        parameters: &[f64],
        of: &Data,
    ) -> Result<Observations, SessionError> {
        let plan = &self.plan;
        length("parameters", parameters.len(), plan.n_parameters())?;
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        let mut main = self.evaluate_points(of, parameters, request)?.expected;
        let mut aux = main.split_off(plan.n_bins());
        if !plan.events.is_empty() {
            let mut worker = take(&self.workers, plan);
            expected_data(self.level, &plan.events, parameters, &mut aux, &mut worker.scratch.events);
            put(&self.workers, worker);
        }
        Ok(Observations::binned(main, aux))
    }

    /// Returns the expected data at one point. For event channels, the expected data are the events of the Asimov data,
    /// whose likelihood is also accurate at the points `visited`. The second result contains the estimated error of
    /// twice `-ln L` of each event channel.
    fn expected(
        &self,
        parameters: &[f64],
        visited: &[&[f64]],
        of: &Data,
    ) -> Result<(Observations, Vec<f64>), SessionError> {
        let n = self.plan.n_parameters();
        for point in visited {
            length("the list of visited parameters", point.len(), n)?;
            finite("visited point", point)?;
        }
        let mut data = self.expected_counts(parameters, of)?;
        let mut errors = Vec::new();
        if self.plan.events.has_channels() {
            let own = self.dataset(of)?;
            let tables = &own.as_ref().unwrap_or(&self.observed).events;
            let mut worker = take(&self.workers, &self.plan);
            let scratch = &mut worker.scratch.events;
            let made = asimov(self.level, &self.plan.events, (parameters, visited), tables, scratch);
            put(&self.workers, worker);
            (data.events, errors) = made?;
        }
        Ok((data, errors))
    }

    pub(super) fn asimov_data(
        &self,
        parameters: &[f64],
        visited: &[&[f64]],
        of: &Data,
    ) -> Result<Data, SessionError> {
        let (expected, errors) = self.expected(parameters, visited, of)?;
        check_data(&self.plan, &expected).map_err(|error| match error {
            SessionError::BadNumber { what: "main data", index, value, .. } => SessionError::BadNumber {
                what: EXPECTED,
                index,
                value,
                remedy: "an expectation is finite and not negative: check for negative yields or factors",
            },
            other => other,
        })?;
        let mut data = of.with(expected);
        data.expected = Some(Arc::new(Expected { parameters: parameters.to_vec(), errors }));
        Ok(data)
    }
}
