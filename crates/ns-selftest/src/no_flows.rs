//! Replaces the checks of normalising flows in a build without flows.

use ns_core::Device;

use crate::Target;
use crate::check::Checks;

/// Adds a check that says that this build cannot evaluate normalising flows. The check fails only if the user asked
/// for TensorRT, because TensorRT is used for flows alone.
pub(crate) fn flows(target: Target, _: Option<Device>, checks: &mut Checks) {
    let (name, why) = ("flow", "this build has no flows");
    if target == Target::TensorRt {
        let remedy = "Build with the feature neural-tensorrt: cargo install --path crates/ns-cli --features neural-tensorrt.";
        checks.missing(name, why, remedy);
    } else {
        checks.skipped(name, why);
    }
}
