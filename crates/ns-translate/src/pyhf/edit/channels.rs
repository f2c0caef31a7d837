//! Selects some of the channels for a fit. The file is not changed.

use std::collections::HashSet;

use super::super::error::WorkspaceError;
use super::super::names::{list, quoted};
use super::super::problem::Report;
use super::super::workspace::Workspace;
use super::edited::Operation;
use super::unknown::NameKind;

/// The channels to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelSelection {
    /// Names of the channels to keep; `None` keeps all.
    pub keep: Option<Vec<String>>,
    /// Names of the channels to leave out.
    pub mask: Vec<String>,
}

impl ChannelSelection {
    /// Returns whether every channel is kept.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.keep.is_none() && self.mask.is_empty()
    }
}

impl Workspace {
    /// Returns the names of the channels, in the order of the file.
    #[must_use]
    pub fn channel_names(&self) -> Vec<&str> {
        self.document.channels.iter().map(|c| c.name.as_str()).collect()
    }

    /// Returns a workspace with only the selected channels.
    ///
    /// Parameters that only the removed channels use are removed with their settings. If the parameter of
    /// interest is removed, the model has no parameter of interest, and there is a warning, as for a
    /// background-only workspace. The result differs from that of [`Workspace::prune`] in two properties:
    /// messages about it give JSON pointers to the file that was read, and errors in the removed channels are
    /// ignored.
    ///
    /// # Errors
    /// [`WorkspaceError::CannotEdit`] if a channel does not exist, if a channel is both kept and left out, or
    /// if no channel is left.
    pub fn select_channels(&self, selection: &ChannelSelection) -> Result<Self, WorkspaceError> {
        let mut report = Report::default();
        let keep = selection.keep.as_deref();
        let both = keep.unwrap_or_default().iter().chain(&selection.mask);
        NameKind::Channel.require(both, &self.document, &mut report);
        let mask: HashSet<&str> = selection.mask.iter().map(String::as_str).collect();
        for name in keep.unwrap_or_default().iter().filter(|name| mask.contains(name.as_str())) {
            report.error(
                String::new(),
                format!("Channel {} is both to be kept and to be left out.", quoted(name)),
                "Name it once.",
            );
        }
        let keep: Option<HashSet<&str>> = keep.map(|names| names.iter().map(String::as_str).collect());
        let stays = |name: &str| !mask.contains(name) && keep.as_ref().is_none_or(|keep| keep.contains(name));
        if !report.has_errors() && !self.document.channels.iter().any(|c| stays(&c.name)) {
            report.error(
                "/channels".to_owned(),
                "No channel is left.",
                list("Keep at least one. The channels are", &self.channel_names()),
            );
        }
        if report.has_errors() {
            return Err(WorkspaceError::CannotEdit { operation: Operation::SelectChannels, report });
        }
        let mut document = self.document.clone();
        document.channels.retain(|c| stays(&c.name));
        let channels = NameKind::Channel.names(&self.document);
        // An observation without a channel is kept, because the warning about it must be kept too.
        document.observations.retain(|o| stays(&o.name) || !channels.contains(o.name.as_str()));
        let before = NameKind::Modifier.names(&self.document);
        let after =
            NameKind::Modifier.names(&document).into_iter().map(str::to_owned).collect::<HashSet<_>>();
        for measurement in &mut document.measurements {
            measurement
                .config
                .parameters
                .retain(|s| after.contains(&s.name) || !before.contains(s.name.as_str()));
        }
        Ok(Self {
            document,
            notes: self.notes.clone(),
            patches: self.patches.clone(),
            axes: self.axes.clone(),
        })
    }
}
