//! Sorts a workspace alphabetically.

use super::super::workspace::Workspace;

impl Workspace {
    /// Sorts all lists by name, and modifiers by name and type, as `pyhf.Workspace.sorted` does. The models
    /// do not change, but another measurement may become the first one.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut document = self.document.clone();
        document.channels.sort_by(|a, b| a.name.cmp(&b.name));
        for channel in &mut document.channels {
            channel.samples.sort_by(|a, b| a.name.cmp(&b.name));
            for sample in &mut channel.samples {
                sample.modifiers.sort_by(|a, b| {
                    a.name.cmp(&b.name).then_with(|| a.effect.kind().name().cmp(b.effect.kind().name()))
                });
            }
        }
        document.measurements.sort_by(|a, b| a.name.cmp(&b.name));
        for measurement in &mut document.measurements {
            measurement.config.parameters.sort_by(|a, b| a.name.cmp(&b.name));
        }
        document.observations.sort_by(|a, b| a.name.cmp(&b.name));
        document.number();
        Self { patches: self.patches.clone(), ..Self::of(document) }
    }
}
