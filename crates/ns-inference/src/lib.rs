//! Statistical analyses of NextStat. Each analysis evaluates the likelihood only through [`ns_core::Session`]. The
//! same code therefore runs on the CPU and on GPUs.
//!
//! A fit in ten lines:
//!
//! ```
//! use ns_core::{Control, Execution};
//! use ns_inference::{FitOptions, fit, open_session};
//! use ns_translate::pyhf::{ModelOptions, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json");
//! let workspace = Workspace::from_path(path)?;
//! let model = workspace.model(&ModelOptions::default())?;
//! let session = open_session(&model, &Execution::default())?;
//! let options = FitOptions::default().minos("mu");
//! let result = fit(&model, session.as_ref(), &options, Control::default())?;
//!
//! assert!(result.converged);
//! let (mu, sigma) = (result.value("mu"), result.uncertainty("mu"));
//! assert!(mu.is_some_and(|mu| (mu - 0.9104).abs() < 1e-3));
//! assert!(sigma.is_some_and(|sigma| sigma > 0.0));
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `pictures`, the module `picture` converts results to the plots of `ns-viz`.
//!
//! [`FitResult`] serialises to the JSON of `nextstat fit`. A number that does not exist is `null` in this JSON, and
//! one of [`FitResult::warnings`] gives the reason.

mod analysis;
mod bin_centres;
pub mod blue;
pub mod compatibility;
pub mod conditional;
mod context_gradient;
pub mod derived;
pub mod device;
mod diagnosis;
pub mod differentiable;
mod error;
mod expected_data;
mod extrapolate;
pub mod fit;
pub mod goodness;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub mod gpu_session;
pub mod grid;
pub mod hypotest;
pub mod injection;
pub mod interval;
pub mod limit;
mod linear;
pub mod look_elsewhere;
mod lookup;
mod lowest;
#[cfg(feature = "toy-files")]
pub mod merge;
pub mod minos;
mod negative_density;
pub mod normal;
mod observed;
pub mod options;
#[cfg(feature = "pictures")]
pub mod picture;
mod point_test;
pub mod posterior;
pub mod present;
pub mod ranking;
pub mod report;
pub mod reread;
mod root;
mod rough_uncertainties;
#[cfg(feature = "toy-files")]
pub mod row_file;
pub mod scan;
mod several_minima;
pub mod significance;
pub mod simplify;
mod single_fits;
pub mod splot;
pub mod spurious;
pub mod stored;
mod toy_nuisance;
pub mod toys;
pub mod unfold;
mod weighted;
mod words;
pub mod yields;

pub use blue::{BlueError, BlueInput, BlueResult, blue};
pub use compatibility::{CompatibilityOptions, CompatibilityResult, compatibility};
pub use context_gradient::ContextGradient;
pub use device::{
    Choice, DeviceInfo, GpuCheck, ModelSize, Opened, SessionOpener, Work, choose_device, devices, has_gpu,
    open_session, open_session_for, open_session_sharing,
};
pub use differentiable::{DifferentiableSession, ProfiledDifferentiableSession};
pub use error::InferenceError;
pub use extrapolate::Extrapolated;
pub use fit::{BatchFit, FitResult, PoiCorrelation, WeightedUncertainties, fit, fit_batch, fit_batch_within};
pub use goodness::{
    ChannelGoodness, EventGoodness, EventStatistic, GoodnessResult, GoodnessToys, event_goodness_of_fit,
    goodness_of_fit, goodness_of_fit_toys,
};
pub use grid::{GridPoint, GridResult, GridRow, GridStatus};
pub use hypotest::{HypotestOptions, HypotestResult, TestStatistic, hypotest};
pub use injection::{InjectionOptions, InjectionResult, injection};
pub use interval::{IntervalOptions, IntervalResult, RegionOptions, RegionResult, interval, region};
pub use limit::{LimitOptions, LimitResult, upper_limit};
pub use look_elsewhere::{LookElsewhereOptions, LookElsewhereResult, look_elsewhere};
pub use lookup::{matching_names, parameter_index};
pub use minos::Interval;
pub use ns_compute::CpuSession;
pub use options::{Blind, FitData, FitOptions, observed};
pub use point_test::{PointOptions, PointResult, hypotest_point};
pub use posterior::{PosteriorOptions, PosteriorResult, sample};
pub use ranking::{Group, Impact, NOTHING_TO_RANK, RankingOptions, RankingResult, ranking, rankings};
pub use scan::{ScanAxis, ScanInterval, ScanOptions, ScanResult, scan};
pub use significance::{SignificanceResult, significance};
pub use simplify::{SimplifyOptions, SimplifyResult, simplify};
pub use splot::{SplotWeights, splot};
pub use spurious::{SpuriousOptions, SpuriousResult, spurious_signal};
pub use toy_nuisance::ToyNuisance;
pub use toys::{
    FitToysOptions, FitToysResult, HypotestToysOptions, HypotestToysResult, ToyLimitOptions, ToyLimitResult,
    fit_toys, hypotest_toys, upper_limit_toys,
};
pub use unfold::{UnfoldOptions, UnfoldResult, unfold};
pub use yields::{YieldsAt, YieldsResult, expected_yields, fitted_yields, postfit_yields, prefit_yields};
