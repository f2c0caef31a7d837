//! The part of a card after the line `rate`: one systematic uncertainty or one instruction per line.

use std::collections::{BTreeMap, HashMap};

use super::document::{Document, Group, Kind, McStatsLine, Size, Systematic};
use super::edit;
use super::lines::{Line, is_dash, number, range, too_long};
use super::pattern::{has_wildcard, wildcard};
use super::rate_param;
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::problem::Report;

/// The types of lines that can be used.
const TYPES: [&str; 12] = [
    "lnN",
    "lnU",
    "gmN",
    "shape",
    "shape?",
    "shapeU",
    "param",
    "flatParam",
    "rateParam",
    "group",
    "autoMCStats",
    "edit",
];

/// Types of Combine that cannot be used, with what is wrong and what to do.
const UNSUPPORTED: [(&str, &str, &str); 10] = [
    ("gmM", "Gamma-distributed factors are not supported", "Use lnN, or gmN with the number of events."),
    ("trG", "truncated Gaussian factors are not supported", "Use lnN."),
    ("unif", "uniform linear factors are not supported", "Use lnU, or a rateParam with a range."),
    ("dFD", "double Fermi-Dirac constraints are not supported", "Use lnU, or a rateParam with a range."),
    ("dFD2", "double Fermi-Dirac constraints are not supported", "Use lnU, or a rateParam with a range."),
    ("constr", "constraints on functions of parameters are not supported", "Write the model as HS3."),
    ("discrete", "discrete profiling is not supported", "Choose one function and write the model as HS3."),
    (
        "extArg",
        "parameters of a RooWorkspace are not supported",
        "Write the parameter as a rateParam with a value.",
    ),
    (
        "shapeN",
        "shapes interpolated by their log ratios are not supported",
        "Use 'shape' if its interpolation will do.",
    ),
    ("shapeL", "this interpolation was removed from Combine", "Use 'shape'."),
];

/// Largest number of steps that wildcards and edits may take, so that a short text cannot take hours.
const MOST_STEPS: usize = 100_000_000;

/// A reader of the lines after `rate`.
pub(super) struct Reader<'d> {
    pub(super) document: &'d mut Document,
    pub(super) report: &'d mut Report,
    /// Number of lines that count for `kmax`.
    counted: usize,
    /// Whether a line edits others; then `kmax` is not compared.
    edited: bool,
    steps: usize,
    /// Index of the group of each name.
    groups: HashMap<String, usize>,
    /// Index of the first `rateParam` line of each name.
    pub(super) rates: HashMap<String, usize>,
}

/// Reads all lines after the header into the document.
pub(super) fn read<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    kmax: Option<(usize, super::lines::Place)>,
    document: &mut Document,
    report: &mut Report,
) {
    let mut reader = Reader {
        document,
        report,
        counted: 0,
        edited: false,
        steps: 0,
        groups: HashMap::new(),
        rates: HashMap::new(),
    };
    for line in lines {
        reader.line(&line);
    }
    if let Some((n, place)) = kmax.filter(|(n, _)| !reader.edited && *n != reader.counted) {
        reader.report.error(
            place.to_string(),
            format!("'kmax' is {n}, but the number of systematic uncertainties is {}.", reader.counted),
            "Correct the number or the card, or write *.",
        );
    }
    reader.check_groups();
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let written = line.key();
        if written.starts_with("--") {
            return;
        }
        let Some(&kind) = line.words.get(1) else {
            self.report.warn(
                line.place.to_string(),
                format!("The line has the one word {}, and is ignored.", quoted(written)),
                "Make it a comment with #, or complete it.",
            );
            return;
        };
        let (name, no_float) = match written.strip_suffix("[nofloat]") {
            Some(name) => (name, true),
            None => (written, false),
        };
        // Combine makes names of parameters that begin with a digit valid in this way.
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        let name = if digit { format!("theta{name}") } else { name.to_owned() };
        if name.is_empty() || too_long(&name, "parameter", &line.place, self.report) {
            return;
        }
        match kind {
            "lnN" | "lnU" => {
                self.sized(line, 2, name, no_float, Kind::LogNormal { uniform: kind == "lnU" });
            }
            "shape" | "shape?" | "shapeU" => {
                let kind = Kind::Shape { optional: kind == "shape?", uniform: kind == "shapeU" };
                self.sized(line, 2, name, no_float, kind);
            }
            "gmN" => self.gamma(line, name, no_float),
            "param" => self.param(line, name, no_float),
            "flatParam" => self.document.flat.push((name, line.place.clone())),
            "rateParam" => rate_param::read(self, line, name),
            "group" => self.group(line),
            "autoMCStats" => self.mc_stats(line),
            "edit" => {
                self.edited = true;
                if self.spend(line, self.document.columns.len() + self.document.systematics.len()) {
                    edit::apply(line, self.document, self.report);
                }
            }
            _ => self.unknown(line, kind),
        }
    }

    /// Counts steps of work. Returns false, with an error, once there are too many.
    pub(super) fn spend(&mut self, line: &Line<'_>, steps: usize) -> bool {
        let before = self.steps;
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS && before <= MOST_STEPS {
            self.error(
                line,
                "The card has too many lines with patterns for its number of columns.",
                "Make it smaller.",
            );
        }
        self.steps <= MOST_STEPS
    }

    pub(super) fn error(&mut self, line: &Line<'_>, message: impl Into<String>, remedy: &str) {
        self.report.error(line.place.to_string(), message, remedy);
    }

    /// Reads a line with one word per column, from word `from` on.
    fn sized(&mut self, line: &Line<'_>, from: usize, name: String, no_float: bool, kind: Kind) {
        self.counted += 1;
        let words = line.rest(from);
        let n = self.document.columns.len();
        if words.len() < n {
            self.error(
                line,
                format!("{} has {} values for {n} columns.", quoted(&name), words.len()),
                "Give one value per column, or - for no effect.",
            );
            return;
        }
        if words.get(n).is_some_and(|word| number(word).is_some() || is_dash(word)) {
            self.report.warn(
                line.place.to_string(),
                format!(
                    "{} has more values than the card has columns ({n}); the others are ignored.",
                    quoted(&name)
                ),
                "Remove them, or make them a comment with #.",
            );
        }
        let mut sizes = BTreeMap::new();
        for (column, word) in words.iter().take(n).enumerate() {
            match size(word, kind) {
                Ok(Some(size)) => {
                    sizes.insert(column, size);
                }
                Ok(None) => {}
                Err(remedy) => {
                    let message = format!(
                        "{} has the value {} in column {}{}.",
                        quoted(&name),
                        quoted(word),
                        column + 1,
                        self.column_name(column)
                    );
                    self.error(line, message, remedy);
                }
            }
        }
        if let Kind::Gamma { .. } = kind {
            for column in sizes.keys() {
                if let Some(column) =
                    self.document.columns.get_mut(*column).filter(|column| column.rate == 0.0)
                {
                    // As in Combine: the yield of a process with an empty sideband is not zero.
                    column.rate = 1e-6;
                }
            }
        }
        let place = line.place.clone();
        self.document.systematics.push(Systematic {
            name,
            no_float,
            kind,
            sizes,
            written: HashMap::new(),
            place,
        });
    }

    /// Returns ` (process 'x' of channel 'y')` for a column.
    fn column_name(&self, column: usize) -> String {
        self.document.columns.get(column).map_or_else(String::new, |c| {
            format!(" (process {} of channel {})", quoted(&c.process), quoted(self.document.channel_of(c)))
        })
    }

    fn gamma(&mut self, line: &Line<'_>, name: String, no_float: bool) {
        let word = line.words.get(2).copied().unwrap_or_default();
        // Counts beyond this are not told apart from their neighbours.
        let count = word.parse::<u64>().ok().filter(|n| *n < 1 << 53);
        let Some(count) = count else {
            self.error(
                line,
                format!(
                    "gmN of {} is followed by {}, which is no number of events.",
                    quoted(&name),
                    quoted(word)
                ),
                "Write 'NAME gmN EVENTS' and one factor per column.",
            );
            self.counted += 1;
            return;
        };
        self.sized(line, 3, name, no_float, Kind::Gamma { count: count as f64 });
    }

    fn param(&mut self, line: &Line<'_>, name: String, no_float: bool) {
        self.counted += 1;
        const REMEDY: &str = "Write 'NAME param MEAN SIGMA [LOWER,UPPER]'.";
        let words = line.rest(2);
        let mean = words.first().and_then(|word| number(word));
        let sigma = words.get(1).copied().unwrap_or_default();
        let Some(mean) = mean else {
            self.error(line, format!("The param {} has no mean.", quoted(&name)), REMEDY);
            return;
        };
        let sigma = match sigma.split_once('/') {
            None => number(sigma),
            Some((below, above)) => {
                match (below.strip_prefix('-').and_then(number), above.strip_prefix('+').and_then(number)) {
                    (Some(below), Some(above)) if below == above => Some(above),
                    (Some(_), Some(_)) => {
                        self.error(
                            line,
                            format!(
                                "The param {} has different widths below and above its mean.",
                                quoted(&name)
                            ),
                            "This is not supported; give one width.",
                        );
                        return;
                    }
                    _ => None,
                }
            }
        };
        let Some(sigma) = sigma.filter(|sigma| *sigma > 0.0) else {
            self.error(line, format!("The param {} has no positive width.", quoted(&name)), REMEDY);
            return;
        };
        let bounds = words.get(2).filter(|word| word.starts_with('['));
        let range = bounds.map(|word| range(word));
        if range == Some(None) {
            self.error(line, format!("The range of the param {} cannot be read.", quoted(&name)), REMEDY);
            return;
        }
        self.document.systematics.push(Systematic {
            name,
            no_float,
            kind: Kind::Param { mean, sigma, range: range.flatten() },
            sizes: BTreeMap::new(),
            written: HashMap::new(),
            place: line.place.clone(),
        });
    }

    fn group(&mut self, line: &Line<'_>) {
        let name = line.key();
        let members: Vec<String> = line.rest(3).iter().map(|&word| word.to_owned()).collect();
        let known = self.groups.get(name).and_then(|at| self.document.groups.get_mut(*at));
        let problem = match (line.words.get(2).copied(), known) {
            (Some("="), None) => {
                let place = line.place.clone();
                self.groups.insert(name.to_owned(), self.document.groups.len());
                self.document.groups.push(Group { name: name.to_owned(), members, place });
                None
            }
            (Some("+="), Some(group)) => {
                group.members.extend(members);
                None
            }
            (Some("="), Some(group)) => Some((
                format!("The group {} is already defined in line {}.", quoted(name), group.place.line),
                "Write += to add to it.",
            )),
            (Some("+="), None) => Some((
                format!("The group {} is not defined yet.", quoted(name)),
                "Write = for its first line.",
            )),
            _ => Some((
                format!("The group {} has no = or += after 'group'.", quoted(name)),
                "Write 'NAME group = PARAMETER PARAMETER'.",
            )),
        };
        if let Some((message, remedy)) = problem {
            self.error(line, message, remedy);
        }
    }

    fn mc_stats(&mut self, line: &Line<'_>) {
        let words = line.rest(2);
        let threshold = words.first().and_then(|word| number(word));
        let flag =
            |at: usize, default: i64| words.get(at).map_or(Some(default), |word| word.parse::<i64>().ok());
        let (Some(threshold), Some(signal), Some(mode @ 1..=2), true) =
            (threshold, flag(1, 0), flag(2, 1), words.len() <= 3)
        else {
            self.error(
                line,
                "The autoMCStats line cannot be read.",
                "Write 'CHANNEL autoMCStats THRESHOLD [INCLUDE_SIGNAL] [HISTOGRAM_MODE]', with the mode 1 or 2.",
            );
            return;
        };
        let found = McStatsLine {
            place: line.place.clone(),
            threshold,
            include_signal: signal != 0,
            keep_integrals: mode == 2,
        };
        let pattern = line.key();
        if !self.spend(line, self.document.channels.len()) {
            return;
        }
        let mut any = false;
        for channel in &mut self.document.channels {
            if channel.name == pattern || (has_wildcard(pattern) && wildcard(pattern, &channel.name)) {
                channel.mc_stats = Some(found.clone());
                any = true;
            }
        }
        if !any {
            let names: Vec<String> = self.document.channels.iter().map(|c| c.name.clone()).collect();
            let message = format!(
                "autoMCStats is given for channel {}. {}",
                quoted(pattern),
                list("The channels are", &names)
            );
            self.error(line, message, "Correct the name.");
        }
    }

    fn unknown(&mut self, line: &Line<'_>, kind: &str) {
        let known = UNSUPPORTED
            .iter()
            .find(|(word, ..)| *word == kind || (word.starts_with("shape") && kind.starts_with(word)));
        if let Some((word, message, remedy)) = known {
            self.counted += usize::from(!["extArg", "discrete"].contains(word));
            self.error(line, format!("{} has the type {kind}: {message}.", quoted(line.key())), remedy);
            return;
        }
        self.counted += 1;
        let near = nearest(kind, TYPES.iter().copied());
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        self.error(
            line,
            format!("{} has the type {}, which is not known.{near}", quoted(line.key()), quoted(kind)),
            "The types are lnN, lnU, gmN, shape, shape?, shapeU, param, flatParam, rateParam, group, autoMCStats.",
        );
    }

    /// Reports members of groups that are no parameters.
    fn check_groups(&mut self) {
        let names = self.document.parameter_names();
        for group in &self.document.groups {
            for member in group.members.iter().filter(|member| !names.contains(member.as_str())) {
                let near = nearest(member, names.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
                self.report.error(
                    group.place.to_string(),
                    format!(
                        "The group {} has the member {}, which is no parameter.{near}",
                        quoted(&group.name),
                        quoted(member)
                    ),
                    "Correct the name, or remove it.",
                );
            }
        }
    }
}

/// Reads the size of an effect. `None` stands for no effect; the error is a remedy.
pub(super) fn size(word: &str, kind: Kind) -> Result<Option<Size>, &'static str> {
    if is_dash(word) {
        return Ok(None);
    }
    if let Some((below, above)) = word.split_once('/') {
        if !matches!(kind, Kind::LogNormal { .. } | Kind::Shape { optional: true, .. }) {
            return Err("Only lnN, lnU and shape? take two factors; write one number.");
        }
        return match (number(below), number(above)) {
            (Some(below), Some(above)) if below > 0.0 && above > 0.0 => {
                Ok((below != 1.0 || above != 1.0).then_some(Size::Two(below, above)))
            }
            _ => Err("Write two positive factors such as 0.95/1.1, that at -1 sigma first."),
        };
    }
    match (number(word), kind) {
        (Some(0.0), _) => Ok(None),
        (Some(1.0), Kind::LogNormal { .. }) => Ok(None),
        (Some(x), _) if x > 0.0 => Ok(Some(Size::One(x))),
        _ => Err("Write a positive number, or - for no effect."),
    }
}
