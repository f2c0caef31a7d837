//! A factored curvature that is kept after its fit. Only the factors are kept, without the columns that are zero.
//!
//! The fits of a limit, a ranking or a toy study use the inverse Hessian of one parent fit. In models with thousands
//! of parameters, computing and storing this inverse would take far more time and memory than the fit. Therefore only
//! the factors are kept. A product of the inverse Hessian with a vector is a solve with the factors, and a row of the
//! inverse Hessian is a solve with a unit vector.

use std::ops::Range;

use ns_core::FactoredHessian;

use super::Curvature;
use super::solve::{axpy, dot};
use super::storage::Matrices;
use crate::plan::{Component, Layout, Structure};
use crate::simd::Level;

/// The factors of a curvature in the nested layout (see the module `factor`). They represent an inverse Hessian.
#[derive(Debug)]
pub(crate) struct FactoredInverse {
    level: Level,
    /// For each parameter, whether the fit moved it and the likelihood determines it. Rows and columns of all other
    /// parameters are zero in the inverse Hessian.
    moves: Vec<bool>,
    components: Vec<FactoredComponent>,
    /// Border parameters (those that act on many channels and are eliminated last), in the order of their columns.
    /// Their columns are the last columns of the factor.
    border: Vec<u32>,
    border_upper: Vec<f64>,
    /// Parameters that act on no bin. The second element is the inverse curvature of the parameter.
    isolated: Vec<(u32, f64)>,
    /// Number of matrix columns of the component (channels that share parameters) that has the most columns.
    columns: usize,
    /// Number of columns of the channel that has the most columns.
    channel_columns: usize,
}

/// The factors of the curvature of one component, i.e. of channels that share parameters.
#[derive(Debug)]
struct FactoredComponent {
    /// Dense parameters (those that act on whole channels), in the order of their columns.
    dense: Vec<u32>,
    /// Number of columns of the factor: first the dense parameters, then the border parameters.
    columns: usize,
    /// Rows of the factor `U`, one after another. Each row contains the elements from the diagonal to the last
    /// column.
    upper: Vec<f64>,
    /// Local parameters of the component, grouped by bin. A local parameter acts on a single bin.
    local: Vec<u32>,
    /// Cholesky factors `L` of all bins, one after another. Each is the factor of the matrix over the local parameters
    /// of one bin, stored row by row.
    blocks: Vec<f64>,
    /// Number of local parameters in each bin.
    counts: Vec<u32>,
    channels: Vec<FactoredChannel>,
}

/// Coupling of the local parameters of one channel to the dense and border parameters of the component. The coupling is
/// zero except for parameters that act on the channel. Only the columns of these parameters are stored.
#[derive(Debug)]
struct FactoredChannel {
    /// Range of the channel's bins, counted within the component.
    bins: Range<usize>,
    /// Indices of the component's columns that belong to the channel's parameters.
    columns: Vec<u32>,
    /// One row of `L^-1 R` per local parameter of the channel, with one element per entry of `columns`. `R` is the
    /// coupling, and `L` is the Cholesky factor of the bin.
    rows: Vec<f64>,
}

impl FactoredInverse {
    /// Copies the factors of `curvature`. The factors represent the inverse Hessian over the parameters for which
    /// `moves` is true: those that the fit moved and that the likelihood determines.
    pub(crate) fn new(
        level: Level,
        structure: &Structure,
        layout: &Layout,
        curvature: &Curvature,
        moves: Vec<bool>,
    ) -> Self {
        let components: Vec<FactoredComponent> = layout
            .components
            .iter()
            .zip(&curvature.matrices)
            .enumerate()
            .map(|(k, (component, matrices))| {
                FactoredComponent::new(structure, layout, k, component, matrices)
            })
            .collect();
        let n_border = layout.border.len();
        let width = curvature.border_width;
        let isolated = layout.isolated.iter().zip(&curvature.isolated).map(|(&p, &h)| (p, 1.0 / h)).collect();
        let channels = components.iter().flat_map(|component| &component.channels);
        Self {
            level,
            moves,
            border: layout.border.clone(),
            border_upper: packed(&curvature.border, width, n_border, n_border),
            isolated,
            columns: components.iter().map(|component| component.columns).max().unwrap_or(0),
            channel_columns: channels.map(|channel| channel.columns.len()).max().unwrap_or(0),
            components,
        }
    }
}

impl FactoredHessian for FactoredInverse {
    fn n_parameters(&self) -> usize {
        self.moves.len()
    }

    fn has(&self, parameter: usize) -> bool {
        self.moves.get(parameter).copied().unwrap_or(false)
    }

    fn apply(&self, x: &[f64], to: &mut [f64], memory: &mut Vec<f64>) {
        let (level, n_border) = (self.level, self.border.len());
        memory.clear();
        memory.resize(n_border + self.columns + self.channel_columns, 0.0);
        let (border, rest) = memory.split_at_mut(n_border);
        let (v, gathered) = rest.split_at_mut(self.columns);
        let moved = |p: u32| if self.moves[p as usize] { x[p as usize] } else { 0.0 };
        to.fill(0.0);
        for (sum, &p) in border.iter_mut().zip(&self.border) {
            *sum = moved(p);
        }
        for component in &self.components {
            let (dense, v) = (component.dense.len(), &mut v[..component.columns]);
            v.fill(0.0);
            for (to, &p) in v.iter_mut().zip(&component.dense) {
                *to = moved(p);
            }
            component.eliminate(level, &self.moves, x, to, v, gathered);
            solve_lower(level, &component.upper, dense, v);
            for (&p, &y) in component.dense.iter().zip(v.iter()) {
                to[p as usize] = y;
            }
            for (sum, add) in border.iter_mut().zip(&v[dense..]) {
                *sum += add;
            }
        }
        solve_lower(level, &self.border_upper, n_border, border);
        solve_upper(level, &self.border_upper, n_border, border);
        for (&p, &value) in self.border.iter().zip(border.iter()) {
            to[p as usize] = value;
        }
        for component in &self.components {
            let (dense, v) = (component.dense.len(), &mut v[..component.columns]);
            for (y, &p) in v.iter_mut().zip(&component.dense) {
                *y = to[p as usize];
            }
            v[dense..].copy_from_slice(border);
            solve_upper(level, &component.upper, dense, v);
            for (&p, &value) in component.dense.iter().zip(v.iter()) {
                to[p as usize] = value;
            }
            component.restore(level, v, to, gathered);
        }
        for &(p, inverse) in &self.isolated {
            to[p as usize] = moved(p) * inverse;
        }
        for (to, &moves) in to.iter_mut().zip(&self.moves) {
            if !moves {
                *to = 0.0;
            }
        }
    }
}

/// Solves `U' y = b` in place for the first `rows` rows of the packed upper triangular factor `upper`. `x` contains `b`
/// at first, and `y` in its first `rows` elements at the end. The later elements become `b - U_rest' y`, where `U_rest`
/// contains the later columns of the same rows.
fn solve_lower(level: Level, upper: &[f64], rows: usize, x: &mut [f64]) {
    let (n, mut at) = (x.len(), 0);
    for k in 0..rows {
        let row = &upper[at..at + n - k];
        let (done, rest) = x.split_at_mut(k + 1);
        let y = done[k] / row[0];
        done[k] = y;
        axpy(level, -y, &row[1..], rest);
        at += n - k;
    }
}

/// Solves `U x = y` in place for the first `rows` rows of the packed upper triangular factor `upper`. `x` contains `y`
/// at first. The elements of `x` after the first `rows` must contain the solution already.
fn solve_upper(level: Level, upper: &[f64], rows: usize, x: &mut [f64]) {
    let (n, mut at) = (x.len(), upper.len());
    for k in (0..rows).rev() {
        at -= n - k;
        let row = &upper[at..at + n - k];
        x[k] = (x[k] - dot(level, &row[1..], &x[k + 1..])) / row[0];
    }
}

/// Returns the first `rows` rows of an upper triangle with `n` columns, one after another. Each row starts at its
/// diagonal element. `width` is the leading dimension of `matrix`.
fn packed(matrix: &[f64], width: usize, rows: usize, n: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(rows * n - rows * rows.saturating_sub(1) / 2);
    for k in 0..rows {
        out.extend_from_slice(&matrix[k * width + k..k * width + n]);
    }
    out
}

impl FactoredComponent {
    fn new(structure: &Structure, layout: &Layout, k: usize, component: &Component, m: &Matrices) -> Self {
        let (dense, columns) = (component.dense.len(), component.columns);
        let channels = component
            .blocks
            .chunk_by(|&a, &b| structure.blocks[a as usize].bin == structure.blocks[b as usize].bin)
            .map(|blocks| FactoredChannel::new(structure, layout, k, component, m, blocks))
            .collect();
        Self {
            dense: component.dense.clone(),
            columns,
            upper: packed(&m.h, component.width, dense, columns),
            local: component.local.clone(),
            blocks: m.local_block.clone(),
            counts: component.local_start.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            channels,
        }
    }

    /// Eliminates the local parameters (each acts on a single bin) from a linear system with the right-hand side `x`.
    /// Writes `z = L^-1 x` of the local parameters to `to`, where `L` is the Cholesky factor of each bin. Subtracts
    /// `R' L^-T z` from `v`, the right-hand side for the dense and border parameters, where `R` is the coupling of
    /// the local parameters to them.
    fn eliminate(
        &self,
        level: Level,
        moves: &[bool],
        x: &[f64],
        to: &mut [f64],
        v: &mut [f64],
        sum: &mut [f64],
    ) {
        let (mut local, mut block) = (0, 0);
        for channel in &self.channels {
            let width = channel.columns.len();
            let sum = &mut sum[..width];
            sum.fill(0.0);
            let mut rows = channel.rows.chunks_exact(width.max(1));
            for &count in &self.counts[channel.bins.clone()] {
                let count = count as usize;
                let (params, l) =
                    (&self.local[local..local + count], &self.blocks[block..block + count * count]);
                for i in 0..count {
                    let p = params[i] as usize;
                    let mut z = if moves[p] { x[p] } else { 0.0 };
                    for k in 0..i {
                        z -= l[i * count + k] * to[params[k] as usize];
                    }
                    z /= l[i * count + i];
                    to[p] = z;
                    if let Some(row) = rows.next() {
                        axpy(level, z, row, sum);
                    }
                }
                local += count;
                block += count * count;
            }
            for (&column, sum) in channel.columns.iter().zip(sum.iter()) {
                v[column as usize] -= sum;
            }
        }
    }

    /// Computes the solution for the local parameters (each acts on a single bin) by back substitution. `v` is the
    /// solution for the dense and border parameters. At first `to` contains the result of [`Self::eliminate`] for the
    /// local parameters. At the end it contains their solution.
    fn restore(&self, level: Level, v: &[f64], to: &mut [f64], gathered: &mut [f64]) {
        let (mut local, mut block) = (0, 0);
        for channel in &self.channels {
            let width = channel.columns.len();
            let gathered = &mut gathered[..width];
            for (to, &column) in gathered.iter_mut().zip(&channel.columns) {
                *to = v[column as usize];
            }
            let mut first = 0;
            for &count in &self.counts[channel.bins.clone()] {
                let count = count as usize;
                let (params, l) =
                    (&self.local[local..local + count], &self.blocks[block..block + count * count]);
                for i in (0..count).rev() {
                    let p = params[i] as usize;
                    let row = &channel.rows[(first + i) * width..(first + i + 1) * width];
                    let mut z = to[p] - dot(level, row, gathered);
                    for k in i + 1..count {
                        z -= l[k * count + i] * to[params[k] as usize];
                    }
                    to[p] = z / l[i * count + i];
                }
                local += count;
                block += count * count;
                first += count;
            }
        }
    }
}

impl FactoredChannel {
    fn new(
        structure: &Structure,
        layout: &Layout,
        k: usize,
        component: &Component,
        m: &Matrices,
        blocks: &[u32],
    ) -> Self {
        let mut columns: Vec<u32> = Vec::new();
        let mut bins = component.n_bins..0;
        for &index in blocks {
            let block = &structure.blocks[index as usize];
            columns.extend_from_slice(&layout.columns[block.params.0..block.params.1]);
            // Per-bin factors that act on several bins also have columns.
            for &first in &structure.binwise_first[block.binwise.0..block.binwise.1] {
                let params = first as usize..first as usize + block.n_bins;
                columns.extend(params.filter_map(|p| layout.column(k, p)).map(|column| column as u32));
            }
            let first = layout.block_bin[index as usize] as usize;
            bins = bins.start.min(first)..bins.end.max(first + block.n_bins);
        }
        let bins = bins.start.min(bins.end)..bins.end;
        columns.sort_unstable();
        columns.dedup();
        let locals = component.local_start[bins.start]..component.local_start[bins.end];
        let mut rows = Vec::with_capacity(locals.len() * columns.len());
        for local in locals {
            let row = &m.local[local as usize * component.width..][..component.columns];
            rows.extend(columns.iter().map(|&column| row[column as usize]));
        }
        Self { bins, columns, rows }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
