//! Tests the two functions that turn random bits into uniform numbers.

use ns_core::random::{Stream, centred_uniform, open_uniform};

use crate::kolmogorov;

const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

#[test]
fn ends_are_never_reached() {
    // The lower 11 of the 64 bits have no effect.
    assert_eq!(open_uniform(0x7ff, 0), STEP / 2.0);
    assert_eq!(open_uniform(0x800, 0), STEP);
    assert_eq!(open_uniform(u32::MAX, u32::MAX), 1.0 - STEP);
    assert_eq!(centred_uniform(0, 0), -0.5 + STEP / 2.0);
    assert_eq!(centred_uniform(u32::MAX, u32::MAX), 0.5 - STEP / 2.0);
    assert_eq!(centred_uniform(0, 1 << 31), STEP / 2.0);
    assert_eq!(centred_uniform(u32::MAX, u32::MAX >> 1), -STEP / 2.0);
}

#[test]
fn all_53_bits_are_used() {
    for bit in 0..53 {
        let x = 1_u64 << (bit + 11);
        let (low, high) = (x as u32, (x >> 32) as u32);
        assert_eq!(open_uniform(low, high), STEP * f64::from(bit).exp2());
        // The bits of the complement give the negative number.
        let centred = centred_uniform(low, high);
        assert_eq!(centred_uniform(!low, !high), -centred);
        assert_eq!((centred / STEP + 0.5) as i64, (1_i64 << bit) - (1_i64 << 52) + 1);
    }
}

#[test]
fn both_are_uniform() {
    let stream = Stream::new(2, 0, 0);
    let blocks: Vec<_> = (0..200_000).map(|slot| stream.block(slot, 0)).collect();
    let open = blocks.iter().map(|b| open_uniform(b[0], b[1])).collect();
    let centred = blocks.iter().map(|b| centred_uniform(b[2], b[3])).collect();
    assert!(kolmogorov(open, |x| x) < 1.95);
    assert!(kolmogorov(centred, |x| x + 0.5) < 1.95);
}
