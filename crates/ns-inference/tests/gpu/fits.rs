//! Compares minima, covariances and rankings computed on the CPU with those computed on a GPU.

use ns_core::{Control, Data, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session};
use ns_inference::ranking::Side;
use ns_inference::{RankingOptions, RankingResult, ranking};

use super::absolute_terms;
use super::tolerances::{
    CUDA_BEST_FIT, CUDA_COVARIANCE, CUDA_IMPACT, CUDA_MINIMUM_FLOOR, CUDA_NLL_ROUNDINGS, CUDA_TOP,
};

fn fit(session: &dyn Session, data: &Data, search: Search) -> FitOutcome {
    let request = FitRequest { search, ..FitRequest::default() };
    let task = FitTask { data: data.clone(), fits: vec![request], cancel: None };
    let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    let mut outcomes = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0).unwrap()
}

/// Compares the best fits of the observed data on the CPU and on a GPU.
pub fn compare(name: &str, model: &Model, cpu: &dyn Session, gpu: &dyn Session, search: Search) {
    let (here, there) = (fit(cpu, &Data::observed(), search), fit(gpu, &Data::observed(), search));
    assert!(here.converged() && there.converged(), "{name}: {:?}, {:?}", here.status, there.status);
    let saturated = cpu.saturated_nll(&Data::observed()).unwrap().unwrap();
    let allowed =
        CUDA_MINIMUM_FLOOR + CUDA_NLL_ROUNDINGS * f64::EPSILON * absolute_terms(here.nll, saturated);
    let difference = there.nll - here.nll;
    assert!(
        difference.abs() <= allowed,
        "{name}: minima {} and {} differ by {difference:e}",
        here.nll,
        there.nll
    );
    assert_eq!(here.inactive, there.inactive, "{name}");
    let (mut far, mut apart) = (0.0_f64, 0.0_f64);
    for (i, parameter) in model.parameters.iter().enumerate() {
        // A parameter has no uncertainty if it is fixed or if the data do not determine it.
        let (Some(sigma), Some(other)) = (here.uncertainties[i], there.uncertainties[i]) else {
            assert_eq!(
                here.uncertainties[i].is_some(),
                there.uncertainties[i].is_some(),
                "{}",
                parameter.name
            );
            continue;
        };
        far = far.max((here.parameters[i] - there.parameters[i]).abs() / sigma.max(1.0));
        assert!(
            (sigma - other).abs() <= CUDA_COVARIANCE * sigma,
            "{name}, {}: {sigma} and {other}",
            parameter.name
        );
    }
    let (a, b) = (here.covariance.unwrap(), there.covariance.unwrap());
    for i in 0..a.n {
        for j in 0..a.n {
            let scale = (a.get(i, i) * a.get(j, j)).sqrt();
            if scale > 0.0 {
                apart = apart.max((a.get(i, j) - b.get(i, j)).abs() / scale);
            } else {
                assert_eq!((a.get(i, j), b.get(i, j)), (0.0, 0.0), "{name}");
            }
        }
    }
    eprintln!("{name}: minimum {difference:+.1e}, best fit {far:.1e}, covariance {apart:.1e}");
    assert!(
        far <= CUDA_BEST_FIT && apart <= CUDA_COVARIANCE,
        "{name}: best fit {far:e}, covariance {apart:e}"
    );
}

/// Compares the post-fit rankings by refits on the CPU and on a GPU.
pub fn compare_rankings(name: &str, model: &Model, cpu: &dyn Session, gpu: &dyn Session) {
    let rank = |session: &dyn Session| -> RankingResult {
        ranking(model, session, &RankingOptions::default(), Control::default()).unwrap()
    };
    let (here, there) = (rank(cpu), rank(gpu));
    assert_eq!((here.n_failed, there.n_failed), (0, 0), "{name}");
    let top = |result: &RankingResult| -> Vec<String> {
        result.ranking.iter().take(CUDA_TOP as usize).map(|entry| entry.name.clone()).collect()
    };
    assert_eq!(top(&here), top(&there), "{name}");
    let mut worst = 0.0_f64;
    for entry in &here.ranking {
        let other = there.get(&entry.name).unwrap();
        for side in [Side::Up, Side::Down] {
            let (a, b) = (entry.impacts.delta(side), other.impacts.delta(side));
            assert_eq!(a.is_some(), b.is_some(), "{name}, {}", entry.name);
            worst = worst.max((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs());
        }
    }
    eprintln!("{name}: {} impacts, largest difference {worst:.1e}", 2 * here.ranking.len());
    assert!(worst <= CUDA_IMPACT, "{name}: {worst:e}");
}
