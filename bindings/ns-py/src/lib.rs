//! The native module of the `nextstat` Python package. Its functions convert their arguments, call the other
//! Rust crates and convert the results to Python.

mod analysis;
mod arrays;
mod arrow_stream;
mod batch;
mod blue;
mod bounds;
mod build;
mod compatibility;
mod datacard;
mod datasets;
mod device;
mod device_events;
mod differentiable;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
mod dlpack;
mod draw;
mod earlier;
mod edit;
mod error;
mod evaluate;
mod events;
mod fit;
#[cfg(feature = "cuda")]
mod flow_session;
mod grid;
mod hypotest;
mod injection;
mod interval;
mod joint_ranking;
mod jumps;
mod kept_toys;
mod limit;
mod load;
mod look_elsewhere;
mod methods;
mod model;
mod options;
mod pickle;
mod picture;
mod plain;
mod pois;
mod posterior;
mod ranking;
mod recipe;
mod region;
mod remote;
mod restore;
mod result;
mod scan;
mod selftest;
mod shown;
mod signals;
mod simplify;
mod splot;
mod spurious;
mod stages;
mod study;
mod table;
mod toys;
mod unfold;
mod warn;
mod whole;
mod work;
mod written;
mod yields;

/// The allocator keeps freed memory for later arrays. The system's allocator would give back large arrays at
/// once, and mapping the pages of new arrays would take a third of the time of reading a Parquet file.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module `nextstat._native`. The package re-exports its contents (`nextstat/__init__.py`).
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    use crate::error;

    #[pymodule_export]
    use crate::batch::{_batch, BatchResult, fit_batch};
    #[pymodule_export]
    use crate::blue::{_given_results, blue};
    #[pymodule_export]
    use crate::build::{_build, _build_config};
    #[pymodule_export]
    use crate::compatibility::{CompatibilityResult, compatibility};
    #[pymodule_export]
    use crate::datacard::load_datacard;
    #[pymodule_export]
    use crate::device::{_device, DeviceInfo, devices, has_cuda, has_metal, has_vulkan};
    #[pymodule_export]
    use crate::device_events::upload_parquet;
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    #[pymodule_export]
    use crate::device_events::{DeviceColumn, DeviceEvents};
    #[pymodule_export]
    use crate::differentiable::{BestFits, DifferentiableSession, ProfiledDifferentiableSession};
    #[pymodule_export]
    use crate::draw::_draw;
    #[pymodule_export]
    use crate::edit::{combine, decorrelate, prune, rename};
    #[pymodule_export]
    use crate::events::{_event_columns, _kernel_density, read_parquet};
    #[pymodule_export]
    use crate::fit::fit;
    #[cfg(feature = "cuda")]
    #[pymodule_export]
    use crate::flow_session::GpuFlowSession;
    #[pymodule_export]
    use crate::grid::{_grid_plot, _grid_shown, _limit_grid};
    #[pymodule_export]
    use crate::hypotest::{
        EventGoodnessResult, GoodnessResult, HypotestResult, PointResult, SignificanceResult,
        goodness_of_fit, hypotest, significance,
    };
    #[pymodule_export]
    use crate::injection::{InjectionResult, injection};
    #[pymodule_export]
    use crate::interval::{IntervalResult, interval};
    #[pymodule_export]
    use crate::joint_ranking::{_joint_ranking, JointRanking, joint_ranking};
    #[pymodule_export]
    use crate::limit::{LimitResult, upper_limit};
    #[pymodule_export]
    use crate::load::{_axes_beside, _restored, _text, load_workspace};
    #[pymodule_export]
    use crate::look_elsewhere::{LookElsewhereResult, look_elsewhere};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::picture::{_picture, Picture};
    #[pymodule_export]
    use crate::posterior::{PosteriorResult, sample};
    #[pymodule_export]
    use crate::ranking::{RankingResult, ranking};
    #[pymodule_export]
    use crate::region::{RegionResult, region};
    #[pymodule_export]
    use crate::remote::_remote;
    #[pymodule_export]
    use crate::restore::_result;
    #[pymodule_export]
    use crate::result::{_fit, _interval, FitResult, Interval};
    #[pymodule_export]
    use crate::scan::{_scan, _scan_interval, ScanInterval, ScanResult, profile_scan};
    #[pymodule_export]
    use crate::selftest::selftest;
    #[pymodule_export]
    use crate::simplify::{SimplifyResult, simplify};
    #[pymodule_export]
    use crate::splot::splot;
    #[pymodule_export]
    use crate::spurious::{SpuriousResult, spurious_signal};
    #[pymodule_export]
    use crate::stages::{_toy_test, ToyTest, toys_from_header, toys_prepare, toys_summarise};
    #[pymodule_export]
    use crate::study::{FitToysResult, fit_toys};
    #[pymodule_export]
    use crate::toys::{HypotestToysResult, ToyLimitResult, hypotest_toys};
    #[pymodule_export]
    use crate::unfold::{UnfoldResult, unfold};
    #[cfg(debug_assertions)]
    #[pymodule_export]
    use crate::work::_panic;
    #[pymodule_export]
    use crate::written::{digest, patch, sort};
    #[pymodule_export]
    use crate::yields::{YieldsResult, yields};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = m.py();
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("_neural", cfg!(feature = "neural"))?;
        m.add("NextstatError", py.get_type::<error::NextstatError>())?;
        m.add("WorkspaceError", py.get_type::<error::WorkspaceError>())?;
        m.add("ConvergenceError", py.get_type::<error::ConvergenceError>())?;
        m.add("DeviceError", py.get_type::<error::DeviceError>())
    }
}
