//! Values, gradients and Hessians at many points on the device; other quantities on the CPU.

use std::sync::Arc;

use ns_core::{Data, Evaluation, EvaluationRequest, Session, SessionError};

use super::address::{DeviceAddress, DeviceAddressMut};
use super::backend::{Backend, Buffer, Kernel, Shape};
use super::fit_kind::Size;
use super::layout::{EvaluateLaunch, N_EXTRA};
use super::session::CudaSession;
use super::shape;
use crate::cpu::request::finite;
use crate::eval::Dataset;

/// Values from the saturated model and gradients, point after point.
#[derive(Debug, Default)]
pub(super) struct Points {
    /// Main part and constraint part, per point.
    pub(super) values: Vec<[f64; 2]>,
    pub(super) gradients: Vec<f64>,
}

impl CudaSession {
    pub(super) fn evaluate_points(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        let n = self.cpu.plan.n_parameters();
        if n == 0 || !points.len().is_multiple_of(n) {
            return Err(SessionError::WrongLength { what: "points", actual: points.len(), expected: n });
        }
        finite("points", points)?;
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
        let of = data;
        let own = self.cpu.dataset(data)?;
        let data = own.as_ref().unwrap_or(&self.cpu.observed);
        if let Some(placement) = placement {
            let numbers: Vec<f64> = data.main.iter().chain(&data.aux).copied().collect();
            let numbers = hold(&self.backend, &numbers)?;
            let alone = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
            let other = |point: &[f64]| Ok(self.cpu.evaluate(of, point, alone)?.hessian);
            out.hessian = self.hessians_at(placement, numbers.at(), points, &other)?;
        }
        if !(request.nll || request.gradient) {
            return Ok(out);
        }
        let found = self.at_points(data, points, request.gradient)?;
        if request.nll {
            for [main, constraint] in found.values {
                out.nll_main.push(main + data.saturated_main);
                out.nll_constraint.push(constraint + data.saturated_constraint);
                out.nll.push(main + constraint + data.saturated_main + data.saturated_constraint);
            }
        }
        out.gradient = found.gradients;
        Ok(out)
    }

    /// Evaluates all points with one set of data.
    fn at_points(&self, data: &Dataset, points: &[f64], gradient: bool) -> Result<Points, SessionError> {
        let (n, backend) = (self.cpu.plan.n_parameters(), &self.backend);
        let numbers: Vec<f64> = data.main.iter().chain(&data.aux).copied().collect();
        let data = hold(backend, &numbers)?;
        let per_point = 8 * (1 + usize::from(gradient)) * n + 16;
        let at_a_time = n * shape::at_a_time(backend.properties(), per_point);
        let mut found = Points::default();
        for points in points.chunks(at_a_time) {
            self.at_once(&data, points, gradient, &mut found)?;
        }
        Ok(found)
    }

    /// Evaluates points in one launch, and adds what it finds to `found`.
    fn at_once(
        &self,
        data: &Buffer,
        points: &[f64],
        gradient: bool,
        found: &mut Points,
    ) -> Result<(), SessionError> {
        let (n, backend) = (self.cpu.plan.n_parameters(), &self.backend);
        let count = points.len() / n.max(1);
        let properties = backend.properties();
        let placement = shape::place_arrays(&self.plan, Size::default(), false, properties);
        let kernel = if placement.in_shared { Kernel::Evaluate } else { Kernel::EvaluateGlobal };
        let resident = backend.occupancy(kernel, self.threads, placement.shared as u32)?;
        let room = shape::most_slabs(properties, placement.slab);
        let blocks = (resident.max(1) * properties.multiprocessors).min(count).min(room).max(1);
        let points = hold(backend, points)?;
        let slab = Buffer::new(backend, 8 * placement.slab * blocks)?;
        let values = Buffer::new(backend, 16 * count)?;
        let gradients = if gradient { Some(Buffer::new(backend, 8 * n * count)?) } else { None };
        let launch = EvaluateLaunch {
            plan: self.plan,
            offset: placement.offset,
            n_points: count as i32,
            extra: [0; N_EXTRA],
            row: 0,
            slab: slab.at(),
            slab_stride: placement.slab as u64,
            data: data.at(),
            data_stride: 0,
            data_of: DeviceAddress::NULL,
            points: points.at(),
            values: values.at(),
            gradients: gradients.as_ref().map_or(DeviceAddressMut::NULL, Buffer::at),
            hessians: DeviceAddressMut::NULL,
            usable: DeviceAddressMut::NULL,
        };
        let shape = Shape { blocks: blocks as u32, threads: self.threads, shared: placement.shared as u32 };
        backend.launch(kernel, shape, bytemuck::bytes_of(&launch))?;
        let before = found.values.len();
        found.values.resize(before + count, [0.0; 2]);
        let to = found.values.get_mut(before..).unwrap_or_default();
        backend.read(values.address(), bytemuck::cast_slice_mut(to))?;
        if let Some(gradients) = gradients {
            let before = found.gradients.len();
            found.gradients.resize(before + n * count, 0.0);
            let to = found.gradients.get_mut(before..).unwrap_or_default();
            backend.read(gradients.address(), bytemuck::cast_slice_mut(to))?;
        }
        Ok(())
    }
}

fn hold(backend: &Arc<dyn Backend>, numbers: &[f64]) -> Result<Buffer, SessionError> {
    Buffer::holding(backend, bytemuck::cast_slice(numbers))
}
