//! Reads bytes as a datacard, alone and put together with itself, and evaluates its model once. Nothing may panic, and
//! every model must compile.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ns_compute::CpuSession;
use ns_core::{Data, EvaluationRequest, Execution, Session as _};
use ns_translate::datacard::{Card, CardOptions, McStats};

/// The first lines of a card, so that most inputs have lines after the rates. Inputs that begin with `!` are whole cards.
const HEADER: &str = "imax *\njmax *\nkmax *\nbin b1 b2\nobservation 7 12\nbin b1 b1 b2 b2\n\
                      process sig bkg sig bkg\nprocess 0 1 0 1\nrate 3 8 1 6\n";

/// Largest number of bins of a model that is evaluated. It keeps the time of a single input short.
const MOST: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    let text = match data.split_first() {
        Some((b'!', rest)) => rest.to_vec(),
        _ => [HEADER.as_bytes(), data].concat(),
    };
    // Files that the card names are not there: the folder does not exist.
    let options = CardOptions {
        mass: Some(125.0),
        mc_stats: McStats::StatError,
        maps: vec![".*/sig:r[1,0,20]".parse().expect("a map")],
        ..CardOptions::default()
    };
    for options in [CardOptions::default(), options] {
        let read = Card::from_text(&text, "nowhere/card.txt", &options);
        let Ok(card) = read.inspect_err(|error| drop(error.to_string())) else { continue };
        let both = vec![("a".to_owned(), card.clone()), ("b".to_owned(), card.clone())];
        if let Ok(whole) = Card::combine(both).inspect_err(|error| drop(error.to_string())) {
            let _ = Card::from_text(whole.to_text("nowhere".as_ref()).as_bytes(), "whole.txt", &options);
        }
        let Ok(model) = card.model().inspect_err(|error| drop(error.to_string())) else { continue };
        if model.n_bins() > MOST {
            continue;
        }
        let session = CpuSession::open(&model, &Execution { threads: 1, ..Execution::default() });
        let session = session.expect("a model of a card compiles");
        let points = session.parameters().init.clone();
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let _ = session.evaluate(&Data::observed(), &points, request);
    }
});
