//! The loop of a thread of a pool. The thread takes pieces of work from the queue, runs them as one batch, and sends
//! the outcomes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ns_core::{Control, FitTask, TaskOutcome};

use super::queue::{Failure, Piece, Reply, Takes};
use super::{RequestAccount, Shared};

/// Takes pieces of work from the queue and runs them, until the pool is closed. `takes` says whether the thread takes
/// all pieces or only short ones.
pub(super) fn work(shared: &Shared, takes: Takes) {
    let mut queue = shared.lock();
    loop {
        if let Some((batch, long)) = queue.take(shared.threads, takes) {
            drop(queue);
            let accounts: Vec<Arc<RequestAccount>> =
                batch.iter().map(|piece| Arc::clone(&piece.account)).collect();
            let started = Instant::now();
            run(batch);
            queue = shared.lock();
            queue.done(&accounts, started.elapsed(), long);
            if long {
                // Another thread may have left a long piece in the queue, which may start now.
                shared.wake.notify_all();
            }
        } else if queue.is_closed() {
            return;
        } else if takes == Takes::All {
            queue.idle += 1;
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        } else {
            queue = shared.wake_short.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs the pieces of work of a batch, and sends a reply for each piece.
fn run(mut batch: Vec<Piece>) {
    // Nobody needs the outcomes of a cancelled request. They must not delay the other requests of the batch.
    batch.retain(|piece| {
        let is_wanted = !piece.account.is_cancelled();
        if !is_wanted {
            let _ = piece.reply.send(Reply { number: piece.number, outcomes: Ok(Vec::new()) });
        }
        is_wanted
    });
    if batch.len() > 1 {
        match together(&batch) {
            Some(()) => return,
            // The session refused the tasks of one piece. Each piece is therefore run alone.
            None => batch.iter_mut().for_each(|piece| piece.expected = None),
        }
    }
    for piece in batch {
        let control = Control { observer: None, cancel: Some(&piece.account.cancel), task: None };
        let outcomes = fits(&piece, &piece.tasks, control);
        // If the request has ended, there is no receiver.
        let _ = piece.reply.send(Reply { number: piece.number, outcomes });
    }
}

/// Runs several short pieces of work as one batch, and sends a reply for each piece. Returns `None` if the batch
/// fails.
fn together(batch: &[Piece]) -> Option<()> {
    // A request that is cancelled during the batch must not delay the others. Each task therefore has the
    // flag of its request.
    let of_piece = |piece: &Piece| {
        let cancel = Some(Arc::clone(&piece.account.cancel));
        let task = move |task: &FitTask| FitTask { cancel: cancel.clone(), ..task.clone() };
        piece.tasks.iter().map(task).collect::<Vec<FitTask>>()
    };
    let tasks: Vec<FitTask> = batch.iter().flat_map(of_piece).collect();
    let mut outcomes = fits(batch.first()?, &tasks, Control::default()).ok()?.into_iter();
    for piece in batch {
        let own = usize::try_from(piece.tasks.iter().map(|task| task.data.count()).sum::<u64>()).ok()?;
        let outcomes = Ok(outcomes.by_ref().take(own).collect());
        let _ = piece.reply.send(Reply { number: piece.number, outcomes });
    }
    Some(())
}

/// Runs `tasks` on the session of `piece`, and returns the outcomes.
fn fits(piece: &Piece, tasks: &[FitTask], control: Control<'_>) -> Result<Vec<TaskOutcome>, Failure> {
    let started = Instant::now();
    let mut outcomes = Vec::new();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        piece.session.fit_batch(tasks, piece.wanted, control, &mut outcomes)
    }));
    match ran {
        Ok(Ok(())) => {
            if !control.is_cancelled() {
                piece.pace.learn(tasks, started.elapsed());
            }
            Ok(outcomes)
        }
        Ok(Err(error)) => Err(Failure::Session(error)),
        Err(_) => Err(Failure::Panicked),
    }
}
