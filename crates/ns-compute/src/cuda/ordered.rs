//! Making outcomes on several threads and handing them on in order, while there are few of them.
//!
//! Outcomes are many small pieces of memory. Those of a whole chunk, made before the first is read, fill more than the
//! caches and make the allocator fetch pages from the system and give them back, chunk after chunk: that costs several
//! times what the work itself does.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ns_core::TaskOutcome;

/// Threads that help the one that hands on: reading an outcome takes a fraction of making it, and more would wait.
const HELPERS: usize = 4;
/// Portions per thread that are begun and not handed on.
const AHEAD: usize = 2;

/// How far the portions are.
#[derive(Default)]
struct State {
    /// The first that nobody has begun.
    next: usize,
    /// The first that has not been handed on.
    expected: usize,
    done: BTreeMap<usize, Vec<TaskOutcome>>,
    /// A thread ended by a panic: what it had begun will not come.
    broken: bool,
}

/// Portions, made by anybody and handed on by one.
struct Portions<'a> {
    count: usize,
    /// Portions that may be begun and not handed on.
    window: usize,
    make: &'a (dyn Fn(usize) -> Vec<TaskOutcome> + Sync),
    state: Mutex<State>,
    /// The next portion to be handed on has been made.
    came: Condvar,
    /// A further portion may be begun, or there is none.
    room: Condvar,
}

/// Tells the others of a panic.
struct Guard<'a, 'b>(&'a Portions<'b>);

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().broken = true;
            self.0.came.notify_all();
            self.0.room.notify_all();
        }
    }
}

impl Portions<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next portion to be made, if one may be begun now.
    fn begin(&self, state: &mut State) -> Option<usize> {
        let number = state.next;
        let may = number < self.count && number < state.expected + self.window;
        may.then(|| {
            state.next += 1;
            if state.next == self.count {
                self.room.notify_all();
            }
            number
        })
    }

    /// Makes a portion and keeps it for its turn.
    fn make(&self, number: usize) {
        let outcomes = (self.make)(number);
        let mut state = self.state();
        state.done.insert(number, outcomes);
        // Only the one that hands on waits for it.
        if state.expected == number {
            self.came.notify_one();
        }
    }

    /// Makes portions until all have been begun.
    fn help(&self) {
        let _guard = Guard(self);
        let mut state = self.state();
        while state.next < self.count && !state.broken {
            match self.begin(&mut state) {
                Some(number) => {
                    drop(state);
                    self.make(number);
                    state = self.state();
                }
                None => state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Hands on all portions in order, and makes some where the next one is not there yet.
    fn hand_on(&self, deliver: &mut dyn FnMut(usize, Vec<TaskOutcome>)) {
        let _guard = Guard(self);
        let mut state = self.state();
        while state.expected < self.count && !state.broken {
            let expected = state.expected;
            if let Some(outcomes) = state.done.remove(&expected) {
                drop(state);
                deliver(expected, outcomes);
                state = self.state();
                state.expected += 1;
                self.room.notify_one();
            } else if let Some(number) = self.begin(&mut state) {
                drop(state);
                self.make(number);
                state = self.state();
            } else {
                state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Makes `count` portions on the threads of `pool` and the calling one, which hands them on in order.
pub(super) fn in_order(
    pool: Option<&rayon::ThreadPool>,
    count: usize,
    make: &(dyn Fn(usize) -> Vec<TaskOutcome> + Sync),
    deliver: &mut dyn FnMut(usize, Vec<TaskOutcome>),
) {
    let helpers = pool.map_or(0, rayon::ThreadPool::current_num_threads).min(HELPERS);
    let portions = Portions {
        count,
        window: AHEAD * (helpers + 1),
        make,
        state: Mutex::default(),
        came: Condvar::new(),
        room: Condvar::new(),
    };
    match pool {
        Some(pool) => pool.in_place_scope(|scope| {
            for _ in 0..helpers.min(count.saturating_sub(1)) {
                scope.spawn(|_| portions.help());
            }
            portions.hand_on(deliver);
        }),
        None => portions.hand_on(deliver),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Outcomes that are told apart by the number of their fits.
    fn portion(number: usize) -> Vec<TaskOutcome> {
        let fits = (0..number % 5).map(|_| Err(ns_core::FitFailure::NotNeeded)).collect();
        vec![TaskOutcome { fits }; 1 + number % 3]
    }

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn portions_come_in_order_whoever_makes_them() {
        let three = pool(3);
        for pool in [None, Some(&three)] {
            for count in [0, 1, 2, 7, 100] {
                let mut got = Vec::new();
                let make = |number: usize| {
                    std::thread::sleep(Duration::from_micros(if number.is_multiple_of(4) {
                        300
                    } else {
                        10
                    }));
                    portion(number)
                };
                in_order(pool, count, &make, &mut |number, outcomes| got.push((number, outcomes)));
                assert!(got.into_iter().eq((0..count).map(|number| (number, portion(number)))));
            }
        }
    }

    #[test]
    fn few_wait_for_a_slow_reader() {
        let three = pool(3);
        let (made, read, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let make = |number| {
            let waiting = 1 + made.fetch_add(1, Ordering::Relaxed) - read.load(Ordering::Relaxed);
            most.fetch_max(waiting, Ordering::Relaxed);
            portion(number)
        };
        in_order(Some(&three), 60, &make, &mut |_, _| {
            std::thread::sleep(Duration::from_micros(200));
            read.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(made.into_inner(), 60);
        assert!(most.into_inner() <= AHEAD * 4);
    }

    #[test]
    fn a_panic_on_any_thread_ends_the_others() {
        let two = pool(2);
        for bad in [0, 1, 5, 29] {
            let make = |number| if number == bad { panic!("a portion") } else { portion(number) };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                in_order(Some(&two), 30, &make, &mut |_, _| ());
            }));
            assert!(ended.is_err());
        }
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            in_order(Some(&two), 30, &portion, &mut |number, _| assert!(number < 3));
        }));
        assert!(refused.is_err());
    }
}
