//! The lines of a card below the rates.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{has_templates, number, table};
use crate::datacard::document::{Document, Kind, Size, Systematic};

/// A writer of the lines below the rates.
pub(super) struct Lines<'d> {
    pub(super) document: &'d Document,
}

impl Lines<'_> {
    /// Writes all lines.
    pub(super) fn write(&self, text: &mut String) -> std::fmt::Result {
        let mut rows = Vec::new();
        let mut renamed = Vec::new();
        for systematic in &self.document.systematics {
            self.systematic(systematic, &mut rows, &mut renamed);
        }
        table(&rows, text)?;
        for line in renamed {
            writeln!(text, "{line}")?;
        }
        for param in &self.document.rate_params {
            for column in param.columns.iter().filter_map(|at| self.document.columns.get(*at)) {
                write!(
                    text,
                    "{} rateParam {} {} ",
                    param.name,
                    self.document.channel_of(column),
                    column.process
                )?;
                match (&param.formula, param.range) {
                    (Some(formula), _) => writeln!(text, "{}", formula.text)?,
                    (None, Some((lo, hi))) => {
                        writeln!(text, "{} [{},{}]", number(param.value), number(lo), number(hi))?;
                    }
                    (None, None) => writeln!(text, "{}", number(param.value))?,
                }
            }
        }
        for (name, _) in &self.document.flat {
            writeln!(text, "{name} flatParam")?;
        }
        for group in &self.document.groups {
            writeln!(text, "{} group = {}", group.name, group.members.join(" "))?;
        }
        for channel in &self.document.channels {
            if let Some(line) = &channel.mc_stats {
                let (signal, mode) = (u8::from(line.include_signal), 1 + u8::from(line.keep_integrals));
                writeln!(text, "{} autoMCStats {} {signal} {mode}", channel.name, number(line.threshold))?;
            }
        }
        for name in &self.document.frozen {
            writeln!(text, "nuisance edit freeze {}", regex::escape(name))?;
        }
        Ok(())
    }

    /// Adds the rows of a line, and the edits that give parameters other names than their histograms.
    fn systematic(&self, line: &Systematic, rows: &mut Vec<Vec<String>>, renamed: &mut Vec<String>) {
        let ending = if line.no_float { "[nofloat]" } else { "" };
        if let Kind::Param { mean, sigma, range } = line.kind {
            let mut row =
                vec![format!("{}{ending}", line.name), "param".to_owned(), number(mean), number(sigma)];
            row.extend(range.map(|(lo, hi)| format!("[{},{}]", number(lo), number(hi))));
            rows.push(row);
            return;
        }
        let kind = match line.kind {
            Kind::Gamma { count } => format!("gmN {}", number(count)),
            kind => kind.word().to_owned(),
        };
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in line.sizes.keys() {
            let written = line.written.get(at).filter(|_| has_templates(line.kind));
            by_name.entry(written.unwrap_or(&line.name)).or_default().push(*at);
        }
        if by_name.is_empty() {
            by_name.insert(&line.name, Vec::new());
        }
        for (name, columns) in by_name {
            let mut row = vec![format!("{name}{ending}"), kind.clone()];
            for at in 0..self.document.columns.len() {
                let size = line.sizes.get(&at).filter(|_| columns.contains(&at));
                row.push(match size {
                    None => "-".to_owned(),
                    Some(Size::One(x)) => number(*x),
                    Some(Size::Two(lo, hi)) => format!("{}/{}", number(*lo), number(*hi)),
                });
            }
            rows.push(row);
            if name == line.name {
                continue;
            }
            for column in columns.iter().filter_map(|at| self.document.columns.get(*at)) {
                // In names of channels, a plus sign stands for itself.
                let channel = regex::escape(self.document.channel_of(column)).replace("\\+", "+");
                let process = regex::escape(&column.process);
                renamed.push(format!("nuisance edit rename {process} {channel} {name} {}", line.name));
            }
        }
    }
}
