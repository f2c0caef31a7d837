//! How far chains agree, and how many independent draws they are worth.
//!
//! A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Bayesian Analysis 16 (2021) 667, arXiv:1903.08008.

use crate::normal;

/// Returns the rank-normalised split R-hat of one quantity: the larger one of that of the draws and that of their distances
/// from the median. `chains` has the draws of each chain, all of the same length. `None` if there are fewer than 4 draws
/// per chain or the draws do not vary.
pub(super) fn r_hat(chains: &[&[f64]]) -> Option<f64> {
    let halves = split(chains)?;
    let median = quantile_of(chains, 0.5)?;
    let folded: Vec<Vec<f64>> =
        halves.iter().map(|half| half.iter().map(|x| (x - median).abs()).collect()).collect();
    let bulk = basic_r_hat(&rank_normalised(&halves))?;
    Some(basic_r_hat(&rank_normalised(&folded)).map_or(bulk, |tail| bulk.max(tail)))
}

/// Returns the effective number of draws for the centre of the distribution.
pub(super) fn ess_bulk(chains: &[&[f64]]) -> Option<f64> {
    ess(&rank_normalised(&split(chains)?))
}

/// Returns the smaller one of the effective numbers of draws for the quantiles at 5 % and 95 %.
pub(super) fn ess_tail(chains: &[&[f64]]) -> Option<f64> {
    let of = |p: f64| ess_quantile(chains, quantile_of(chains, p)?);
    Some(of(0.05)?.min(of(0.95)?))
}

/// Returns the effective number of draws for the probability to be at most `value`.
pub(super) fn ess_quantile(chains: &[&[f64]], value: f64) -> Option<f64> {
    let below = |half: &Vec<f64>| half.iter().map(|x| f64::from(u8::from(*x <= value))).collect();
    ess(&split(chains)?.iter().map(below).collect::<Vec<Vec<f64>>>())
}

/// Returns the effective number of draws for the mean.
pub(super) fn ess_mean(chains: &[&[f64]]) -> Option<f64> {
    ess(&split(chains)?)
}

/// Returns the quantile `p` of all draws, interpolated between neighbouring draws.
pub(super) fn quantile_of(chains: &[&[f64]], p: f64) -> Option<f64> {
    let mut all: Vec<f64> = chains.iter().flat_map(|chain| chain.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    quantile_of_sorted(&all, p)
}

/// Returns the quantile `p` of draws in ascending order.
pub(crate) fn quantile_of_sorted(all: &[f64], p: f64) -> Option<f64> {
    let last = all.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let (below, fraction) = (place.floor() as usize, place - place.floor());
    let low = *all.get(below)?;
    let high = all.get(below + 1).copied().unwrap_or(low);
    Some(low + fraction * (high - low))
}

/// Cuts every chain into halves, so that a chain that drifts disagrees with itself.
fn split(chains: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
    let half = chains.iter().map(|chain| chain.len()).min()? / 2;
    if half < 2 {
        return None;
    }
    let halves = chains.iter().flat_map(|chain| {
        let (first, last) = (chain.get(..half), chain.get(chain.len() - half..));
        [first, last].into_iter().flatten().map(<[f64]>::to_vec)
    });
    Some(halves.collect())
}

/// Replaces each draw by the normal quantile of its rank among all draws. Equal draws have their mean rank.
fn rank_normalised(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for (c, chain) in chains.iter().enumerate() {
        order.extend(chain.iter().enumerate().map(|(i, x)| (*x, c, i)));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = order.len() as f64;
    let mut out: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
    let mut first = 0;
    for equal in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = first as f64 + 0.5 * (equal.len() as f64 + 1.0);
        let z = -normal::quantile((rank - 0.375) / (n + 0.25));
        for (_, c, i) in equal {
            if let Some(to) = out.get_mut(*c).and_then(|chain| chain.get_mut(*i)) {
                *to = z;
            }
        }
        first += equal.len();
    }
    out
}

/// Mean and variance (with `n - 1`) of draws.
fn moments(draws: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    (mean, draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// The mean variance within chains, and the estimate of the variance from all chains.
fn variances(chains: &[Vec<f64>]) -> Option<(f64, f64)> {
    let n = chains.first()?.len() as f64;
    let all: Vec<(f64, f64)> = chains.iter().map(|chain| moments(chain)).collect();
    let within = all.iter().map(|m| m.1).sum::<f64>() / all.len() as f64;
    let means: Vec<f64> = all.iter().map(|m| m.0).collect();
    let between = if means.len() > 1 { moments(&means).1 } else { 0.0 };
    Some((within, (n - 1.0) / n * within + between))
}

fn basic_r_hat(chains: &[Vec<f64>]) -> Option<f64> {
    let (within, total) = variances(chains)?;
    (within > 0.0).then(|| (total / within).sqrt())
}

/// Returns the effective number of draws from the autocorrelations, which are summed in pairs as long as the pairs are
/// positive and made monotone (C. J. Geyer, Statist. Sci. 7 (1992) 473).
fn ess(chains: &[Vec<f64>]) -> Option<f64> {
    let (within, total) = variances(chains)?;
    let n = chains.first()?.len();
    if !(total > 0.0) {
        return None;
    }
    let means: Vec<f64> = chains.iter().map(|chain| moments(chain).0).collect();
    let correlation = |lag: usize| {
        let of_chain = |(chain, mean): (&Vec<f64>, &f64)| {
            let later = chain.get(lag..).unwrap_or_default();
            chain.iter().zip(later).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n as f64
        };
        let sum: f64 = chains.iter().zip(&means).map(of_chain).sum();
        // The variance within chains is here the one without the factor n / (n - 1).
        1.0 - (within - sum / chains.len() as f64 * n as f64 / (n as f64 - 1.0)) / total
    };
    let mut tau = -1.0;
    let mut smallest = f64::INFINITY;
    for pair in 0..n / 2 {
        let sum =
            if pair == 0 { 1.0 + correlation(1) } else { correlation(2 * pair) + correlation(2 * pair + 1) };
        if !(sum > 0.0) {
            break;
        }
        smallest = smallest.min(sum);
        tau += 2.0 * smallest;
    }
    let draws = (chains.len() * n) as f64;
    // More draws than there are can only be worth a little more.
    Some(draws / tau.max(1.0 / draws.log10()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// An autoregressive chain with the correlation `rho` and the given offset, made of a fixed sequence of numbers.
    fn chain(seed: u64, n: usize, rho: f64, offset: f64) -> Vec<f64> {
        let (mut state, mut x) = (seed, 0.0);
        let next = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        for _ in 0..20 {
            next(&mut state);
        }
        (0..n)
            .map(|_| {
                x = rho * x + (1.0 - rho * rho).sqrt() * normal::quantile(next(&mut state));
                x + offset
            })
            .collect()
    }

    fn of(chains: &[Vec<f64>]) -> Vec<&[f64]> {
        chains.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn independent_draws_are_worth_themselves() {
        let chains: Vec<_> = (1..5).map(|seed| chain(seed, 2000, 0.0, 0.0)).collect();
        let all = of(&chains);
        for found in [ess_bulk(&all), ess_mean(&all), ess_tail(&all)] {
            assert!((found.unwrap() / 8000.0 - 1.0).abs() < 0.15, "{found:?}");
        }
        assert!((r_hat(&all).unwrap() - 1.0).abs() < 0.005);
    }

    #[test]
    fn correlated_draws_are_worth_less() {
        let chains: Vec<_> = (1..5).map(|seed| chain(seed, 20_000, 0.8, 0.0)).collect();
        // The correlation time of this process is (1 + rho) / (1 - rho) = 9.
        assert!((ess_mean(&of(&chains)).unwrap() / (80_000.0 / 9.0) - 1.0).abs() < 0.1);
    }

    #[test]
    fn chains_apart_disagree() {
        let chains: Vec<_> =
            (1..5).map(|seed| chain(seed, 1000, 0.0, if seed == 1 { 2.0 } else { 0.0 })).collect();
        assert!(r_hat(&of(&chains)).unwrap() > 1.1);
        let wide: Vec<_> = (1..5u64)
            .map(|seed| {
                chain(seed, 1000, 0.0, 0.0).iter().map(|x| x * if seed == 1 { 3.0 } else { 1.0 }).collect()
            })
            .collect();
        assert!(r_hat(&of(&wide)).unwrap() > 1.05, "folded draws notice another width");
        assert_eq!(r_hat(&[&[1.0, 1.0, 1.0]]), None);
        assert_eq!(ess_bulk(&[&[1.0; 10]]), None);
    }
}
