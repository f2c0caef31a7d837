//! Compares covariances computed by the kernels compiled for the CPU with those of a CPU session.

use ns_core::{
    Data, Drawn, EvaluationRequest, Execution, FitRequest, FitTask, Interpolation, Model, Parameter,
    ParameterSet, Search, Session, Start,
};

use super::super::host;
use super::super::test_support::{both, execution};
use super::*;
use crate::cpu::CpuSession;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

mod cancelled;

const HESSIAN: EvaluationRequest =
    EvaluationRequest { nll: false, gradient: false, hessian: true, expected: false, samples: false };
const ALL: OutcomeParts = OutcomeParts { uncertainties: true, covariance: true, inverse: false };

fn run(session: &dyn Session, tasks: &[FitTask], wanted: OutcomeParts) -> Vec<TaskOutcome> {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(tasks, wanted, Control::default(), &mut outcomes).unwrap();
    outcomes
}

/// Returns a random model without kinks whose fits the device can make. In this model, free parameters on which nothing
/// depends are fixed.
fn fitted_model(seed: u64) -> Model {
    let mut model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(seed) };
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let session = CpuSession::open(&model, &execution()).unwrap();
    models::hold_idle(&mut model, &session, &point);
    model
}

fn local(fixed: &[(usize, f64)]) -> FitRequest {
    FitRequest { search: Search::Local, fixed: fixed.to_vec(), ..FitRequest::default() }
}

/// Compares a fit `there` that a device made, including its covariance, with the same fit `here` that the CPU made.
/// Returns the largest difference between two covariance elements `C_ij`, divided by `sqrt(C_ii C_jj)`.
fn compare(what: &str, here: &FitOutcome, there: &FitOutcome) -> f64 {
    assert_eq!(here.status, there.status, "{what}");
    assert_eq!(here.inactive, there.inactive, "{what}");
    let (a, b) = (here.covariance.as_ref().unwrap(), there.covariance.as_ref().unwrap());
    assert_eq!(a.n, b.n);
    let mut worst = 0.0_f64;
    for i in 0..a.n {
        let (known, other) = (here.uncertainties[i], there.uncertainties[i]);
        assert_eq!(known.is_some(), other.is_some(), "{what}, {i}");
        let deviation = other.map(|sigma| (sigma * sigma - b.get(i, i)).abs() / b.get(i, i));
        assert!(deviation.unwrap_or(0.0) < 1e-14, "{what}, {i}");
        for j in 0..a.n {
            let scale = (a.get(i, i) * a.get(j, j)).sqrt();
            if known.is_some() && here.uncertainties[j].is_some() {
                worst = worst.max((a.get(i, j) - b.get(i, j)).abs() / scale);
            } else {
                assert_eq!(b.get(i, j), a.get(i, j), "{what}, ({i}, {j})");
            }
            assert_eq!(b.get(i, j).to_bits(), b.get(j, i).to_bits());
        }
    }
    assert!(there.certificate.edm >= 0.0 && there.certificate.edm <= EDM_TOLERANCE, "{what}");
    let (slope, bound) = (there.certificate.projected_gradient, here.certificate.projected_gradient);
    assert!((0.0..=10.0 * bound + 1e-5).contains(&slope), "{what}: {slope:e} and {bound:e}");
    worst
}

/// Summary of the covariances that the device computed for a batch of fits.
#[derive(Debug, Default)]
struct Confirmed {
    /// Number of fits whose covariances were wanted.
    asked: usize,
    /// Number of fits whose covariances the device computed.
    made: usize,
    /// Largest difference between an element `C_ij` of a covariance and of the inverse of the CPU's Hessian at the
    /// same point, divided by `sqrt(C_ii C_jj)`.
    worst: f64,
}

/// Calls `work` with the inputs for computing the uncertainties of the fits of `tasks`. The tasks have given data.
fn with_fitted(gpu: &GpuSession, tasks: &[FitTask], work: impl FnOnce(&Fitted<'_>)) {
    let set = |task: &FitTask| gpu.cpu.dataset(&task.data).unwrap();
    let sets: Vec<Dataset> =
        tasks.iter().map(|task| set(task).unwrap_or_else(|| gpu.cpu.observed.as_ref().clone())).collect();
    let numbers: Vec<f64> = sets.iter().flat_map(|data| data.main.iter().chain(&data.aux).copied()).collect();
    let data = Buffer::holding(&gpu.backend, &numbers).unwrap();
    work(&Fitted {
        domain: &|i, k| Cow::Owned(FitDomain::new(gpu.cpu.table(), &tasks[i].fits[k])),
        sets: data.at(),
        set_of: &|i| i,
        data: &|i| Cow::Borrowed(&sets[i]),
        drawn: false,
    });
}

/// Fits a batch. The device alone computes the covariances, which are then compared with the CPU. Adds the result of
/// the comparison to `all`.
fn confirm(gpu: &GpuSession, tasks: &[FitTask], all: &mut Confirmed) {
    let mut outcomes = run(gpu, tasks, OutcomeParts::default());
    let (mut places, mut left) = (Vec::new(), Vec::new());
    for (i, task) in outcomes.iter().enumerate() {
        for (k, fit) in task.fits.iter().enumerate() {
            let Ok(fit) = fit else { continue };
            if gpu.is_plain(fit, &FitDomain::new(gpu.cpu.table(), &tasks[i].fits[k])) {
                places.push((i, k));
            } else {
                left.push((i, k));
            }
        }
    }
    let placement = gpu.covers(ALL).unwrap();
    all.asked += places.len() + left.len();
    with_fitted(gpu, tasks, |fitted| {
        gpu.invert(placement, &mut outcomes, fitted, ALL, &places, &mut left).unwrap();
    });
    for (i, k) in places {
        let fit = outcomes[i].fits[k].as_ref().unwrap();
        assert_eq!(fit.uncertainties.is_empty(), left.contains(&(i, k)));
        let Some(covariance) = &fit.covariance else { continue };
        all.made += 1;
        let domain = FitDomain::new(gpu.cpu.table(), &tasks[i].fits[k]);
        all.worst = all.worst.max(apart(gpu, &tasks[i].data, &domain, fit, covariance));
    }
}

/// Returns the largest difference between an element `C_ij` of a covariance and the same element of the inverse of the
/// CPU's Hessian at the same point, divided by `sqrt(C_ii C_jj)`.
fn apart(
    gpu: &GpuSession,
    data: &Data,
    domain: &FitDomain,
    fit: &FitOutcome,
    covariance: &Covariance,
) -> f64 {
    let hessian = gpu.cpu.evaluate(data, &fit.parameters, HESSIAN).unwrap().hessian;
    let rests = |p: usize| domain.fixed[p] || fit.inactive.iter().any(|(q, _)| *q == p);
    let expected = inverse(&hessian, covariance.n, &rests);
    let mut worst = 0.0_f64;
    for (at, x) in covariance.values.iter().enumerate() {
        let (row, column) = (at / covariance.n, at % covariance.n);
        if rests(row) || rests(column) {
            assert_eq!(x.to_bits(), 0);
            continue;
        }
        let scale = (covariance.get(row, row) * covariance.get(column, column)).sqrt();
        worst = worst.max((x - expected[at]).abs() / scale);
    }
    worst
}

/// Returns the inverse of the Hessian over the parameters that may move (`rests` is false). It is computed by
/// elimination with the largest pivot first. Elements of other parameters have no meaning.
fn inverse(hessian: &[f64], n: usize, rests: &dyn Fn(usize) -> bool) -> Vec<f64> {
    let mut a = hessian.to_vec();
    let mut to_do: Vec<usize> = (0..n).filter(|&p| !rests(p)).collect();
    let scale: Vec<f64> = (0..n).map(|p| hessian[p * (n + 1)].abs().sqrt()).collect();
    while let Some(place) = (0..to_do.len()).max_by(|&i, &j| {
        let size = |p: usize| a[p * (n + 1)] / (scale[p] * scale[p]);
        size(to_do[i]).total_cmp(&size(to_do[j]))
    }) {
        let k = to_do.swap_remove(place);
        let pivot = a[k * (n + 1)];
        let column: Vec<f64> = (0..n).map(|i| a[i * n + k]).collect();
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = match (i == k, j == k) {
                    (true, true) => -1.0 / pivot,
                    (true, false) => column[j] / pivot,
                    (false, true) => column[i] / pivot,
                    (false, false) => a[i * n + j] - column[i] * column[j] / pivot,
                };
            }
        }
    }
    a.iter().map(|x| -x).collect()
}

#[test]
fn covariances_of_fits_are_the_cpu_s() {
    let (mut worst, mut fits, mut confirmed) = (0.0_f64, 0, Confirmed::default());
    for seed in 0..40 {
        let model = fitted_model(seed);
        let (cpu, gpu) = both(&model);
        let mut observed = model.observed.clone();
        for (i, x) in observed.main.iter_mut().enumerate() {
            *x += (i % 3) as f64;
        }
        let tasks = [
            FitTask { data: Data::observed(), fits: vec![local(&[]), local(&[(0, 1.25)])], cancel: None },
            FitTask { data: observed.into(), fits: vec![local(&[]), FitRequest::default()], cancel: None },
        ];
        let (here, there) = (run(&cpu, &tasks, ALL), run(&gpu, &tasks, ALL));
        for (k, (a, b)) in here.iter().zip(&there).flat_map(|(a, b)| a.fits.iter().zip(&b.fits)).enumerate() {
            let (Ok(a), Ok(b)) = (a, b) else {
                assert_eq!(a.is_ok(), b.is_ok(), "seed {seed}, fit {k}");
                continue;
            };
            // Two descents may end in different minima, or at different points if the data hardly constrain a
            // parameter.
            let near = a.parameters.iter().zip(&b.parameters).all(|(x, y)| (x - y).abs() < 1e-8);
            if near && a.inactive == b.inactive {
                worst = worst.max(compare(&format!("seed {seed}, fit {k}"), a, b));
                fits += 1;
            }
        }
        confirm(&gpu, &tasks, &mut confirmed);
    }
    assert!(worst < 1e-6 && fits > 60, "{fits} fits, {worst:e} apart; {confirmed:?}");
    let Confirmed { asked, made, worst } = confirmed;
    assert!(worst < 1e-8 && made * 2 > asked, "{made} of {asked} by the device, {worst:e} apart");
}

/// Returns each outcome as text. Two outcomes have the same text only if their numbers have the same bits, because
/// Rust prints as many digits as a number needs to differ from all other numbers.
fn text(outcomes: &[TaskOutcome]) -> Vec<String> {
    outcomes.iter().map(|outcome| format!("{outcome:?}")).collect()
}

#[test]
fn uncertainties_do_not_depend_on_the_batch_nor_on_what_else_is_wanted() {
    let model = fitted_model(13);
    let (_, gpu) = both(&model);
    let multi_gpu = host::open_several(&model, &execution(), 2).unwrap();
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let source = gpu.toy_source(&point, &Data::observed(), 9, 1).unwrap();
    let near = FitRequest { start: Start::At(point.into()), ..local(&[]) };
    let fits = vec![near.clone(), FitRequest { start: Start::Earlier(0), fixed: vec![(0, 1.5)], ..near }];
    let toys = |toys| {
        let data = Data::from(Drawn { source: Arc::clone(&source), toys });
        [FitTask { data, fits: fits.clone(), cancel: None }]
    };
    let given = |toys: std::ops::Range<u64>| -> Vec<FitTask> {
        toys.map(|toy| FitTask { data: source.draw(toy).into(), fits: fits.clone(), cancel: None }).collect()
    };
    let drawn = run(&gpu, &toys(0..300), ALL);
    assert_eq!(text(&run(&gpu, &toys(17..60), ALL)), text(&drawn[17..60]));
    assert_eq!(text(&run(&multi_gpu, &toys(0..300), ALL)), text(&drawn));
    let all_given = run(&gpu, &given(0..30), ALL);
    assert_eq!(text(&run(&gpu, &given(11..12), ALL)), text(&all_given[11..12]));
    assert_eq!(text(&run(&multi_gpu, &given(0..30), ALL)), text(&all_given));

    let plain = run(&gpu, &toys(0..300), OutcomeParts::default());
    let alone =
        run(&gpu, &toys(0..300), OutcomeParts { uncertainties: true, covariance: false, inverse: false });
    let (mut worst, mut made) = (0.0_f64, 0);
    for (toy, ((all, alone), plain)) in drawn.iter().zip(&alone).zip(&plain).enumerate() {
        for (k, ((all, alone), plain)) in all.fits.iter().zip(&alone.fits).zip(&plain.fits).enumerate() {
            let (Ok(all), Ok(alone), Ok(plain)) = (all, alone, plain) else { continue };
            assert!((all.nll - plain.nll).abs() < 1e-10);
            assert_eq!(all.uncertainties, alone.uncertainties);
            assert!(alone.covariance.is_none() && plain.uncertainties.is_empty());
            if all.n_iterations == plain.n_iterations {
                made += 1;
                let domain = FitDomain::new(gpu.cpu.table(), &fits[k]);
                let data = source.draw(toy as u64).into();
                worst = worst.max(apart(&gpu, &data, &domain, all, all.covariance.as_ref().unwrap()));
            }
        }
    }
    assert!(made > 500 && worst < 1e-8, "{made} by the device, {worst:e} apart");
}

#[test]
fn what_the_device_cannot_confirm_is_left_to_the_cpu() {
    // This model has a free parameter on which nothing depends.
    let mut flat = fitted_model(13);
    let idle = flat.parameters.len();
    flat.parameters.push(Parameter { name: "idle".into(), ..flat.parameters[0].clone() });
    let set = ParameterSet { name: "idle".into(), range: idle..idle + 1, scalar: true };
    flat.parameter_sets.push(set);
    // This model has a parameter that ends at its bound.
    let mut bounded = fitted_model(13);
    let best = run(&both(&bounded).0, &[task(local(&[]))], OutcomeParts::default())
        .remove(0)
        .fits
        .remove(0)
        .unwrap();
    bounded.parameters[0].bounds.0 = best.parameters[0] + 0.5;
    bounded.parameters[0].init = best.parameters[0] + 1.0;
    for (name, model, at_bound, is_flat) in [("flat", &flat, false, true), ("bounded", &bounded, true, false)]
    {
        let (cpu, gpu) = both(model);
        let tasks = [task(local(&[])), task(local(&[(2, 1.01)]))];
        let expected = run(&cpu, &tasks, ALL);
        let mut got = run(&cpu, &tasks, OutcomeParts::default());
        with_fitted(&gpu, &tasks, |fitted| {
            let placement = gpu.covers(ALL).unwrap();
            gpu.add_uncertainties(placement, &mut got, fitted, ALL, Control::default()).unwrap();
        });
        for (a, b) in expected.iter().zip(&got) {
            let (a, b) = (a.fits[0].as_ref().unwrap(), b.fits[0].as_ref().unwrap());
            assert!(compare(name, a, b) < 1e-6, "{name}");
            let inactive = |why| b.inactive.iter().any(|(_, other)| *other == why);
            assert_eq!(
                (inactive(Inactive::LowerBound), inactive(Inactive::Flat)),
                (at_bound, is_flat),
                "{name}"
            );
            assert_eq!(b.n_iterations > a.n_iterations, is_flat, "{name}");
        }
        // The certificate does not hold at a point beside the minimum, so the CPU continues the fit.
        let mut test_support = run(&cpu, &tasks[..1], OutcomeParts::default());
        test_support[0].fits[0].as_mut().unwrap().parameters[1] += 1e-3;
        with_fitted(&gpu, &tasks[..1], |fitted| {
            let placement = gpu.covers(ALL).unwrap();
            gpu.add_uncertainties(placement, &mut test_support, fitted, ALL, Control::default()).unwrap();
        });
        let test_support = test_support[0].fits[0].as_ref().unwrap();
        assert!(test_support.certificate.edm <= EDM_TOLERANCE);
        assert!((test_support.nll - expected[0].fits[0].as_ref().unwrap().nll).abs() < 1e-9, "{name}");
    }
}

fn task(request: FitRequest) -> FitTask {
    FitTask { data: Data::observed(), fits: vec![request], cancel: None }
}
