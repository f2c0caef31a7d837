//! The kernel of one kind of fit: WGSL in which the sizes of the model are constants.

use std::fmt::Write as _;

use super::arrays::Arrays;
use super::formulas::{histosys_name, normsys_name};
use super::kind::Kind;
use super::upload::Tables;
use crate::shared_constants::{
    BELOW_SATURATED, FEWEST, GOOD_CONTRACTION, LEAST_DECREASE, LEAST_PAIR_CURVATURE, LEAST_STIFFNESS,
    LEFT_BY_A_STEP, MOST_PINS, MOST_TRIALS, PAIRS, SHORTENED, SHORTEST_REACH, SURELY, VALUE_ROUNDINGS,
};

/// EDM at which a descent of the device has converged. One step in double precision takes it to 1e-15 and below.
pub(super) const EDM_TOLERANCE: f64 = 1e-9;

/// Largest number of evaluations of a descent of the device, so that a dispatch ends soon. The CPU continues from there.
const MOST_EVALUATIONS: usize = 80;

/// Smallest magnitude of a product of normsys factors in single precision.
const LEAST_PRODUCT: f64 = 1e-30;

/// Least ratio `s y / y y` of a pair of step and change of slope in single precision.
const LEAST_CURVATURE: f64 = if LEAST_PAIR_CURVATURE > 1e-12 { LEAST_PAIR_CURVATURE } else { 1e-12 };

/// Numbers of a result besides those per parameter, and numbers per parameter.
pub(super) const END_SCALARS: usize = 5;
pub(super) const END_ARRAYS: usize = 3;

/// State of a descent at its end.
pub(super) const UNFINISHED: u32 = 0;
pub(super) const CONVERGED: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const FALLEN: u32 = 3;

/// The kernel of one kind of fit with its tables.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: String,
    pub(super) tables: Tables,
    /// Sizes, in numbers, of the inputs, the slab and the results of one descent.
    pub(super) job: usize,
    pub(super) slab: usize,
    pub(super) end: usize,
}

impl Program {
    /// Writes the kernel. A workgroup has `bytes` of memory.
    pub(super) fn new(kind: &Kind<'_>, bytes: usize) -> Self {
        let plan = kind.plan;
        let threads = threads(plan.n_bins(), plan.n_parameters());
        let arrays = Arrays::new(plan, kind.metric, threads, bytes);
        let mut tables = kind.tables();
        let (n, structure) = (plan.n_parameters(), &plan.structure);
        let job = plan.n_bins() + plan.n_aux() + n;
        let end = END_ARRAYS * n + END_SCALARS;
        for (name, value) in [
            ("THREADS", threads),
            ("JOB_SIZE", job),
            ("SLAB_SIZE", arrays.slab),
            ("END_SIZE", end),
            ("MOST_EVALUATIONS", MOST_EVALUATIONS),
            ("MOST_PINS", MOST_PINS),
            ("MOST_TRIALS", MOST_TRIALS),
            ("PAIRS", PAIRS),
            ("NONE", super::upload::NONE as usize),
            ("UNFINISHED", UNFINISHED as usize),
            ("CONVERGED", CONVERGED as usize),
            ("LOST", LOST as usize),
            ("FALLEN", FALLEN as usize),
        ] {
            tables.constant(name, value);
        }
        for (name, value) in [
            ("EPSILON", f64::from(f32::EPSILON)),
            ("HUGE", 1e30),
            ("EDM_TOLERANCE", EDM_TOLERANCE),
            ("LEAST_PRODUCT", LEAST_PRODUCT),
            ("LEAST_PAIR_CURVATURE", LEAST_CURVATURE),
            ("BELOW_SATURATED", BELOW_SATURATED),
            ("FEWEST", FEWEST),
            ("GOOD_CONTRACTION", GOOD_CONTRACTION),
            ("LEAST_DECREASE", LEAST_DECREASE),
            ("LEAST_STIFFNESS", LEAST_STIFFNESS),
            ("LEFT_BY_A_STEP", LEFT_BY_A_STEP),
            ("SHORTENED", SHORTENED),
            ("SHORTEST_REACH", SHORTEST_REACH),
            ("SURELY", SURELY),
            ("VALUE_ROUNDINGS", VALUE_ROUNDINGS),
        ] {
            let _ = writeln!(tables.constants, "const {name}: real = {value:?};");
        }
        let _ = writeln!(tables.constants, "const OWN: bool = {};", kind.metric.own_derivatives);
        let invert = |matrix: &str, size: &str| {
            let text = include_str!("../../kernels/wgsl/invert.wgsl");
            text.replace("invert_$matrix", &format!("invert_{matrix}"))
                .replace("$matrix[", &format!("${matrix}["))
                .replace("`$matrix`", &format!("`{matrix}`"))
                .replace("$size", size)
        };
        let bins = if kind.metric.dual.is_empty() { "0u" } else { "BINS" };
        let kernels = [
            include_str!("../../kernels/wgsl/block.wgsl"),
            include_str!("../../kernels/wgsl/evaluate.wgsl"),
            &invert("lower", bins),
            &invert("inner", "PRIMALS"),
            include_str!("../../kernels/wgsl/metric.wgsl"),
            include_str!("../../kernels/wgsl/descend.wgsl"),
        ]
        .concat()
        .replace("$histosys(", &format!("{}(", histosys_name(structure.histosys)))
        .replace("$normsys(", &format!("{}(", normsys_name(structure.normsys.code)));
        let text = [
            "alias real = f32;\n",
            &tables.constants,
            include_str!("../../kernels/wgsl/formulas.wgsl"),
            &arrays.declarations(),
            &arrays.place(&kernels),
        ]
        .concat();
        Self { text, tables, job, slab: arrays.slab, end }
    }
}

/// Returns the number of threads that make a descent together.
fn threads(bins: usize, parameters: usize) -> usize {
    bins.max(parameters / 4).next_power_of_two().clamp(32, 128)
}
