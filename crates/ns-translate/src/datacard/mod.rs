//! Datacards of CMS Combine: text is read as a [`Card`], from which models ([`ns_core::Model`]) are built.
//!
//! ```
//! # fn main() -> Result<(), ns_translate::datacard::CardError> {
//! use ns_translate::datacard::{Card, CardOptions};
//!
//! let text = "\
//! imax 1
//! jmax 1
//! kmax *
//! bin          b1
//! observation  12
//! bin          b1      b1
//! process      signal  background
//! process      0       1
//! rate         3.0     8.0
//! lumi   lnN   1.02    1.02
//! ";
//! let card = Card::from_text(text.as_bytes(), "card.txt", &CardOptions::default())?;
//! let model = card.model()?;
//! assert_eq!(model.parameters[0].name, "r");
//! assert_eq!(model.parameters[1].name, "lumi");
//! # Ok(())
//! # }
//! ```
//!
//! Names, start values, bounds and effects are those of Combine (`text2workspace.py`), with the exceptions that
//! `docs/datacards.md` lists. All problems of a card are reported at once, each with its file and line.

mod build;
mod card;
mod combine;
mod document;
mod edit;
mod error;
mod header;
mod histograms;
mod lines;
mod options;
mod pattern;
mod rate_param;
mod shapes;
mod systematics;
mod write;

pub use card::Card;
pub use error::CardError;
pub use options::{CardOptions, McStats, PoiMap, PoiTarget};
