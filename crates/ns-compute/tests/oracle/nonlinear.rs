//! A strongly nonlinear model whose minima are known, because every bin has its own parameter.

use std::sync::Arc;

use ns_core::{
    Channel, ChannelAxis, Constraint, Control, Data, Drawn, Effect, EvaluationRequest, FitRequest, FitTask,
    Interpolation, Model, Modifier, Observations, OutcomeParts, Parameter, ParameterSet, Sample, Search,
    Session, Start, TaskOutcome,
};

/// Number of background bins. In each of them, one nuisance parameter changes the background. The change is the same
/// for both signs of the parameter. One further bin contains the signal.
const NONLINEAR_BINS: usize = 6;
/// Nominal background in each of the [`NONLINEAR_BINS`] bins, in events.
const BACKGROUND: f64 = 100.0;
/// Change of the background at the parameter values 1 and -1, in events.
const CURVATURE: f64 = 40.0;
/// Nominal signal, in events.
const SIGNAL: f64 = 50.0;
/// Value of the nuisance parameters at which toys are drawn and descents begin.
const AT: f64 = 0.8;

/// Returns the model. Every bin has its own parameter, so the lowest minimum can be found bin by bin. The best value of
/// each nuisance parameter may be positive or negative.
pub(super) fn model() -> Model {
    let modifier = |first, effect| Modifier { name: String::new(), first, effect };
    let background = |b: usize| if b < NONLINEAR_BINS { BACKGROUND } else { 0.0 };
    let bend = |p: usize| {
        let far: Vec<f64> =
            (0..=NONLINEAR_BINS).map(|b| background(b) + if b == p { CURVATURE } else { 0.0 }).collect();
        modifier(p + 1, Effect::HistoSys { hi: far.clone(), lo: far })
    };
    let sample = |name: &str, nominal: Vec<f64>, modifiers| Sample { name: name.into(), nominal, modifiers };
    let signal = (0..=NONLINEAR_BINS).map(|b| if b == NONLINEAR_BINS { SIGNAL } else { 0.0 }).collect();
    let samples = vec![
        sample("signal", signal, vec![modifier(0, Effect::NormFactor)]),
        sample(
            "background",
            (0..=NONLINEAR_BINS).map(background).collect(),
            (0..NONLINEAR_BINS).map(bend).collect(),
        ),
    ];
    let pull = |aux| Constraint::Gaussian { sigma: 1.0, aux };
    let parameter =
        |name: String, init, bounds, constraint| Parameter { name, init, bounds, fixed: false, constraint };
    let mut parameters = vec![parameter("mu".into(), 1.0, (0.0, 10.0), Constraint::None)];
    parameters.extend((0..NONLINEAR_BINS).map(|p| parameter(format!("bent{p}"), 0.0, (-5.0, 5.0), pull(p))));
    let set =
        |(i, p): (usize, &Parameter)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true };
    let parameter_sets = parameters.iter().enumerate().map(set).collect();
    let counts = (0..=NONLINEAR_BINS)
        .map(|b| background(b) + if b == NONLINEAR_BINS { SIGNAL } else { 0.0 })
        .collect();
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "bent".into(),
        channels: vec![Channel {
            name: "c".into(),
            first_bin: 0,
            n_bins: NONLINEAR_BINS + 1,
            samples,
            axis: ChannelAxis::default(),
        }],
        parameters,
        parameter_sets,
        pois: vec![0],
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(counts, vec![0.0; NONLINEAR_BINS]),
        warnings: Vec::new(),
    }
}

/// Returns the parameter value with the lowest `-ln L` in one bin with the given count and auxiliary datum. It is the
/// best point of a fine grid, refined between the neighbouring points.
fn lowest(count: f64, datum: f64) -> f64 {
    let value = |x: f64| {
        let square = x * x;
        let inside = square * (15.0 + square * (3.0 * square - 10.0)) / 8.0;
        let expected = BACKGROUND + CURVATURE * if x.abs() < 1.0 { inside } else { x.abs() };
        expected - count * expected.ln() + 0.5 * (x - datum).powi(2)
    };
    let grid = (-500..=500).map(|i| f64::from(i) / 100.0);
    let near = grid.min_by(|&x, &y| value(x).total_cmp(&value(y))).unwrap();
    let (mut low, mut high) = ((near - 0.01).max(-5.0), (near + 0.01).min(5.0));
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if value(low + third) < value(high - third) { high -= third } else { low += third }
    }
    0.5 * (low + high)
}

/// Result of [`missed`]: the toys whose fits end above the lowest minimum of their `-ln L`.
pub(super) struct Missed {
    /// Number of toys that were fitted.
    pub(super) toys: usize,
    /// For each such toy, its index, and the height of its fit above the lowest minimum in units of `-ln L`.
    pub(super) above: Vec<(usize, f64)>,
}

/// Fits 400 toys on `session` and compares their values of `-ln L` with those at the lowest minima, which
/// `cpu` evaluates.
pub(super) fn missed(session: &dyn Session, cpu: &dyn Session) -> Missed {
    const TOYS: u64 = 400;
    let mut point = vec![AT; NONLINEAR_BINS + 1];
    point[0] = 1.0;
    let source = session.toy_source(&point, &Data::observed(), 5, 0).unwrap();
    let request =
        FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
    let drawn = Drawn { source: Arc::clone(&source), toys: 0..TOYS };
    let tasks = [FitTask { data: drawn.into(), fits: vec![request], cancel: None }];
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&tasks, OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    assert_eq!(outcomes.len() as u64, TOYS);

    let (mut sides, mut above) = (0, Vec::new());
    for (toy, outcome) in outcomes.iter().enumerate() {
        let fit = outcome.fits[0].as_ref().unwrap();
        assert!(fit.converged(), "toy {toy}: {:?}", fit.status);
        let data = source.draw(toy as u64);
        let mut best = vec![(data.main[NONLINEAR_BINS] / SIGNAL).min(10.0)];
        best.extend(data.main.iter().zip(&data.aux).map(|(&count, &datum)| lowest(count, datum)));
        // A single descent from the starting point does not reach a minimum with a negative nuisance
        // parameter.
        sides += usize::from(best[1..].iter().any(|x| *x < -0.1));
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let least = cpu.evaluate(&data.into(), &best, request).unwrap().nll[0];
        assert!(fit.nll > least - 1e-9, "toy {toy}: {} is lower than {least}", fit.nll);
        if fit.nll > least + 1e-6 {
            above.push((toy, fit.nll - least));
        }
    }
    assert!(sides * 2 > outcomes.len(), "{sides} toys have a parameter on the other side");
    Missed { toys: outcomes.len(), above }
}
