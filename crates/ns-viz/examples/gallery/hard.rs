//! Inputs that are hard to draw well: long names, missing numbers, one row or a thousand, values far outside.

use ns_viz::{
    ChannelYields, Components, Drawing, Exclusion, PictureError, RankingRow, SampleYields, Scan,
    ToyDistribution, Yields,
};

use super::dice::long_name;
use super::fits::{contour, correlation, pulls, ranking, scan};
use super::limits::{exclusion, limit, limit_curve};
use super::toys::{goodness_toys, toy_distribution, toy_pulls};
use super::yields::{channel, channels, diphoton_blinded, events, huge, yields, yields_page};
use super::{effects, planes};

type Drawn = (String, Result<Drawing, PictureError>);

/// Returns pictures that are hard to draw well, with their names.
pub(crate) fn hard() -> Vec<Drawn> {
    let all = [curves(), rows(), matrices(), of_limits(), of_toys(), of_events(), of_effects()];
    all.into_iter().flatten().collect()
}

fn curves() -> Vec<Drawn> {
    let mut flat = scan();
    flat.twice_delta_nll = vec![Some(0.0); flat.x.len()];
    flat.parameter = long_name(1);
    let mut broken = scan();
    broken.title = format!("Scan of {}", long_name(2));
    broken.twice_delta_nll = broken
        .twice_delta_nll
        .into_iter()
        .enumerate()
        .map(|(i, v)| match i {
            3 => Some(f64::NAN),
            9 => None,
            14 => Some(f64::INFINITY),
            _ => v.map(|v| 1e3 * v),
        })
        .collect();
    broken.x = broken.x.iter().map(|x| 1e7 + 1e6 * x).collect();
    broken.best_fit = Some(1.132e7);
    let point =
        Scan { parameter: "mu".into(), x: vec![1.0], twice_delta_nll: vec![Some(0.3)], ..Scan::default() };
    let mut holes = contour(15);
    for (i, j) in [(3, 3), (7, 8), (8, 8), (12, 2)] {
        holes.twice_delta_nll[j][i] = None;
    }
    holes.y_parameter = long_name(4);
    let mut small = contour(2);
    small.best_fit = None;
    vec![
        ("scan-flat".into(), flat.draw()),
        ("scan-broken".into(), broken.draw()),
        ("scan-one-point".into(), point.draw()),
        ("contour-holes".into(), holes.draw()),
        ("contour-2x2".into(), small.draw()),
        ("corner-1".into(), planes::corner(1).draw()),
        ("corner-9".into(), planes::corner(9).draw()),
    ]
}

fn rows() -> Vec<Drawn> {
    let mut empty_rows = ranking(5, true);
    empty_rows.rows[0].prefit_up = Some(f64::NAN);
    empty_rows.rows[1] =
        RankingRow { parameter: "k_ttbar".into(), note: "1.02 ± 0.08".into(), ..RankingRow::default() };
    empty_rows.rows[2].pull = Some(7.3);
    let mut long_pulls = pulls(12);
    for (i, row) in long_pulls.rows.iter_mut().enumerate() {
        row.parameter = long_name(i);
    }
    long_pulls.rows[3].pull = None;
    long_pulls.rows[5].pull = Some(-40.0);
    vec![
        ("ranking-60-long".into(), ranking(60, true).draw()),
        ("ranking-none".into(), empty_rows.draw()),
        ("pulls-250".into(), pulls(250).draw()),
        ("pulls-1000".into(), pulls(1000).draw()),
        ("pulls-long".into(), long_pulls.draw()),
        ("channels-60".into(), channels(60).draw()),
    ]
}

fn matrices() -> Vec<Drawn> {
    let mut long = correlation(8);
    long.parameters = (0..8).map(long_name).collect();
    long.matrix[2][5] = None;
    let mut thinned = correlation(120);
    thinned.threshold = Some(0.6);
    vec![
        ("correlation-250".into(), correlation(250).draw()),
        ("correlation-long".into(), long.draw()),
        ("correlation-35".into(), correlation(35).draw()),
        ("correlation-thinned".into(), thinned.draw()),
        ("correlation-1".into(), correlation(1).draw()),
    ]
}

fn of_limits() -> Vec<Drawn> {
    let mut gaps = limit_curve(9);
    gaps.label = long_name(5);
    gaps.log_y = false;
    gaps.observed[2] = None;
    gaps.expected[4] = [None; 5];
    gaps.expected[6] = [Some(0.1), Some(0.2), None, Some(0.4), None];
    let mut expected_plane = exclusion(200.0);
    expected_plane.observed = Vec::new();
    expected_plane.expected[5] = [None; 5];
    let mut inside = exclusion(200.0);
    inside.excluded_below = 1e4;
    let on_a_line = Exclusion {
        x: vec![100.0, 200.0, 300.0],
        y: vec![100.0, 200.0, 300.0],
        observed: vec![Some(0.5), Some(1.5), None],
        poi: "mu".into(),
        x_label: long_name(6),
        y_label: long_name(7),
        ..Exclusion::default()
    };
    let mut expected_only = limit(false);
    expected_only.observed = Vec::new();
    expected_only.observed_limit = None;
    expected_only.expected[7] = [None; 5];
    vec![
        ("limit-log".into(), limit(true).draw()),
        ("limit-expected".into(), expected_only.draw()),
        ("limit-curve-1".into(), limit_curve(1).draw()),
        ("limit-curve-3".into(), limit_curve(3).draw()),
        ("limit-curve-100".into(), limit_curve(100).draw()),
        ("limit-curve-gaps".into(), gaps.draw()),
        ("exclusion-expected".into(), expected_plane.draw()),
        ("exclusion-inside".into(), inside.draw()),
        ("exclusion-fine".into(), exclusion(40.0).draw()),
        ("exclusion-on-a-line".into(), on_a_line.draw()),
    ]
}

fn of_toys() -> Vec<Drawn> {
    let mut nulls = toy_distribution(60);
    for one in &mut nulls.histograms {
        one.at_zero += one.counts.iter().sum::<u64>();
        one.counts.fill(0);
        (one.beyond, one.left_out) = (3, 12);
    }
    nulls.observed = Some(0.0);
    nulls.statistic = long_name(8);
    let mut far = goodness_toys(100);
    (far.observed, far.observed_text) = (Some(310.0), "observed 310".into());
    let mut long_pulls = toy_pulls(12);
    for (i, row) in long_pulls.rows.iter_mut().enumerate() {
        row.parameter = long_name(i);
    }
    (long_pulls.rows[3].mean, long_pulls.rows[5].width) = (Some(40.0), Some(f64::NAN));
    vec![
        ("toys-few".into(), toy_distribution(60).draw()),
        ("toys-linear".into(), ToyDistribution { log_y: false, ..toy_distribution(1000) }.draw()),
        ("toys-at-zero".into(), nulls.draw()),
        ("goodness-far".into(), far.draw()),
        ("toy-pulls-1".into(), toy_pulls(1).draw()),
        ("toy-pulls-60".into(), toy_pulls(60).draw()),
        ("toy-pulls-184".into(), toy_pulls(184).draw()),
        ("toy-pulls-1000".into(), toy_pulls(1000).draw()),
        ("toy-pulls-long".into(), long_pulls.draw()),
    ]
}

fn of_events() -> Vec<Drawn> {
    let mut zero =
        channel("empty_region_with_a_very_long_name_that_goes_on_and_on_and_on_until_the_end", 4, 0.0, 1);
    zero.data = vec![Some(0.0), Some(1.0), None, Some(0.0)];
    zero.uncertainty = vec![Some(0.0), None, Some(0.2), Some(f64::NAN)];
    let blind = ChannelYields { data: Vec::new(), ..channel("blinded", 5, 50.0, 2) };
    let one_bin = ChannelYields {
        bin_edges: Vec::new(),
        x_title: String::new(),
        ..channel("VR_one_bin", 1, 200.0, 31)
    };
    let mut many = channel("many_samples", 6, 100.0, 9);
    for i in 0..25 {
        let counts = (0..6).map(|bin| f64::from(i + bin) * 1.5).collect();
        many.samples.push(SampleYields {
            name: format!("{}_{i}", long_name(i as usize)),
            counts,
            ..SampleYields::default()
        });
    }
    many.data = vec![Some(1200.0); 6];
    let page = |channels: Vec<ChannelYields>, log_y| Yields {
        title: "Pre-fit".into(),
        channels,
        log_y,
        ..Yields::default()
    };
    vec![
        ("yields-20000".into(), huge().draw()),
        ("yields-log".into(), yields(true).draw()),
        ("events-log".into(), Yields { log_y: true, ..diphoton_blinded() }.draw()),
        ("events-page".into(), page(vec![events("one", 3), channel("bins", 8, 60.0, 4)], false).draw()),
        ("events-lines".into(), Yields { components: Components::Lines, ..yields_page() }.draw()),
        ("yields-zero".into(), page(vec![zero, blind], true).draw()),
        ("yields-one-bin".into(), page(vec![one_bin], false).draw()),
        ("yields-many".into(), page(vec![many], false).draw()),
    ]
}

fn of_effects() -> Vec<Drawn> {
    vec![
        ("impacts-1".into(), effects::impacts(1).draw()),
        ("impacts-184".into(), effects::impacts(184).draw()),
        ("pruning-184".into(), effects::pruning(184).draw()),
        ("summary-1".into(), effects::summary(1).draw()),
        ("summary-60".into(), effects::summary(60).draw()),
        ("summary-log".into(), Yields { log_y: true, ..effects::summary(20) }.draw()),
    ]
}
