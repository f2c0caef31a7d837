//! Structures of the kernel that differentiates by inputs. `kernels/inputs.cuh` is generated from this file
//! (`header.rs`).

use bytemuck::{Pod, Zeroable};

use super::super::arrays::N_OFFSETS;
#[cfg(test)]
use super::super::declare::Declaration;
use super::super::declare::{Element, Field, structures};
use super::super::layout::Plan;
use super::super::offset::{Offset, OffsetMut};

structures! {
    /// A cell with a nominal yield or templates that are inputs. Indices of inputs are those in a row of
    /// inputs; -1 stands for the number of the model beside it.
    InputCell {
        cell: i32,
        /// Index of the nominal yield among the inputs.
        nominal: i32,
        /// Range of the cell's templates in `DifferentiateLaunch::templates`.
        first: i32,
        end: i32,
        /// Nominal yield of the model.
        own: f64,
    }

    /// A histosys template of such a cell.
    InputTemplate {
        param: i32,
        /// Position in `Plan::slice_template`.
        in_slice: i32,
        /// Position in `Plan::hist_template`.
        in_list: i32,
        /// Index of the cell's nominal yield among the inputs.
        nominal: i32,
        /// Index of the yield at alpha = -1 among the inputs.
        lo: i32,
        /// Index of the yield at alpha = 1 among the inputs.
        hi: i32,
        own_lo: f64,
        own_hi: f64,
        own_nominal: f64,
    }

    /// A normsys term with factors that are inputs.
    InputNorm {
        /// Index of the term in the order of the device.
        term: i32,
        padding: i32,
        /// Index of the factor at alpha = -1 among the inputs.
        lo: i32,
        /// Index of the factor at alpha = 1 among the inputs.
        hi: i32,
        own_lo: f64,
        own_hi: f64,
    }

    /// A constraint whose width is an input: sigma of a Gaussian, `1/sqrt(tau)` of a Poisson constraint.
    InputWidth {
        param: i32,
        /// Kind of the constraint (GAUSSIAN or POISSON).
        kind: i32,
        /// Index of the width among the inputs.
        input: i32,
        padding: i32,
        /// Width in the model.
        own: f64,
        /// Element of the parameter in the model's `Plan::constraint_scale`. It is kept, because the same number
        /// computed from the width would differ by rounding.
        own_scale: f64,
    }

    /// An input that is computed from the caller's inputs. It is `factor` times a sum of them, or `factor` divided by
    /// the sum.
    InputFollower {
        /// Range of the summed inputs in `DifferentiateLaunch::sources`.
        first: i32,
        end: i32,
        /// 1 if `factor` is divided by the sum, otherwise 0.
        inverse: i32,
        padding: i32,
        factor: f64,
        /// Constant part of the sum.
        held: f64,
    }

    /// An auxiliary datum of a Poisson constraint that changes with the width of the constraint.
    InputDatum {
        param: i32,
        /// Index of the datum among the auxiliary data.
        aux: i32,
        /// Index of the width among the inputs.
        input: i32,
        padding: i32,
        /// The datum divided by the rate of the constraint.
        ratio: f64,
    }

    /// The parameter of `ns_differentiate`, `ns_differentiate_changing`, and of both with working arrays in global
    /// memory.
    DifferentiateLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        n_rows: i32,
        /// Number of all inputs. Those of the caller come first.
        n_inputs: i32,
        /// Number of inputs in a row of the caller. All other inputs are computed from these (`InputFollower`).
        n_given: i32,
        n_cells: i32,
        n_templates: i32,
        n_norms: i32,
        n_widths: i32,
        /// Offset of the partial sums in shared memory, in doubles.
        sums_at: i32,
        /// Number of auxiliary data that change with the inputs.
        n_data: i32,
        padding: i32,
        slab: OffsetMut<f64>,
        /// Doubles from the slab of one thread block to that of the next.
        slab_stride: u64,
        /// One set of copies per thread block: copies of those arrays of the plan that contain inputs.
        copies: OffsetMut<f64>,
        /// Doubles from the copies of one thread block to those of the next.
        copies_stride: u64,
        /// Positions of the copies of `nominal`, `slice_template`, `hist_template`, `norm_coefficient`,
        /// `norm_rate` and `constraint_scale` in a set, in doubles.
        nominal_at: u64,
        slice_at: u64,
        list_at: u64,
        coefficient_at: u64,
        rate_at: u64,
        scale_at: u64,
        /// Positions in a set of copies: of the values of all inputs, of the derivatives with respect to them, and of
        /// the derivatives with respect to the inputs that are computed from others.
        all_at: u64,
        by_all_at: u64,
        changes_at: u64,
        cells: Offset<InputCell>,
        templates: Offset<InputTemplate>,
        norms: Offset<InputNorm>,
        widths: Offset<InputWidth>,
        /// Rules for the inputs that are computed from the caller's inputs, in the order of those inputs.
        followers: Offset<InputFollower>,
        sources: Offset<i32>,
        /// For each of the caller's inputs, the first of its followers in `followers_of`; then the length of that list.
        followers_from: Offset<i32>,
        followers_of: Offset<i32>,
        changing: Offset<InputDatum>,
        /// Parameters of the Asimov data; null if the data are no Asimov data.
        asimov: Offset<f64>,
        /// Main counts, then auxiliary data. All rows have the same data, except for those that change with the inputs.
        data: Offset<f64>,
        /// Constants of `-ln L`: its value in the saturated model, without the terms of data that change.
        constant: f64,
        inputs: Offset<f64>,
        /// Doubles from one row of inputs to the next, 0 if all rows have the same.
        inputs_stride: u64,
        parameters: Offset<f64>,
        /// Doubles from one row of parameters to the next, 0 if all rows have the same.
        parameters_stride: u64,
        /// `-ln L` of each row.
        values: OffsetMut<f64>,
        /// Derivatives of `-ln L` with respect to the parameters, n_params per row.
        by_parameters: OffsetMut<f64>,
        /// Doubles from the derivatives by parameters of one row to those of the next.
        by_parameters_stride: u64,
        /// Derivatives of `-ln L` with respect to the caller's inputs, n_given per row.
        by_inputs: OffsetMut<f64>,
        /// Doubles from the derivatives by inputs of one row to those of the next.
        by_inputs_stride: u64,
        /// FINE, BAD_INPUT, NO_LIKELIHOOD, ZERO_FACTOR or NO_ASIMOV, per row.
        status: OffsetMut<i32>,
    }
}
