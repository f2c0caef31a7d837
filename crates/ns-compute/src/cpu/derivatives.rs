//! Derivatives of `-ln L` with respect to parameters, inputs and data, and solutions of linear systems with
//! the exact Hessian.

use std::sync::PoisonError;

use ns_core::{Data, Pulled, Seen, SessionError};

use super::replaced::Purpose;
use super::{CpuSession, put, take};
use crate::curvature::{Factored, Point, assemble, factor, solve};
use crate::eval::{Dataset, forward, likelihood};
use crate::number::Jet;
use crate::pull::{Ray, Sweep, of_expected, of_likelihood};
use crate::task::{check_data, finite, length};

/// Says for which models derivatives of uncertainties exist, in messages about a model with functions.
const NO_THIRD: &str = "derivatives of uncertainties exist where functions consist of arithmetic, powers and elementary functions";

/// Working memory for the computation of derivatives. A session keeps this memory between calls.
#[derive(Default)]
pub(crate) struct Sweeps {
    pub(crate) plain: Sweep<f64>,
    pub(crate) jets: Sweep<Jet>,
}

/// Derivatives of a function with respect to parameters, inputs and data. The function is `-ln L` or one of its
/// directional derivatives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Derivatives {
    /// Derivatives with respect to the parameters, one per parameter. Empty if these derivatives were not wanted.
    pub parameters: Vec<f64>,
    /// Derivatives with respect to the inputs, the main counts and the auxiliary data.
    pub pulled: Pulled,
}

/// Whether the first or the second directional derivative of `-ln L` is differentiated further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    First,
    Second,
}

impl CpuSession {
    /// Returns the derivatives of a function at `theta` with respect to the inputs and the data. If `parameters` is
    /// true, also returns the derivatives with respect to the parameters.
    ///
    /// Without `along`, the function is `-ln L`. With `along`, the function is the directional derivative of `-ln L`
    /// of the given `order`. `along` contains a direction of the parameters and, optionally, a direction of the
    /// inputs. With [`Order::Second`] the direction of the inputs must be `None`.
    pub(crate) fn derivatives(
        &self,
        data: &Data,
        theta: &[f64],
        along: Option<(&[f64], Option<&[f64]>)>,
        order: Order,
        parameters: bool,
    ) -> Result<Derivatives, SessionError> {
        self.can_differentiate(theta)?;
        self.with_numbers(data, Purpose::Evaluation, |session| {
            let (plan, n) = (&session.plan, session.plan.n_parameters());
            let observations = match &data.seen {
                Seen::Observed => (&session.observed.main[..], &session.observed.aux[..]),
                Seen::Given(given) => {
                    check_data(plan, given)?;
                    (&given.main[..], &given.aux[..])
                }
                Seen::Drawn(_) => return Err(SessionError::ForeignData { remedy: "give counts per bin" }),
            };
            let mut sweeps = session.take_sweeps();
            let made = match along {
                None => {
                    let ray = Ray { level: session.level, theta, along: None, numbers: None, third: None };
                    of_likelihood(plan, ray, observations, parameters, &mut sweeps.plain);
                    collected(&sweeps.plain, parameters, |&x| x)
                }
                Some((direction, inputs)) => {
                    length("the direction", direction.len(), n)?;
                    finite("direction", direction)?;
                    let numbers = match inputs {
                        Some(inputs) => {
                            length("the direction of yields", inputs.len(), plan.open.table.len())?;
                            finite("direction of yields", inputs)?;
                            Some(plan.open.direction(&plan.structure, inputs, &plan.numbers))
                        }
                        None => None,
                    };
                    let third = match order {
                        Order::Second if plan.has_function_factors() => {
                            let third = plan.factors.third(theta, direction);
                            Some(third.ok_or(SessionError::ForeignData { remedy: NO_THIRD })?)
                        }
                        _ => None,
                    };
                    let ray = Ray {
                        level: session.level,
                        theta,
                        along: Some(direction),
                        numbers: numbers.as_ref(),
                        third: third.as_deref(),
                    };
                    of_likelihood(plan, ray, observations, parameters, &mut sweeps.jets);
                    let part = |jet: &Jet| if order == Order::First { jet.first } else { jet.second };
                    collected(&sweeps.jets, parameters, part)
                }
            };
            session.put_sweeps(sweeps);
            Ok(made)
        })?
    }

    /// Returns the derivatives of a weighted sum of all expected data with respect to parameters and inputs.
    /// The weights are `main` (one per bin) and `aux` (one per auxiliary datum).
    pub(crate) fn expected_derivatives(
        &self,
        of: &Data,
        theta: &[f64],
        main: &[f64],
        aux: &[f64],
    ) -> Result<Derivatives, SessionError> {
        self.can_differentiate(theta)?;
        length("the factors of main data", main.len(), self.plan.n_bins())?;
        length("the factors of auxiliary data", aux.len(), self.plan.n_aux())?;
        self.with_numbers(of, Purpose::Evaluation, |session| {
            let mut sweeps = session.take_sweeps();
            of_expected(session.level, &session.plan, theta, (main, aux), &mut sweeps.plain);
            let (parameters, yields) = (sweeps.plain.by_parameters.clone(), sweeps.plain.by_inputs.clone());
            session.put_sweeps(sweeps);
            Derivatives { parameters, pulled: Pulled { yields, ..Pulled::default() } }
        })
    }

    /// Solves `H x = b` for each right-hand side `b` in `sides`. `H` is the exact Hessian of `-ln L` at `theta`,
    /// restricted to the parameters for which `free` is true. Elements of `x` that belong to fixed parameters are 0.
    /// Returns `None` if `H` is indefinite.
    pub(crate) fn solve_hessian(
        &self,
        data: &Data,
        theta: &[f64],
        free: &[bool],
        sides: &[&[f64]],
    ) -> Result<Option<Vec<Vec<f64>>>, SessionError> {
        let n = self.plan.n_parameters();
        length("the point", theta.len(), n)?;
        length("the list of free parameters", free.len(), n)?;
        finite("point", theta)?;
        self.with_numbers(data, Purpose::Evaluation, |session| {
            let plan = &session.plan;
            let own: Option<Dataset> = session.dataset(data)?;
            let data = own.as_ref().unwrap_or(&session.observed);
            let mut worker = take(&session.workers, plan);
            forward(session.level, plan, theta, &mut worker.scratch);
            likelihood(session.level, plan, theta, data, 0.0, &mut worker.scratch);
            let side = vec![0.0; n];
            let point =
                Point { theta, data, active: free, side: &side, exactness: 1.0, damping: 0.0, tether: &[] };
            let (layout, curvature) = (&plan.structure.layout, &mut worker.curvature);
            assemble(session.level, plan, layout, point, &mut worker.scratch, curvature);
            let mut solutions = None;
            if let Factored::Positive { .. } = factor(session.level, layout, curvature) {
                let mut right = vec![0.0; n];
                solutions = Some(
                    sides
                        .iter()
                        .map(|side| {
                            for ((to, &from), &free) in right.iter_mut().zip(*side).zip(free) {
                                *to = if free { from } else { 0.0 };
                            }
                            let mut x = vec![0.0; n];
                            solve(session.level, layout, curvature, &right, &mut x);
                            x
                        })
                        .collect(),
                );
            }
            put(&session.workers, worker);
            Ok(solutions)
        })?
    }

    fn can_differentiate(&self, theta: &[f64]) -> Result<(), SessionError> {
        if !self.plan.events.is_empty() {
            let remedy = "derivatives by inputs exist for binned models";
            return Err(SessionError::ForeignData { remedy });
        }
        length("the point", theta.len(), self.plan.n_parameters())?;
        finite("point", theta)
    }

    fn take_sweeps(&self) -> Sweeps {
        self.sweeps.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put_sweeps(&self, sweeps: Sweeps) {
        self.sweeps.lock().unwrap_or_else(PoisonError::into_inner).push(sweeps);
    }
}

/// Copies derivatives out of `sweep`, the working memory in which they were computed. `part` returns the wanted part
/// of each number, for example its first derivative along the direction. If `parameters` is false, the derivatives
/// with respect to the parameters are left out.
fn collected<T>(sweep: &Sweep<T>, parameters: bool, part: impl Fn(&T) -> f64) -> Derivatives {
    let all = |array: &[T]| array.iter().map(&part).collect();
    Derivatives {
        parameters: if parameters { all(&sweep.by_parameters) } else { Vec::new() },
        pulled: Pulled { yields: all(&sweep.by_inputs), main: all(&sweep.by_main), aux: all(&sweep.by_aux) },
    }
}
