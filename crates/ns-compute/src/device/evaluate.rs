//! Evaluates the likelihood at many points. The device computes values, gradients and Hessians; the CPU computes
//! expected yields.

use ns_core::{Data, Evaluation, EvaluationRequest, Session, SessionError};

use super::backend::{Buffer, Kernel};
use super::fit_kind::Size;
use super::layout::EvaluateLaunch;
use super::offset::OffsetMut;
use super::session::GpuSession;
use super::shape;
use crate::task::check_points;

impl GpuSession {
    pub(super) fn evaluate_points(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        check_points(&self.cpu.plan, points)?;
        if self.cpu.plan.n_parameters() == 0 {
            return self.cpu.evaluate(data, points, request);
        }
        let mut out = Evaluation::default();
        let placement = self.hessians.as_ref().filter(|_| request.hessian);
        let left = EvaluationRequest {
            nll: false,
            gradient: false,
            hessian: request.hessian && placement.is_none(),
            ..request
        };
        if left != EvaluationRequest::default() {
            out = self.cpu.evaluate(data, points, left)?;
        }
        if !(placement.is_some() || request.nll || request.gradient) {
            return Ok(out);
        }
        let own = self.cpu.dataset(data)?;
        let known = own.as_ref().unwrap_or(&self.cpu.observed);
        let numbers = Buffer::holding(&self.backend, &[known.main.as_slice(), &known.aux].concat())?;
        if let Some(placement) = placement {
            let alone = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
            let other = |point: &[f64]| Ok(self.cpu.evaluate(data, point, alone)?.hessian);
            out.hessian = self.hessians_at(placement, numbers.at(), points, &other)?;
        }
        if !(request.nll || request.gradient) {
            return Ok(out);
        }
        let mut values = Vec::new();
        self.at_points(&numbers, points, request.gradient, &mut values, &mut out.gradient)?;
        if request.nll {
            for [main, constraint] in values {
                out.nll_main.push(main + known.saturated_main);
                out.nll_constraint.push(constraint + known.saturated_constraint);
                out.nll.push(main + constraint + known.saturated_main + known.saturated_constraint);
            }
        }
        Ok(out)
    }

    /// Evaluates all points with one set of data. Each launch evaluates as many points as memory allows. Appends two
    /// numbers per point to `found`: the main part and the constraint part of `-ln L`, both relative to the saturated
    /// model. If `gradient` is true, appends the gradients to `slopes`.
    fn at_points(
        &self,
        data: &Buffer,
        points: &[f64],
        gradient: bool,
        found: &mut Vec<[f64; 2]>,
        slopes: &mut Vec<f64>,
    ) -> Result<(), SessionError> {
        let (n, backend) = (self.cpu.plan.n_parameters(), &self.backend);
        let program = self.program(Size::default(), false, Kernel::Evaluate, Kernel::EvaluateGlobal)?;
        let per_point = 8 * (1 + usize::from(gradient)) * n + 16;
        let at_a_time = shape::at_a_time(backend.properties(), per_point);
        for points in points.chunks(n * at_a_time) {
            let count = points.len() / n;
            let blocks = program.blocks.min(count).max(1);
            let points = Buffer::holding(backend, points)?;
            let slab = Buffer::new(backend, 8 * program.placement.slab * blocks)?;
            let values = Buffer::new(backend, 16 * count)?;
            let gradients = gradient.then(|| Buffer::new(backend, 8 * n * count)).transpose()?;
            let launch = EvaluateLaunch {
                data: data.at(),
                points: points.at(),
                values: values.at(),
                gradients: gradients.as_ref().map_or(OffsetMut::NULL, Buffer::at),
                ..program.evaluation(&self.plan, slab.at(), count)
            };
            backend.launch(program.kernel, program.shape(blocks), bytemuck::bytes_of(&launch))?;
            values.append_to(count, found)?;
            if let Some(gradients) = gradients {
                gradients.append_to(n * count, slopes)?;
            }
        }
        Ok(())
    }
}
