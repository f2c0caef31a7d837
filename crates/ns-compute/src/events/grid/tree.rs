//! Divides fit ranges into boxes until a Gauss rule in each box integrates all functions of a list.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use ns_core::LogProbError;

use super::functionals::Functionals;
use super::gauss::{Rule, Rules};
use super::values::{Evaluator, Values};

/// Number of nodes per observable of the rule that estimates errors, for one, two, ... observables.
const NODES: [usize; 6] = [21, 21, 15, 9, 7, 5];

/// Largest number of boxes, for one, two, ... observables.
const MOST_BOXES: [usize; 6] = [6000, 3000, 2000, 500, 200, 200];

/// A side that is shorter than this fraction of its position is not halved.
const SHORTEST: f64 = 1e-13;

/// Differences below this number of relative rounding errors of densities are no errors of a rule.
const ROUNDING: f64 = 32.0;

/// Returns the element of a table with one element for one, two, ... observables.
fn of_dimension(table: [usize; 6], observables: usize) -> usize {
    table[observables.clamp(1, table.len()) - 1]
}

/// Returns the largest number of boxes of a grid.
pub(super) fn most_boxes(observables: usize) -> usize {
    of_dimension(MOST_BOXES, observables)
}

/// A box of the grid.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) sides: Vec<(f64, f64)>,
    /// For each observable, the errors of the rules with 1, 2, ... nodes along it, as fractions of the largest error.
    /// The error of a rule is at least that of every rule with more nodes.
    errors: Vec<Vec<f64>>,
    is_done: bool,
}

impl Cell {
    /// Returns the error of the box with the largest number of nodes.
    fn error(&self) -> f64 {
        if self.is_done { 0.0 } else { self.least() }
    }

    fn least(&self) -> f64 {
        self.errors.iter().filter_map(|of| of.last()).sum()
    }

    /// Returns the number of nodes along each observable with which the error along it is at most `share`.
    fn orders(&self, share: f64) -> Vec<usize> {
        let order =
            |errors: &Vec<f64>| errors.iter().position(|e| *e <= share).unwrap_or(errors.len() - 1) + 1;
        self.errors.iter().map(order).collect()
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.error().total_cmp(&other.error())
    }
}

/// A tree of boxes that is being refined.
pub(super) struct Tree<'a> {
    pub(super) rules: Rules,
    pub(super) evaluator: Evaluator<'a>,
    pub(super) values: Values,
    columns: Vec<Vec<f64>>,
    weights: Vec<f64>,
    function: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// Relative rounding error of the densities.
    rounding: f64,
}

impl<'a> Tree<'a> {
    /// Creates a tree for densities with the relative rounding error `rounding`.
    pub(super) fn new(evaluator: Evaluator<'a>, observables: usize, rounding: f64) -> Self {
        Self {
            rules: Rules::new(of_dimension(NODES, observables)),
            evaluator,
            values: Values::default(),
            columns: Vec::new(),
            weights: Vec::new(),
            function: Vec::new(),
            sums: Vec::new(),
            squares: Vec::new(),
            rounding: ROUNDING * rounding,
        }
    }

    /// Returns the integrals over a list of boxes. The first result contains, for each parameter point and each term,
    /// the integral of the term's product of leaves. The second contains, for each term, the integral of the square of
    /// this product, divided by the density.
    pub(super) fn integrals(
        &mut self,
        boxes: &[Vec<(f64, f64)>],
    ) -> Result<(Vec<Vec<f64>>, Vec<f64>), LogProbError> {
        let (mut sums, mut squares) = (Vec::new(), Vec::new());
        for sides in boxes {
            self.visit(sides)?;
            let Values { products, densities } = &self.values;
            sums.resize(products.len(), Vec::new());
            for (sums, products) in sums.iter_mut().zip(products) {
                sums.resize(products.len(), 0.0);
                for (sum, product) in sums.iter_mut().zip(products) {
                    *sum += product.iter().zip(&self.weights).map(|(p, w)| p * w).sum::<f64>();
                }
            }
            squares.resize(sums[0].len(), 0.0);
            for (square, product) in squares.iter_mut().zip(&products[0]) {
                for ((p, f), w) in product.iter().zip(&densities[0]).zip(&self.weights) {
                    if *f > 0.0 {
                        *square += w * p * (p / f);
                    }
                }
            }
        }
        Ok((sums, squares))
    }

    /// Evaluates the densities at the nodes of the full rule in a box.
    fn visit(&mut self, sides: &[(f64, f64)]) -> Result<(), LogProbError> {
        let all = vec![&self.rules.full; sides.len()];
        self.columns.resize_with(sides.len(), Vec::new);
        self.columns.iter_mut().for_each(Vec::clear);
        self.weights.clear();
        add_nodes(sides, &all, &mut self.columns, &mut self.weights);
        let part: Vec<u64> = sides.iter().flat_map(|(lo, hi)| [lo.to_bits(), hi.to_bits()]).collect();
        self.evaluator.evaluate(Some(part), &self.columns, &mut self.values).map(|_| ())
    }

    /// Estimates the errors of a box.
    fn cell(&mut self, sides: Vec<(f64, f64)>, functionals: &mut Functionals) -> Result<Cell, LogProbError> {
        self.visit(&sides)?;
        let n = self.rules.full.nodes.len();
        let mut errors = vec![vec![0.0_f64; self.rules.lower.len()]; sides.len()];
        for function in 0..functionals.len() {
            if functionals.weight(function) == 0.0 {
                continue;
            }
            functionals.fill(function, &self.values, &mut self.function);
            let weight = functionals.weight(function);
            if weight == 0.0 {
                continue;
            }
            for (x, w) in self.function.iter_mut().zip(&self.weights) {
                *x *= w;
            }
            let mut stride = 1;
            for errors in &mut errors {
                // Sums over all other observables, for each node along this one.
                self.sums.clear();
                self.sums.resize(n, 0.0);
                self.squares.clear();
                self.squares.resize(n, 0.0);
                for block in self.function.chunks_exact(stride * n) {
                    let sums = self.sums.iter_mut().zip(&mut self.squares);
                    for ((sum, square), run) in sums.zip(block.chunks_exact(stride)) {
                        *sum += run.iter().sum::<f64>();
                        *square += run.iter().map(|x| x * x).sum::<f64>();
                    }
                }
                let sums = self.sums.iter_mut().zip(&mut self.squares);
                for ((sum, square), w) in sums.zip(&self.rules.full.weights) {
                    *sum /= w;
                    *square /= w * w;
                }
                for (error, of) in errors.iter_mut().zip(&self.rules.errors) {
                    let sum: f64 = of.iter().zip(&self.sums).map(|(a, b)| a * b).sum();
                    // The rounding errors at different nodes are independent.
                    let squares: f64 = of.iter().zip(&self.squares).map(|(a, b)| a * a * b).sum();
                    *error = error.max(weight * (sum.abs() - self.rounding * squares.sqrt()));
                }
                stride *= n;
            }
        }
        for errors in &mut errors {
            for m in (1..errors.len()).rev() {
                errors[m - 1] = errors[m - 1].max(errors[m]);
            }
        }
        Ok(Cell { sides, errors, is_done: false })
    }

    /// Halves boxes until the sum of their errors is at most 1, or the number of boxes or of nodes reaches its limit.
    /// The box with the largest error is halved along the observable with the largest error.
    pub(super) fn refine(
        &mut self,
        first: Vec<Vec<(f64, f64)>>,
        functionals: &mut Functionals,
        (most_boxes, most_nodes): (usize, usize),
    ) -> Result<Vec<Cell>, LogProbError> {
        let mut cells = BinaryHeap::new();
        for sides in first {
            cells.push(self.cell(sides, functionals)?);
        }
        let mut error: f64 = cells.iter().map(Cell::error).sum();
        while error > 1.0 && cells.len() < most_boxes {
            let Some(mut cell) = cells.pop() else { break };
            if cell.is_done {
                cells.push(cell);
                break;
            }
            let axis = |cell: &Cell| {
                let splits =
                    |&(_, (lo, hi)): &(usize, &(f64, f64))| hi - lo > SHORTEST * lo.abs().max(hi.abs());
                let own = |i: usize| cell.errors[i].last().copied().unwrap_or(0.0);
                let all = cell.sides.iter().enumerate().filter(splits);
                all.max_by(|a, b| own(a.0).total_cmp(&own(b.0))).map(|(i, _)| i)
            };
            let Some(axis) = axis(&cell) else {
                cell.is_done = true;
                cells.push(cell);
                continue;
            };
            let (lo, hi) = cell.sides[axis];
            let middle = 0.5 * lo + 0.5 * hi;
            for half in [(lo, middle), (middle, hi)] {
                let mut sides = cell.sides.clone();
                sides[axis] = half;
                cells.push(self.cell(sides, functionals)?);
            }
            error = cells.iter().map(Cell::error).sum();
            if cells.len() % 32 == 0 && count(cells.iter(), orders_share(cells.len())) > most_nodes {
                break;
            }
        }
        Ok(cells.into_vec())
    }

    /// Returns the nodes of boxes with the volumes that belong to them, and the sum of the errors of the boxes.
    pub(super) fn nodes(&self, cells: &[Cell], most_nodes: usize) -> (Vec<Vec<f64>>, Vec<f64>, f64) {
        let mut share = orders_share(cells.len());
        while count(cells.iter(), share) > most_nodes && share < 1e12 {
            share *= 4.0;
        }
        let observables = cells.first().map_or(0, |cell| cell.sides.len());
        let (mut columns, mut volumes, mut error) = (vec![Vec::new(); observables], Vec::new(), 0.0);
        for cell in cells {
            let orders = cell.orders(share);
            let rules: Vec<&Rule> = orders.iter().map(|m| &self.rules.lower[m - 1]).collect();
            add_nodes(&cell.sides, &rules, &mut columns, &mut volumes);
            error += orders.iter().zip(&cell.errors).map(|(m, errors)| errors[m - 1]).sum::<f64>();
        }
        (columns, volumes, error)
    }
}

/// Returns the largest error of a box along one observable, if the errors of all boxes are equal.
fn orders_share(cells: usize) -> f64 {
    1.0 / cells.max(1) as f64
}

fn count<'c>(cells: impl Iterator<Item = &'c Cell>, share: f64) -> usize {
    cells.map(|cell| cell.orders(share).iter().product::<usize>()).sum()
}

/// Adds the nodes of a product of rules in the box `sides` to `columns`, and the part of the volume that belongs to
/// each node to `volumes`. The first observable varies fastest.
pub(super) fn add_nodes(
    sides: &[(f64, f64)],
    rules: &[&Rule],
    columns: &mut [Vec<f64>],
    volumes: &mut Vec<f64>,
) {
    let total: usize = rules.iter().map(|rule| rule.nodes.len()).product();
    let first = volumes.len();
    volumes.resize(first + total, 1.0);
    let mut stride = 1;
    for (((lo, hi), rule), column) in sides.iter().zip(rules).zip(columns) {
        let n = rule.nodes.len();
        let (centre, half) = (0.5 * lo + 0.5 * hi, 0.5 * hi - 0.5 * lo);
        for number in 0..total {
            let i = number / stride % n;
            column.push(centre + half * rule.nodes[i]);
            volumes[first + number] *= half * rule.weights[i];
        }
        stride *= n;
    }
}
