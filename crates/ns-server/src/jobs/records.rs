//! Records of jobs in an SQLite file. The server uses them to resume jobs after a restart.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::job::{Ended, Job, Output};
use crate::problem::{Problem, ServerError};

/// The open SQLite file with the records of jobs.
pub(crate) struct Records {
    connection: Mutex<Connection>,
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
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, analysis TEXT NOT NULL, client TEXT NOT NULL, picture TEXT, created_s INTEGER NOT NULL,
    body BLOB NOT NULL, media TEXT, result BLOB, interrupted INTEGER NOT NULL DEFAULT 0, problem TEXT)";

impl Records {
    /// Opens the file, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub(crate) fn open(path: &Path) -> Result<Self, ServerError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute(TABLE, ())?;
        Ok(Self { connection: Mutex::new(connection) })
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
            params![job.id, order.analysis, &*order.client, picture, created_s, &order.body[..]],
        )?;
        Ok(())
    }

    /// Records the end of a job, and deletes the body of its request.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(crate) fn end(&self, id: &str, ended: &Ended) -> Result<(), ServerError> {
        let (media, result, interrupted, problem) = match ended {
            Ended::Answer(output) => (Some(output.media), Some(&output.bytes[..]), output.interrupted, None),
            Ended::Problem(problem) => (None, None, false, Some(serde_json::to_string(problem)?)),
        };
        self.lock().execute(
            "UPDATE jobs SET body = x'', media = ?2, result = ?3, interrupted = ?4, problem = ?5 WHERE id = ?1",
            params![id, media, result, interrupted, problem],
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
        let records = query.query_map((), record)?.collect::<Result<_, _>>()?;
        Ok(records)
    }

    /// Returns the record of a job.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Record>, ServerError> {
        let connection = self.lock();
        Ok(connection.query_row("SELECT * FROM jobs WHERE id = ?1", [id], record).optional()?)
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let (result, problem): (Option<Vec<u8>>, Option<String>) = (row.get("result")?, row.get("problem")?);
    let media: Option<String> = row.get("media")?;
    let interrupted = row.get("interrupted")?;
    let ended = match (result, problem) {
        (Some(bytes), _) => Some(Ended::Answer(Output {
            media: crate::picture::media_named(media.as_deref().unwrap_or_default()),
            bytes: Bytes::from(bytes),
            interrupted,
        })),
        (None, Some(text)) => serde_json::from_str::<Problem>(&text).ok().map(Ended::Problem),
        (None, None) => None,
    };
    Ok(Record {
        id: row.get("id")?,
        analysis: row.get("analysis")?,
        client: row.get("client")?,
        picture: row.get("picture")?,
        created_s: u64::try_from(row.get::<_, i64>("created_s")?).unwrap_or(0),
        body: row.get("body")?,
        ended,
    })
}
