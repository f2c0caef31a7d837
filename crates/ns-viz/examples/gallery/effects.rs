//! Invented data for pictures of impacts, templates, pruning, regions and names with markup.

use ns_viz::{
    ChannelYields, GroupRow, Groups, Impacts, Kept, Pruning, Ranking, SampleYields, TemplateSet, Templates,
    Yields,
};

use super::dice::{Dice, long_name};
use super::fits::ranking;
use super::yields::channel;

pub(crate) fn impacts(rows: usize) -> Impacts {
    let Ranking { poi, rows, .. } = ranking(rows, false);
    Impacts {
        poi, rows, value: "mu_ttH = 1.32 ± 0.45".into(), title: "Impacts".into(), ..Impacts::default()
    }
}

pub(crate) fn groups() -> Groups {
    let row = |(group, fixed): (&str, f64)| GroupRow {
        group: group.into(),
        global: Some(1.1 * fixed),
        fixed: Some(fixed),
        sequential: Some(0.9 * fixed),
    };
    let rows = [("jets", 0.21), ("theory of the signal", 0.17), ("b tagging", 0.11), ("leptons", 0.04)];
    Groups { poi: "mu_ttH".into(), rows: rows.map(row).to_vec(), total: Some(0.45), ..Groups::default() }
}

pub(crate) fn pruning(systematics: usize) -> Pruning {
    let mut dice = Dice::new(31);
    let Ranking { rows, .. } = ranking(systematics, systematics > 100);
    let mut effects = Vec::new();
    for row in &rows {
        for region in ["SR_2l", "SR_3l", "CR_ttbar"] {
            for sample in ["ttH", "ttbar", "single top", "W + jets", "diboson"] {
                let kept = match (12.0 * dice.flat()) as u32 {
                    0..=1 => continue,
                    2..=6 => Kept::All,
                    7..=8 => Kept::Shape,
                    9..=10 => Kept::Normalisation,
                    _ => Kept::Nothing,
                };
                effects.push((region, sample, row.parameter.as_str(), kept));
            }
        }
    }
    Pruning { title: "Pruning".into(), ..Pruning::of(effects) }
}

/// Returns the events of many regions, with long names if there are many.
pub(crate) fn summary(regions: usize) -> Yields {
    let mut dice = Dice::new(41);
    let mut one = |size: f64| -> Vec<f64> { (0..regions).map(|_| size * (0.2 + dice.flat())).collect() };
    let samples =
        [("ttbar", 300.0, false), ("W + jets", 120.0, false), ("diboson", 60.0, false), ("ttH", 25.0, true)];
    let samples = samples.map(|(name, size, signal)| SampleYields {
        name: name.into(),
        counts: one(size),
        signal,
        ..SampleYields::default()
    });
    let total: Vec<f64> =
        (0..regions).map(|i| samples.iter().filter_map(|sample| sample.counts.get(i)).sum()).collect();
    let label = |i: usize| match regions {
        0..=12 => format!(r"$SR_{{{i}}}^{{\geq 3b}}$"),
        _ => long_name(i).chars().skip(6).take(24 + i % 9).collect(),
    };
    let regions = ChannelYields {
        bin_labels: (0..regions).map(label).collect(),
        before: total.iter().map(|x| Some(x * (0.85 + 0.3 * dice.flat()))).collect(),
        data: total.iter().map(|x| Some((x + x.sqrt() * dice.normal()).round().max(0.0))).collect(),
        uncertainty: total.iter().map(|x| Some(0.06 * x)).collect(),
        samples: samples.to_vec(),
        ..ChannelYields::default()
    };
    Yields { title: "Regions after the fit".into(), channels: vec![regions], ..Yields::default() }
}

/// Returns the events of a channel whose names have markup, one of whose samples is negative.
pub(crate) fn marked() -> Yields {
    let mut channel = ChannelYields {
        name: r"$H \to b\bar{b}$, $\geq 6j$".into(),
        x_title: r"$m_{b\bar{b}}^{\mathrm{reco}}$ [GeV]".into(),
        bin_edges: (0..=8).map(|edge| 60.0 + 20.0 * f64::from(edge)).collect(),
        ..channel("SR", 8, 300.0, 5)
    };
    let names = [r"$t\bar{t} + \geq 1b$", "W + jets", r"single $t$", "$VV$", "fakes", r"$t\bar{t}H$"];
    for (sample, name) in channel.samples.iter_mut().zip(names) {
        sample.name = name.into();
    }
    let interference = channel.samples.first().map(|sample| sample.counts.iter().map(|x| -0.3 * x).collect());
    channel.samples.push(SampleYields {
        name: r"$t\bar{t}$ interference".into(),
        counts: interference.unwrap_or_default(),
        colour: Some([120, 94, 200]),
        ..SampleYields::default()
    });
    Yields {
        title: r"$\sqrt{s}$ = 13 TeV, 139 fb$^{-1}$".into(),
        subtitle: r"$\mu_{t\bar{t}H} = 1.3^{+0.5}_{-0.4}$".into(),
        channels: vec![channel],
        ratio: Some([0.6, 1.4]),
        ..Yields::default()
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
        x_title: "mass [GeV]".into(),
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
