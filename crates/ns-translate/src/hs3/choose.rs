//! Chooses the analysis and the likelihood from which a model is built.

use crate::pyhf::{ListedAnalysis, WorkspaceError};

use super::document::{Analysis, Data, Document, Likelihood, Named};

/// A likelihood that a model can be built from, with its analysis if the file has one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice<'a> {
    /// Name of the analysis, or of the likelihood if there are no analyses.
    pub(super) name: String,
    pub(super) likelihood: &'a Named<Likelihood>,
    pub(super) analysis: Option<&'a Named<Analysis>>,
}

/// Returns all possible choices: one per analysis, or one per likelihood if there are no analyses.
pub(super) fn choices<'a>(document: &'a Document) -> Vec<Choice<'a>> {
    if document.analyses.is_empty() {
        let choice = |likelihood: &'a Named<Likelihood>| Choice {
            name: likelihood.name.clone(),
            likelihood,
            analysis: None,
        };
        return document.likelihoods.iter().map(choice).collect();
    }
    let of = |analysis: &'a Named<Analysis>| {
        let name = &analysis.content.likelihood.value;
        document.likelihoods.iter().find(|likelihood| likelihood.name == *name)
    };
    let choice = |analysis: &'a Named<Analysis>| {
        Some(Choice { name: analysis.name.clone(), likelihood: of(analysis)?, analysis: Some(analysis) })
    };
    document.analyses.iter().filter_map(choice).collect()
}

/// Returns the choice with the given name. Without a name, returns the one that the file calls its first, or else the only
/// choice whose data are not Asimov data.
///
/// # Errors
/// [`WorkspaceError::ChooseAnalysis`] if no choice has this name, or if several choices are possible.
pub(super) fn choose<'a>(document: &'a Document, name: Option<&str>) -> Result<Choice<'a>, WorkspaceError> {
    let all = choices(document);
    let listed = |choice: &Choice<'_>| ListedAnalysis {
        name: choice.name.clone(),
        interest: choice
            .analysis
            .map(|analysis| analysis.content.interest.iter().map(|name| name.value.clone()).collect())
            .unwrap_or_default(),
    };
    let available = || all.iter().map(listed).collect();
    let found = match name {
        Some(name) => all.iter().find(|choice| choice.name == name),
        None if document.first.is_some() => {
            all.iter().find(|choice| Some(&choice.name) == document.first.as_ref())
        }
        None => {
            let mut observed = all.iter().filter(|choice| !is_asimov(document, choice.likelihood));
            observed.next().filter(|_| observed.next().is_none())
        }
    };
    found.cloned().ok_or_else(|| WorkspaceError::ChooseAnalysis {
        name: name.map(str::to_owned),
        available: available(),
    })
}

/// Returns whether the data of a likelihood are Asimov data. ROOT gives Asimov data names that contain `asimov`.
fn is_asimov(document: &Document, likelihood: &Named<Likelihood>) -> bool {
    let asimov = |name: &str| name.to_lowercase().contains("asimov");
    let data = &likelihood.content.data;
    asimov(&likelihood.name)
        || data.iter().any(|argument| {
            let named = |data: &Named<Data>| match &argument.value {
                super::document::Argument::Name(name) => data.name == *name && asimov(name),
                _ => false,
            };
            document.data.iter().any(named)
        })
}
