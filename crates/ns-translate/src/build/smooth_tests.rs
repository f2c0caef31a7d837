//! Smoothing gives the numbers of ROOT 6.40.

use super::{medians_353qh_twice, smoothed};

/// Values, and what `TH1::Smooth(1)` makes of them.
const ROOT: &[(&[f64], &[f64])] = &[
    (&[1.0, 5.0, 2.0, 8.0, 3.0, 3.5], &[1.0, 2.0, 2.875, 3.375, 3.5, 3.5]),
    (&[1.0, 2.0, 4.0], &[1.0, 2.25, 4.0]),
    (&[3.0, 1.0, 2.0, 2.0], &[2.0, 2.0, 2.0, 2.0]),
    (&[0.0, 0.0, 5.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.0, 0.0]),
    (&[1.0, 2.0, 5.0, 5.0, 5.0, 2.0, 0.5, 7.0], &[1.0, 2.5, 4.375, 5.125, 3.9375, 2.0625, 1.25, 1.25]),
    (
        &[4.0, 1.0, 1.0, 1.0, 2.5, 9.0, 3.0, 3.0, 3.0, -2.0],
        &[1.0, 1.0, 1.0, 1.375, 2.25, 2.875, 3.0, 3.0, 3.0, 3.0],
    ),
    (&[9.0, 5.0, 5.0, 5.0, 6.5, 1.0, 1.0, 1.0, 8.0], &[5.0, 5.0, 5.0, 5.0, 4.0, 2.0, 1.0, 1.0, 1.0]),
    (
        &[0.759, 0.603, 0.925, 1.126, 1.341, 1.033, 0.834],
        &[0.759, 0.8016875, 0.93178125, 1.0748229166666665, 1.1184895833333333, 1.0269479166666666, 0.834],
    ),
    (
        &[0.765, 1.225, 1.49, 1.082, 0.63, 0.713, 1.48, 1.061, 0.48, 0.975, 0.651, 0.811],
        &[
            1.225,
            1.225,
            1.170875,
            1.0548333333333335,
            0.9984166666666666,
            1.0248333333333333,
            1.0643541666666667,
            1.0867708333333332,
            1.0171041666666665,
            0.8773124999999999,
            0.811,
            0.811,
        ],
    ),
];

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs().max(1.0))
}

#[test]
fn it_smooths_as_root() {
    for (values, expected) in ROOT {
        let found = medians_353qh_twice(values);
        assert!(close(&found, expected), "{values:?}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn two_values_stay() {
    assert_eq!(medians_353qh_twice(&[1.0, 7.0]), [1.0, 7.0]);
    assert_eq!(smoothed(&[1.0, 7.0], &[1.0, 1.0]), [1.0, 7.0]);
}

#[test]
fn the_sum_of_a_template_stays() {
    let (varied, nominal) = ([12.0, 23.0, 30.0, 47.0, 40.0], [10.0, 20.0, 30.0, 40.0, 50.0]);
    let found = smoothed(&varied, &nominal);
    assert!((found.iter().sum::<f64>() - varied.iter().sum::<f64>()).abs() < 1e-12, "{found:?}");
    assert!(!close(&found, &varied));
}

#[test]
fn bins_without_nominal_events_stay() {
    let (varied, nominal) = ([12.0, 3.0, 30.0, 47.0, 40.0], [10.0, 0.0, 30.0, 40.0, 50.0]);
    let found = smoothed(&varied, &nominal);
    assert_eq!(found[1], 3.0);
    assert!((found.iter().sum::<f64>() - varied.iter().sum::<f64>()).abs() < 1e-12, "{found:?}");
}
