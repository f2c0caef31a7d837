//! Operations that make new workspaces: prune, rename, decorrelate, combine, sort, and select channels.
//!
//! Pruning, renaming, combining and sorting do what the methods `prune`, `rename`, `combine` and `sorted` of
//! `pyhf.Workspace` do. Each operation returns a new workspace and does not change its input. References to
//! removed or renamed items are updated. [`Edited`] lists all changes, also those that the caller did not ask
//! for by name.
//!
//! ```
//! # fn main() -> Result<(), ns_translate::pyhf::WorkspaceError> {
//! use ns_translate::pyhf::{Prune, Workspace};
//!
//! # let text = include_bytes!("../../../../../tests/fixtures/simple_workspace.json");
//! let workspace = Workspace::from_slice(text)?;
//! let edited = workspace.prune(&Prune { channels: vec!["CR".to_owned()], ..Prune::default() })?;
//! assert_eq!(edited.workspace.channel_names(), ["SR"]);
//! assert_eq!(edited.changes[0].to_string(), "/channels/1: channel 'CR' with its observation");
//! # Ok(())
//! # }
//! ```

mod channels;
mod combine;
mod decorrelate;
mod edited;
mod effect;
mod kept;
mod prune;
mod rename;
mod sort;
mod unknown;

pub use channels::ChannelSelection;
pub use combine::{Combine, Join};
pub use decorrelate::{Decorrelate, DecorrelateBy, Region};
pub use edited::{Change, Edited, Operation};
pub use kept::KeptEffect;
pub use prune::Prune;
pub use rename::Rename;
