//! Records of jobs in an SQLite file. The server uses them to resume jobs after a restart.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::job::{Ended, Job, Output, Progress};
use crate::memory::Memory;
use crate::problem::{Problem, ServerError};

/// The open SQLite file with the records of jobs.
pub(crate) struct Records {
    connection: Mutex<Connection>,
    memory: Arc<Memory>,
}

/// A record of a job.
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) analysis: String,
    pub(crate) client: String,
    pub(crate) picture: Option<String>,
    pub(crate) created_s: u64,
    pub(crate) body: Vec<u8>,
    /// How the job ended; `None` if the server stopped before the job ended.
    pub(crate) ended: Option<Ended>,
    /// Progress of the job at its end.
    pub(crate) progress: Progress,
    /// Time that threads have worked for the job until its end.
    pub(crate) used: Duration,
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, analysis TEXT NOT NULL, client TEXT NOT NULL, picture TEXT, created_s INTEGER NOT NULL,
    body BLOB NOT NULL, media TEXT, result BLOB, interrupted INTEGER NOT NULL DEFAULT 0, problem TEXT)";

/// Columns that files of earlier versions do not have.
const LATER: [(&str, &str); 3] = [
    ("done", "INTEGER NOT NULL DEFAULT 0"),
    ("total", "INTEGER NOT NULL DEFAULT 0"),
    ("used_s", "REAL NOT NULL DEFAULT 0"),
];

/// Largest number of ended jobs in a list. The latest are listed.
const MOST_LISTED: usize = 1024;

impl Records {
    /// Opens the file, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub(crate) fn open(path: &Path, memory: Arc<Memory>) -> Result<Self, ServerError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute(TABLE, ())?;
        for (name, kind) in LATER {
            let known = "SELECT count(*) FROM pragma_table_info('jobs') WHERE name = ?1";
            if connection.query_row(known, [name], |row| row.get::<_, i64>(0))? == 0 {
                connection.execute(&format!("ALTER TABLE jobs ADD COLUMN {name} {kind}"), ())?;
            }
        }
        Ok(Self { connection: Mutex::new(connection), memory })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the record of a running job.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(crate) fn begin(&self, job: &Job) -> Result<(), ServerError> {
        let order = &job.order;
        let picture = order.picture.map(crate::picture::name);
        let created_s = i64::try_from(job.created_s()).unwrap_or(i64::MAX);
        self.lock().execute(
            "INSERT INTO jobs (id, analysis, client, picture, created_s, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![job.id, order.analysis, &*order.client, picture, created_s, &job.text()[..]],
        )?;
        Ok(())
    }

    /// Records the end of a job, and deletes the body of its request.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(crate) fn end(
        &self,
        id: &str,
        ended: &Ended,
        progress: Progress,
        used: Duration,
    ) -> Result<(), ServerError> {
        let (media, result, interrupted, problem) = match ended {
            Ended::Answer(output) => (Some(output.media), Some(&output.bytes[..]), output.interrupted, None),
            Ended::Problem(problem) => (None, None, false, Some(serde_json::to_string(problem)?)),
        };
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (done, total) = (number(progress.done), number(progress.total));
        self.lock().execute(
            "UPDATE jobs SET body = x'', media = ?2, result = ?3, interrupted = ?4, problem = ?5,
             done = ?6, total = ?7, used_s = ?8 WHERE id = ?1",
            params![id, media, result, interrupted, problem, done, total, used.as_secs_f64()],
        )?;
        Ok(())
    }

    /// Returns the records of jobs that were unfinished when the server stopped, the oldest first.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub(crate) fn unfinished(&self) -> Result<Vec<Record>, ServerError> {
        let connection = self.lock();
        let mut query = connection
            .prepare("SELECT * FROM jobs WHERE result IS NULL AND problem IS NULL ORDER BY created_s, id")?;
        let records = query.query_map((), |row| record(row, &self.memory))?.collect::<Result<_, _>>()?;
        Ok(records)
    }

    /// Returns the record of a job.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Record>, ServerError> {
        let connection = self.lock();
        Ok(connection
            .query_row("SELECT * FROM jobs WHERE id = ?1", [id], |row| record(row, &self.memory))
            .optional()?)
    }

    /// Returns the records of the latest jobs of a client that have ended. The records have no results, only whether
    /// there is one.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub(crate) fn ended(&self, client: &str) -> Result<Vec<Record>, ServerError> {
        let connection = self.lock();
        let mut query = connection.prepare(
            "SELECT id, analysis, client, picture, created_s, x'' AS body, media,
             CASE WHEN result IS NULL THEN NULL ELSE x'' END AS result, interrupted, problem, done, total, used_s
             FROM jobs WHERE client = ?1 AND (result IS NOT NULL OR problem IS NOT NULL)
             ORDER BY created_s DESC, id DESC LIMIT ?2",
        )?;
        let most = i64::try_from(MOST_LISTED).unwrap_or(i64::MAX);
        let rows = query.query_map(params![client, most], |row| record(row, &self.memory))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn record(row: &Row<'_>, memory: &Arc<Memory>) -> rusqlite::Result<Record> {
    let (result, problem): (Option<Vec<u8>>, Option<String>) = (row.get("result")?, row.get("problem")?);
    let media: Option<String> = row.get("media")?;
    let interrupted = row.get("interrupted")?;
    let ended = match (result, problem) {
        (Some(bytes), _) => {
            let media = crate::picture::media_named(media.as_deref().unwrap_or_default());
            Some(Ended::Answer(Output::new(media, bytes, interrupted, memory)))
        }
        (None, Some(text)) => serde_json::from_str::<Problem>(&text).ok().map(Ended::Problem),
        (None, None) => None,
    };
    let number = |name: &str| row.get::<_, i64>(name).map(|n| usize::try_from(n).unwrap_or(0));
    Ok(Record {
        id: row.get("id")?,
        analysis: row.get("analysis")?,
        client: row.get("client")?,
        picture: row.get("picture")?,
        created_s: u64::try_from(row.get::<_, i64>("created_s")?).unwrap_or(0),
        body: row.get("body")?,
        ended,
        progress: Progress { done: number("done")?, total: number("total")? },
        used: Duration::try_from_secs_f64(row.get("used_s")?).unwrap_or_default(),
    })
}
