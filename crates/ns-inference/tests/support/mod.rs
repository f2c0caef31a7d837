//! A session whose minima are known in closed form. Its `-ln L` is the lowest of a few quadratic functions, within
//! the bounds of the parameters.
#![allow(unreachable_pub)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ns_core::{
    Certificate, Channel, ChannelAxis, Constraint, Control, Covariance, Data, Device, Evaluation,
    EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Inactive, Interpolation,
    Model, Observations, OutcomeParts, Parameter, ParameterSet, ParameterTable, Reason, Sample, Seen,
    Session, SessionError, Sink, Start, TaskOutcome, ToySource,
};

/// The quadratic function `offset + (x - centre)' A (x - centre) / 2` of two parameters. `A` is `curvature`.
#[derive(Debug, Clone)]
pub struct Well {
    pub offset: f64,
    pub centre: [f64; 2],
    pub curvature: [[f64; 2]; 2],
}

/// A session whose `-ln L` is the lowest of several wells, i.e. quadratic functions. A fit stays in the well nearest
/// to its starting point. If a task gives its own data, its main data shift the centre of every well.
pub struct Wells {
    pub wells: Vec<Well>,
    pub status: FitStatus,
    pub fail_above: f64,
    /// Intended error: the `-ln L` of a conditional fit is this much lower than at the true minimum.
    pub error: f64,
    /// Flag that becomes true when the session begins its second batch. It imitates a user who stops the work.
    pub stop_after_first: AtomicBool,
    n_batches: AtomicUsize,
    table: ParameterTable,
}

impl Wells {
    pub fn new(model: &Model, wells: Vec<Well>) -> Self {
        let table = ParameterTable {
            init: model.parameters.iter().map(|p| p.init).collect(),
            bounds: model.parameters.iter().map(|p| p.bounds).collect(),
            fixed: model.parameters.iter().map(|p| p.fixed).collect(),
            poi: model.poi(),
        };
        Self {
            wells,
            status: FitStatus::Converged,
            fail_above: f64::INFINITY,
            error: 0.0,
            stop_after_first: AtomicBool::new(false),
            n_batches: AtomicUsize::new(0),
            table,
        }
    }

    fn shift(data: &Data) -> [f64; 2] {
        match &data.seen {
            Seen::Given(d) => [d.main[0], d.main[1]],
            _ => [0.0, 0.0],
        }
    }

    fn value(well: &Well, shift: [f64; 2], x: &[f64]) -> f64 {
        let d = [x[0] - well.centre[0] - shift[0], x[1] - well.centre[1] - shift[1]];
        let a = well.curvature;
        well.offset + 0.5 * (a[0][0] * d[0] * d[0] + 2.0 * a[0][1] * d[0] * d[1] + a[1][1] * d[1] * d[1])
    }

    /// Returns the exact minimum, within the bounds, of the well (quadratic function) nearest to the starting point.
    /// Tries all combinations of parameters fixed at a bound, and returns the lowest minimum that lies within the
    /// bounds.
    fn minimise(&self, request: &FitRequest, data: &Data) -> FitOutcome {
        let shift = Self::shift(data);
        let start = match &request.start {
            Start::At(point) => point.to_vec(),
            _ => self.table.init.clone(),
        };
        let distance = |w: &Well| (0..2).map(|i| (start[i] - w.centre[i] - shift[i]).powi(2)).sum::<f64>();
        let well = self.wells.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
        let fixed: Vec<Option<f64>> = (0..2)
            .map(|i| {
                let given = request.fixed.iter().rev().find(|(j, _)| *j == i).map(|(_, v)| *v);
                given.or(self.table.fixed[i].then_some(self.table.init[i]))
            })
            .collect();
        let mut best: Option<(f64, [f64; 2], [Option<Inactive>; 2])> = None;
        for choice in 0..9 {
            let mut held: [Option<f64>; 2] = [fixed[0], fixed[1]];
            let mut why = [None, None];
            for (i, pick) in [choice % 3, choice / 3].into_iter().enumerate() {
                let (lower, upper) = self.table.bounds[i];
                if fixed[i].is_none() && pick > 0 {
                    held[i] = Some(if pick == 1 { lower } else { upper });
                    why[i] = Some(if pick == 1 { Inactive::LowerBound } else { Inactive::UpperBound });
                }
            }
            let c = [well.centre[0] + shift[0], well.centre[1] + shift[1]];
            let a = well.curvature;
            let x = match held {
                [Some(x), Some(y)] => [x, y],
                [Some(x), None] => [x, c[1] - a[0][1] / a[1][1] * (x - c[0])],
                [None, Some(y)] => [c[0] - a[0][1] / a[0][0] * (y - c[1]), y],
                [None, None] => c,
            };
            let inside = (0..2).all(|i| {
                fixed[i].is_some() || (self.table.bounds[i].0..=self.table.bounds[i].1).contains(&x[i])
            });
            let f = Self::value(well, shift, &x);
            if inside && f.is_finite() && best.as_ref().is_none_or(|(b, ..)| f < *b - 1e-12) {
                best = Some((f, x, why));
            }
        }
        let (nll, x, why) = best.unwrap();
        let free: Vec<usize> = (0..2).filter(|i| fixed[*i].is_none() && why[*i].is_none()).collect();
        let a = well.curvature;
        let mut covariance = vec![0.0; 4];
        match free.as_slice() {
            [0, 1] => {
                let det = a[0][0] * a[1][1] - a[0][1] * a[0][1];
                covariance = vec![a[1][1] / det, -a[0][1] / det, -a[0][1] / det, a[0][0] / det];
            }
            [i] => covariance[3 * i] = 1.0 / a[*i][*i],
            _ => {}
        }
        FitOutcome {
            status: self.status.clone(),
            parameters: x.to_vec(),
            nll: nll - if request.fixed.is_empty() { 0.0 } else { self.error },
            certificate: Certificate {
                edm: 0.0,
                projected_gradient: 0.0,
                indefinite_steps: 0,
                restarts_improved: 0,
                integral_error: None,
            },
            n_iterations: 1,
            n_search_iterations: 0,
            n_evaluations: 1,
            inactive: (0..2).filter_map(|i| why[i].map(|w| (i, w))).collect(),
            empty_bins: if self.status == FitStatus::Converged { Vec::new() } else { vec![1] },
            empty_channels: Vec::new(),
            uncertainties: (0..2).map(|i| free.contains(&i).then(|| covariance[3 * i].sqrt())).collect(),
            covariance: Some(std::sync::Arc::new(Covariance { n: 2, values: covariance })),
            factors: None,
        }
    }
}

impl Session for Wells {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn parameters(&self) -> &ParameterTable {
        &self.table
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        _wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        if self.n_batches.fetch_add(1, Ordering::Relaxed) == 1 {
            self.stop_after_first.store(true, Ordering::Relaxed);
        }
        for (i, task) in tasks.iter().enumerate() {
            if control.is_cancelled() {
                return Ok(());
            }
            let fit = |r: &FitRequest| {
                let outcome = self.minimise(r, &task.data);
                if outcome.parameters[0] > self.fail_above {
                    return Err(FitFailure::NotFinite { bin: 1, expected: -1.0, observed: 3.0 });
                }
                Ok(outcome)
            };
            sink.accept(i, TaskOutcome { fits: task.fits.iter().map(fit).collect() });
            control.progress(i + 1, tasks.len());
        }
        Ok(())
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        _: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        let nll = points.chunks(2).map(|x| Self::value(&self.wells[0], Self::shift(data), x)).collect();
        Ok(Evaluation { nll, ..Evaluation::default() })
    }

    fn asimov_for(&self, parameters: &[f64], _: &[&[f64]], _: &Data) -> Result<Data, SessionError> {
        Ok(Observations::binned(parameters.to_vec(), vec![0.0]).into())
    }

    fn toy_source(
        &self,
        _: &[f64],
        _: &Data,
        _: u64,
        _: u8,
    ) -> Result<std::sync::Arc<ToySource>, SessionError> {
        Err(SessionError::ForeignData { remedy: "these wells have no toys" })
    }

    fn saturated_nll(&self, _: &Data) -> Result<Option<f64>, SessionError> {
        Ok(Some(0.0))
    }
}

/// Builds a model with two parameters: a free `mu`, which is the POI, and a constrained `alpha`.
pub fn model(mu_bounds: (f64, f64)) -> Model {
    let parameter = |name: &str, init, bounds, constraint| Parameter {
        name: name.to_owned(),
        init,
        bounds,
        fixed: false,
        constraint,
    };
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "fit".to_owned(),
        channels: vec![Channel {
            axis: ChannelAxis::default(),
            name: "SR".to_owned(),
            first_bin: 0,
            n_bins: 2,
            samples: vec![Sample {
                name: "signal".to_owned(),
                nominal: vec![1.0, 2.0],
                modifiers: Vec::new(),
            }],
        }],
        parameters: vec![
            parameter("mu", 1.0, mu_bounds, Constraint::None),
            parameter("alpha", 0.0, (-5.0, 5.0), Constraint::Gaussian { sigma: 1.0, aux: 0 }),
        ],
        parameter_sets: vec![
            ParameterSet { name: "mu".to_owned(), range: 0..1, scalar: true },
            ParameterSet { name: "alpha".to_owned(), range: 1..2, scalar: true },
        ],
        pois: vec![0],
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(vec![0.0, 0.0], vec![0.0]),
        warnings: Vec::new(),
    }
}

/// Returns a well, i.e. a quadratic `-ln L`, with the centre `(mu, 0.3)`. Its parameters `mu` and `alpha` are
/// correlated. The uncertainty of `mu` is 0.5 if `alpha` is fixed, and 0.5 / 0.8 if `alpha` is free.
pub fn well(mu: f64, offset: f64) -> Well {
    Well { offset, centre: [mu, 0.3], curvature: [[4.0, 1.2], [1.2, 1.0]] }
}

/// Returns the status of a fit that did not converge.
pub fn gave_up() -> FitStatus {
    FitStatus::NotConverged(Reason::IterationLimit)
}
