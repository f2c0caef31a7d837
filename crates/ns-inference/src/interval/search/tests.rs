//! Searches with exact p-values.

use super::*;

/// Searches the interval of a statistic with exact p-values.
fn solve(n_toys: u64, p_value: impl Fn(f64) -> f64, bounds: (f64, f64)) -> (Search, usize) {
    let grid: Vec<f64> = (0..13).map(|i| (-3.0 + 0.5 * f64::from(i)).clamp(bounds.0, bounds.1)).collect();
    let (step, resolution) = (0.5, 0.01);
    let mut search = Search { alpha: 0.1, n_toys, bounds, grid, step, resolution, tested: Vec::new() };
    let mut steps = 0;
    while let Some((value, run)) = search.next() {
        let above = (p_value(value) * run as f64).round() as u64;
        let counts = Some(Counts { run, above, ..Counts::default() });
        search.learn(Tested { value, t: value * value, counts });
        steps += 1;
        assert!(steps < 300, "the search ends");
    }
    (search, steps)
}

fn two_sided(value: f64) -> f64 {
    2.0 * normal::upper_tail(value.abs())
}

#[test]
fn borders_of_a_normal_estimate_are_found() {
    let (search, steps) = solve(10_000, two_sided, (-10.0, 10.0));
    for (side, wanted) in [(Side::Lower, -1.644_854), (Side::Upper, 1.644_854)] {
        let border = search.border(side, "x");
        let (value, error) = (border.value.unwrap(), border.error.unwrap());
        assert!((value - wanted).abs() < 0.02, "{value}");
        // The density there is 0.103, so the error is 0.003 / 0.206.
        assert!((error - 0.0145).abs() < 0.003, "{error}");
    }
    assert!(search.is_connected() && steps < 60, "{steps}");
}

#[test]
fn a_bound_inside_is_a_border_without_error() {
    let (search, _) = solve(2000, two_sided, (-1.0, 10.0));
    let lower = search.border(Side::Lower, "x");
    assert_eq!((lower.value, lower.error), (Some(-1.0), Some(0.0)));
    assert!(lower.reason.unwrap().contains("lower bound -1 "));
}

#[test]
fn a_jump_is_enclosed_and_a_hole_is_noticed() {
    let (search, _) = solve(10_000, |v| if v.abs() < 1.234 { 0.4 } else { 0.01 }, (-10.0, 10.0));
    let upper = search.border(Side::Upper, "x");
    assert!((upper.value.unwrap() - 1.234).abs() <= upper.error.unwrap() + 1e-12);
    assert!(upper.error.unwrap() <= 0.01);
    let hole = |v: f64| if (0.6..1.4).contains(&v) { 0.01 } else { two_sided(v) };
    assert!(!solve(10_000, hole, (-10.0, 10.0)).0.is_connected());
}

#[test]
fn where_p_values_hardly_change_the_border_has_a_large_error() {
    // Near 0.1 from 1 on, and a jump at 2.
    let p_value = |v: f64| match v.abs() {
        v if v < 1.0 => 0.5,
        v if v < 2.0 => 0.1005,
        _ => 0.02,
    };
    let (search, _) = solve(10_000, p_value, (-10.0, 10.0));
    let upper = search.border(Side::Upper, "x");
    assert!((upper.value.unwrap() - 2.0).abs() < 0.05 && upper.error.unwrap() > 0.5, "{upper:?}");
}
