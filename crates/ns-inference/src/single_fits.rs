//! The session of fits that depend on each other.

use ns_core::Session;

/// Returns the session for fits that run one after another because they depend on each other. This is the CPU session
/// of `session`, or `session` itself if it has no CPU session. Results derived from these fits are then bit for bit the
/// same on every device.
pub(crate) fn of_single_fits(session: &dyn Session) -> &dyn Session {
    session.cpu().unwrap_or(session)
}
