//! Invented events by channel, of bins and of single events.

use ns_viz::{Bar, ChannelRow, ChannelYields, Channels, Components, SampleYields, Yields};

use super::dice::Dice;

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

/// Values of a parameter in `count` channels, scattered around 1.
pub(crate) fn channels(count: usize) -> Channels {
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
