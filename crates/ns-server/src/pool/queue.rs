//! The queue of pieces of work.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use ns_core::{FitTask, OutcomeParts, Session, SessionError, TaskOutcome};

use super::order::{Candidate, Clients};
use super::{Pace, RequestAccount};

/// A request counts as new while it has used less thread time than this.
const NEW: Duration = Duration::from_millis(100);

/// Largest expected time of a batch that is gathered from pieces of several requests. A piece counts as short if its
/// expected time is smaller.
const GATHERED: Duration = Duration::from_millis(20);

/// A piece of work counts as long if its expected time is above this time. Long pieces never occupy all threads of a
/// pool of two threads or more.
const LONG: Duration = Duration::from_millis(100);

/// Says which pieces of work a thread of the pool takes: all, or only short ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// All pieces.
    All,
    /// Only short pieces of new requests (requests that have used little thread time).
    Short,
}

/// A piece of work: fit tasks of one request on one session. One thread runs these tasks without interruption.
pub(super) struct Piece {
    pub(super) account: Arc<RequestAccount>,
    pub(super) session: Arc<dyn Session>,
    pub(super) pace: Arc<Pace>,
    pub(super) tasks: Vec<FitTask>,
    pub(super) wanted: OutcomeParts,
    /// Index of the piece among all pieces of the same batch of fits.
    pub(super) number: usize,
    /// Expected time of the piece; `None` if the session has not run a similar piece yet.
    pub(super) expected: Option<Duration>,
    pub(super) reply: Sender<Reply>,
}

impl Piece {
    fn is_long(&self) -> bool {
        self.expected.is_some_and(|time| time > LONG)
    }

    /// Returns whether the piece belongs to a new request and is expected to be short. Without an
    /// expected time, the piece counts as short.
    pub(super) fn is_short(&self) -> bool {
        self.account.used() < NEW && self.expected.is_none_or(|time| time < GATHERED)
    }

    /// Returns whether both pieces can run as one batch. The pieces must have the same session and want the same
    /// parts of the fit outcomes.
    fn joins(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session) && self.wanted == other.wanted
    }
}

/// The outcomes of the fits of a piece, or the reason why there are none.
pub(super) struct Reply {
    /// Index of the piece among all pieces of the same batch of fits.
    pub(super) number: usize,
    pub(super) outcomes: Result<Vec<TaskOutcome>, Failure>,
}

/// Reasons why a piece of work has no outcomes.
pub(super) enum Failure {
    /// The session refused the tasks, or its device failed.
    Session(SessionError),
    /// The code of the fits panicked.
    Panicked,
}

/// The pieces that wait for a thread, in the order of arrival.
#[derive(Default)]
pub(super) struct Queue {
    pieces: VecDeque<Piece>,
    clients: Clients,
    /// Number of long pieces that are running.
    long: usize,
    /// Number of threads that are waiting for a piece of work, without the extra thread for short pieces.
    pub(super) idle: usize,
    closed: bool,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn push(&mut self, piece: Piece) {
        piece.account.begin();
        self.pieces.push_back(piece);
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Removes from the queue the pieces that a thread runs next as one batch. Also returns whether the batch counts
    /// as long. `threads` is the number of threads of the pool that take any piece.
    pub(super) fn take(&mut self, threads: usize, takes: Takes) -> Option<(Vec<Piece>, bool)> {
        let full = self.long + 1 >= threads.max(2);
        let may = |piece: &Piece| match takes {
            Takes::All => !(full && piece.is_long()),
            Takes::Short => piece.is_short(),
        };
        let now = Instant::now();
        let open = self.pieces.iter().enumerate().filter(|(_, piece)| may(piece));
        let candidates = open.map(|(index, piece)| {
            let (age, used) = piece.account.recent(now);
            Candidate { index, client: &piece.account.client, age, used, expected: piece.expected }
        });
        let first = self.clients.choose(candidates, now)?;
        let first = self.pieces.remove(first)?;
        let long = first.is_long();
        self.long += usize::from(long);
        Some((self.gather(first, threads), long))
    }

    /// Makes a batch of the piece `first` and, if it is short, of waiting short pieces of the same session. The
    /// expected time of the batch stays below [`GATHERED`]. The batch has at most its share of these pieces, i.e.
    /// their number divided by the number of threads, so that the other threads get as many.
    fn gather(&mut self, first: Piece, threads: usize) -> Vec<Piece> {
        let Some(mut time) = first.expected.filter(|time| *time < GATHERED) else { return vec![first] };
        let alike = self.pieces.iter().filter(|piece| piece.joins(&first)).count();
        let most = (alike + 1).div_ceil(threads);
        let mut batch = vec![first];
        let mut i = 0;
        while let (Some(piece), Some(head), true) = (self.pieces.get(i), batch.first(), batch.len() < most) {
            let total = piece.expected.map(|expected| time + expected).filter(|total| *total < GATHERED);
            match total {
                Some(total) if piece.joins(head) => {
                    time = total;
                    batch.extend(self.pieces.remove(i));
                }
                _ => i += 1,
            }
        }
        batch
    }

    /// Records the thread time `time` of a batch. The time is divided equally among the requests of the batch, and
    /// added to their accounts and to the recent times of their clients. `long` says whether the batch counted as
    /// long.
    pub(super) fn done(&mut self, accounts: &[Arc<RequestAccount>], time: Duration, long: bool) {
        self.long = self.long.saturating_sub(usize::from(long));
        let each = time / u32::try_from(accounts.len().max(1)).unwrap_or(u32::MAX);
        let now = Instant::now();
        for account in accounts {
            account.charge(each);
            self.clients.charge(&account.client, each, now);
        }
    }
}
