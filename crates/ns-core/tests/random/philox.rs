//! Compares Philox4x32-10 with the test vectors of its authors, and tests the layout of the counter.

use ns_core::random::{Stream, philox4x32_10};

/// Compares results with the file `kat_vectors` of the library Random123. A test vector consists of counter, key and
/// result.
#[test]
fn known_answers() {
    let vectors = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, result) in vectors {
        assert_eq!(philox4x32_10(counter, key), result);
    }
}

#[test]
fn the_counter_is_laid_out_as_documented() {
    let stream = Stream::new(0x299f_31d0_a409_3822, 0x85a3_08d3_243f_6a88, 0x03);
    assert_eq!(
        stream.block(0x1319_8a2e, 0x70_7344),
        [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        "the third known answer, taken apart"
    );
    assert_eq!(stream.block(5, Stream::ATTEMPTS + 1), stream.block(5, 1), "attempts wrap around");
    assert_eq!((stream.seed(), stream.toy()), (0x299f_31d0_a409_3822, 0x85a3_08d3_243f_6a88));
    assert_eq!(stream.hypothesis(), 3);
}
