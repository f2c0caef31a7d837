//! Runs the chains: the No-U-Turn sampler of the crate `nuts-rs` on the log posterior.
//!
//! M. D. Hoffman, A. Gelman, J. Mach. Learn. Res. 15 (2014) 1593.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ns_core::{Control, Data, EvaluationRequest, Session, SessionError};
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::rand::{Rng, SeedableRng};
use nuts_rs::{
    Chain as _, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings as _,
};
use thiserror::Error;

use super::space::Space;
use super::{PosteriorOptions, Prior};
use crate::{InferenceError, normal};

/// How often a start is moved towards the centre, if the posterior is not finite there.
const MOST_STARTS: usize = 30;

/// The kept draws of one chain.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    /// The free parameters of each draw, draw after draw.
    pub(super) draws: Vec<f64>,
    /// `ln L` of each draw.
    pub(super) ln_likelihood: Vec<f64>,
    /// Number of kept draws whose path left the region where the integration is accurate.
    pub(super) n_divergent: u64,
    /// Number of gradients, with those of the adaptation.
    pub(super) n_gradients: u64,
}

/// Why a posterior density has no value.
#[derive(Debug, Error)]
enum NoDensity {
    #[error("-ln L is not finite")]
    NotFinite,
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl LogpError for NoDensity {
    fn is_recoverable(&self) -> bool {
        matches!(self, Self::NotFinite)
    }
}

/// The log posterior, with its working memory.
struct Target<'a> {
    session: &'a dyn Session,
    data: &'a Data,
    priors: &'a [(usize, Prior)],
    space: &'a Space,
    coordinates: Vec<f64>,
    point: Vec<f64>,
}

impl<'a> Target<'a> {
    fn new(session: &'a dyn Session, (data, priors): Posed<'a>, space: &'a Space) -> Self {
        Self { session, data, priors, space, coordinates: Vec::new(), point: Vec::new() }
    }
}

impl HasDims for Target<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("dim".to_owned(), self.space.len() as u64)])
    }
}

impl CpuLogpFunc for Target<'_> {
    type LogpError = NoDensity;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn dim(&self) -> usize {
        self.space.len()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, NoDensity> {
        let ln_volume = self.space.place(position, &mut self.coordinates, &mut self.point);
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let mut found = self.session.evaluate(self.data, &self.point, request)?;
        let mut value = found.nll.first().map_or(f64::NAN, |nll| ln_volume - nll);
        for &(i, prior) in self.priors {
            let (ln_density, slope) = prior.ln_density(self.point.get(i).copied().unwrap_or(f64::NAN));
            value += ln_density;
            if let Some(of_nll) = found.gradient.get_mut(i) {
                *of_nll -= slope;
            }
        }
        self.space.pull_back(&self.coordinates, &found.gradient, gradient);
        if value.is_finite() && gradient.iter().all(|x| x.is_finite()) {
            Ok(value)
        } else {
            Err(NoDensity::NotFinite)
        }
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _rng: &mut R, _array: &[f64]) -> Result<(), CpuMathError> {
        Ok(())
    }
}

/// Data and the priors that are given, by the index of the parameter.
pub(super) type Posed<'a> = (&'a Data, &'a [(usize, Prior)]);

/// Runs all chains, as many at a time as there are threads. Returns one result per chain. If the caller stops the work, the
/// chains have the draws made so far.
pub(super) fn run(
    session: &dyn Session,
    posed: Posed<'_>,
    space: &Space,
    options: &PosteriorOptions,
    control: Control<'_>,
) -> Result<Vec<Chain>, InferenceError> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { cores() } else { options.threads }.clamp(1, options.chains);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stop = AtomicBool::new(false);
    let total = options.chains * (options.draws + options.tune);
    let step = || {
        control.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        !control.is_cancelled() && !stop.load(Ordering::Relaxed)
    };
    let work = || {
        let mut chains = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= options.chains {
                return chains;
            }
            let found = one(session, posed, space, options, index, &step);
            if found.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            chains.push((index, found));
        }
    };
    let mut all = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = work();
        for other in others {
            // A chain that panicked is a bug; the missing chain is noticed below.
            all.extend(other.join().unwrap_or_default());
        }
        all
    });
    all.sort_by_key(|(index, _)| *index);
    let chains: Vec<Chain> = all.into_iter().map(|(_, chain)| chain).collect::<Result<_, _>>()?;
    if chains.len() == options.chains {
        Ok(chains)
    } else {
        Err(InferenceError::Sampling {
            chain: chains.len() + 1,
            reason: "it ended without a result".to_owned(),
        })
    }
}

/// Runs the chain with the number `index`. `step` is called after each draw and returns whether to go on.
fn one(
    session: &dyn Session,
    posed: Posed<'_>,
    space: &Space,
    options: &PosteriorOptions,
    index: usize,
    step: &dyn Fn() -> bool,
) -> Result<Chain, InferenceError> {
    let failed = |reason: String| InferenceError::Sampling { chain: index + 1, reason };
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    random.set_stream(index as u64);
    let settings = DiagNutsSettings {
        num_tune: options.tune as u64,
        num_draws: options.draws as u64,
        num_chains: options.chains,
        seed: options.seed,
        ..DiagNutsSettings::default()
    };
    let start = start(&mut Target::new(session, posed, space), &mut random).map_err(failed)?;
    let math = CpuMath::new(Target::new(session, posed, space));
    let mut sampler =
        settings.new_chain(index as u64, math, &mut random).map_err(|e| failed(e.to_string()))?;
    sampler.set_position(&start).map_err(|e| failed(e.to_string()))?;
    let mut chain = Chain::default();
    let (mut coordinates, mut point) = (Vec::new(), Vec::new());
    for number in 0..options.tune + options.draws {
        let (position, progress) = sampler.draw().map_err(|e| failed(e.to_string()))?;
        chain.n_gradients += progress.num_gradients;
        if number >= options.tune {
            space.place(&position, &mut coordinates, &mut point);
            chain.draws.extend(space.indices().filter_map(|i| point.get(i)));
            let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
            let found = session.evaluate(posed.0, &point, request)?;
            chain.ln_likelihood.push(found.nll.first().map_or(f64::NAN, |nll| -nll));
            chain.n_divergent += u64::from(progress.diverging);
        }
        if !step() {
            break;
        }
    }
    Ok(chain)
}

/// Draws the start of a chain, wider than the posterior is expected to be. Where the posterior is not finite, the start
/// moves halfway to the centre.
fn start(target: &mut Target<'_>, random: &mut ChaCha8Rng) -> Result<Vec<f64>, String> {
    let uniform =
        |random: &mut ChaCha8Rng| (f64::from(random.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0);
    let mut position: Vec<f64> = (0..target.dim()).map(|_| 1.5 * normal::quantile(uniform(random))).collect();
    let mut gradient = vec![0.0; position.len()];
    for _ in 0..MOST_STARTS {
        match target.logp(&position, &mut gradient) {
            Ok(_) => return Ok(position),
            Err(NoDensity::Session(error)) => return Err(error.to_string()),
            Err(NoDensity::NotFinite) => position.iter_mut().for_each(|x| *x *= 0.5),
        }
    }
    Err("the posterior is not finite around the best fit".to_owned())
}
