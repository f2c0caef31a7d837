//! Checks with random input that drawing never panics and never writes a number that viewers cannot read.

use ns_viz::{
    ChannelYields, Contour, Correlation, Drawing, Exclusion, ImpactBars, JointRanking, JointRankingRow,
    Limit, LimitCurve, PictureError, PullRow, Pulls, Ranking, RankingRow, SampleYields, Scan,
    ToyDistribution, ToyHistogram, ToyPullRow, ToyPulls, Yields,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -5.0..5.0f64,
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, 1e-300, -1e100, 1e100, 1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn maybe() -> impl Strategy<Value = Option<f64>> {
    prop::option::weighted(0.8, number())
}

/// Generates lists of values, most of which increase. With such lists, the tests reach the drawing code
/// behind the check of the input.
fn steps(size: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    vec(number(), size).prop_map(|mut values| {
        if values.first().is_some_and(|first| *first > -4.0) {
            values.retain(|value| value.abs() <= 1e100);
            values.sort_by(f64::total_cmp);
            values.dedup();
        }
        values
    })
}

fn check(result: Result<Drawing, PictureError>) {
    let Ok(drawing) = result else { return };
    let svg = drawing.to_svg();
    let odd = svg.lines().find(|line| line.contains("NaN") || line.contains("inf"));
    assert_eq!(odd, None);
    assert!(drawing.width() > 0.0 && drawing.width() < 1e5 && drawing.height() < 1e5);
    assert!(drawing.to_pdf().is_ok_and(|pdf| pdf.starts_with(b"%PDF")));
    assert!(drawing.to_png(0.1).is_ok());
    for label in drawing.labels() {
        assert!(
            label.left >= -0.5 && label.right <= drawing.width() + 0.5,
            "{label:?} on {}",
            drawing.width()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans(x in steps(0..12), seed in vec(maybe(), 12), best_fit in maybe(), levels in vec(number(), 0..3),
             y_max in maybe(), parameter in "[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}") {
        let twice_delta_nll = seed.into_iter().take(x.len()).collect();
        check(Scan { parameter, x, twice_delta_nll, best_fit, levels, y_max, ..Scan::default() }.draw());
    }

    #[test]
    fn contours(x in steps(0..6), y in steps(0..6), seed in vec(maybe(), 36), best in prop::option::of([number(), number()])) {
        let twice_delta_nll = seed.chunks(6).take(y.len()).map(|row| row.iter().copied().take(x.len()).collect()).collect();
        check(Contour { x, y, twice_delta_nll, best_fit: best, ..Contour::default() }.draw());
    }

    #[test]
    fn rankings(rows in vec(("[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}", maybe(), maybe(), maybe(), maybe(), maybe(), any::<bool>()), 0..8)) {
        let rows = rows.into_iter().map(|(parameter, pull, constraint, prefit_up, postfit_up, postfit_down, clipped)| {
            RankingRow { parameter, pull, constraint, prefit_up, postfit_up, postfit_down, clipped, ..RankingRow::default() }
        });
        let rows: Vec<RankingRow> = rows.collect();
        let joint = rows.iter().map(|row| JointRankingRow {
            parameter: row.parameter.clone(),
            pull: row.pull,
            constraint: row.constraint,
            impacts: vec![ImpactBars { prefit_up: row.prefit_up, postfit_up: row.postfit_up, ..ImpactBars::default() }],
            ..JointRankingRow::default()
        });
        let pois = vec!["a".to_owned(), "b".to_owned()];
        check(JointRanking { pois, rows: joint.collect(), ..JointRanking::default() }.draw());
        check(Ranking { poi: "mu".into(), rows, ..Ranking::default() }.draw());
    }

    #[test]
    fn pulls(rows in vec(("[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}", maybe(), maybe()), 0..70), columns in prop::option::of(0..9usize)) {
        let rows = rows.into_iter().map(|(parameter, pull, constraint)| PullRow { note: parameter.clone(), parameter, pull, constraint });
        check(Pulls { rows: rows.collect(), columns, ..Pulls::default() }.draw());
    }

    #[test]
    fn correlations(size in 0..20usize, seed in vec(maybe(), 400), threshold in prop::option::of(-0.1..1.0)) {
        let matrix = seed.chunks(20).take(size).map(|row| row.iter().copied().take(size).collect()).collect();
        let parameters = (0..size).map(|i| format!("p{i}")).collect();
        check(Correlation { parameters, matrix, threshold, ..Correlation::default() }.draw());
    }

    #[test]
    fn limits(mu in steps(0..9), observed in vec(maybe(), 9), seed in vec(maybe(), 45), limits in vec(maybe(), 6),
              log_y in any::<bool>(), keep in any::<bool>()) {
        let expected = seed.chunks(5).map(|c| [c[0], c[1], c[2], c[3], c[4]]).take(if keep { mu.len() } else { 0 }).collect();
        let observed = observed.into_iter().take(mu.len()).collect();
        let expected_limits = [limits[0], limits[1], limits[2], limits[3], limits[4]];
        check(Limit { mu, observed, expected, observed_limit: limits[5], expected_limits, log_y, ..Limit::default() }.draw());
    }

    #[test]
    fn limit_curves(x in steps(0..9), observed in vec(maybe(), 9), seed in vec(maybe(), 45), level in maybe(),
                    log_y in any::<bool>(), keep in any::<bool>(), label in "[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}") {
        let expected = seed.chunks(5).map(|c| [c[0], c[1], c[2], c[3], c[4]]).take(if keep { x.len() } else { 0 }).collect();
        let observed = observed.into_iter().take(x.len()).collect();
        check(LimitCurve { label, x, observed, expected, excluded_below: level, log_y, ..LimitCurve::default() }.draw());
    }

    #[test]
    fn exclusions(points in vec((number(), number()), 0..20), observed in vec(maybe(), 20), seed in vec(maybe(), 100),
                  level in number(), keep in any::<bool>(), label in "[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}") {
        let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().filter(|(x, y)| x.abs() <= 1e100 && y.abs() <= 1e100).unzip();
        let expected = seed.chunks(5).map(|c| [c[0], c[1], c[2], c[3], c[4]]).take(if keep { x.len() } else { 0 }).collect();
        let observed = observed.into_iter().take(x.len()).collect();
        let excluded_below = level.abs();
        check(Exclusion { x_label: label, x, y, observed, expected, excluded_below, ..Exclusion::default() }.draw());
    }

    #[test]
    fn toy_distributions(bin_edges in steps(0..8), counts in vec(0..9u64, 16), others in vec(0..3u64, 6), observed in maybe(),
                         curve_positions in steps(0..6), curve in vec(number(), 6), log_y in any::<bool>(),
                         name in "[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}") {
        let bins = bin_edges.len().saturating_sub(1);
        let histograms = counts.chunks(8).zip(others.chunks(3)).map(|(counts, others)| ToyHistogram {
            name: name.clone(),
            counts: counts.iter().copied().take(bins).collect(),
            at_zero: others[0],
            beyond: others[1],
            left_out: others[2],
            tail: name.clone(),
        });
        let curve = curve.into_iter().take(curve_positions.len()).collect();
        let histograms = histograms.collect();
        check(ToyDistribution {
            statistic: name.clone(), bin_edges, histograms, observed, curve_positions, curve, log_y,
            ..ToyDistribution::default()
        }.draw());
    }

    #[test]
    fn toy_pulls(rows in vec(("[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}", maybe(), maybe(), maybe(), maybe()), 0..70),
                 columns in prop::option::of(0..9usize)) {
        let rows = rows.into_iter().map(|(parameter, mean, mean_error, width, width_error)| {
            ToyPullRow { parameter, mean, mean_error, width, width_error }
        });
        check(ToyPulls { rows: rows.collect(), columns, ..ToyPulls::default() }.draw());
    }

    #[test]
    fn yields(bins in 0..6usize, counts in vec(vec(number(), 6), 0..16), data in vec(maybe(), 6), spread in vec(maybe(), 6),
              edges in steps(0..8), log_y in any::<bool>(), max_samples in 0..9usize, name in "[a-hA-M0-9_ <&θ中̂$^{}\\\\]{0,90}") {
        let samples = counts.into_iter().enumerate().map(|(i, mut counts)| {
            counts.truncate(bins);
            SampleYields { name: format!("s{i}"), counts, signal: i == 1, ..SampleYields::default() }
        });
        let channel = ChannelYields {
            name,
            bin_edges: if edges.len() == bins + 1 { edges } else { Vec::new() },
            samples: samples.collect(),
            data: data.into_iter().take(bins).collect(),
            uncertainty: spread.into_iter().take(bins).collect(),
            pulls: log_y,
            ..ChannelYields::default()
        };
        let twin = ChannelYields { name: "twin".into(), ..channel.clone() };
        check(Yields { channels: vec![channel, twin], log_y, max_samples, ..Yields::default() }.draw());
    }
}
