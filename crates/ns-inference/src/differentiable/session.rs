//! `-ln L` as a differentiable function of parameters and inputs. Inputs are numbers of the model, such as nominal
//! yields.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ns_compute::CpuSession;
use ns_compute::differentiable::{Derivatives, DifferentiableAccelerator};
use ns_core::{Data, Execution, InputTable, Model, Pulled, Session, SessionError};

use super::add;
use super::follow::{Follow, Followers};
use crate::options::{FitData, observed};
use crate::{FitOptions, InferenceError, diagnosis};

/// Two fits of a model run at the same time on two threads if the model has at least this number of parameters. In
/// smaller models, a fit that begins near its minimum is as fast as the start of a thread, which takes 20 to 50 us.
const LEAST_PARAMETERS: usize = 64;

/// `-ln L` with its first derivatives with respect to parameters and inputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NllGradient {
    /// `-ln L`, including all constants.
    pub nll: f64,
    /// Derivatives with respect to the parameters, one per parameter.
    pub parameters: Vec<f64>,
    /// Derivatives with respect to the values of all inputs, one per value.
    pub yields: Vec<f64>,
}

/// The product of the Hessian of `-ln L` and a vector. The Hessian contains the second derivatives with respect to
/// parameters and inputs, and the vector has one element for each of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SecondOrder {
    /// The elements of the product that belong to the parameters, one per parameter.
    pub parameters: Vec<f64>,
    /// The elements of the product that belong to the inputs, one per value of an input.
    pub yields: Vec<f64>,
}

/// A model whose likelihood is a differentiable function of its parameters and of its open inputs ([`Model::open`]).
/// The computations run on the CPU.
pub struct DifferentiableSession {
    pub(super) model: Arc<Model>,
    pub(super) accelerator: DifferentiableAccelerator,
    pub(super) data: FitData,
    /// The parameters at which the Asimov data are generated.
    pub(super) asimov_point: Vec<f64>,
    pub(super) followers: Followers,
    threads: usize,
    /// Number of calls of [`Self::each`] that are using several threads at this time.
    busy: AtomicUsize,
}

impl DifferentiableSession {
    /// Compiles a model in which the open inputs can be changed. `follow` selects other numbers of the model that
    /// change with the inputs. If `data` are Asimov data, they depend on the inputs, and the derivatives include this
    /// dependence. An observed auxiliary datum depends on the inputs if it equals the rate of a shapesys constraint
    /// whose width is an input. The derivatives include this dependence too.
    ///
    /// # Errors
    /// If the model has event channels, is inconsistent or too large, or does not match the data.
    pub fn open(
        model: &Model,
        follow: Follow,
        data: &FitData,
        execution: &Execution,
    ) -> Result<Self, InferenceError> {
        let single = Execution { threads: 1, ..execution.clone() };
        let (model, followers) = Followers::new(model, follow)?;
        let model = &model;
        let accelerator = DifferentiableAccelerator::open(model, &single)?;
        let options = FitOptions { data: data.clone(), ..FitOptions::default() };
        if matches!(data, FitData::Observed) {
            observed(model)?;
        }
        if matches!(data, FitData::Blind(_)) {
            let problem = "derivatives by inputs do not follow the fit of the other channels; give the data";
            return Err(InferenceError::CannotBlind { problem: problem.to_owned() });
        }
        options.resolve_data(model, accelerator.session())?;
        let mut asimov_point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        if let (FitData::Asimov { poi: Some(value) }, Some(poi)) = (data, model.poi())
            && let Some(x) = asimov_point.get_mut(poi)
        {
            *x = *value;
        }
        let threads = execution.resolved_threads();
        let (model, data) = (Arc::new(model.clone()), data.clone());
        Ok(Self { model, accelerator, data, asimov_point, followers, threads, busy: AtomicUsize::new(0) })
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the inputs that the caller has chosen, with their order and the values that they have in the model.
    #[must_use]
    pub fn inputs(&self) -> &InputTable {
        &self.followers.table
    }

    /// Returns the CPU session that makes the fits.
    pub(super) fn session(&self) -> &CpuSession {
        self.accelerator.session()
    }

    /// Returns the data of a fit. `yields` are the values of the inputs.
    ///
    /// # Errors
    /// If a value is not allowed for an input, or Asimov data cannot be generated with these values.
    pub(super) fn data(&self, yields: &[f64]) -> Result<Data, InferenceError> {
        let expected = self.inputs().len();
        if yields.len() != expected {
            let (what, actual) = ("yields", yields.len());
            return Err(SessionError::WrongLength { what, actual, expected }.into());
        }
        let all = self.followers.expand(yields);
        let replaced = Data::observed().with_yields(Arc::new(all.into()));
        match &self.data {
            FitData::Observed if self.followers.has_data() => {
                let mut observed = self.model.observed.clone();
                if let Some(all) = &replaced.yields {
                    self.followers.set_data(&all.values, &mut observed.aux);
                }
                Ok(replaced.with(observed))
            }
            FitData::Observed | FitData::Blind(_) => Ok(replaced),
            FitData::Given(given) => Ok(replaced.with(Arc::clone(given))),
            FitData::Asimov { .. } => {
                let purpose = "the Asimov set cannot be made";
                let made = self.session().asimov(&self.asimov_point, &replaced);
                made.map_err(|error| diagnosis::expectation(&self.model, purpose, error))
            }
        }
    }

    /// Returns the derivatives with respect to the caller's inputs. `yields` are the values of these inputs. `pulled`
    /// has the derivatives with respect to all inputs, main data and auxiliary data. The result includes the
    /// contributions of other numbers of the model that change with the caller's inputs.
    pub(super) fn by_inputs(
        &self,
        yields: &[f64],
        data: &Data,
        pulled: Pulled,
    ) -> Result<Vec<f64>, SessionError> {
        let mut all = pulled.yields;
        match &self.data {
            FitData::Asimov { .. } => {
                let through =
                    self.accelerator.expected(data, &self.asimov_point, &pulled.main, &pulled.aux)?;
                add(&mut all, 1.0, &through.pulled.yields);
            }
            FitData::Observed => {
                if let Some(numbers) = &data.yields {
                    self.followers.through_data(&numbers.values, &pulled.aux, &mut all);
                }
            }
            FitData::Given(_) | FitData::Blind(_) => {}
        }
        Ok(self.followers.contract(yields, all))
    }

    /// Returns `-ln L` and its derivatives with respect to parameters and inputs. `yields` are the values of the
    /// inputs.
    ///
    /// # Errors
    /// If the length of a list does not match the model, or a number is not allowed.
    pub fn nll(&self, yields: &[f64], parameters: &[f64]) -> Result<NllGradient, InferenceError> {
        let data = self.data(yields)?;
        let (nll, Derivatives { parameters, pulled }) = self.accelerator.value(&data, parameters)?;
        Ok(NllGradient { nll, parameters, yields: self.by_inputs(yields, &data, pulled)? })
    }

    /// Returns the product of the Hessian of `-ln L` and the vector `direction`. The Hessian contains the second
    /// derivatives with respect to parameters and inputs. The product is the directional derivative of the gradient
    /// that [`Self::nll`] returns. The first list of `direction` has one element per value of the inputs, and the
    /// second list has one element per parameter.
    ///
    /// # Errors
    /// The errors of [`Self::nll`]. Also if data or widths change with the inputs, because their second derivatives
    /// are not supported.
    pub fn nll_along(
        &self,
        yields: &[f64],
        parameters: &[f64],
        direction: (&[f64], &[f64]),
    ) -> Result<SecondOrder, InferenceError> {
        if matches!(self.data, FitData::Asimov { .. }) || self.followers.is_curved() {
            let remedy = "second derivatives of nll exist where no data and no widths follow the yields: not for Asimov \
                          data, widths of a shapesys, or staterrors that follow";
            return Err(SessionError::ForeignData { remedy }.into());
        }
        let data = self.data(yields)?;
        let (along_yields, along_parameters) = direction;
        let all = self.followers.expand_direction(along_yields);
        let made = self.accelerator.along(&data, parameters, along_parameters, Some(&all))?;
        let yields = self.followers.contract(yields, made.pulled.yields);
        Ok(SecondOrder { parameters: made.parameters, yields })
    }

    /// Calls two functions and returns both results. The functions run at the same time on two threads of the session.
    /// They run one after the other if [`Self::each`] uses the threads already, or if the model is so small that
    /// starting a thread takes longer than it saves. The results are the same in both cases.
    ///
    /// # Errors
    /// The error of `first`. If `first` has no error, the error of `second`.
    pub(super) fn both<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> Result<A, InferenceError>,
        second: impl FnOnce() -> Result<B, InferenceError> + Send,
    ) -> Result<(A, B), InferenceError> {
        let is_small = self.model.parameters.len() < LEAST_PARAMETERS;
        if is_small || self.threads < 2 || self.busy.load(Ordering::Relaxed) > 0 {
            return Ok((first()?, second()?));
        }
        std::thread::scope(|scope| {
            let second = scope.spawn(second);
            let first = first();
            match second.join() {
                Ok(second) => Ok((first?, second?)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Calls `work` for each number from 0 to `n - 1` on the threads of the session. Returns the results in the order
    /// of the numbers.
    ///
    /// # Errors
    /// The first error that `work` returns.
    pub fn each<T: Send>(
        &self,
        n: usize,
        work: impl Fn(usize) -> Result<T, InferenceError> + Sync,
    ) -> Result<Vec<T>, InferenceError> {
        let threads = self.threads.min(n);
        if threads <= 1 {
            return (0..n).map(work).collect();
        }
        let next = AtomicUsize::new(0);
        let one = || {
            let mut done: Vec<(usize, Result<T, InferenceError>)> = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= n {
                    return done;
                }
                done.push((i, work(i)));
            }
        };
        self.busy.fetch_add(1, Ordering::Relaxed);
        let mut all: Vec<(usize, Result<T, InferenceError>)> = std::thread::scope(|scope| {
            let handles: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
            let mut all = one();
            for handle in handles {
                match handle.join() {
                    Ok(done) => all.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        });
        self.busy.fetch_sub(1, Ordering::Relaxed);
        all.sort_by_key(|(i, _)| *i);
        all.into_iter().map(|(_, result)| result).collect()
    }
}
