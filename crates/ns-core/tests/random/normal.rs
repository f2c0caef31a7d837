//! Compares quantiles of the normal distribution with values of 20 digits, and tests the distribution of random normal
//! numbers.

use ns_core::random::{Normal, RandomError, Stream, normal_quantile};

use crate::{kolmogorov, moments};

/// Pairs of numbers `(d, q)`, where `q` is the standard normal quantile of the probability `1/2 + d`. They were
/// computed by Newton's method with 60 digits.
const CENTRE: [(f64, f64); 12] = [
    (5.551115123125783e-17, 1.3914582123358834611e-16),
    (0.0009765625, 0.0024478816191106774544),
    (0.0625, 0.15731068461017069552),
    (0.125, 0.31863936396437516302),
    (0.25, 0.6744897501960817432),
    (0.375, 1.1503493803760081783),
    (0.4248046875, 1.4381530790030161404),
    (0.42578125, 1.4450725798180744226),
    (0.4375, 1.5341205443525463117),
    (0.46875, 1.8627318674216514555),
    (0.4921875, 2.4175590162365050618),
    (0.4990234375, 3.0972690781987844624),
];

/// Pairs of `n` and the number that a standard normal variable exceeds with a probability of 2^-n.
const TAIL: [(i32, f64); 16] = [
    (10, 3.0972690781987844624),
    (12, 3.4871041041144311068),
    (16, 4.169569323349105755),
    (20, 4.763001034267813957),
    (25, 5.4199831749168679884),
    (30, 6.0093535655307438932),
    (34, 6.4439345265385642153),
    (35, 6.5482693678317307554),
    (36, 6.6510353798930105467),
    (37, 6.7523004314070149646),
    (38, 6.852127665896067531),
    (40, 7.0477002566644087254),
    (45, 7.5151552941589075804),
    (50, 7.9560381254815309622),
    (53, 8.2095361516013868556),
    (54, 8.2923610758135955382),
];

#[test]
fn quantiles() {
    let tail = TAIL.map(|(n, quantile)| (0.5 - f64::from(-n).exp2(), quantile));
    for (centred, quantile) in CENTRE.into_iter().chain(tail) {
        let got = normal_quantile(centred);
        assert!((got - quantile).abs() <= 1e-15 * quantile, "{centred:e}: {got:e}, not {quantile:e}");
        assert_eq!(normal_quantile(-centred), -got, "symmetry at {centred:e}");
    }
    for outside in [0.5, -0.5, 0.6, f64::NAN, f64::INFINITY] {
        assert!(normal_quantile(outside).is_nan(), "{outside}");
    }
}

#[test]
fn draws_are_normal() {
    let normal = Normal::new(3.0, 0.25).unwrap();
    let stream = Stream::new(4, 0, 0);
    let n = 200_000_u32;
    let sample: Vec<f64> = (0..n).map(|slot| normal.draw(&stream, slot)).collect();
    let (mean, variance) = moments(&sample);
    let root = f64::from(n).sqrt();
    assert!((mean - 3.0).abs() < 3.3 * 0.25 / root, "mean {mean}");
    assert!((variance / 0.0625 - 1.0).abs() < 3.3 * 2.0_f64.sqrt() / root, "variance {variance}");
    let cdf = |x: f64| 0.5 * libm::erfc(-(x - 3.0) / 0.25 / 2.0_f64.sqrt());
    let distance = kolmogorov(sample, cdf);
    assert!(distance < 1.95, "KS {distance}");
}

#[test]
fn tails_have_their_share() {
    let normal = Normal::new(0.0, 1.0).unwrap();
    let stream = Stream::new(5, 0, 0);
    let n = 1_000_000;
    let beyond = (0..n).filter(|&slot| normal.draw(&stream, slot).abs() > 4.0).count();
    let expected = f64::from(n) * libm::erfc(4.0 / 2.0_f64.sqrt());
    assert!((beyond as f64 - expected).abs() < 3.3 * expected.sqrt(), "{beyond} of {expected}");
}

#[test]
fn bits_are_frozen() {
    let stream = Stream::new(20_240_229, 7, 1);
    let normal = Normal::new(0.0, 1.0).unwrap();
    let bits: Vec<u64> = (0..8).map(|slot| normal.draw(&stream, slot).to_bits()).collect();
    assert_eq!(bits, FROZEN);
    let tail = [-0.4999, 0.499_999_999_999].map(|centred| normal_quantile(centred).to_bits());
    assert_eq!(tail, FROZEN_TAIL);
}

const FROZEN: [u64; 8] = [
    4607361086519259926,
    4606783931169817798,
    4611785679163501995,
    4603392094767359554,
    13826899124310647542,
    13814759017911344588,
    13836485962698515052,
    13796160270606656910,
];
const FROZEN_TAIL: [u64; 2] = [13838928936283834748, 4619606146584096420];

#[test]
fn widths() {
    let stream = Stream::new(1, 2, 3);
    assert_eq!(Normal::new(5.5, 0.0).unwrap().draw(&stream, 0), 5.5);
    for (mean, sigma) in [(0.0, -1.0), (0.0, f64::NAN), (f64::INFINITY, 1.0), (0.0, f64::INFINITY)] {
        assert!(matches!(Normal::new(mean, sigma), Err(RandomError::NormalShape { .. })));
    }
}
