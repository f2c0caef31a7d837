//! Tests of the search for the lowest minimum in models of events. The first steps of this search use gathered events
//! (few weighted events in place of all events).

use crate::random_events::{
    fit, lowest_of_places, lowest_of_three, narrow_peak, random_model, random_spectrum,
};
use ns_compute::CpuSession;
use ns_core::{Execution, Search, Start};

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

/// Spectra whose width is free (odd numbers) may have minima of other widths that are not found: 1 in 500.
#[test]
fn free_places_of_peaks_are_found() {
    let mut missed = Vec::new();
    for seed in 0..200 {
        let model = random_spectrum(seed);
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let found = fit(&session, Start::Init, Search::Standard).unwrap();
        let lowest = lowest_of_places(&session, &model);
        if found.nll > lowest + 1e-6 {
            missed.push((seed, found.nll - lowest));
        }
    }
    let with_given_width = missed.iter().filter(|(seed, _)| seed.is_multiple_of(2)).count();
    assert!(with_given_width == 0 && missed.len() <= 1, "{missed:?}");
}
