//! Makes the model of a card.

mod effects;
mod formulas;
mod gamma;
mod log_shapes;
mod mc_stats;
mod parameters;
mod shape_effects;
mod signals;
mod template;
mod yields;

use std::collections::HashMap;

use ns_core::{
    Channel, Function, HistosysCode, Interpolation, Model, ModelFormat, Modifier, NormsysCode, Observations,
    Sample,
};

use super::card::Card;
use super::document::Document;
use super::error::CardError;
use super::options::CardOptions;
use super::shapes::Shapes;
use crate::pyhf::Problem;
use crate::pyhf::interest::wanted;
use crate::pyhf::names::{list, quoted};
use crate::pyhf::problem::Report;
use parameters::{Entry, Parameters};
use yields::Yields;

/// The interpolation codes of Combine.
fn interpolation() -> Interpolation {
    Interpolation { normsys: NormsysCode::AsymmetricLogNormal, histosys: HistosysCode::Code4p }
}

/// A process of a channel in the making.
struct Cell {
    nominal: Vec<f64>,
    modifiers: Vec<Modifier>,
}

/// The parts of a model in the making.
struct Builder<'c> {
    document: &'c Document,
    options: &'c CardOptions,
    report: Report,
    shapes: Shapes<'c>,
    parameters: Parameters,
    /// The parameters of `param` lines.
    params: HashMap<&'c str, Entry>,
    /// Whether each channel is part of the likelihood.
    kept: Vec<bool>,
    /// One element per column; `None` for a process without events, or of a masked channel.
    cells: Vec<Option<Cell>>,
    yields: Yields<'c>,
    /// Functions of parameters, each after those that it uses.
    functions: Vec<Function>,
    /// Samples that are no processes of the card, with the indices of their channels.
    extra: Vec<(usize, Sample)>,
}

/// Makes the model. Returns also the warnings.
pub(super) fn build(card: &Card) -> Result<(Model, Report), CardError> {
    let document = &card.document;
    let mut builder = Builder {
        document,
        options: &card.options,
        report: card.notes.clone(),
        shapes: Shapes::new(&card.options),
        parameters: Parameters::default(),
        params: effects::params(document),
        kept: card.kept()?,
        cells: Vec::new(),
        yields: Yields::default(),
        functions: Vec::new(),
        extra: Vec::new(),
    };
    builder.cells.resize_with(document.columns.len(), || None);
    let signals = signals::signals(document, &card.options)?;
    builder.read_yields();
    builder.fill_cells(&signals);
    let pois = builder.add_signals(&signals);
    builder.add_systematics();
    builder.add_rate_params();
    builder.add_rate_formulas();
    builder.add_mc_stats();
    builder.check_unused();
    builder.freeze();
    let pois = builder.pois(&pois)?;
    if builder.report.has_errors() {
        return Err(CardError::Invalid { file: card.file.clone(), report: builder.report });
    }
    let report = builder.report.clone();
    Ok((builder.model(card, pois), report))
}

impl Builder<'_> {
    /// Returns the indices of the parameters of interest: those of the options, or by default `pois`, which the maps name.
    fn pois(&mut self, pois: &[String]) -> Result<Vec<usize>, CardError> {
        let bad = |value: String, message: String, remedy: String| CardError::BadOption {
            option: "poi",
            value,
            message,
            remedy,
        };
        let used: Vec<&String> = pois.iter().filter(|name| self.parameters.find(name).is_some()).collect();
        let asked =
            wanted(&self.options.pois, |name| self.parameters.find(name).is_some(), &self.parameters.names())
                .map_err(|list| bad(list.name, list.message, list.remedy))?;
        if !asked.is_empty() {
            let found = asked.into_iter().map(|name| {
                self.parameters.find(&name).ok_or_else(|| {
                    let message = "no process uses a parameter of this name.".to_owned();
                    bad(name, message, list("The parameters of interest are", &used))
                })
            });
            return found.collect();
        }
        let found: Vec<usize> = used.iter().filter_map(|name| self.parameters.find(name)).collect();
        if found.is_empty() && !self.report.has_errors() {
            let place = self.document.columns.first().map(|c| c.place.to_string()).unwrap_or_default();
            self.report.warn(
                place,
                "No process of these channels is a signal, so that the model has no parameter of interest.",
                "Give signals the number 0 or a negative one, or put the card together with others.",
            );
        }
        Ok(found)
    }

    fn model(self, card: &Card, pois: Vec<usize>) -> Model {
        let mut order: Vec<usize> = (0..self.document.channels.len())
            .filter(|i| self.kept.get(*i).copied().unwrap_or(false))
            .collect();
        let name = |i: usize| self.document.channels.get(i).map_or("", |c| c.name.as_str());
        order.sort_by(|a, b| name(*a).cmp(name(*b)));
        let mut samples: Vec<Vec<Sample>> = Vec::new();
        samples.resize_with(self.document.channels.len(), Vec::new);
        for (column, cell) in self.document.columns.iter().zip(self.cells) {
            let (Some(cell), Some(samples)) = (cell, samples.get_mut(column.channel)) else { continue };
            samples.push(Sample {
                name: column.process.clone(),
                nominal: cell.nominal,
                modifiers: cell.modifiers,
            });
        }
        for (channel, sample) in self.extra {
            samples.get_mut(channel).into_iter().for_each(|samples| samples.push(sample.clone()));
        }
        let (mut channels, mut main) = (Vec::with_capacity(order.len()), Vec::new());
        for i in order {
            let counts = self.yields.observed.get(i).map(Vec::as_slice).unwrap_or_default();
            let first_bin = main.len();
            main.extend_from_slice(counts);
            channels.push(Channel {
                name: name(i).to_owned(),
                first_bin,
                n_bins: counts.len(),
                samples: samples.get_mut(i).map(std::mem::take).unwrap_or_default(),
                axis: self.yields.axis(i, counts.len()),
            });
        }
        let (parameters, parameter_sets, aux) = self.parameters.finish();
        Model {
            format: ModelFormat::Datacard,
            measurement: card.file.clone(),
            channels,
            parameters,
            parameter_sets,
            pois,
            interpolation: interpolation(),
            functions: self.functions,
            event_channels: Vec::new(),
            penalties: Vec::new(),
            observed: Observations::binned(main, aux),
            unobserved: Vec::new(),
            open: Vec::new(),
            warnings: self.report.warnings().map(Problem::paragraph).collect(),
        }
    }

    /// Warns of parameters that lines declare and no process uses.
    fn check_unused(&mut self) {
        use super::document::Kind;
        let mut unused = Vec::new();
        for systematic in &self.document.systematics {
            if let Kind::Param { .. } = systematic.kind
                && self.parameters.find(&systematic.name).is_none()
            {
                unused.push((&systematic.name, &systematic.place));
            }
        }
        for (name, place) in &self.document.flat {
            if self.parameters.find(name).is_none() {
                unused.push((name, place));
            }
        }
        for (name, place) in unused {
            self.report.warn(
                place.to_string(),
                format!("No process uses the parameter {}; the model is without it.", quoted(name)),
                "Remove the line, unless it belongs to a masked channel.",
            );
        }
    }

    /// Fixes the parameters that the card freezes.
    fn freeze(&mut self) {
        for name in &self.document.frozen {
            self.parameters.fix(name);
        }
        for systematic in self.document.systematics.iter().filter(|s| s.no_float) {
            self.parameters.fix(&systematic.name);
        }
    }
}
