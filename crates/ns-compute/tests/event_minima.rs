//! Tests of the search for the lowest minimum in models of events. The first steps of this search use gathered events
//! (few weighted events in place of all events).
#![allow(clippy::unwrap_used, clippy::panic)]

mod events_oracle;
mod random_events;

use ns_compute::CpuSession;
use ns_core::{Execution, Search, Start};
use random_events::{fit, lowest_of_three, narrow_peak, random_model};

#[test]
fn gathered_events_lead_to_the_minima_that_all_events_have() {
    for seed in 0..36 {
        let (kind, model) = random_model(seed);
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let found = fit(&session, Start::Init, Search::Standard).unwrap();
        let (three, _) = lowest_of_three(&session, &model);
        assert!(found.nll <= three + 5e-7, "model {seed} ({kind}): {} above", found.nll - three);
    }
}

#[test]
fn a_peak_narrower_than_the_cells_is_found() {
    let (model, truth) = narrow_peak();
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    let found = fit(&session, Start::Init, Search::Standard).unwrap();
    let near_truth = fit(&session, Start::At(truth.into()), Search::Local).unwrap();
    assert!(found.nll <= near_truth.nll + 5e-7, "{} above", found.nll - near_truth.nll);
}
