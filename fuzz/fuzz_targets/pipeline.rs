//! Validates, compiles and evaluates bytes or a mutated fixture. Every workspace that passes validation must
//! compile, and its evaluation must not panic.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use ns_compute::CpuSession;
use ns_core::{Data, EvaluationRequest, Execution, Interpolation, Model, Session as _};
use ns_translate::pyhf::{ModelOptions, Workspace, validate_slice};

fuzz_target!(|data: &[u8]| {
    // Bytes that begin with a brace are read as text. All other bytes choose the changes to a fixture.
    if data.first() == Some(&b'{') {
        if let Ok(workspace) = Workspace::from_slice(data) {
            run(&workspace, &mut Unstructured::new(data));
        }
        let _ = validate_slice(data);
        return;
    }
    let mut u = Unstructured::new(data);
    let Ok(document) = ns_fuzz::mutated(&mut u) else { return };
    if let Ok(workspace) = Workspace::from_value(document) {
        let _ = workspace.validate();
        run(&workspace, &mut u);
    }
});

fn run(workspace: &Workspace, u: &mut Unstructured<'_>) {
    for interpolation in [Interpolation::SMOOTH, Interpolation::PIECEWISE] {
        let options = ModelOptions { interpolation, ..ModelOptions::default() };
        if let Ok(model) = workspace.model(&options) {
            evaluate(&model, u);
        }
    }
}

fn evaluate(model: &Model, u: &mut Unstructured<'_>) {
    let n = model.parameters.len();
    let session = CpuSession::open(model, &Execution { threads: 1, ..Execution::default() }).expect("a validated model compiles");
    let table = session.parameters();
    assert_eq!(table.init.len(), n);
    let mut points: Vec<f64> = table.init.clone();
    // A second point, with each parameter between its bounds or at one of them.
    for &(lo, hi) in &table.bounds {
        let t = f64::from(u.arbitrary::<u8>().unwrap_or(128)) / 255.0;
        points.push(lo + t * (hi.min(1e3) - lo));
    }
    let request = EvaluationRequest { nll: true, gradient: true, hessian: n <= 64, expected: true, samples: true };
    if let Ok(values) = session.evaluate(&Data::observed(), &points, request) {
        assert_eq!(values.nll.len(), 2);
        assert_eq!(values.gradient.len(), 2 * n);
        assert_eq!(values.expected.len(), 2 * (model.n_bins() + model.observed.aux.len()));
    }
    let _ = session.saturated_nll(&Data::observed());
}
