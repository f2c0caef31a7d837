//! The analyses of an HS3 file in error messages.

use super::error::meant;
use super::names::{list, quoted};

/// An analysis that a file offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAnalysis {
    /// Name of the analysis.
    pub name: String,
    /// Names of its parameters of interest.
    pub interest: Vec<String>,
}

impl ListedAnalysis {
    /// Returns the name with the parameters of interest.
    fn described(&self) -> String {
        match self.interest.as_slice() {
            [] => quoted(&self.name),
            [only] => format!("{} (parameter of interest {})", quoted(&self.name), quoted(only)),
            [first, .., last] => format!(
                "{} ({} parameters of interest, from {} to {})",
                quoted(&self.name),
                self.interest.len(),
                quoted(first),
                quoted(last)
            ),
        }
    }
}

/// Writes a message that lists the available analyses.
pub(crate) fn choose_analysis(name: Option<&str>, available: &[ListedAnalysis]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<String> = available.iter().map(|analysis| analysis.name.clone()).collect();
    match (name, available) {
        (Some(name), _) => {
            let known = list("The analyses are", &names);
            format!("no analysis is called {}.{} {known}", quoted(name), meant(name, &names))
        }
        (None, []) => {
            "the file has no likelihood: there is nothing to fit. Add one under 'likelihoods'.".to_owned()
        }
        (None, [only]) => format!(
            "the only analysis, {}, has Asimov data. Choose it by name if that is meant (--analysis, analysis=).",
            quoted(&only.name)
        ),
        (None, [first, ..]) => {
            let mut lines: Vec<String> =
                available.iter().take(SHOWN).map(ListedAnalysis::described).collect();
            if available.len() > SHOWN {
                lines.push(format!("and {} more", available.len() - SHOWN));
            }
            format!(
                "the file has {} analyses; choose one by name, for example with --analysis {} (analysis= in Python). The \
                 analyses are: {}.",
                available.len(),
                quoted(&first.name),
                lines.join(", ")
            )
        }
    }
}
