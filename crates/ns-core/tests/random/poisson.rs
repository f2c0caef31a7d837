//! Tests Poisson counts. Checks their moments over the whole range of means, and compares their frequencies with exact
//! probabilities by chi-square tests.

use ns_core::random::{Poisson, RandomError, Stream};
use statrs::distribution::{ChiSquared, ContinuousCDF, Discrete};

use crate::moments;

fn draws(mean: f64, seed: u64, n: u32) -> Vec<f64> {
    let poisson = Poisson::new(mean).unwrap();
    let stream = Stream::new(seed, 0, 0);
    (0..n).map(|slot| poisson.draw(&stream, slot)).collect()
}

#[test]
fn moments_over_the_whole_range() {
    const MEANS: [f64; 21] = [
        1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.7, 3.0, 9.999, 14.04, 30.86, 100.0, 1234.5, 9999.0,
        10_001.0, 1e5, 1e6, 1.23e8, 1e9,
    ];
    let n = 250_000_u32;
    for (i, mean) in MEANS.into_iter().enumerate() {
        let sample = draws(mean, 100 + i as u64, n);
        assert!(sample.iter().all(|&k| k >= 0.0 && k.fract() == 0.0), "mean {mean}: not all are counts");
        let expected = f64::from(n) * mean;
        if expected < 25.0 {
            // The sum of all counts is a Poisson number too, whose distribution is not nearly normal here.
            let sum: f64 = sample.iter().sum();
            assert!(sum <= expected + 3.5 * expected.sqrt() + 1.0, "mean {mean}: {sum} in all");
            assert!(sum >= expected - 3.5 * expected.sqrt(), "mean {mean}: {sum} in all");
            continue;
        }
        let (got, variance) = moments(&sample);
        let sigma = (mean / f64::from(n)).sqrt();
        assert!((got - mean).abs() < 3.3 * sigma, "mean {mean}: {got}, sigma {sigma}");
        let sigma = ((mean + 2.0 * mean * mean) / f64::from(n)).sqrt();
        assert!((variance - mean).abs() < 3.3 * sigma, "mean {mean}: variance {variance}, sigma {sigma}");
    }
}

#[test]
fn probabilities() {
    let n = 1_000_000_u32;
    for (i, mean) in
        [0.1, 3.0, 9.9, 10.1, 14.04, 30.86, 50.0, 1000.0, 9999.5, 10_000.5].into_iter().enumerate()
    {
        let mut observed = vec![0.0; (mean + 20.0 * f64::sqrt(mean) + 20.0) as usize];
        for k in draws(mean, 200 + i as u64, n) {
            observed[k as usize] += 1.0;
        }
        let exact = statrs::distribution::Poisson::new(mean).unwrap();
        // Neighbouring counts are grouped until 20 draws are expected in a group. Counts that are left join
        // the last group.
        let mut groups: Vec<(f64, f64)> = Vec::new();
        let mut open = (0.0, 0.0);
        for (k, count) in observed.iter().enumerate() {
            open = (open.0 + count, open.1 + f64::from(n) * exact.pmf(k as u64));
            if open.1 >= 20.0 {
                groups.push(std::mem::take(&mut open));
            }
        }
        let last = groups.last_mut().unwrap();
        *last = (last.0 + open.0, last.1 + open.1);
        let chi2: f64 = groups.iter().map(|(o, e)| (o - e).powi(2) / e).sum();
        let p = ChiSquared::new((groups.len() - 1) as f64).unwrap().sf(chi2);
        assert!(p > 1e-3, "mean {mean}: chi2 {chi2} in {} groups, p = {p}", groups.len());
    }
}

#[test]
fn large_means_are_normal() {
    for (i, mean) in [1e7, 1e9, 1e15].into_iter().enumerate() {
        let sample = draws(mean, 300 + i as u64, 100_000);
        let cdf = |k: f64| 0.5 * libm::erfc(-(k + 0.5 - mean) / mean.sqrt() / 2.0_f64.sqrt());
        let distance = crate::kolmogorov(sample, cdf);
        assert!(distance < 1.95, "mean {mean}: KS {distance}");
    }
}

#[test]
fn bits_are_frozen() {
    let stream = Stream::new(20_240_229, 7, 1);
    for (mean, counts) in FROZEN {
        let poisson = Poisson::new(mean).unwrap();
        let got: Vec<f64> = (0..8).map(|slot| poisson.draw(&stream, slot)).collect();
        assert_eq!(got, counts, "mean {mean}");
    }
}

const FROZEN: [(f64, [f64; 8]); 9] = [
    (0.3, [1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    (3.0, [5.0, 5.0, 7.0, 4.0, 2.0, 3.0, 0.0, 3.0]),
    (9.9, [13.0, 13.0, 17.0, 12.0, 8.0, 9.0, 3.0, 10.0]),
    (10.0, [13.0, 13.0, 17.0, 12.0, 8.0, 10.0, 3.0, 10.0]),
    (57.25, [65.0, 64.0, 73.0, 62.0, 53.0, 56.0, 38.0, 57.0]),
    (1e4, [10104.0, 10096.0, 10205.0, 10058.0, 9940.0, 9991.0, 9738.0, 9999.0]),
    (10_000.5, [10119.0, 10109.0, 10091.0, 10066.0, 9933.0, 9990.0, 10105.0, 10000.0]),
    (
        1e9,
        [
            1000037400.0,
            1000034174.0,
            1000028430.0,
            1000020594.0,
            999978875.0,
            999996707.0,
            1000033007.0,
            999999813.0,
        ],
    ),
    (
        1e15,
        [
            1000000037399700.0,
            1000000034174313.0,
            1000000028429918.0,
            1000000020593437.0,
            999999978875103.0,
            999999996707549.0,
            1000000033007384.0,
            999999999813120.0,
        ],
    ),
];

/// Compares the bits of many draws with a stored digest. The draws include second and later attempts of the rejection
/// method, and every way in which an attempt can be accepted.
#[test]
fn many_bits_are_frozen() {
    let mut digest = ns_core::Digest::default();
    for mean in [1e-3, 0.5, 2.5, 9.99, 10.0, 17.3, 250.0, 1e4, 10_000.5, 1e6, 1e9, 1e12] {
        digest.numbers(&draws(mean, 400, 20_000));
    }
    assert_eq!(digest.finish(), FROZEN_DIGEST);
}

const FROZEN_DIGEST: &str = "149a32853fd344495bd516be0485fe8d5c83864a10196321e9e3384f7cef9a86";

#[test]
fn edges() {
    let stream = Stream::new(1, 2, 3);
    for mean in [0.0, -0.0] {
        assert_eq!(Poisson::new(mean).unwrap().draw(&stream, 0), 0.0);
    }
    for mean in [f64::from_bits(1), 1e-300, 1e-20] {
        assert_eq!(Poisson::new(mean).unwrap().draw(&stream, 0), 0.0);
    }
    assert_eq!(Poisson::new(2.5).unwrap().mean(), 2.5);
    for mean in [-1e-9, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e15] {
        let error = Poisson::new(mean).unwrap_err();
        assert!(matches!(error, RandomError::PoissonMean { .. }), "{error}");
        assert!(error.to_string().contains(&mean.to_string()), "{error}");
    }
}
