//! The analyses that the server offers, which are those of the command line. Each has a file with the body of its
//! request and its computation.

mod blue;
mod combine;
mod compatibility;
mod decorrelate;
mod each_poi;
mod fit;
mod fit_batch;
mod gof;
mod hypotest;
mod hypotest_toys;
mod injection;
mod inspect;
mod interval;
mod look_elsewhere;
mod merge_toys;
mod prune;
mod ranking;
mod region;
mod rename;
mod run;
mod sample;
mod scan;
mod significance;
mod simplify;
mod spurious_signal;
mod toys;
mod unfold;
mod upper_limit;
mod validate;
mod yields;

use serde::de::DeserializeOwned;

pub(crate) use blue::BlueBody;
pub(crate) use combine::CombineBody;
pub(crate) use compatibility::CompatibilityBody;
pub(crate) use decorrelate::DecorrelateBody;
pub(crate) use fit::FitBody;
pub(crate) use fit_batch::{Batch, FitBatchBody};
pub(crate) use gof::GofBody;
pub(crate) use hypotest::HypotestBody;
pub(crate) use hypotest_toys::HypotestToysBody;
pub(crate) use injection::InjectionBody;
pub(crate) use inspect::InspectBody;
pub(crate) use interval::IntervalBody;
pub(crate) use look_elsewhere::LookElsewhereBody;
pub(crate) use merge_toys::MergeToysBody;
pub(crate) use prune::PruneBody;
pub(crate) use ranking::RankingBody;
pub(crate) use region::RegionBody;
pub(crate) use rename::RenameBody;
pub(crate) use run::{Answer, Run};
pub(crate) use sample::SampleBody;
pub(crate) use scan::ScanBody;
pub(crate) use significance::SignificanceBody;
pub(crate) use simplify::{Simplified, SimplifyBody};
pub(crate) use spurious_signal::SpuriousSignalBody;
pub(crate) use toys::ToysBody;
pub(crate) use unfold::UnfoldBody;
pub(crate) use upper_limit::UpperLimitBody;
pub(crate) use validate::ValidateBody;
pub(crate) use yields::YieldsBody;

use crate::memory::of_json;
use crate::models::Models;
use crate::problem::ServerError;

/// The body of a request for an analysis.
pub(crate) trait Analysis: DeserializeOwned + Send + 'static {
    /// Name of the analysis. The path of the request ends with this name.
    const NAME: &'static str;

    /// Whether the analysis runs toys that the server can save, so that the analysis can be resumed.
    const SAVES: bool = false;

    /// Returns the time in seconds after which the request becomes a job; `None` means the default time of the
    /// server.
    fn wait_s(&self) -> Option<f64> {
        None
    }

    /// Returns an upper estimate of the memory, in bytes, that the analysis itself needs to read workspaces. `text` is the
    /// body of the request, and `limit` the memory of the server. Memory for models is reserved when they are made.
    fn reads(&self, _text: &[u8], _limit: u64) -> u64 {
        0
    }

    /// Returns whether the analysis is very short. The thread that received the request then runs the analysis
    /// itself, because passing it to another thread would take longer.
    fn is_brief(&self, _models: &Models) -> bool {
        false
    }

    /// Runs the analysis and returns the answer to the request.
    ///
    /// # Errors
    /// If the request is wrong or the analysis fails.
    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError>;
}

/// Returns an upper estimate of the memory, in bytes, that the workspaces in the body `text` need. They are there twice: as a
/// tree of JSON, and as workspaces.
fn of_workspaces(text: &[u8]) -> u64 {
    2 * of_json(text)
}

/// Declares the body of a request for an analysis of a model. The fields are the model, the device, the time
/// to wait, and the fields given to the macro.
macro_rules! body {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// The model.
            pub(crate) model: crate::body::ModelBody,
            $($(#[$field_about])* pub(crate) $field: $kind,)*
            /// Device: `auto`, `cpu`, `cuda`, `cuda:I` or `cuda:all`; the server's default device if absent.
            #[serde(default, deserialize_with = "crate::body::device")]
            #[schema(value_type = Option<String>)]
            pub(crate) device: Option<ns_core::Device>,
            /// Time in seconds after which the request becomes a job; the server's default if absent.
            #[serde(default, deserialize_with = "crate::body::seconds")]
            #[schema(value_type = Option<f64>)]
            pub(crate) wait_s: Option<f64>,
        }
    };
}
use body;

/// Calls a macro with the body types of all analyses.
macro_rules! each_analysis {
    ($call:ident) => {
        $call!(
            crate::analyses::FitBody,
            crate::analyses::FitBatchBody,
            crate::analyses::ScanBody,
            crate::analyses::RankingBody,
            crate::analyses::HypotestBody,
            crate::analyses::HypotestToysBody,
            crate::analyses::ToysBody,
            crate::analyses::MergeToysBody,
            crate::analyses::UpperLimitBody,
            crate::analyses::IntervalBody,
            crate::analyses::RegionBody,
            crate::analyses::LookElsewhereBody,
            crate::analyses::InjectionBody,
            crate::analyses::CompatibilityBody,
            crate::analyses::SpuriousSignalBody,
            crate::analyses::UnfoldBody,
            crate::analyses::SimplifyBody,
            crate::analyses::SampleBody,
            crate::analyses::SignificanceBody,
            crate::analyses::GofBody,
            crate::analyses::YieldsBody,
            crate::analyses::InspectBody,
            crate::analyses::ValidateBody,
            crate::analyses::PruneBody,
            crate::analyses::RenameBody,
            crate::analyses::DecorrelateBody,
            crate::analyses::CombineBody,
            crate::analyses::BlueBody
        )
    };
}
pub(crate) use each_analysis;

macro_rules! names {
    ($($body:ty),*) => { [$(<$body>::NAME),*] };
}

/// Returns the name of an analysis as static text; `None` if there is no analysis of this name.
pub(crate) fn name_of(name: &str) -> Option<&'static str> {
    each_analysis!(names).into_iter().find(|known| *known == name)
}
