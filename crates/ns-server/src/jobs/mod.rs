//! The registry of requests. A request that takes long becomes a job. A job has a name, and continues when
//! its connection is closed.

mod job;
mod records;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use ns_inference::merge::{MergeOptions, merge_toys};
use ns_inference::report::{Report, to_json};

pub(crate) use job::{Ended, Job, JobStatus, Order, Output};
pub(crate) use records::{Record, Records};

use crate::analyses::{self, Analysis, Answer, HypotestToysBody, Run, ToysBody};
use crate::body::Received;
use crate::memory::Memory;
use crate::models::Models;
use crate::problem::ServerError;

/// Largest number of ended jobs that are kept in memory. Jobs that are recorded on disk are not kept in memory.
const MOST_ENDED: usize = 1024;

/// Limits on simultaneous requests, and on the time of an analysis.
#[derive(Debug, Clone)]
pub(crate) struct JobLimits {
    /// Largest number of requests and jobs in progress, summed over all clients.
    pub(crate) active: usize,
    /// Largest number of requests and jobs in progress for each client.
    pub(crate) per_client: usize,
    /// Longest time of an analysis.
    pub(crate) time: Duration,
}

/// All requests in progress, and the jobs that have ended.
pub(crate) struct Jobs {
    models: Arc<Models>,
    limits: JobLimits,
    /// Folder of the records of jobs and of the saved toys, and the open file of records; `None` if the server does
    /// not store jobs on disk.
    state: Option<(PathBuf, Records)>,
    known: Mutex<Known>,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Known {
    jobs: HashMap<String, Arc<Job>>,
    /// Jobs that have ended and are not recorded on disk, the oldest first: their names and the sizes of their results.
    ended: VecDeque<(String, u64)>,
    /// Size of the results of these jobs together, in bytes.
    ended_bytes: u64,
    active: HashMap<Arc<str>, usize>,
}

impl Jobs {
    /// Creates the registry. `state` is the folder in which the records of jobs are stored. The folder must exist.
    ///
    /// # Errors
    /// If the records cannot be opened.
    pub(crate) fn open(
        models: Arc<Models>,
        limits: JobLimits,
        state: Option<PathBuf>,
    ) -> Result<Self, ServerError> {
        let open = |folder: PathBuf| {
            Records::open(&folder.join("jobs.sqlite"), Arc::clone(models.memory()))
                .map(|records| (folder, records))
        };
        let state = state.map(open).transpose()?;
        let stopping = AtomicBool::new(false);
        Ok(Self { models, limits, state, known: Mutex::default(), stopping })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the models of the server.
    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    /// Returns the number of requests and jobs in progress.
    pub(crate) fn active(&self) -> usize {
        self.lock().active.values().sum()
    }

    /// Begins an analysis. The calling thread runs a brief analysis itself, unless the client wants a job or a
    /// picture. The analysis has then ended when this function returns. `quota` is the client's own limit on
    /// simultaneous requests; if `None`, the default limit of the server holds.
    ///
    /// # Errors
    /// [`ServerError::Quota`] or [`ServerError::Busy`] if too many requests are in progress.
    pub(crate) fn begin<A: Analysis>(
        self: &Arc<Self>,
        body: A,
        order: Order,
        received: Received,
        quota: Option<usize>,
    ) -> Result<Arc<Job>, ServerError> {
        // A client that sets the time to wait to zero wants a job.
        let waits = body.wait_s() != Some(0.0);
        let here = waits && order.picture.is_none() && body.is_brief(&self.models);
        let job = Arc::new(Job::new(new_id()?, order, Some(received), false, None));
        self.register(&job, Some(quota.unwrap_or(self.limits.per_client)))?;
        if here {
            self.work(body, &job, true);
        } else {
            self.start(body, &job);
        }
        Ok(job)
    }

    /// Resumes a job that was unfinished when the server stopped. The limits on simultaneous requests do not apply.
    ///
    /// # Errors
    /// If the server is stopping.
    pub(crate) fn go_on<A: Analysis>(self: &Arc<Self>, body: A, record: &Record) -> Result<(), ServerError> {
        let order = Order {
            analysis: A::NAME,
            client: record.client.as_str().into(),
            picture: record.picture.as_deref().and_then(crate::picture::format),
        };
        let reserved = self.models.memory().record(2 * record.body.len() as u64);
        let received = Received { bytes: Bytes::copy_from_slice(&record.body), reserved };
        let job = Job::new(record.id.clone(), order, Some(received), true, Some(record.created_s));
        let job = Arc::new(job);
        self.register(&job, None)?;
        self.start(body, &job);
        Ok(())
    }

    /// Registers a job. If `quota` is `None`, the limits on simultaneous requests do not apply.
    fn register(&self, job: &Arc<Job>, quota: Option<usize>) -> Result<(), ServerError> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(ServerError::Busy { why: "is stopping" });
        }
        let client = &job.order.client;
        let mut known = self.lock();
        if let Some(limit) = quota {
            if known.active.get(client).copied().unwrap_or(0) >= limit {
                return Err(ServerError::Quota { client: client.to_string(), limit });
            }
            if known.active.values().sum::<usize>() >= self.limits.active {
                return Err(ServerError::Busy { why: "has as many requests in progress as it takes" });
            }
        }
        *known.active.entry(Arc::clone(client)).or_default() += 1;
        known.jobs.insert(job.id.clone(), Arc::clone(job));
        Ok(())
    }

    /// Starts the thread of a job, and limits its time.
    fn start<A: Analysis>(self: &Arc<Self>, body: A, job: &Arc<Job>) {
        let (jobs, own) = (Arc::clone(self), Arc::clone(job));
        tokio::task::spawn_blocking(move || jobs.work(body, &own, false));
        let (limit, timed) = (self.limits.time, Arc::clone(job));
        tokio::spawn(async move {
            if tokio::time::timeout(limit, timed.wait()).await.is_err() {
                timed.account.cancel();
            }
        });
    }

    /// Runs the analysis of a job and ends the job. If `here` is true, the calling thread makes the fits.
    fn work<A: Analysis>(&self, body: A, job: &Job, here: bool) {
        let started = Instant::now();
        let toys = self.state.as_ref().filter(|_| A::SAVES).map(|(folder, _)| toy_file(folder, &job.id));
        let run = Run {
            models: &self.models,
            account: &job.account,
            observer: job,
            started,
            picture: job.order.picture.is_some(),
            here,
            toys: toys.as_ref(),
        };
        let made = catch_unwind(AssertUnwindSafe(|| {
            let _reading = self.models.room(body.reads(&job.text(), self.models.memory().limit()))?;
            body.run(run).and_then(|answer| output(job, answer, self.models.memory()))
        }));
        let ended = match made {
            Ok(Ok(output)) => Ended::Answer(output),
            Ok(Err(_)) if job.account.is_cancelled() && started.elapsed() >= self.limits.time => {
                Ended::Problem(ServerError::Timeout { seconds: self.limits.time.as_secs() }.problem())
            }
            Ok(Err(error)) => Ended::Problem(error.problem()),
            Err(_) => Ended::Problem(ServerError::Panicked.problem()),
        };
        // The end of the job gives back the memory that is reserved for its body.
        drop(body);
        self.end(job, ended, toys.as_deref());
    }

    fn end(&self, job: &Job, ended: Ended, toys: Option<&std::path::Path>) {
        let named = job.named();
        // A job is resumed after the next start if the server stopped it. It is not resumed if its client
        // cancelled it.
        let goes_on = *named && self.stopping.load(Ordering::Relaxed) && job.account.is_cancelled();
        let mut recorded = false;
        if let Some((_, records)) = self.state.as_ref().filter(|_| *named && !goes_on) {
            match records.end(&job.id, &ended, job.progress(), job.account.used()) {
                Ok(()) => recorded = true,
                Err(error) => tracing::error!(job = job.id, %error, "the end of a job cannot be recorded"),
            }
        }
        if let Some(toys) = toys.filter(|_| !goes_on) {
            remove_toys(toys);
        }
        // The request leaves the requests in progress before it ends, so that its client may send the next
        // request.
        let mut known = self.lock();
        if let Some(count) = known.active.get_mut(&job.order.client) {
            *count -= 1;
            if *count == 0 {
                known.active.remove(&job.order.client);
            }
        }
        if *named && !recorded {
            let bytes = ended.bytes();
            known.ended.push_back((job.id.clone(), bytes));
            known.ended_bytes += bytes;
            // Results that are kept in memory take at most a quarter of it.
            while known.ended.len() > MOST_ENDED || known.ended_bytes > self.models.memory().limit() / 4 {
                let Some((oldest, bytes)) = known.ended.pop_front() else { break };
                known.ended_bytes -= bytes;
                known.jobs.remove(&oldest);
            }
        } else {
            known.jobs.remove(&job.id);
        }
        drop(known);
        job.end(ended);
    }

    /// Turns a request in progress into a job with a name. The job continues when the connection of the request is
    /// closed. Writes the record of the job.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(crate) fn name(&self, job: &Job) -> Result<(), ServerError> {
        let mut named = job.named();
        if job.ended().is_some() || *named {
            return Ok(());
        }
        if let Some((_, records)) = &self.state {
            records.begin(job)?;
        }
        *named = true;
        Ok(())
    }

    /// Returns a named job of a client.
    ///
    /// # Errors
    /// [`ServerError::NotFound`] if the client has no such job.
    pub(crate) fn find(&self, id: &str, client: &str) -> Result<Arc<Job>, ServerError> {
        let missing = || ServerError::NotFound { what: "job", name: id.to_owned(), remedy: "check its name" };
        let job = self.lock().jobs.get(id).map(Arc::clone);
        let job = match job {
            Some(job) => job,
            None => self.recorded(id)?.ok_or_else(missing)?,
        };
        let mine = *job.order.client == *client && *job.named();
        if mine { Ok(job) } else { Err(missing()) }
    }

    /// Reads the record of a job that has ended, and returns the job; `None` if there is no such record.
    fn recorded(&self, id: &str) -> Result<Option<Arc<Job>>, ServerError> {
        let Some((_, records)) = &self.state else { return Ok(None) };
        let Some(record) = records.find(id)? else { return Ok(None) };
        Ok(of_record(record).map(Arc::new))
    }

    /// Returns the states of the client's jobs, the oldest first.
    ///
    /// # Errors
    /// If the records of ended jobs cannot be read.
    pub(crate) fn list(&self, client: &str) -> Result<Vec<JobStatus>, ServerError> {
        let jobs: Vec<Arc<Job>> = self.lock().jobs.values().map(Arc::clone).collect();
        let mine = jobs.iter().filter(|job| *job.order.client == *client && *job.named());
        let mut list: Vec<JobStatus> = mine.map(|job| job.status()).collect();
        if let Some((_, records)) = &self.state {
            let ended = records.ended(client)?.into_iter().filter_map(of_record).map(|job| job.status());
            list.extend(ended);
        }
        list.sort_by(|a, b| (a.created_s, &a.id).cmp(&(b.created_s, &b.id)));
        // A job that ended just now is in memory and in the records.
        list.dedup_by(|a, b| a.id == b.id);
        Ok(list)
    }

    /// Returns the result of the toys that a running job has saved so far.
    ///
    /// # Errors
    /// [`ServerError::NoPartialResult`] if the server does not save the toys of this job, or has saved none
    /// so far.
    pub(crate) fn partial(&self, job: &Job) -> Result<Output, ServerError> {
        let none = |reason| ServerError::NoPartialResult { reason };
        if !matches!(job.order.analysis, ToysBody::NAME | HypotestToysBody::NAME) {
            return Err(none("only jobs of toys have partial results; wait for the end of the job"));
        }
        let Some((folder, _)) = &self.state else {
            return Err(none(
                "this server saves no toys; start it with --state-dir, or cancel the job, whose result \
                             is then that of the finished part",
            ));
        };
        let file = toy_file(folder, &job.id);
        let options = MergeOptions { allow_incomplete: true, ..MergeOptions::default() };
        // The running job adds and combines files. A file that cannot be read now can be read later.
        let mut merged = merge_toys(std::slice::from_ref(&file), options)
            .map_err(|_| none("no toys of this job are saved yet; ask again later"))?;
        merged.remove_warnings(&file.display().to_string());
        let ran = merged.run_info(Instant::now());
        let json = to_json(&Report { result: &merged.result, ran, parts: Vec::new() })?;
        Ok(Output::new(crate::picture::JSON, json, true, self.models.memory()))
    }

    /// Returns the records of jobs that were unfinished when the server stopped.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub(crate) fn unfinished(&self) -> Result<Vec<Record>, ServerError> {
        self.state.as_ref().map_or_else(|| Ok(Vec::new()), |(_, records)| records.unfinished())
    }

    /// Records that a job cannot be resumed after a restart, and the error that is the reason.
    pub(crate) fn give_up(&self, record: &Record, error: &ServerError) {
        if let Some((_, records)) = &self.state
            && let Err(error) =
                records.end(&record.id, &Ended::Problem(error.problem()), record.progress, record.used)
        {
            tracing::error!(job = record.id, %error, "the end of a job cannot be recorded");
        }
    }

    /// Refuses new requests and cancels all requests in progress. Finished toys are saved.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        for job in self.lock().jobs.values() {
            job.account.cancel();
        }
    }
}

/// Returns the job of a record if the job has ended.
fn of_record(record: Record) -> Option<Job> {
    let (ended, analysis) = (record.ended?, analyses::name_of(&record.analysis)?);
    let order = Order { analysis, client: record.client.into(), picture: None };
    let job = Job::new(record.id, order, None, true, Some(record.created_s));
    let job = job.recorded(record.progress, record.used);
    job.end(ended);
    Some(job)
}

/// Converts the answer of an analysis to the body of a response.
fn output(job: &Job, answer: Answer, memory: &Arc<Memory>) -> Result<Output, ServerError> {
    let interrupted = answer.interrupted;
    Ok(match (job.order.picture, answer.picture) {
        (Some(format), Some(drawing)) => {
            Output::new(crate::picture::media(format), drawing.encode(format)?, interrupted, memory)
        }
        _ => Output::new(crate::picture::JSON, answer.json, interrupted, memory),
    })
}

/// Returns the path of the file in which the toys of a job are saved.
fn toy_file(folder: &std::path::Path, id: &str) -> PathBuf {
    folder.join("toys").join(format!("{id}.parquet"))
}

/// Removes the saved toys of a job that has ended: the complete file, and the folder with the pieces of an unfinished
/// file.
fn remove_toys(file: &std::path::Path) {
    // Errors are ignored: the file may not exist, and a file that cannot be removed only takes space on the disk.
    let _ = std::fs::remove_file(file);
    let mut pieces = file.as_os_str().to_owned();
    pieces.push(".parts");
    let _ = std::fs::remove_dir_all(pieces);
}

/// Returns a random name for a job. Nobody can guess such a name.
fn new_id() -> Result<String, ServerError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ServerError::Busy { why: "has no random numbers" })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
