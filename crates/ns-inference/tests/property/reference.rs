//! The reference for the checks: single fits with the thorough search. Each fit is verified by descents from the
//! minima of similar fits.

use std::collections::HashMap;

use ns_core::{
    Control, Data, EvaluationRequest, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session,
    Start, TaskOutcome,
};

use super::random::Draw;

/// Largest difference in `-ln L` at which two minima count as the same, apart from rounding.
pub const SAME: f64 = 1e-6;

/// A minimum: its `-ln L`, its parameters, and whether its fit has converged.
#[derive(Debug, Clone)]
pub struct Lowest {
    pub nll: f64,
    pub point: Vec<f64>,
    pub converged: bool,
}

/// A fit for which the thorough search did not find the lowest minimum.
#[derive(Debug, Clone)]
pub struct Missed {
    pub held: Vec<(usize, f64)>,
    pub asimov: bool,
    /// `-ln L` of the minimum known before minus `-ln L` of the lower point.
    pub depth: f64,
    /// Parameters of the lower point.
    pub point: Vec<f64>,
}

type Key = (bool, Vec<(usize, u64)>);

/// Conditional minima of one model. Each minimum is fitted once and stored.
pub struct Reference<'a> {
    pub model: &'a Model,
    pub session: &'a dyn Session,
    /// The Asimov set, if there is one. Fits to the Asimov set are stored separately from fits to the observed data.
    asimov: Option<Data>,
    known: HashMap<Key, Option<Lowest>>,
    pub missed: Vec<Missed>,
    pub n_fits: usize,
    /// Whether any bin has a negative expected yield at any minimum. If the bin has no events, the likelihood grows
    /// as the yield falls, and the minimum lies at the bounds.
    pub negative_yield: bool,
}

impl<'a> Reference<'a> {
    pub fn new(model: &'a Model, session: &'a dyn Session) -> Self {
        Self {
            model,
            session,
            asimov: None,
            known: HashMap::new(),
            missed: Vec::new(),
            n_fits: 0,
            negative_yield: false,
        }
    }

    /// Sets the Asimov set. Removes the fits to an earlier Asimov set.
    pub fn set_asimov(&mut self, data: Data) {
        self.known.retain(|(asimov, _), _| !asimov);
        self.asimov = Some(data);
    }

    fn data(&self, asimov: bool) -> Data {
        match &self.asimov {
            Some(data) if asimov => data.clone(),
            _ => Data::observed(),
        }
    }

    /// Makes one fit, to the Asimov set if `asimov` is true and to the observed data otherwise. Returns its outcome;
    /// `None` if the fit fails.
    pub fn fit(&mut self, asimov: bool, request: FitRequest) -> Option<FitOutcome> {
        self.n_fits += 1;
        let task = FitTask { data: self.data(asimov), fits: vec![request], cancel: None };
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        self.session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).ok()?;
        outcomes.pop()?.fits.pop()?.ok().filter(|fit| fit.nll.is_finite())
    }

    /// Returns the lowest minimum found so far with the parameters in `held` fixed. If no such minimum is known,
    /// makes a fit with the thorough search. Returns `None` if no likelihood is finite.
    pub fn lowest(&mut self, asimov: bool, held: &[(usize, f64)]) -> Option<Lowest> {
        let key = key(asimov, held);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let request = FitRequest { fixed: held.to_vec(), search: Search::Thorough, ..FitRequest::default() };
        let found = self.fit(asimov, request).map(|fit| Lowest {
            nll: fit.nll,
            converged: fit.converged(),
            point: fit.parameters,
        });
        self.known.insert(key, found.clone());
        if let Some(found) = &found {
            self.look_at(asimov, &found.point);
        }
        found
    }

    /// Records whether a bin has a negative expected yield at the minimum `point`.
    pub fn look_at(&mut self, asimov: bool, point: &[f64]) {
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        if let Ok(found) = self.session.evaluate(&self.data(asimov), point, request) {
            self.negative_yield |= found.expected.iter().take(self.model.n_bins()).any(|x| *x < -1e-6);
        }
    }

    /// Makes descents from the points `near`, the minima of similar fits. Returns the lowest minimum found by these
    /// descents and by [`Self::lowest`].
    pub fn lowest_among(&mut self, asimov: bool, held: &[(usize, f64)], near: &[Vec<f64>]) -> Option<Lowest> {
        let mut best = self.lowest(asimov, held);
        for point in near {
            if best.as_ref().is_some_and(|best| close(&best.point, point)) {
                continue;
            }
            self.descend(asimov, held, point);
            best = self.lowest(asimov, held);
        }
        best
    }

    /// Returns an upper bound on the lowest `-ln L`, for properties that need only a bound of at most `limit`. If a
    /// descent from one of the points `near` ends at or below `limit`, the bound is `-ln L` at the end of this
    /// descent. Otherwise the bound is the value of [`Self::lowest_among`].
    pub fn at_most(
        &mut self,
        asimov: bool,
        held: &[(usize, f64)],
        near: &[Vec<f64>],
        limit: f64,
    ) -> Option<f64> {
        if !self.known.contains_key(&key(asimov, held)) {
            for point in near {
                if let Some(fit) = self.local(asimov, held, point)
                    && fit.nll <= limit
                {
                    self.look_at(asimov, &fit.parameters);
                    return Some(fit.nll);
                }
            }
        }
        self.lowest_among(asimov, held, near).map(|lowest| lowest.nll)
    }

    /// Makes a single descent from `point` and returns its outcome; `None` if the descent does not converge.
    fn local(&mut self, asimov: bool, held: &[(usize, f64)], point: &[f64]) -> Option<FitOutcome> {
        self.fit_at(asimov, held, point, Search::Local)
    }

    fn fit_at(
        &mut self,
        asimov: bool,
        held: &[(usize, f64)],
        point: &[f64],
        search: Search,
    ) -> Option<FitOutcome> {
        let request = FitRequest {
            start: Start::At(point.into()),
            fixed: held.to_vec(),
            search,
            ..FitRequest::default()
        };
        self.fit(asimov, request).filter(FitOutcome::converged)
    }

    /// Makes a single descent from `point`. Stores the point at which it ends if `-ln L` there is lower than at the
    /// known minimum.
    pub fn descend(&mut self, asimov: bool, held: &[(usize, f64)], point: &[f64]) {
        self.search_from(asimov, held, point, Search::Local);
    }

    /// Makes descents from `n` random points of the observed data, and stores the lowest minimum that they find. A
    /// constrained parameter is drawn within three widths around its auxiliary datum, a free factor between 0.03 and
    /// 30 times its initial value.
    pub fn multi_start(&mut self, held: &[(usize, f64)], n: usize, draw: &mut Draw) {
        for _ in 0..n {
            let parameters = &self.model.parameters;
            let point: Vec<f64> = parameters
                .iter()
                .map(|p| {
                    let to = match p.constraint.prefit_sigma() {
                        Some(sigma) => p.init + sigma * draw.between(-3.0, 3.0),
                        None => p.init * 10_f64.powf(draw.between(-1.5, 1.5)),
                    };
                    if p.fixed { p.init } else { to.clamp(p.bounds.0, p.bounds.1) }
                })
                .collect();
            self.descend(false, held, &point);
        }
    }

    /// Makes a search from `point`. Stores the point at which it ends if `-ln L` there is lower than at the known
    /// minimum.
    pub fn search_from(&mut self, asimov: bool, held: &[(usize, f64)], point: &[f64], search: Search) {
        if let Some(fit) = self.fit_at(asimov, held, point, search) {
            self.learn(asimov, held, fit.nll, &fit.parameters);
        }
    }

    /// Stores a point that another fit found if its `-ln L`, `nll`, is lower than that of the known minimum. If `nll`
    /// is lower by more than [`SAME`], also records that the thorough search missed this point.
    pub fn learn(&mut self, asimov: bool, held: &[(usize, f64)], nll: f64, point: &[f64]) {
        let Some(known) = self.lowest(asimov, held) else { return };
        let depth = known.nll - nll;
        if depth > noise(nll) {
            if depth > SAME + noise(nll) {
                let (held, point) = (held.to_vec(), point.to_vec());
                self.missed.retain(|m| m.held != held || m.asimov != asimov);
                self.missed.push(Missed { held, asimov, depth: depth.max(0.0), point });
            }
            let lowest = Lowest { nll, point: point.to_vec(), converged: true };
            self.known.insert(key(asimov, held), Some(lowest));
            self.look_at(asimov, point);
        }
    }
}

fn key(asimov: bool, held: &[(usize, f64)]) -> Key {
    (asimov, held.iter().map(|(i, x)| (*i, x.to_bits())).collect())
}

/// Returns the uncertainty due to rounding of `nll`, a value of `-ln L`.
pub fn noise(nll: f64) -> f64 {
    1e-9 + 64.0 * f64::EPSILON * nll.abs()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-3 * (1.0 + a.abs()))
}
