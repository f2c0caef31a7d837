//! Counts how often the search misses the lowest minimum of random models of events.
//!
//! ```text
//! cargo run --release -p ns-compute --example check_event_minima -- [first, default 0] [models, default 600] [descents, default 20]
//! ```
//!
//! The minimum that the search finds is compared with two others: the lowest minimum of three descents with all events
//! (from the start values, and from the start values times 0.3 and times 3), and the lowest minimum of many descents
//! from random points.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/event/events_oracle/mod.rs"]
mod events_oracle;
#[path = "../tests/event/random_events/mod.rs"]
mod random_events;

use std::collections::BTreeMap;

use ns_compute::CpuSession;
use ns_core::{Execution, Search, Start};
use random_events::{fit, lowest_of_many, lowest_of_three, random_model};

/// Two minima count as different if their values of `-ln L` differ by more than this.
const LOWER: f64 = 5e-7;

/// Counts for one kind of random model: how many models were tested, and how often each result of the search for the
/// lowest minimum occurred.
#[derive(Debug, Default)]
struct Counts {
    models: usize,
    /// Number of searches that end without a certificate of convergence.
    failed: usize,
    /// Number of searches that end above the lowest minimum of three descents: from the initial values, and from
    /// these values times 0.3 and 3.
    above_three: usize,
    below_three: usize,
    /// Number of searches that end above the lowest minimum of all descents: the three descents and many descents
    /// from random points.
    missed: usize,
    missed_by_three: usize,
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let (first, models) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(600));
    let descents = numbers.next().unwrap_or(20) as usize;
    let mut kinds: BTreeMap<&str, Counts> = BTreeMap::new();
    for seed in first..first + models {
        let (kind, model) = random_model(seed);
        let counts = kinds.entry(kind).or_default();
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        counts.models += 1;
        let (three, _) = lowest_of_three(&session, &model);
        let many = lowest_of_many(&session, &model, seed, descents).min(three);
        counts.missed_by_three += usize::from(three > many + LOWER);
        let Some(found) = fit(&session, Start::Init, Search::Standard) else {
            counts.failed += 1;
            println!("model {seed} ({kind}): no certificate");
            continue;
        };
        counts.above_three += usize::from(found.nll > three + LOWER);
        counts.below_three += usize::from(found.nll < three - LOWER);
        counts.missed += usize::from(found.nll > many + LOWER);
        if found.nll > three + LOWER {
            let events = model.observed.events[0].len();
            println!(
                "model {seed} ({kind}, {events} events): {:.6} above three descents, those {:.6} above many",
                found.nll - three,
                three - many,
            );
        }
    }
    for (kind, counts) in kinds {
        println!("{kind}: {counts:?}");
    }
}
