//! Tests that the analyses of random models agree with each other and with single fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::property;

use std::sync::Mutex;

use ns_core::{Control, Execution};
use ns_inference::{HypotestOptions, hypotest, open_session};
use property::checks::{Depth, Report, check};
use property::workspace::{FUNCTIONS, WILD, draw};

/// Number of models that the test checks, unless `NEXTSTAT_CONSISTENCY_MODELS` says otherwise. Half of them have effects
/// far from linear. A fiftieth more have functions of parameters. A workflow checks 2 000 every week, and the example
/// `check_consistency` any others.
const MODELS: u64 = 30;

#[test]
fn analyses_of_random_models_are_consistent() {
    let asked = std::env::var("NEXTSTAT_CONSISTENCY_MODELS").ok();
    let models = asked.map_or(MODELS, |text| text.parse().expect("NEXTSTAT_CONSISTENCY_MODELS is no number"));
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let parts = [(0, models.div_ceil(2)), (WILD, models / 2), (FUNCTIONS, models / 50)];
    for (first, count) in parts {
        let summary = property::run::run(first, count, threads, Depth::Part, &|case, report| {
            for line in lines(case.index, report, "") {
                found.lock().unwrap().push((case.index, line));
            }
        });
        assert_eq!(summary.models as u64, count);
    }
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|f| f.0);
    let lines: Vec<String> = found.into_iter().map(|f| f.1).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}

/// Returns one line per violated property in a report. Only properties whose names begin with `word` are included.
fn lines(index: u64, report: &Report, word: &str) -> Vec<String> {
    let wanted = report.violations.iter().filter(|violation| violation.property.starts_with(word));
    wanted.map(|violation| format!("model {index}: {}: {}", violation.property, violation.numbers)).collect()
}

/// Asserts the properties whose names begin with `word`, the name of an analysis, for models in which this analysis once
/// followed a minimum that was not the lowest.
fn hold(word: &'static str, models: &[u64]) {
    hold_at(Depth::Only(word), word, models);
}

fn hold_at(depth: Depth, word: &str, models: &[u64]) {
    let found: Vec<String> =
        models.iter().flat_map(|index| lines(*index, &check(&draw(*index), depth), word)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn minos_goes_where_the_profile_goes_to_a_lower_valley() {
    hold("MINOS", &[2, 3, 4, 9, 39, 48, 62, 66]);
}

#[test]
fn tiny_models_with_a_minimum_at_their_bounds_are_searched_there() {
    hold_at(Depth::Part, "the free fit", &[8301, 13250]);
    hold_at(Depth::Part, "uncertainty", &[8301]);
}

#[test]
fn two_parameters_at_their_bounds_at_once_are_found() {
    hold_at(Depth::Part, "an analysis is not below the thorough fit", &[5594]);
}

#[test]
fn sides_of_kinks_are_tried_around_the_last_minimum_too() {
    hold_at(Depth::Part, "the free fit is not above the thorough one", &[16991]);
}

#[test]
fn points_and_crossings_of_scans_are_those_of_single_fits() {
    hold("scan", &[5, 11, 39, 184, 436, 724, 868]);
}

#[test]
fn refits_of_rankings_end_where_single_fits_do() {
    hold("ranking", &[26, 46, 62, 155, 198, 216, 337]);
}

#[test]
fn every_missing_limit_has_a_reason_of_its_own() {
    hold("limit", &[12073, 15708]);
}

/// In these models with 54 to 69 parameters, the Asimov set was once generated at a minimum that is not the lowest,
/// or fits to the set ended in such a minimum.
#[test]
fn tests_of_models_with_dozens_of_parameters_rest_on_searched_fits() {
    let known = [
        (1508, 1.0, 0.906_099_406),
        (5422, 2.125_725_325_840_547_5, 7.890_548_569),
        (7956, 4.666_142_510_740_846, 12.860_350_393),
    ];
    for (index, mu, q_asimov) in known {
        let model = draw(index).model().unwrap();
        let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        let options = HypotestOptions::default();
        let result = hypotest(&model, session.as_ref(), mu, &options, Control::default()).unwrap();
        let off = result.q_asimov - q_asimov;
        assert!(off.abs() < 1e-5 * q_asimov, "model {index}: {}, not {q_asimov}", result.q_asimov);
    }
}

#[test]
fn variations_with_negative_expected_yields_do_not_move_a_ranking() {
    // In this model, fits of the scan end with a negative expected yield. Only its ranking is checked.
    hold_at(Depth::Part, "ranking", &[890]);
}

#[test]
fn the_first_crossing_is_found_where_the_profile_comes_down_again() {
    hold("MINOS", &[11148]);
}

#[test]
fn minima_on_kinks_without_a_slope_have_uncertainties_of_both_sides() {
    hold("uncertainty", &[19141]);
}

#[test]
fn every_parameter_of_a_flat_direction_is_named() {
    hold("uncertainty", &[9537]);
}

#[test]
fn ends_of_crossings_at_kinks_are_searched() {
    hold("MINOS", &[7944, 12356]);
}

/// One factor ended near its bound, because the slope that counted as zero was missing in the steps to the valley's floor.
#[test]
fn factors_of_a_product_are_flat_at_a_bound_too() {
    hold_at(Depth::Part, "flat", &[1_011_261, 1_011_397, 1_012_364]);
}

#[test]
fn a_minimum_that_rounding_hides_is_converged() {
    hold_at(Depth::Part, "the free fit converges", &[10_258]);
}

#[test]
fn minima_at_other_parameters_of_a_function_are_found() {
    hold_at(Depth::Part, "the free fit is not above the thorough one", &[2_000_152]);
}

/// At the fold of a function, rounding gave a flat direction a curvature.
#[test]
fn rounding_does_not_decide_whether_a_direction_is_flat() {
    hold_at(Depth::Part, "fit: rounding", &[2_000_091]);
}

/// Functions bend the valleys of these models.
#[test]
fn uncertainties_beside_a_bent_valley_are_said_to_be_local() {
    hold_at(Depth::Part, "uncertainty", &[2_010_057, 2_010_061]);
}

/// The search from the predicted point missed the minimum that a plain fit finds.
#[test]
fn a_crossing_is_compared_with_a_plain_fit() {
    hold_at(Depth::Part, "MINOS", &[710_276]);
}

/// Beside a parameter that has just been freed another one left its bound.
#[test]
fn a_parameter_at_its_bound_stays_while_another_is_freed() {
    hold_at(Depth::Part, "the thorough search misses nothing", &[801_736]);
}

/// Beyond the jump, descents end where a bin expects a negative number of events.
#[test]
fn a_profile_may_jump_where_yields_turn_negative() {
    hold_at(Depth::Part, "MINOS", &[730_792]);
}

/// A bin expects a negative number of events at the start, and no descent leads away.
#[test]
fn fits_that_cannot_begin_at_the_start_begin_elsewhere() {
    hold_at(Depth::Part, "ranking", &[1_800_946]);
}

/// At `mu = 0` the parameter with the same effect up and down has two minima.
#[test]
fn an_asimov_set_with_a_mirror_image_is_named() {
    for (index, name) in [(1_801_401, "alpha_2"), (1_802_487, "alpha_1")] {
        let model = draw(index).model().unwrap();
        let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        let result =
            hypotest(&model, session.as_ref(), 0.8, &HypotestOptions::default(), Control::default()).unwrap();
        let said = |w: &String| w.contains("is not unique") && w.contains(name);
        assert!(result.warnings.iter().any(said), "{:?}", result.warnings);
    }
    hold_at(Depth::Part, "hypotest", &[1_801_401, 1_802_487]);
}

/// Both are at their upper bounds, where their product is as large as it can be.
#[test]
fn factors_at_the_largest_product_are_at_their_bounds() {
    hold_at(Depth::Part, "flat", &[1_800_286, 1_800_320, 1_801_964]);
}

/// The parameter of a function has a minimum without curvature.
#[test]
fn uncertainties_beside_a_minimum_without_curvature_are_said_to_be_rough() {
    hold_at(Depth::Part, "uncertainty", &[2_020_133]);
}

/// A parameter that is strongly correlated with `mu` ends beside its kink.
#[test]
fn uncertainties_beside_a_kink_are_said_to_hold_on_one_side() {
    hold_at(Depth::Part, "uncertainty", &[900_717]);
}

#[test]
fn poor_fits_of_small_models_are_searched_longer() {
    // Far from the best fit several minima are common, also in models that are not strongly nonlinear.
    hold_at(Depth::Part, "fit: far values", &[890_386, 1_801_134, 1_910_386]);
}

#[test]
fn other_values_of_functions_are_searched_thoroughly() {
    hold_at(Depth::Part, "the thorough search misses nothing", &[2_040_074]);
}
