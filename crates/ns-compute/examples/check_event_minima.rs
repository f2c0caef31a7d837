//! Counts how often the search misses the lowest minimum of random models of events.
//!
//! ```text
//! cargo run --release -p ns-compute --example check_event_minima -- [first, default 0] [models, default 600] [descents, default 20]
//! ```
//!
//! Beside the search stand three descents with all events (from the start values, and from all of them times 0.3 and 3) and
//! the lowest of many descents from random points.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/events_oracle/mod.rs"]
mod events_oracle;
#[path = "../tests/random_events/mod.rs"]
mod random_events;

use std::collections::BTreeMap;

use ns_compute::CpuSession;
use ns_core::{Execution, Search, Start};
use random_events::{fit, lowest_of_many, lowest_of_three, random_model};

/// Smallest difference in `-ln L` between two different minima.
const LOWER: f64 = 5e-7;

/// Counts of one kind of model.
#[derive(Debug, Default)]
struct Counts {
    models: usize,
    /// Searches without a certificate.
    failed: usize,
    /// Searches that end above the three descents, and the other way round.
    above_three: usize,
    below_three: usize,
    /// Searches, and lowest ones of three descents, that end above the lowest of many.
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
