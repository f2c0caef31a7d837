//! Draws the results of an analysis as SVG, PNG and PDF: likelihood scans, contours, rankings, pulls,
//! correlations, confidence intervals and regions, CLs limits, exclusions, yields, templates, pruning, and distributions and pulls of
//! toys.
//!
//! Each picture is a plain struct that can be filled by hand or read from JSON. Its method `draw` returns a
//! [`Drawing`], which [`Drawing::save`] writes in the format of the file's extension:
//!
//! ```
//! use ns_viz::Scan;
//!
//! let scan = Scan {
//!     parameter: "mu".into(),
//!     x: vec![0.0, 0.5, 1.0, 1.5, 2.0],
//!     twice_delta_nll: vec![Some(4.0), Some(1.0), Some(0.0), Some(1.0), Some(4.0)],
//!     best_fit: Some(1.0),
//!     ..Scan::default()
//! };
//! let svg = scan.draw()?.to_svg();
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), ns_viz::PictureError>(())
//! ```
//!
//! The crate computes no statistics except the coverage of likelihood levels and the error bars of counts, and it
//! reads no result files. It contains a font, so that a picture has the same bytes on every machine. Characters that
//! this font lacks, such as Chinese characters, are drawn with a font of the system if there is one.
//!
//! Values that are not finite, or larger than 1e100 in magnitude, are treated as missing, so that a picture
//! can still be drawn if one of its points failed.

mod axis;
mod channels;
mod clip;
mod colour;
mod columns;
mod confidence;
mod contour;
mod corner;
mod correlation;
mod crossing;
mod drawing;
mod error;
mod exclusion;
mod font;
mod frame;
mod groups;
mod header;
mod impacts;
mod joint_ranking;
mod l_curve;
mod legend;
mod limit;
mod limit_curve;
mod linearity;
mod marching;
mod marks;
mod markup;
mod number;
mod panel;
mod pdf;
mod places;
mod png;
mod poisson;
mod pruning;
mod pulls;
mod ranking;
mod refine;
mod region;
mod rows;
mod save;
mod scan;
mod sheet;
mod shown;
mod smooth;
mod spurious;
mod stack;
mod svg;
mod system_fonts;
mod templates;
mod text;
mod toy_distribution;
mod toy_pulls;
mod triangles;
mod unfolded;
mod yields;

pub use channels::{Bar, ChannelRow, Channels};
pub use confidence::Confidence;
pub use contour::Contour;
pub use corner::{Corner, CornerParameter, CornerPlane};
pub use correlation::Correlation;
pub use drawing::{Drawing, Label};
pub use error::PictureError;
pub use exclusion::Exclusion;
pub use font::{FONT_LICENCE, font_warning};
pub use groups::{GroupRow, Groups};
pub use impacts::Impacts;
pub use joint_ranking::{ImpactBars, JointRanking, JointRankingRow};
pub use l_curve::LCurve;
pub use limit::Limit;
pub use limit_curve::LimitCurve;
pub use linearity::Linearity;
pub use places::Places;
pub use pruning::{Kept, Pruning, PruningColumn, PruningRow};
pub use pulls::{PullRow, Pulls};
pub use ranking::{Ranking, RankingRow};
pub use region::Region;
pub use save::Format;
pub use scan::Scan;
pub use spurious::{Spurious, SpuriousCurve};
pub use templates::{TemplateSet, Templates};
pub use toy_distribution::{ToyDistribution, ToyHistogram};
pub use toy_pulls::{ToyPullRow, ToyPulls};
pub use unfolded::Unfolded;
pub use yields::{ChannelYields, Components, SampleYields, Yields};
