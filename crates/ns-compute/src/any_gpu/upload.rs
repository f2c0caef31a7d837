//! The numbers and indices of one kind of fit, arranged for the kernels.

use std::fmt::Write as _;

use super::kind::Kind;
use crate::plan::Plan;

/// Index that stands for nothing.
pub(super) const NONE: u32 = u32::MAX;

/// Arrays of indices and of numbers, with the constants by which the kernels find them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) indices: Vec<u32>,
    pub(super) numbers: Vec<f32>,
    /// Declarations of constants in WGSL.
    pub(super) constants: String,
}

/// A list of lists, one after the other, as the kernels read it: the starts of all lists, then their elements.
#[derive(Default)]
struct Lists {
    starts: Vec<u32>,
    columns: Vec<Vec<u32>>,
}

impl Lists {
    fn new(columns: usize) -> Self {
        Self { starts: vec![0], columns: vec![Vec::new(); columns] }
    }

    fn push<const N: usize>(&mut self, element: [usize; N]) {
        for (column, x) in self.columns.iter_mut().zip(element) {
            column.push(index(x));
        }
    }

    /// Ends the current list.
    fn end(&mut self) {
        self.starts.push(self.columns.first().map_or(0, |column| index(column.len())));
    }
}

/// Models are small enough for 32 bits: [`Kind::new`] refuses others.
fn index(x: usize) -> u32 {
    u32::try_from(x).unwrap_or(NONE)
}

/// Rounds a number to single precision. A number beyond its range becomes the largest one: kernels have no infinity.
pub(super) fn single(x: f64) -> f32 {
    (x as f32).clamp(f32::MIN, f32::MAX)
}

impl Tables {
    pub(super) fn constant(&mut self, name: &str, value: usize) {
        let _ = writeln!(self.constants, "const {name}: u32 = {value}u;");
    }

    fn indices(&mut self, name: &str, values: impl IntoIterator<Item = u32>) {
        self.constant(&format!("I_{name}"), self.indices.len());
        self.indices.extend(values);
    }

    fn numbers(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        self.constant(&format!("N_{name}"), self.numbers.len());
        self.numbers.extend(values.into_iter().map(single));
    }

    fn lists(&mut self, name: &str, columns: &[&str], lists: Lists) {
        self.indices(name, lists.starts);
        for (column, values) in columns.iter().zip(lists.columns) {
            self.indices(&format!("{name}_{column}"), values);
        }
    }

    /// Arranges the effects of all samples: block by block, and parameter by parameter.
    pub(super) fn effects(&mut self, plan: &Plan) {
        let (structure, n) = (&plan.structure, plan.n_parameters());
        let blocks = &structure.blocks;
        let mut cells = Lists::new(1);
        let (mut hist, mut factor, mut per_bin) = (Lists::new(2), Lists::new(2), Lists::new(1));
        let mut norm = Lists::new(2);
        let (mut nominal, mut histosys, mut normsys) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_bin: Vec<Vec<usize>> = vec![Vec::new(); plan.n_bins()];
        let mut of_hist: Vec<Vec<[usize; 2]>> = vec![Vec::new(); n];
        let mut of_norm: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut of_factor: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut of_per_bin: Vec<Vec<[usize; 2]>> = vec![Vec::new(); n];
        for (k, block) in blocks.iter().enumerate() {
            let first_cell = cells.columns[0].len();
            for b in 0..block.n_bins {
                of_bin[block.bin + b].push(cells.columns[0].len());
                cells.push([k]);
                nominal.push(plan.numbers.nominal[block.cell + b]);
            }
            cells.end();
            for (i, &p) in plan.templates(block).iter().enumerate() {
                of_hist[p as usize].push([k, histosys.len()]);
                hist.push([p as usize, histosys.len()]);
                for b in 0..block.n_bins {
                    let template = plan.templates_in(block, b).nth(i).unwrap_or_default();
                    histosys.extend([template.slope, template.curve]);
                }
            }
            hist.end();
            for i in block.norm.0..block.norm.1 {
                let (p, term) = (plan.norm_param(block, i), structure.norm_of_block[i] as usize);
                of_norm[p].push(norm.columns[0].len());
                norm.push([p, k]);
                normsys.extend(plan.numbers.norm_coefficients.iter().map(|c| c[term]));
                normsys.extend([plan.numbers.norm_rate_hi[term], plan.numbers.norm_rate_lo[term]]);
            }
            norm.end();
            for &p in plan.scale_factors(block) {
                of_factor[p as usize].push(factor.columns[0].len());
                factor.push([p as usize, k]);
            }
            factor.end();
            for &first in plan.per_bin_factors(block) {
                let place = per_bin.columns[0].len();
                for b in 0..block.n_bins {
                    of_per_bin[first as usize + b].push([first_cell + b, place]);
                }
                per_bin.push([first as usize]);
            }
            per_bin.end();
        }
        self.constant("PARAMS", n);
        self.constant("BINS", plan.n_bins());
        self.constant("AUX", plan.n_aux());
        self.constant("BLOCKS", blocks.len());
        self.constant("CELLS", cells.columns[0].len());
        self.constant("HIST_PARAMS", structure.hist_params.len());
        self.indices("HIST_PARAMS", structure.hist_params.iter().map(|&p| index(p)));
        self.indices("BLOCK_BIN", blocks.iter().map(|block| index(block.bin)));
        self.indices("BLOCK_CELL", cells.starts.iter().copied());
        self.indices("CELL_BLOCK", cells.columns.into_iter().flatten());
        self.lists("HIST", &["PARAM", "NUMBERS"], hist);
        self.lists("NORM", &["PARAM", "BLOCK"], norm);
        self.lists("FACTOR", &["PARAM", "BLOCK"], factor);
        self.lists("PER_BIN", &["FIRST"], per_bin);
        self.numbers("NOMINAL", nominal);
        self.numbers("HISTOSYS", histosys);
        self.numbers("NORMSYS", normsys);
        self.lists("BIN", &["CELL"], collected(of_bin.iter().map(|list| list.iter().map(|&c| [c]))));
        self.lists(
            "OF_HIST",
            &["BLOCK", "NUMBERS"],
            collected(of_hist.iter().map(|list| list.iter().copied())),
        );
        self.lists("OF_NORM", &["TERM"], collected(of_norm.iter().map(|list| list.iter().map(|&i| [i]))));
        self.lists(
            "OF_FACTOR",
            &["PLACE"],
            collected(of_factor.iter().map(|list| list.iter().map(|&i| [i]))),
        );
        self.lists(
            "OF_PER_BIN",
            &["CELL", "PLACE"],
            collected(of_per_bin.iter().map(|list| list.iter().copied())),
        );
    }

    /// Arranges the constraint terms, of which a parameter has at most one, and the bounds.
    pub(super) fn parameters(&mut self, kind: &Kind<'_>) {
        let n = kind.plan.n_parameters();
        let (mut of, mut aux, mut weight) = (vec![0; n], vec![0; n], vec![0.0; n]);
        for (p, a, w) in kind.plan.gaussian() {
            (of[p], aux[p], weight[p]) = (1, index(a), w);
        }
        for (p, a, tau) in kind.plan.poisson() {
            (of[p], aux[p], weight[p]) = (2, index(a), tau);
        }
        let mut free = vec![0; n];
        kind.metric.free.iter().for_each(|&p| free[p] = 1);
        self.indices("CONSTRAINT", of);
        self.indices("AUX", aux);
        self.indices("FREE", free);
        self.numbers("CONSTRAINT", weight);
        self.numbers("LOWER", kind.lower.iter().copied());
        self.numbers("UPPER", kind.upper.iter().copied());
    }

    /// Arranges the part of the metric that all fits share.
    pub(super) fn metric(&mut self, kind: &Kind<'_>) {
        let (metric, bins) = (kind.metric, kind.plan.n_bins());
        let mut of_bin: Vec<Vec<[usize; 1]>> = vec![Vec::new(); bins];
        for (i, local) in metric.locals.iter().enumerate() {
            of_bin[local.bin].push([i]);
        }
        self.constant("LOCALS", metric.locals.len());
        self.constant("DUALS", metric.dual.len());
        self.constant("PRIMALS", metric.primal.len());
        self.indices("LOCAL_PARAM", metric.locals.iter().map(|local| index(local.param)));
        self.indices("LOCAL_BIN", metric.locals.iter().map(|local| index(local.bin)));
        self.indices("LOCAL_FACTOR", metric.locals.iter().map(|local| u32::from(local.factor)));
        self.indices("LOCAL_COUNT", metric.locals.iter().map(|local| local.count.map_or(NONE, index)));
        self.lists("BIN_LOCAL", &["INDEX"], collected(of_bin.iter().map(|list| list.iter().copied())));
        self.numbers("LOCAL", metric.locals.iter().flat_map(|local| [local.reaction, local.stiffness]));
        // The kernels rely on the primal parameters following the dual ones.
        self.indices("DUAL", metric.dual.iter().chain(&metric.primal).map(|&p| index(p)));
        self.constant("I_PRIMAL", self.indices.len() - metric.primal.len());
        self.numbers("DUAL", metric.dual_rows.iter().copied());
        self.numbers("DUAL_INVERSE", metric.dual_inverse.iter().copied());
        self.numbers("KERNEL", metric.kernel.iter().copied());
        self.numbers("PRIMAL", metric.primal_rows.iter().copied());
        self.numbers("PRIMAL_STIFFNESS", metric.primal_stiffness.iter().copied());
        let rows = bins.max(metric.primal.len());
        self.indices("TRIANGLE", (0..rows).flat_map(|i| (0..=i).map(move |j| index(i << 16 | j))));
    }
}

/// Returns lists as the kernels read them.
fn collected<const N: usize>(lists: impl Iterator<Item = impl Iterator<Item = [usize; N]>>) -> Lists {
    let mut out = Lists::new(N);
    for list in lists {
        list.for_each(|element| out.push(element));
        out.end();
    }
    out
}
