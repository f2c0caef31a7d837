//! The order of requests: a fair share for every client, and within a client the request that waited longest compared to
//! what it used.
//!
//! Clients are ordered by the thread time that they used recently, and a client that waits rises. The requests of a
//! client are ordered by their response ratio: the time since the request began, divided by the time that it used.
//! Everyone who waits rises, so nobody starves. Earlier waiting and earlier work count less and less, so a study that had
//! the machine to itself for an hour soon gets a share of a busy machine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Half-lives, in seconds, of recent time: after this time, an earlier fit and an earlier wait count half. Clients get their
/// shares within about a second. A request is remembered for longer, so that a study stays one beside short requests.
const HALF_LIFE_OF_CLIENT_S: f64 = 1.0;
const HALF_LIFE_OF_REQUEST_S: f64 = 10.0;

/// Time in seconds that is added to the used time. The order of requests that used less hardly depends on what they
/// used, so a request of a few fits is not overtaken by every single fit.
const SHORTEST_S: f64 = 0.05;

/// Longest wait, in seconds, that counts in the order of clients. A second of waiting makes up for a second of thread time.
/// So a client that asks one request of a few fits at a time is not held up by the number of other clients, and a
/// client with little recent work still overtakes studies.
const LONGEST_WAIT_S: f64 = 1.0;

/// If more clients than this are known, those without recent thread time are forgotten.
const MOST_CLIENTS: usize = 1024;

/// Thread time that was used recently, in seconds. Earlier time counts less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recent {
    seconds: f64,
    at: Option<Instant>,
    half_life_s: f64,
}

impl Recent {
    /// Returns the recent time of a request that has used none.
    pub(super) fn of_request() -> Self {
        Self { seconds: 0.0, at: None, half_life_s: HALF_LIFE_OF_REQUEST_S }
    }

    fn of_client() -> Self {
        Self { half_life_s: HALF_LIFE_OF_CLIENT_S, ..Self::of_request() }
    }

    /// Returns the recent time at the time `now`.
    pub(super) fn seconds(&self, now: Instant) -> f64 {
        let passed = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        self.seconds * (-passed / self.half_life_s).exp2()
    }

    /// Adds thread time that ended at the time `now`.
    pub(super) fn add(&mut self, time: Duration, now: Instant) {
        *self = Self { seconds: self.seconds(now) + time.as_secs_f64(), at: Some(now), ..*self };
    }
}

/// A piece of work that waits.
pub(super) struct Candidate<'a> {
    /// Index of the piece in the queue.
    pub(super) index: usize,
    pub(super) client: &'a Arc<str>,
    /// Time since the request first waited.
    pub(super) age: Duration,
    /// Recent thread time of the request, in seconds.
    pub(super) used: f64,
    pub(super) expected: Option<Duration>,
}

/// The recent thread time of each client, by the client's name.
#[derive(Default)]
pub(super) struct Clients(HashMap<Arc<str>, Recent>);

/// The longest wait of a client, and its piece with the highest ratio.
struct Best {
    waited: f64,
    ratio: f64,
    index: usize,
}

impl Clients {
    /// Adds thread time of a client that ended at the time `now`.
    pub(super) fn charge(&mut self, client: &Arc<str>, time: Duration, now: Instant) {
        self.0.entry(Arc::clone(client)).or_insert_with(Recent::of_client).add(time, now);
        if self.0.len() > MOST_CLIENTS {
            self.0.retain(|_, recent| recent.seconds(now) > 1e-3);
        }
    }

    /// Returns the index of the piece that runs next. Among equals, the first one runs.
    pub(super) fn choose<'a>(
        &self,
        waiting: impl Iterator<Item = Candidate<'a>>,
        now: Instant,
    ) -> Option<usize> {
        let mut best: HashMap<&Arc<str>, Best> = HashMap::new();
        for candidate in waiting {
            let waited = recent_wait(candidate.age);
            let expected = candidate.expected.map_or(0.0, |time| time.as_secs_f64());
            let ratio = ratio(waited, candidate.used + expected);
            let index = candidate.index;
            let known = best.entry(candidate.client).or_insert(Best { waited, ratio, index });
            known.waited = known.waited.max(waited);
            if ratio > known.ratio {
                (known.ratio, known.index) = (ratio, index);
            }
        }
        let of_client = |(client, best): (&Arc<str>, Best)| {
            let used = self.0.get(client).map_or(0.0, |recent| recent.seconds(now));
            (best.waited.min(LONGEST_WAIT_S) - used, best.index)
        };
        let first = best.into_iter().map(of_client).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        first.map(|(_, index)| index)
    }
}

/// Returns the part of a wait that counts, in seconds: earlier seconds count less, as in [`Recent`].
fn recent_wait(age: Duration) -> f64 {
    let half_life = HALF_LIFE_OF_REQUEST_S;
    half_life / std::f64::consts::LN_2 * (1.0 - (-age.as_secs_f64() / half_life).exp2())
}

fn ratio(waited: f64, used: f64) -> f64 {
    waited / (used + SHORTEST_S)
}

#[cfg(test)]
mod tests;
