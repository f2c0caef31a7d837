//! Tests that a draw depends only on seed, toy, hypothesis, slot and attempt, and that draws are independent
//! if one of these differs.

use ns_core::random::{Normal, Poisson, Stream, open_uniform};
use proptest::prelude::*;

use crate::{correlation, kolmogorov};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn draws_are_pure(
        seed: u64,
        toy: u64,
        hypothesis: u8,
        slot: u32,
        other: u32,
        exponent in -8.0_f64..9.0,
    ) {
        let poisson = Poisson::new(10.0_f64.powf(exponent)).unwrap();
        let normal = Normal::new(1.0, 0.5).unwrap();
        let stream = Stream::new(seed, toy, hypothesis);
        let first = (poisson.draw(&stream, slot), normal.draw(&stream, slot));
        // Other draws in between, from the same stream or another one, change nothing.
        let _ = (poisson.draw(&stream, other), normal.draw(&Stream::new(other.into(), toy, 0), slot));
        let again = Stream::new(seed, toy, hypothesis);
        let second = (poisson.draw(&again, slot), normal.draw(&again, slot));
        prop_assert_eq!(first.0.to_bits(), second.0.to_bits());
        prop_assert_eq!(first.1.to_bits(), second.1.to_bits());
    }

    #[test]
    fn places_do_not_share_blocks(
        seed: u64, toy: u64, hypothesis: u8, slot: u32, attempt in 0..Stream::ATTEMPTS,
        toy_2: u64, hypothesis_2: u8, slot_2: u32, attempt_2 in 0..Stream::ATTEMPTS,
    ) {
        let block = Stream::new(seed, toy, hypothesis).block(slot, attempt);
        let places = [
            (toy_2, hypothesis, slot, attempt),
            (toy, hypothesis_2, slot, attempt),
            (toy, hypothesis, slot_2, attempt),
            (toy, hypothesis, slot, attempt_2),
        ];
        for place in places {
            if place != (toy, hypothesis, slot, attempt) {
                prop_assert_ne!(Stream::new(seed, place.0, place.1).block(place.2, place.3), block);
            }
        }
    }
}

/// Returns one uniform number from each of the 100,000 random blocks `place(0)`, `place(1)` and so on. A block has 128
/// random bits.
fn uniforms(place: impl Fn(u32) -> [u32; 4]) -> Vec<f64> {
    (0..100_000)
        .map(|i| {
            let block = place(i);
            open_uniform(block[0], block[1])
        })
        .collect()
}

#[test]
fn neighbours_are_uncorrelated() {
    let base = |i| Stream::new(6, u64::from(i), 0).block(0, 0);
    let sample = uniforms(base);
    let neighbours = [
        ("toy", uniforms(|i| Stream::new(6, u64::from(i) + 1, 0).block(0, 0))),
        ("toy, high half", uniforms(|i| Stream::new(6, u64::from(i) + (1 << 32), 0).block(0, 0))),
        ("hypothesis", uniforms(|i| Stream::new(6, u64::from(i), 1).block(0, 0))),
        ("slot", uniforms(|i| Stream::new(6, u64::from(i), 0).block(1, 0))),
        ("attempt", uniforms(|i| Stream::new(6, u64::from(i), 0).block(0, 1))),
        ("seed", uniforms(|i| Stream::new(7, u64::from(i), 0).block(0, 0))),
        ("seed, high half", uniforms(|i| Stream::new(6 + (1 << 32), u64::from(i), 0).block(0, 0))),
        (
            "second half of the block",
            uniforms(|i| {
                let b = base(i);
                [b[2], b[3], 0, 0]
            }),
        ),
    ];
    for (what, other) in neighbours {
        let r = correlation(&sample, &other);
        assert!(r.abs() < 3.3, "{what}: correlation of {r} standard deviations");
        // Equal or nearly equal numbers would make the difference modulo 1 not uniform.
        let difference = sample.iter().zip(&other).map(|(a, b)| (a - b).rem_euclid(1.0)).collect();
        let distance = kolmogorov(difference, |x| x);
        assert!(distance < 1.95, "{what}: KS of the difference {distance}");
    }
}

#[test]
fn one_bit_changes_half_of_all() {
    let n = 4000;
    let bits = |f: &dyn Fn(u64) -> [[u32; 4]; 2]| {
        let changed: u32 = (0..n)
            .map(|i| {
                let [a, b] = f(i);
                a.iter().zip(b).map(|(x, y)| (x ^ y).count_ones()).sum::<u32>()
            })
            .sum();
        // Deviation from one half of the 128 bits, in standard deviations.
        (f64::from(changed) - 64.0 * n as f64) / (32.0 * n as f64).sqrt()
    };
    let block =
        |seed, toy, hypothesis, slot, attempt| Stream::new(seed, toy, hypothesis).block(slot, attempt);
    let changes = [
        bits(&|i| [block(i, i, 0, 0, 0), block(i ^ 1, i, 0, 0, 0)]),
        bits(&|i| [block(8, i, 0, 0, 0), block(8, i ^ (1 << 63), 0, 0, 0)]),
        bits(&|i| [block(8, i, 0, 0, 0), block(8, i, 1, 0, 0)]),
        bits(&|i| [block(8, i, 0, 0, 0), block(8, i, 0, 1, 0)]),
        bits(&|i| [block(8, i, 0, 0, 0), block(8, i, 0, 0, 1)]),
    ];
    for (which, deviation) in changes.into_iter().enumerate() {
        assert!(deviation.abs() < 3.3, "change {which}: {deviation} standard deviations");
    }
}
