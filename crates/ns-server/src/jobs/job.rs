//! A request for an analysis, whether the analysis is running or has ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use ns_core::Observer;
use serde::Serialize;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::body::Received;
use crate::memory::{Memory, Reserved};
use crate::pool::RequestAccount;
use crate::problem::Problem;

/// What a client asked for, without the body of its request.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Name of the analysis.
    pub(crate) analysis: &'static str,
    /// Name of the client that sent the request.
    pub(crate) client: Arc<str>,
    /// Format of the picture, if the client asked for one.
    pub(crate) picture: Option<ns_viz::Format>,
}

/// The way in which the analysis of a request ended.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// The analysis succeeded. The body of the response has its result.
    Answer(Output),
    /// The analysis failed, with problem details for the client.
    Problem(Problem),
}

impl Ended {
    /// Returns the memory that this value takes, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Answer(output) => output.bytes.len() as u64,
            Self::Problem(problem) => problem.bytes(),
        }
    }
}

/// The body of the response to a request.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Media type of the body, for example `application/json`.
    pub(crate) media: &'static str,
    /// Content of the body.
    pub(crate) bytes: Bytes,
    /// Whether the request was cancelled. The content then covers only the finished part of the analysis.
    pub(crate) interrupted: bool,
}

/// Bytes with their reservation, which lasts until the last copy of the bytes is dropped. A client may read its
/// response long after its request has ended.
struct Kept {
    bytes: Vec<u8>,
    _reserved: Reserved,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Output {
    /// Returns a body, and records its memory.
    pub(crate) fn new(
        media: &'static str,
        mut bytes: Vec<u8>,
        interrupted: bool,
        memory: &Arc<Memory>,
    ) -> Self {
        // A list of bytes grows by doubling, and a short result begins with 64 kB.
        bytes.shrink_to_fit();
        let reserved = memory.record(bytes.capacity() as u64);
        Self { media, bytes: Bytes::from_owner(Kept { bytes, _reserved: reserved }), interrupted }
    }
}

/// Progress of a request in fits, or in toys if it makes toys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub(crate) struct Progress {
    /// Number of finished fits or toys.
    pub(crate) done: usize,
    /// Number of all fits or toys, finished or not, as far as it is known.
    pub(crate) total: usize,
}

/// State of a job, as the server returns it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobStatus {
    /// Name of the job.
    pub(crate) id: String,
    /// Name of the analysis.
    pub(crate) analysis: &'static str,
    /// State: `running`, `done`, `failed` or `cancelled`.
    pub(crate) state: &'static str,
    /// Progress in fits.
    pub(crate) progress: Progress,
    /// Time at which the job was made, in seconds since 1970.
    pub(crate) created_s: u64,
    /// Time that threads have worked for the job, in seconds, summed over the threads.
    pub(crate) used_s: f64,
    /// Whether there is a result. The result of a cancelled job covers only the finished part.
    pub(crate) has_result: bool,
}

/// A request for an analysis, whether the analysis is running or has ended. A request is called a job once the client
/// knows its name.
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) order: Order,
    pub(crate) account: Arc<RequestAccount>,
    /// Body of the request, while the job runs. With it the analysis is repeated after a restart of the server.
    body: Mutex<Option<Received>>,
    created_s: u64,
    progress: watch::Sender<Progress>,
    ended: watch::Sender<Option<Ended>>,
    /// Whether the client knows the name of the job. The mutex is locked while the job ends.
    named: Mutex<bool>,
}

impl Job {
    /// Creates a job that has not begun. `named` says whether the client already knows the name of the job.
    pub(crate) fn new(
        id: String,
        order: Order,
        body: Option<Received>,
        named: bool,
        created_s: Option<u64>,
    ) -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            account: Arc::new(RequestAccount::new(Arc::clone(&order.client))),
            id,
            order,
            body: Mutex::new(body),
            created_s: created_s.unwrap_or_else(now),
            progress: watch::Sender::default(),
            ended: watch::Sender::default(),
            named: Mutex::new(named),
        }
    }

    /// Locks the flag that says whether the client knows the name of the job, and returns the flag. The job cannot
    /// end while the flag is locked.
    pub(crate) fn named(&self) -> MutexGuard<'_, bool> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the job as its record describes it after its end.
    pub(crate) fn recorded(self, progress: Progress, used: Duration) -> Self {
        self.progress.send_replace(progress);
        self.account.charge(used);
        self
    }

    fn body(&self) -> MutexGuard<'_, Option<Received>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the body of the request; empty after the end of the job.
    pub(crate) fn text(&self) -> Bytes {
        self.body().as_ref().map_or_else(Bytes::new, |received| received.bytes.clone())
    }

    /// Returns the current progress.
    pub(crate) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Returns the time at which the job was made, in seconds since 1970.
    pub(crate) fn created_s(&self) -> u64 {
        self.created_s
    }

    /// Returns how the job ended; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Ends the job with a result, and wakes all tasks that wait for its end. The body of the request is dropped.
    pub(crate) fn end(&self, ended: Ended) {
        self.body().take();
        self.ended.send_replace(Some(ended));
    }

    /// Waits for the end of the job.
    pub(crate) async fn wait(&self) -> Ended {
        let mut watch = self.ended.subscribe();
        loop {
            if let Some(ended) = watch.borrow_and_update().clone() {
                return ended;
            }
            // The sender is a field of this job, so it lives longer than this call.
            if watch.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns a receiver that is notified of every change of the job's progress.
    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Returns the state of the job.
    pub(crate) fn status(&self) -> JobStatus {
        let ended = self.ended();
        let state = match &ended {
            None => "running",
            Some(Ended::Answer(output)) if output.interrupted => "cancelled",
            Some(Ended::Answer(_)) => "done",
            Some(Ended::Problem(problem)) if problem.kind == "cancelled" => "cancelled",
            Some(Ended::Problem(_)) => "failed",
        };
        JobStatus {
            id: self.id.clone(),
            analysis: self.order.analysis,
            state,
            progress: self.progress(),
            created_s: self.created_s,
            used_s: self.account.used().as_secs_f64(),
            has_result: matches!(ended, Some(Ended::Answer(_))),
        }
    }
}

impl Observer for Job {
    fn progress(&self, done: usize, total: usize) {
        self.progress.send_replace(Progress { done, total });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_result_keeps_no_spare_memory_and_is_counted_until_its_response_is_sent() {
        let memory = Memory::new(1 << 20);
        let mut text = Vec::with_capacity(1 << 16);
        text.extend_from_slice(b"{}");
        let before = crate::allocator::of_thread();
        let output = Output::new("application/json", text, false, &memory);
        let freed = before - crate::allocator::of_thread();
        assert!(freed > 60_000, "{freed}");
        assert_eq!(memory.used(), 2);
        // A response is a copy of the bytes.
        let response = output.bytes.clone();
        drop(output);
        assert_eq!((memory.used(), &response[..]), (2, &b"{}"[..]));
        drop(response);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn a_kept_problem_is_counted_with_its_places() {
        let reason = "x".repeat(1000);
        let problem = crate::problem::ServerError::Body { pointer: "/model".to_owned(), reason }.problem();
        assert!(Ended::Problem(problem).bytes() > 2000);
    }
}
