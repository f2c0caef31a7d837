//! Observed counts and nominal yields.

use std::collections::HashMap;

use ns_core::ChannelAxis;

use crate::Axis;
use crate::datacard::document::{Kind, ShapeRule, Size, Systematic};
use crate::datacard::histograms::Histogram;
use crate::datacard::lines::Place;
use crate::datacard::shapes::{Found, rule};
use crate::pyhf::names::{quoted, show};

use super::signals::{Scale, Signals};
use super::template::Scaling;
use super::{Builder, Cell};

/// The largest number of bins of all templates together. A short card can use the template of a small file many times.
const MOST_BINS: usize = 100_000_000;

/// What the card and its files give for channels and columns.
#[derive(Debug, Default)]
pub(super) struct Yields<'c> {
    /// Observed counts by channel; empty for a masked one.
    pub(super) observed: Vec<Vec<f64>>,
    /// Nominal templates by column; `None` for counts and masked channels.
    pub(super) templates: Vec<Option<Histogram>>,
    /// Line that gives the templates of a column.
    pub(super) rules: Vec<Option<&'c ShapeRule>>,
    /// Expected yields by column; 0 for masked channels.
    pub(super) rates: Vec<f64>,
    /// Axes of the templates by channel. The first template that has one gives it.
    axes: HashMap<usize, Axis>,
    /// Number of bins of the templates that were read.
    n_bins: usize,
}

impl Yields<'_> {
    /// Sets the axis of a channel to that of a template, unless it has one.
    fn known_axis(&mut self, channel: usize, template: &Histogram) {
        if let Some(axis) = &template.axis {
            self.axes.entry(channel).or_insert_with(|| axis.clone());
        }
    }

    /// Returns the axis of a channel with `n_bins` bins.
    pub(super) fn axis(&self, channel: usize, n_bins: usize) -> ChannelAxis {
        let Some(Axis { title, edges }) = self.axes.get(&channel).cloned() else {
            return ChannelAxis::default();
        };
        let edges = edges.filter(|edges| edges.len() == n_bins + 1);
        ChannelAxis { title: title.unwrap_or_default(), edges: edges.unwrap_or_default() }
    }
}

impl Builder<'_> {
    /// Reads observed counts and nominal templates, and compares their integrals with the numbers of the card.
    pub(super) fn read_yields(&mut self) {
        for at in 0..self.document.channels.len() {
            let counts = if self.kept.get(at) == Some(&true) { self.observed(at) } else { Vec::new() };
            self.yields.observed.push(counts);
        }
        for column in &self.document.columns {
            let channel = self.document.channels.get(column.channel);
            let Some(channel) = channel.filter(|_| self.kept.get(column.channel) == Some(&true)) else {
                self.yields.rules.push(None);
                self.yields.templates.push(None);
                self.yields.rates.push(0.0);
                continue;
            };
            let rule = rule(channel, &column.process);
            let place = || column.place.to_string();
            let subject =
                || format!("process {} in channel {}", quoted(&column.process), quoted(&channel.name));
            let (mut rate, mut template) = (column.rate, None);
            // Combine does not look for the template of a process without events.
            let found = if rate == 0.0 {
                Found::Nothing
            } else {
                self.shapes.nominal(channel, &column.process, rule, &mut self.report)
            };
            let n_bins = self.yields.observed.get(column.channel).map_or(0, Vec::len);
            match found {
                Found::Nothing => rate = 0.0,
                Found::Count if rate < 0.0 => {
                    self.report.error(
                        place(),
                        format!("The rate of {} is -1, and there is no template.", subject()),
                        "Write a number, or give the template in a 'shapes' line.",
                    );
                    rate = 0.0;
                }
                Found::Count if n_bins != 1 => {
                    self.report.error(
                        place(),
                        format!("The {} has no template, but the channel has {n_bins} bins.", subject()),
                        "Give the template in a 'shapes' line.",
                    );
                }
                Found::Count => {}
                Found::Histogram(histogram) if histogram.contents.len() != n_bins => {
                    let n = histogram.contents.len();
                    // If the observed histogram is missing, an error says so.
                    if n_bins > 0 {
                        self.report.error(
                            place(),
                            format!("The template of {} has {n} bins, and data_obs has {n_bins}.", subject()),
                            "Use the same bins for all templates of a channel.",
                        );
                    }
                }
                Found::Histogram(histogram) => {
                    let integral = histogram.integral();
                    if rate < 0.0 {
                        rate = integral;
                    } else if (integral - rate).abs() > 0.01 * rate.max(1.0) {
                        self.report.error(
                            place(),
                            format!(
                                "The rate of {} is {}, and the integral of the template is {}.",
                                subject(),
                                show(rate),
                                show(integral)
                            ),
                            "Correct one of the two, or write -1 for the integral.",
                        );
                    }
                    if !(integral > 0.0 && integral.is_finite()) {
                        if rate != 0.0 {
                            self.report.error(
                                place(),
                                format!("The template of {} has the integral {}.", subject(), show(integral)),
                                "Correct the template, or write the rate 0.",
                            );
                        }
                        rate = 0.0;
                    }
                    if self.take_bins(histogram.contents.len(), &column.place) {
                        self.yields.known_axis(column.channel, &histogram);
                        template = Some(histogram);
                    } else {
                        rate = 0.0;
                    }
                }
            }
            self.yields.rules.push(rule);
            self.yields.templates.push(template);
            self.yields.rates.push(rate);
        }
    }

    /// Returns the observed counts of a channel; empty if there is an error.
    fn observed(&mut self, at: usize) -> Vec<f64> {
        let Some(channel) = self.document.channels.get(at) else { return Vec::new() };
        let count = channel.observation.unwrap_or(-1.0);
        let place = channel.observed_at.to_string();
        match self.shapes.nominal(channel, "data_obs", rule(channel, "data_obs"), &mut self.report) {
            Found::Nothing => Vec::new(),
            Found::Count if count < 0.0 => {
                self.report.error(
                    place,
                    format!(
                        "The observation of channel {} is -1, and there is no histogram.",
                        quoted(&channel.name)
                    ),
                    "Write the count, or give data_obs in a 'shapes' line.",
                );
                vec![0.0]
            }
            Found::Count => vec![count],
            Found::Histogram(histogram) => {
                let integral = histogram.integral();
                let tolerance = if count == 0.0 { 0.01 } else { 0.005 * count };
                if count >= 0.0 && (integral - count).abs() > tolerance {
                    self.report.error(
                        place.clone(),
                        format!(
                            "The observation of channel {} is {}, and the integral of data_obs is {}.",
                            quoted(&channel.name),
                            show(count),
                            show(integral)
                        ),
                        "Correct one of the two, or write -1 for the integral.",
                    );
                }
                if let Some(bin) = histogram.contents.iter().position(|n| !(*n >= 0.0)) {
                    self.report.error(
                        place.clone(),
                        format!(
                            "data_obs of channel {} is negative in bin {}.",
                            quoted(&channel.name),
                            bin + 1
                        ),
                        "Counts cannot be negative.",
                    );
                }
                if !self.take_bins(histogram.contents.len(), &channel.place) {
                    return Vec::new();
                }
                self.yields.known_axis(at, &histogram);
                histogram.contents
            }
        }
    }

    /// Counts bins of templates. Returns false, with an error, once there are too many.
    pub(super) fn take_bins(&mut self, n: usize, place: &Place) -> bool {
        let before = self.yields.n_bins;
        self.yields.n_bins = before.saturating_add(n);
        if self.yields.n_bins > MOST_BINS && before <= MOST_BINS {
            self.report.error(
                place.to_string(),
                format!("The templates of the card have more than {MOST_BINS} bins."),
                "Mask channels, or use fewer bins.",
            );
        }
        self.yields.n_bins <= MOST_BINS
    }

    /// Returns how the templates of a column become yields.
    pub(super) fn scaling(&self, at: usize) -> Scaling {
        let column = self.document.columns.get(at);
        let mc_stats = column
            .and_then(|column| self.document.channels.get(column.channel))
            .and_then(|channel| channel.mc_stats.as_ref());
        match mc_stats {
            Some(line) => Scaling::Own { keep_integrals: line.keep_integrals },
            None => Scaling::Rate(self.yields.rates.get(at).copied().unwrap_or_default()),
        }
    }

    /// Makes the cells of all processes with events.
    pub(super) fn fill_cells(&mut self, signals: &Signals) {
        let is_gamma = |s: &&Systematic| matches!(s.kind, Kind::Gamma { .. });
        let gammas: Vec<&Systematic> = self.document.systematics.iter().filter(is_gamma).collect();
        for at in 0..self.document.columns.len() {
            let rate = self.yields.rates.get(at).copied().unwrap_or_default();
            if rate == 0.0 || signals.scales.get(at) == Some(&Scale::Zero) {
                continue;
            }
            let gamma = self.gamma(&gammas, at, rate);
            let nominal = match self.yields.templates.get(at).and_then(Option::as_ref) {
                None => vec![gamma.unwrap_or(rate)],
                Some(template) => {
                    let scaling = match (self.scaling(at), gamma) {
                        (Scaling::Rate(_), Some(gamma)) => Scaling::Rate(gamma),
                        (scaling, _) => scaling,
                    };
                    scaling.nominal(&template.contents)
                }
            };
            if let Some(cell) = self.cells.get_mut(at) {
                *cell = Some(Cell { nominal, modifiers: Vec::new() });
            }
        }
        self.check_data();
    }

    /// Returns the yield of a column with a `gmN` line where its factor is 1, and compares it with the rate.
    fn gamma(&mut self, lines: &[&Systematic], at: usize, rate: f64) -> Option<f64> {
        let mut yields = None;
        let document = self.document;
        for systematic in lines {
            let (Kind::Gamma { count }, Some(Size::One(alpha))) =
                (systematic.kind, systematic.sizes.get(&at))
            else {
                continue;
            };
            let column = document.columns.get(at)?;
            let subject = || {
                format!(
                    "process {} in channel {}",
                    quoted(&column.process),
                    quoted(document.channel_of(column))
                )
            };
            if (alpha * count - rate).abs() > f64::max(0.05 * rate.max(1.0), *alpha) {
                self.report.error(
                    systematic.place.to_string(),
                    format!(
                        "{} events times {} is not {}, the rate of {}.",
                        show(count),
                        show(*alpha),
                        show(rate),
                        subject()
                    ),
                    "Correct the number of events, the factor or the rate.",
                );
            }
            if yields.replace(alpha * count.max(1.0)).is_some() {
                self.report.error(
                    systematic.place.to_string(),
                    format!("The {} has a second gmN uncertainty.", subject()),
                    "Use one gmN per process, and lnN for the others.",
                );
            }
        }
        yields
    }

    /// Warns of bins with data in which nothing is expected.
    fn check_data(&mut self) {
        let mut expected: Vec<Vec<f64>> = self.yields.observed.iter().map(|c| vec![0.0; c.len()]).collect();
        for (column, cell) in self.document.columns.iter().zip(&self.cells) {
            let (Some(cell), Some(sum)) = (cell, expected.get_mut(column.channel)) else { continue };
            for (sum, x) in sum.iter_mut().zip(&cell.nominal) {
                *sum += x;
            }
        }
        for ((channel, counts), expected) in
            self.document.channels.iter().zip(&self.yields.observed).zip(&expected)
        {
            let empty = counts.iter().zip(expected).position(|(n, x)| *n > 0.0 && *x < 1e-6);
            if let Some(bin) = empty {
                self.report.warn(
                    channel.place.to_string(),
                    format!(
                        "Channel {} has data in bin {}, where no events are expected.",
                        quoted(&channel.name),
                        bin + 1
                    ),
                    "Merge the bin with another one.",
                );
            }
        }
    }
}
