//! Axes of workspaces that are made of others.

use std::collections::{BTreeMap, HashSet};

use ns_core::Model;

use super::{Axes, Axis};

impl Axes {
    /// Returns the axes of a workspace whose channels have other names. Channels that are not in the map keep theirs.
    #[must_use]
    pub fn renamed(&self, names: &BTreeMap<String, String>) -> Self {
        let name = |name: &String| names.get(name).unwrap_or(name).clone();
        let channels = self.channels.iter().map(|(old, axis)| (name(old), axis.clone())).collect();
        Self { channels, ..self.clone() }
    }

    /// Returns the axes of these channels alone.
    #[must_use]
    pub fn only(&self, channels: &[&str]) -> Self {
        let kept: HashSet<&str> = channels.iter().copied().collect();
        let mut axes = self.clone();
        axes.channels.retain(|name, _| kept.contains(name.as_str()));
        axes
    }

    /// Returns these axes, and those of `others` for channels that these lack.
    #[must_use]
    pub fn united(mut self, others: &Self) -> Self {
        for (name, axis) in &others.channels {
            self.channels.entry(name.clone()).or_insert_with(|| axis.clone());
        }
        self.unread = self.unread.or_else(|| others.unread.clone());
        self.found |= others.found;
        self
    }

    /// Returns the axes that channels have when these are set after `others`: titles and edges that these lack are those of
    /// `others`.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        let mut axes = self.clone();
        for (name, other) in &others.channels {
            let axis = axes.channels.entry(name.clone()).or_default();
            axis.title = axis.title.take().or_else(|| other.title.clone());
            axis.edges = axis.edges.take().or_else(|| other.edges.clone());
        }
        axes
    }

    /// Returns the axes that the channels of a model have.
    #[must_use]
    pub fn of_model(model: &Model) -> Self {
        let known = |channel: &ns_core::Channel| {
            let title = Some(channel.axis.title.clone()).filter(|title| !title.is_empty());
            let edges = Some(channel.axis.edges.clone()).filter(|edges| !edges.is_empty());
            let axis = Axis { title, edges };
            (axis != Axis::default()).then(|| (channel.name.clone(), axis))
        };
        model.channels.iter().filter_map(known).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn axes_follow_their_channels() {
        let axes = |text: &str| Axes::from_slice(text.as_bytes()).unwrap();
        let left = axes("[SR]\ntitle = \"m\"\n[CR]\nedges = [0, 1]\n");
        let names = BTreeMap::from([("SR".to_owned(), "signal".to_owned())]);
        assert_eq!(left.renamed(&names), axes("[signal]\ntitle = \"m\"\n[CR]\nedges = [0, 1]\n"));
        assert_eq!(left.only(&["CR", "VR"]), axes("[CR]\nedges = [0, 1]\n"));
        let right = axes("[SR]\ntitle = \"n\"\n[VR]\nedges = [0, 2]\n");
        let both = left.clone().united(&right);
        assert_eq!(both, axes("[SR]\ntitle = \"m\"\n[CR]\nedges = [0, 1]\n[VR]\nedges = [0, 2]\n"));
        let found = axes("[SR]\nedges = [0, 3]\ntitle = \"n\"\n[CR]\nedges = [0, 2]\n");
        let set = axes("[SR]\ntitle = \"m\"\nedges = [0, 3]\n[CR]\nedges = [0, 1]\n");
        assert_eq!(left.over(&found), set);
    }
}
