//! What is compared with: single fits with the thorough search, each checked by descents from its neighbours.

use std::collections::HashMap;

use ns_core::{
    Control, Data, EvaluationRequest, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session,
    Start, TaskOutcome,
};

/// How much lower, in `-ln L`, another minimum must be to count.
pub const SAME: f64 = 1e-6;

/// A minimum: its height, where it is, and whether the thorough search missed it by more than [`SAME`].
#[derive(Debug, Clone)]
pub struct Lowest {
    pub nll: f64,
    pub point: Vec<f64>,
    pub converged: bool,
}

/// A fit for which the thorough search ended too high.
#[derive(Debug, Clone)]
pub struct Missed {
    pub held: Vec<(usize, f64)>,
    pub asimov: bool,
    /// By how much in `-ln L`.
    pub depth: f64,
    /// Where the lower point is.
    pub point: Vec<f64>,
}

type Key = (bool, Vec<(usize, u64)>);

/// Conditional minima of one model, made once each.
pub struct Reference<'a> {
    pub model: &'a Model,
    pub session: &'a dyn Session,
    /// The Asimov set in use; its fits are kept apart from those of the observed data.
    asimov: Option<Data>,
    known: HashMap<Key, Option<Lowest>>,
    pub missed: Vec<Missed>,
    pub n_fits: usize,
    /// Whether some minimum of the observed data has a negative expected yield in a bin. Without an event there the
    /// likelihood rewards that without end, and its lowest point lies wherever the box of the bounds lets it.
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

    /// Takes an Asimov set; fits of an earlier one are forgotten.
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

    /// One fit.
    pub fn fit(&mut self, asimov: bool, request: FitRequest) -> Option<FitOutcome> {
        self.n_fits += 1;
        let task = FitTask { data: self.data(asimov), fits: vec![request] };
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        self.session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).ok()?;
        outcomes.pop()?.fits.pop()?.ok().filter(|fit| fit.nll.is_finite())
    }

    /// The lowest minimum known with some parameters held; `None` where there is no finite likelihood.
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

    /// Looks whether a minimum has a negative expected yield somewhere.
    pub fn look_at(&mut self, asimov: bool, point: &[f64]) {
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        if let Ok(found) = self.session.evaluate(&self.data(asimov), point, request) {
            self.negative_yield |= found.expected.iter().take(self.model.n_bins()).any(|x| *x < -1e-6);
        }
    }

    /// The same, and descents from the minima of neighbours.
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

    /// A value that the minimum is not above: by descents from points nearby if they end at `limit` or below, else by
    /// [`Self::lowest_among`]. For properties that a minimum at or below the limit fulfils.
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

    /// A descent from a point that has converged.
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

    /// A descent from a point, whose end is kept if it is lower.
    pub fn descend(&mut self, asimov: bool, held: &[(usize, f64)], point: &[f64]) {
        self.search_from(asimov, held, point, Search::Local);
    }

    /// A search from a point, whose end is kept if it is lower.
    pub fn search_from(&mut self, asimov: bool, held: &[(usize, f64)], point: &[f64], search: Search) {
        if let Some(fit) = self.fit_at(asimov, held, point, search) {
            self.learn(asimov, held, fit.nll, &fit.parameters);
        }
    }

    /// Takes a point that something else has found.
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

/// What rounding leaves open of a likelihood.
pub fn noise(nll: f64) -> f64 {
    1e-9 + 64.0 * f64::EPSILON * nll.abs()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-3 * (1.0 + a.abs()))
}
