//! Reads bytes or a mutated HS3 model, builds every analysis, writes the model again, and evaluates it once.
//! Every model that is read must compile. A model that is written again must be the same. Nothing may panic.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use ns_compute::CpuSession;
use ns_core::{Data, EvaluationRequest, Execution, Model, Session as _};
use ns_translate::hs3::{Hs3, wanted_columns};
use ns_translate::pyhf::{ModelOptions, workspace_of};

/// Largest number of events and bins of a model that is evaluated. It keeps the time of a single input short.
const MOST: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'{') {
        return read(data);
    }
    let mut u = Unstructured::new(data);
    if let Ok(document) = ns_fuzz::mutated_hs3(&mut u) {
        read(document.to_string().as_bytes());
    }
});

fn read(text: &[u8]) {
    let _ = wanted_columns(text);
    let Ok(file) = Hs3::from_slice(text).inspect_err(|error| drop(error.to_string())) else { return };
    let _ = file.validate();
    for name in file.analysis_names() {
        let options = ModelOptions { measurement: Some(name), ..ModelOptions::default() };
        let Ok(model) = file.model(&options).inspect_err(|error| drop(error.to_string())) else { continue };
        let restated = file.restated().expect("a file is written").to_string();
        let again = Hs3::from_slice(restated.as_bytes()).expect("what is written is read");
        let again = again.model(&options).expect("it has the same analyses");
        assert_eq!(again.digest(), model.digest());
        let _ = workspace_of(&model).inspect_err(|error| drop(error.to_string()));
        evaluate(&model);
    }
}

fn evaluate(model: &Model) {
    let events: usize = model.observed.events.iter().map(|table| table.len()).sum();
    if events + model.n_bins() > MOST {
        return;
    }
    let Ok(session) = CpuSession::open(model, &Execution { threads: 1, ..Execution::default() }) else { return };
    let points = session.parameters().init.clone();
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    let _ = session.evaluate(&Data::observed(), &points, request);
}
