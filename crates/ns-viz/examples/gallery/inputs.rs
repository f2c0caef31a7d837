//! Invented data for pictures, used by the gallery and by tests. Some of the data look like those of real
//! analyses. Others are hard to draw.

#[path = "effects.rs"]
mod effects;
#[path = "planes.rs"]
mod planes;
#[path = "unfolding.rs"]
mod unfolding;

use ns_viz::{
    Bar, ChannelRow, ChannelYields, Channels, Components, Confidence, Contour, Correlation, Drawing,
    Exclusion, Limit, LimitCurve, Linearity, PictureError, PullRow, Pulls, Ranking, RankingRow, SampleYields,
    Scan, TemplateSet, Templates, ToyDistribution, ToyHistogram, ToyPullRow, ToyPulls, Yields,
};

/// Pseudo-random numbers that are the same on every machine (a linear congruential generator).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number uniform between 0 and 1.
    pub(crate) fn flat(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number from approximately the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.flat()).sum::<f64>() - 6.0
    }
}

fn names(count: usize) -> Vec<String> {
    let stems = [
        "JES_EffectiveNP_Modelling",
        "JER_DataVsMC_MC16",
        "FT_EFF_Eigen_B",
        "EL_EFF_ID_TOTAL_1NPCOR",
        "MUON_ID",
        "ttbar_PhaseSpace_hdamp",
        "Wjets_scale_muR_muF",
        "lumi",
        "PRW_DATASF",
        "MET_SoftTrk_ResoPara",
        "ttH_parton_shower_Herwig7",
        "singletop_DRvsDS",
        "gamma_stat_SR_highmass_bin",
    ];
    (0..count)
        .map(|i| {
            let stem = stems[i % stems.len()];
            if i < stems.len() { stem.to_owned() } else { format!("{stem}_{}", i / stems.len()) }
        })
        .collect()
}

pub(crate) fn long_name(index: usize) -> String {
    let name = format!(
        "alpha_ATLAS_JES_EffectiveNP_Modelling{index}_AFII_ttbar_PowhegPythia8_vs_Sherpa_SR_highmass_x"
    );
    name.chars().take(80).collect()
}

pub(crate) fn scan() -> Scan {
    let x: Vec<f64> = (0..21).map(|i| 0.15 * f64::from(i)).collect();
    let q = |x: f64| if x < 1.32 { ((x - 1.32) / 0.41).powi(2) } else { ((x - 1.32) / 0.52).powi(2) };
    let mut values: Vec<_> = x.iter().map(|x| Some(q(*x))).collect();
    values[16] = None;
    Scan {
        parameter: "mu_ttH".into(),
        title: "Profile likelihood scan".into(),
        subtitle: "observed data, 139 fb⁻¹".into(),
        x,
        twice_delta_nll: values,
        best_fit: Some(1.32),
        ..Scan::default()
    }
}

pub(crate) fn contour(nodes: usize) -> Contour {
    let along = |from: f64, to: f64| -> Vec<f64> {
        (0..nodes).map(|i| from + (to - from) * i as f64 / (nodes - 1) as f64).collect()
    };
    let (x, y) = (along(0.0, 2.6), along(-1.0, 3.5));
    let q = |x: f64, y: f64| {
        let (u, v) = ((x - 1.2) / 0.38, (y - 1.1) / 0.7);
        (u * u + v * v + 1.1 * u * v) / 0.7 + 0.12 * u * u * u.max(0.0)
    };
    let values = y.iter().map(|y| x.iter().map(|x| Some(q(*x, *y))).collect()).collect();
    Contour {
        x_parameter: "mu_ttH".into(),
        y_parameter: "mu_ttZ".into(),
        title: "Likelihood contours".into(),
        subtitle: "observed data".into(),
        x,
        y,
        twice_delta_nll: values,
        best_fit: Some([1.2, 1.1]),
        ..Contour::default()
    }
}

pub(crate) fn ranking(rows: usize, long: bool) -> Ranking {
    let mut dice = Dice::new(7);
    let rows = names(rows)
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let size = 0.16 * (-(i as f64) / 9.0).exp() + 0.004;
            let sign = if dice.flat() < 0.5 { -1.0 } else { 1.0 };
            let constraint = 0.55 + 0.45 * dice.flat();
            let free = i == 4;
            RankingRow {
                parameter: if long && i % 3 == 0 { long_name(i) } else { name },
                pull: (!free).then(|| 0.7 * dice.normal()),
                constraint: (!free).then_some(constraint),
                prefit_up: (!free).then_some(sign * size),
                prefit_down: (!free).then_some(-sign * size * (0.7 + 0.5 * dice.flat())),
                postfit_up: Some(sign * size * constraint),
                postfit_down: Some(-sign * size * constraint * (0.8 + 0.3 * dice.flat())),
                clipped: i == 6,
                note: if free { "1.08 ± 0.12".into() } else { String::new() },
            }
        })
        .collect();
    Ranking {
        poi: "mu_ttH".into(),
        title: "Ranking of nuisance parameters".into(),
        subtitle: "ttH multilepton, observed data".into(),
        rows,
        max_rows: None,
    }
}

pub(crate) fn pulls(count: usize) -> Pulls {
    let mut dice = Dice::new(11);
    let row = |parameter: String| PullRow {
        parameter,
        pull: Some(0.6 * dice.normal()),
        constraint: Some(0.4 + 0.6 * dice.flat()),
        ..PullRow::default()
    };
    let mut rows: Vec<_> = names(count).into_iter().map(row).collect();
    if let Some(outlier) = rows.get_mut(7) {
        outlier.pull = Some(2.6);
    }
    Pulls { title: "Pulls".into(), subtitle: "fit to the observed data".into(), rows, columns: None }
}

pub(crate) fn correlation(count: usize) -> Correlation {
    let mut dice = Dice::new(3);
    let mut matrix = vec![vec![Some(0.0); count]; count];
    for row in 0..count {
        for column in 0..row {
            let near = (-((row - column) as f64) / 3.0).exp();
            let value = (0.5 * near * dice.normal() + 0.02 * dice.normal()).clamp(-0.95, 0.95);
            matrix[row][column] = Some(value);
            matrix[column][row] = Some(value);
        }
        matrix[row][row] = Some(1.0);
    }
    Correlation {
        title: "Correlation matrix".into(),
        subtitle: "post-fit".into(),
        parameters: names(count),
        matrix,
        threshold: None,
    }
}

pub(crate) fn limit(log_y: bool) -> Limit {
    let mu: Vec<f64> = (0..26).map(|i| 0.1 * f64::from(i)).collect();
    let cls = |mu: f64, scale: f64| (-(mu / scale) * 3.0 - 0.3 * (mu / scale).powi(2)).exp();
    let scales = [0.62, 0.85, 1.2, 1.7, 2.4];
    let limits = scales.map(|scale| {
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if cls(middle, scale) > 0.05 { low = middle } else { high = middle }
        }
        Some(low)
    });
    Limit {
        poi: "mu_tHu".into(),
        title: "Upper limit at 95 % confidence level".into(),
        subtitle: "asymptotic CLₛ, test statistic q\u{303}".into(),
        observed: mu.iter().map(|mu| Some(cls(*mu, 1.45))).collect(),
        expected: mu.iter().map(|mu| scales.map(|scale| Some(cls(*mu, scale)))).collect(),
        mu,
        observed_limit: Some(1.257),
        expected_limits: limits,
        log_y,
        ..Limit::default()
    }
}

/// Factors between the median expected limit and those of the five standard deviations.
const BAND: [f64; 5] = [0.54, 0.73, 1.0, 1.41, 1.95];

/// Returns limits on a signal against its mass, of which there are `points` from 400 on in steps of 100.
pub(crate) fn limit_curve(points: usize) -> LimitCurve {
    let mut dice = Dice::new(4);
    let x: Vec<f64> = (0..points).map(|i| 400.0 + 100.0 * i as f64).collect();
    let median: Vec<f64> = x.iter().map(|x| 0.06 * (x / 400.0).powi(3) + 0.02).collect();
    LimitCurve {
        label: "m(Z') [GeV]".into(),
        poi: "mu".into(),
        title: "Search for a heavy resonance".into(),
        observed: median.iter().map(|limit| Some(limit * (0.33 * dice.normal()).exp())).collect(),
        expected: median.iter().map(|limit| BAND.map(|factor| Some(factor * limit))).collect(),
        x,
        log_y: true,
        ..LimitCurve::default()
    }
}

/// Returns limits on signals in a plane of masses. The lighter particle is below the diagonal.
pub(crate) fn exclusion(step: f64) -> Exclusion {
    let mut plane = Exclusion {
        x_label: "m(gluino) [GeV]".into(),
        y_label: "m(neutralino) [GeV]".into(),
        poi: "mu".into(),
        title: "Pairs of gluinos".into(),
        ..Exclusion::default()
    };
    let mut dice = Dice::new(9);
    let steps = (1400.0 / step) as u32;
    for i in 0..=steps {
        for j in 0..=steps {
            let (heavy, light) = (1000.0 + step * f64::from(i), 100.0 + step * f64::from(j));
            if light > heavy - 150.0 || light > 1500.0 {
                continue;
            }
            let near = (-(heavy - light - 150.0) / 200.0).exp();
            let median = ((heavy - 1900.0) / 230.0 + 0.5 * (light / 900.0).powi(3) + 1.5 * near).exp();
            plane.x.push(heavy);
            plane.y.push(light);
            plane.observed.push(Some(median * (0.25 + 0.04 * dice.normal()).exp()));
            plane.expected.push(BAND.map(|factor| Some(factor * median)));
        }
    }
    plane
}

/// Returns the histogram of `values` with bins between `edges`. Values of 0 are counted on their own.
fn histogram(name: &str, edges: &[f64], values: &[f64], tail: &str) -> ToyHistogram {
    let within =
        |pair: &[f64]| values.iter().filter(|x| **x > 0.0 && **x >= pair[0] && **x < pair[1]).count();
    ToyHistogram {
        name: name.into(),
        counts: edges.windows(2).map(|pair| within(pair) as u64).collect(),
        at_zero: values.iter().filter(|x| **x == 0.0).count() as u64,
        beyond: values.iter().filter(|x| Some(*x) >= edges.last()).count() as u64,
        left_out: 0,
        tail: tail.into(),
    }
}

/// Returns the statistic of a test of an upper limit in toys of two hypotheses. A toy with more signal than tested has
/// the statistic 0.
pub(crate) fn toy_distribution(toys: usize) -> ToyDistribution {
    let mut dice = Dice::new(13);
    let mut values =
        |mean: f64| -> Vec<f64> { (0..toys).map(|_| (mean - dice.normal()).max(0.0).powi(2)).collect() };
    let (background, signal) = (values(2.1), values(0.0));
    let edges: Vec<f64> = (0..=48).map(|edge| 0.5 * f64::from(edge)).collect();
    ToyDistribution {
        title: "mu = 1 tested with toys".into(),
        statistic: "test statistic q\u{303}".into(),
        histograms: vec![
            histogram("background", &edges, &background, "CLb = 0.644 ± 0.005"),
            histogram("mu = 1", &edges, &signal, "CLs+b = 0.0418 ± 0.0020"),
        ],
        bin_edges: edges,
        observed: Some(3.0),
        observed_text: "observed 3.00: CLₛ = 0.065 ± 0.003".into(),
        log_y: true,
        ..ToyDistribution::default()
    }
}

/// Returns chi2 of toys with the curve of its asymptotic distribution.
pub(crate) fn goodness_toys(toys: usize) -> ToyDistribution {
    let mut dice = Dice::new(17);
    let values: Vec<f64> = (0..toys).map(|_| (0..6).map(|_| dice.normal().powi(2)).sum()).collect();
    let edges: Vec<f64> = (0..=24).map(f64::from).collect();
    let positions: Vec<f64> = (0..=120).map(|at| 0.2 * f64::from(at)).collect();
    ToyDistribution {
        title: "Goodness of fit".into(),
        statistic: "χ²".into(),
        histograms: vec![histogram("", &edges, &values, "p-value 0.279 ± 0.010")],
        bin_edges: edges,
        curve: positions.iter().map(|x| x * x * (-0.5 * x).exp() / 16.0).collect(),
        curve_positions: positions,
        curve_name: "χ² with 6 degrees of freedom: p-value 0.277".into(),
        observed: Some(7.5),
        observed_text: "observed 7.50".into(),
        ..ToyDistribution::default()
    }
}

/// Returns the templates of systematics on a falling background: one smoothed, one of the sum alone, one with an empty bin.
pub(crate) fn templates() -> Templates {
    let mut dice = Dice::new(23);
    let edges: Vec<f64> = (0..=12).map(|edge| 100.0 + 25.0 * f64::from(edge)).collect();
    let nominal: Vec<f64> = (0..12).map(|bin| 180.0 * (-0.28 * f64::from(bin)).exp()).collect();
    let changed = |change: &dyn Fn(f64) -> f64| -> Vec<f64> {
        nominal.iter().enumerate().map(|(bin, n)| n * (1.0 + change(bin as f64))).collect()
    };
    let set = |systematic: &str, up: Vec<f64>, down: Vec<f64>| TemplateSet {
        systematic: systematic.into(),
        subject: "SR, background".into(),
        bin_edges: edges.clone(),
        nominal: nominal.clone(),
        uncertainty: nominal.iter().map(|n| (0.4 * n).sqrt()).collect(),
        up,
        down,
        ..TemplateSet::default()
    };
    let mut scale =
        set("jet energy scale", changed(&|bin| 0.02 * bin - 0.08), changed(&|bin| 0.07 - 0.018 * bin));
    let rough = |smooth: &[f64], dice: &mut Dice| -> Vec<f64> {
        smooth.iter().map(|x| x * (1.0 + 0.05 * dice.normal())).collect()
    };
    scale.up_before = rough(&scale.up, &mut dice);
    scale.down_before = rough(&scale.down, &mut dice);
    let mut tagging = set("b-tagging", changed(&|_| 0.06), changed(&|_| -0.06));
    tagging.note = "shape left out".into();
    let mut generator = set("generator", changed(&|bin| 0.3 * (0.5 * bin).sin()), nominal.clone());
    for values in [&mut generator.nominal, &mut generator.up, &mut generator.down] {
        values[8] = 0.0;
    }
    Templates {
        title: "Templates".into(),
        subtitle: "made-up numbers".into(),
        sets: vec![scale, tagging, generator],
    }
}

/// Returns means and widths of the pulls of `count` parameters in 1000 toys. One mean is far from 0, and one parameter
/// has no pulls.
pub(crate) fn toy_pulls(count: usize) -> ToyPulls {
    let mut dice = Dice::new(19);
    let row = |parameter: String| ToyPullRow {
        parameter,
        mean: Some(0.032 * dice.normal()),
        mean_error: Some(0.032),
        width: Some(1.0 + 0.022 * dice.normal()),
        width_error: Some(0.022),
    };
    let mut rows: Vec<_> = names(count).into_iter().map(row).collect();
    if let Some(far) = rows.get_mut(5) {
        far.mean = Some(0.163);
    }
    if let Some(none) = rows.get_mut(9) {
        *none = ToyPullRow { parameter: none.parameter.clone(), ..ToyPullRow::default() };
    }
    ToyPulls { title: "Pulls in toys".into(), subtitle: "1000 toys".into(), rows, columns: None }
}

pub(crate) fn channel(name: &str, bins: usize, size: f64, seed: u64) -> ChannelYields {
    let mut dice = Dice::new(seed);
    let shape = |at: f64, width: f64, total: f64, tail: f64| -> Vec<f64> {
        (0..bins)
            .map(|bin| {
                let x = (bin as f64 + 0.5) / bins as f64;
                total / bins as f64 * ((-(x - at).powi(2) / width).exp() + tail * (-3.0 * x).exp())
            })
            .collect()
    };
    let sample = |name: &str, counts: Vec<f64>, signal: bool| SampleYields {
        name: name.into(),
        counts,
        signal,
        ..SampleYields::default()
    };
    let samples = vec![
        sample("ttbar", shape(0.3, 0.08, 5.0 * size, 0.6), false),
        sample("W + jets", shape(0.2, 0.1, 2.0 * size, 1.0), false),
        sample("single top", shape(0.35, 0.1, size, 0.3), false),
        sample("diboson", shape(0.4, 0.2, 0.5 * size, 0.2), false),
        sample("fakes", shape(0.1, 0.03, 0.6 * size, 0.9), false),
        sample("ttH", shape(0.75, 0.02, 0.9 * size, 0.0), true),
    ];
    let total: Vec<f64> = (0..bins).map(|bin| samples.iter().map(|s| s.counts[bin]).sum()).collect();
    let mut observe = |mean: f64| (mean + mean.sqrt() * dice.normal()).round().max(0.0);
    ChannelYields {
        name: name.into(),
        x_title: "BDT score".into(),
        bin_edges: (0..=bins).map(|edge| -1.0 + 2.0 * edge as f64 / bins as f64).collect(),
        data: total.iter().map(|mean| Some(observe(*mean))).collect(),
        uncertainty: total.iter().map(|mean| Some(0.07 * mean + 0.3)).collect(),
        samples,
        ..ChannelYields::default()
    }
}

/// Returns a channel of unbinned events: samples with smooth curves, and pulls in the lower panel.
pub(crate) fn events(name: &str, seed: u64) -> ChannelYields {
    let mut dice = Dice::new(seed);
    let (low, width, bins) = (105.0, 1.375, 40);
    type Shape = fn(f64) -> f64;
    let shapes: [(&str, bool, Shape); 3] = [
        ("γγ", false, |x| 82.0 * (-0.028 * (x - 105.0)).exp()),
        ("γ + jet", false, |x| 31.0 * (-0.041 * (x - 105.0)).exp()),
        ("H → γγ", true, |x| 26.0 * (-0.5 * ((x - 125.0) / 1.9).powi(2)).exp()),
    ];
    let edges: Vec<f64> = (0..=bins).map(|edge| low + width * f64::from(edge)).collect();
    let positions: Vec<f64> = (0..=8 * bins).map(|at| low + 0.125 * width * f64::from(at)).collect();
    let samples = shapes.map(|(name, signal, shape)| SampleYields {
        name: name.into(),
        counts: edges.windows(2).map(|pair| shape(0.5 * (pair[0] + pair[1]))).collect(),
        signal,
        curve: positions.iter().map(|x| shape(*x)).collect(),
        ..SampleYields::default()
    });
    let total = |bin: usize| samples.iter().map(|sample| sample.counts[bin]).sum::<f64>();
    let total: Vec<f64> = (0..edges.len() - 1).map(total).collect();
    let mut observe = |mean: f64| (mean + mean.sqrt() * dice.normal()).round().max(0.0);
    ChannelYields {
        name: name.into(),
        x_title: "m_γγ".into(),
        data: total.iter().map(|mean| Some(observe(*mean))).collect(),
        uncertainty: total.iter().map(|mean| Some(0.03 * mean)).collect(),
        bin_edges: edges,
        samples: samples.to_vec(),
        curve_positions: positions,
        pulls: true,
        ..ChannelYields::default()
    }
}

/// Returns the yields of a channel of unbinned events. The samples are stacked.
pub(crate) fn diphoton() -> Yields {
    let channels = vec![events("diphoton", 11)];
    Yields { title: "Post-fit".into(), channels, ..Yields::default() }
}

/// Returns the yields of a channel of unbinned events, with one line per sample and a blinded range.
pub(crate) fn diphoton_blinded() -> Yields {
    let channels = vec![ChannelYields { blind: vec![(120.0, 130.0)], ..events("diphoton", 11) }];
    let (title, subtitle) = ("Pre-fit".into(), "the signal region is blinded".into());
    Yields { title, subtitle, channels, components: Components::Lines, ..Yields::default() }
}

pub(crate) fn yields(log_y: bool) -> Yields {
    Yields {
        title: "Post-fit".into(),
        subtitle: "ttH multilepton, 139 fb⁻¹".into(),
        channels: vec![channel("SR_2l_highmass", 20, 900.0, 5)],
        log_y,
        ..Yields::default()
    }
}

pub(crate) fn yields_page() -> Yields {
    let channels: Vec<_> =
        [("SR_2l", 12, 300.0), ("SR_3l", 8, 60.0), ("CR_ttbar", 10, 40_000.0), ("CR_Wjets", 6, 9_000.0)]
            .into_iter()
            .enumerate()
            .map(|(i, (name, bins, size))| channel(name, bins, size, 20 + i as u64))
            .collect();
    Yields { title: "Pre-fit".into(), channels, ..Yields::default() }
}

/// Returns the yields of a channel that has more bins than its panel has pixels.
pub(crate) fn huge() -> Yields {
    Yields { channels: vec![channel("SR_unbinned", 20_000, 4e6, 3)], ..Yields::default() }
}

/// Returns pictures that are hard to draw well, with their names.
pub(crate) fn hard() -> Vec<(String, Result<Drawing, PictureError>)> {
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
    let mut long_correlation = correlation(8);
    long_correlation.parameters = (0..8).map(long_name).collect();
    long_correlation.matrix[2][5] = None;
    let mut thinned = correlation(120);
    thinned.threshold = Some(0.6);
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
    let mut nulls = toy_distribution(60);
    for one in &mut nulls.histograms {
        one.at_zero += one.counts.iter().sum::<u64>();
        one.counts.fill(0);
        (one.beyond, one.left_out) = (3, 12);
    }
    nulls.observed = Some(0.0);
    nulls.statistic = long_name(8);
    let mut far_toys = goodness_toys(100);
    (far_toys.observed, far_toys.observed_text) = (Some(310.0), "observed 310".into());
    let mut long_toy_pulls = toy_pulls(12);
    for (i, row) in long_toy_pulls.rows.iter_mut().enumerate() {
        row.parameter = long_name(i);
    }
    (long_toy_pulls.rows[3].mean, long_toy_pulls.rows[5].width) = (Some(40.0), Some(f64::NAN));
    let page = |channels: Vec<ChannelYields>, log_y| Yields {
        title: "Pre-fit".into(),
        channels,
        log_y,
        ..Yields::default()
    };
    vec![
        ("scan-flat".into(), flat.draw()),
        ("scan-broken".into(), broken.draw()),
        ("scan-one-point".into(), point.draw()),
        ("contour-holes".into(), holes.draw()),
        ("contour-2x2".into(), small.draw()),
        ("ranking-60-long".into(), ranking(60, true).draw()),
        ("ranking-none".into(), empty_rows.draw()),
        ("pulls-250".into(), pulls(250).draw()),
        ("pulls-1000".into(), pulls(1000).draw()),
        ("yields-20000".into(), huge().draw()),
        ("pulls-long".into(), long_pulls.draw()),
        ("correlation-250".into(), correlation(250).draw()),
        ("correlation-long".into(), long_correlation.draw()),
        ("correlation-35".into(), correlation(35).draw()),
        ("correlation-thinned".into(), thinned.draw()),
        ("correlation-1".into(), correlation(1).draw()),
        ("channels-60".into(), channels(60).draw()),
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
        ("toys-few".into(), toy_distribution(60).draw()),
        ("toys-linear".into(), ToyDistribution { log_y: false, ..toy_distribution(1000) }.draw()),
        ("toys-at-zero".into(), nulls.draw()),
        ("goodness-far".into(), far_toys.draw()),
        ("toy-pulls-1".into(), toy_pulls(1).draw()),
        ("toy-pulls-60".into(), toy_pulls(60).draw()),
        ("toy-pulls-184".into(), toy_pulls(184).draw()),
        ("toy-pulls-1000".into(), toy_pulls(1000).draw()),
        ("toy-pulls-long".into(), long_toy_pulls.draw()),
        ("yields-log".into(), yields(true).draw()),
        ("events-log".into(), Yields { log_y: true, ..diphoton_blinded() }.draw()),
        ("events-page".into(), page(vec![events("one", 3), channel("bins", 8, 60.0, 4)], false).draw()),
        ("events-lines".into(), Yields { components: Components::Lines, ..yields_page() }.draw()),
        ("yields-zero".into(), page(vec![zero, blind], true).draw()),
        ("yields-one-bin".into(), page(vec![one_bin], false).draw()),
        ("yields-many".into(), page(vec![many], false).draw()),
        ("corner-1".into(), planes::corner(1).draw()),
        ("corner-9".into(), planes::corner(9).draw()),
        ("impacts-1".into(), effects::impacts(1).draw()),
        ("impacts-184".into(), effects::impacts(184).draw()),
        ("pruning-184".into(), effects::pruning(184).draw()),
        ("summary-1".into(), effects::summary(1).draw()),
        ("summary-60".into(), effects::summary(60).draw()),
        ("summary-log".into(), Yields { log_y: true, ..effects::summary(20) }.draw()),
    ]
}

/// p-values of a count of 4 over a background of 3, with a few invented deviations.
fn confidence() -> Confidence {
    let mut dice = Dice::new(5);
    let x: Vec<f64> = (0..14).map(|i| 0.55 * f64::from(i)).collect();
    let asymptotic: Vec<f64> =
        x.iter().map(|mu| (-(0.5 * (mu - 1.0).abs() + 0.09 * (mu - 1.0).powi(2))).exp()).collect();
    let p_value = asymptotic.iter().map(|p| Some((p * (1.0 + 0.08 * dice.normal())).clamp(0.0, 1.0)));
    Confidence {
        parameter: "mu".into(),
        p_value: p_value.collect(),
        error: asymptotic.iter().map(|p| Some((p * (1.0 - p) / 600.0).sqrt())).collect(),
        alpha: 0.1,
        interval: [Some((0.0, 0.0)), Some((5.6, 0.05))],
        asymptotic_interval: [Some(0.0), Some(5.05)],
        x,
        asymptotic,
        ..Confidence::default()
    }
}

/// Values of a parameter in `count` channels, scattered around 1.
fn channels(count: usize) -> Channels {
    let mut dice = Dice::new(11);
    let bar = |value: f64, sigma: f64| Bar { value, lower: Some(value - sigma), upper: Some(value + sigma) };
    let row = |i: usize| {
        let sigma = 0.2 + 0.3 * dice.flat();
        let own = bar(1.0 + sigma * dice.normal(), sigma);
        ChannelRow { channel: format!("SR_{i}"), own, others: Some(bar(1.0 + 0.05 * dice.normal(), 0.12)) }
    };
    let rows = (0..count).map(row).collect();
    Channels { parameter: "mu".into(), rows, common: bar(1.0, 0.11), ..Channels::default() }
}

/// Biases at five injected values.
fn linearity() -> Linearity {
    Linearity {
        parameter: "injected mu".into(),
        injected: vec![0.0, 0.5, 1.0, 2.0, 4.0],
        bias: [0.012, 0.004, -0.003, -0.021, -0.034].map(Some).to_vec(),
        error: [0.006, 0.007, 0.008, 0.01, 0.014].map(Some).to_vec(),
        line: Some([0.0095, 0.9886, 0.0034]),
        ..Linearity::default()
    }
}

/// Returns the pictures of the documentation with their names. There is at least one picture of each kind.
pub(crate) fn typical() -> Vec<(String, Result<Drawing, PictureError>)> {
    vec![
        ("scan".into(), scan().draw()),
        ("contour".into(), contour(21).draw()),
        ("ranking".into(), ranking(20, false).draw()),
        ("pulls".into(), pulls(24).draw()),
        ("correlation".into(), correlation(12).draw()),
        ("confidence".into(), confidence().draw()),
        ("region".into(), planes::region().draw()),
        ("corner".into(), planes::corner(4).draw()),
        ("places".into(), planes::places().draw()),
        ("spurious".into(), planes::spurious().draw()),
        ("channels".into(), channels(6).draw()),
        ("linearity".into(), linearity().draw()),
        ("unfolded".into(), unfolding::unfolded().draw()),
        ("strengths".into(), unfolding::strengths().draw()),
        ("limit".into(), limit(false).draw()),
        ("limit-curve".into(), limit_curve(13).draw()),
        ("exclusion".into(), exclusion(100.0).draw()),
        ("toys".into(), toy_distribution(10_000).draw()),
        ("goodness".into(), goodness_toys(2000).draw()),
        ("toy-pulls".into(), toy_pulls(24).draw()),
        ("templates".into(), templates().draw()),
        ("impacts".into(), effects::impacts(20).draw()),
        ("groups".into(), effects::groups().draw()),
        ("pruning".into(), effects::pruning(14).draw()),
        ("summary".into(), effects::summary(8).draw()),
        ("latex".into(), effects::marked().draw()),
        ("yields".into(), yields(false).draw()),
        ("yields-page".into(), yields_page().draw()),
        ("events".into(), diphoton().draw()),
        ("events-blinded".into(), diphoton_blinded().draw()),
    ]
}
