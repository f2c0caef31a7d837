// What kernels and host share. Made from src/device/differentiate/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "plan.cuh"

namespace ns {

// A cell with a nominal yield or templates that are inputs. Indices of inputs are those in a row of
// inputs; -1 stands for the number of the model beside it.
struct InputCell {
    int cell;
    // Index of the nominal yield among the inputs.
    int nominal;
    // Range of the cell's templates in `DifferentiateLaunch::templates`.
    int first;
    int end;
    // Nominal yield of the model.
    double own;
};
static_assert(sizeof(InputCell) == 24, "as on the host");

// A histosys template of such a cell.
struct InputTemplate {
    int param;
    // Position in `Plan::slice_template`.
    int in_slice;
    // Position in `Plan::hist_template`.
    int in_list;
    // Index of the cell's nominal yield among the inputs.
    int nominal;
    // Index of the yield at alpha = -1 among the inputs.
    int lo;
    // Index of the yield at alpha = 1 among the inputs.
    int hi;
    double own_lo;
    double own_hi;
    double own_nominal;
};
static_assert(sizeof(InputTemplate) == 48, "as on the host");

// A normsys term with factors that are inputs.
struct InputNorm {
    // Index of the term in the order of the device.
    int term;
    int padding;
    // Index of the factor at alpha = -1 among the inputs.
    int lo;
    // Index of the factor at alpha = 1 among the inputs.
    int hi;
    double own_lo;
    double own_hi;
};
static_assert(sizeof(InputNorm) == 32, "as on the host");

// A constraint whose width is an input: sigma of a Gaussian, `1/sqrt(tau)` of a Poisson constraint.
struct InputWidth {
    int param;
    // Kind of the constraint (GAUSSIAN or POISSON).
    int kind;
    // Index of the width among the inputs.
    int input;
    int padding;
    // Width in the model.
    double own;
    // Number of the parameter in `Plan::constraint_scale` of the model. One computed from the width would
    // differ by rounding.
    double own_scale;
};
static_assert(sizeof(InputWidth) == 32, "as on the host");

// The parameter of `ns_differentiate` and `ns_differentiate_global`.
struct DifferentiateLaunch {
    Plan plan;
    uint32_t offset[52];
    int n_rows;
    int n_inputs;
    int n_cells;
    int n_templates;
    int n_norms;
    int n_widths;
    // Offset of the partial sums in shared memory, in doubles.
    int sums_at;
    int padding;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // Copies, one set per thread block, of those arrays of the plan in which inputs are.
    double* copies;
    // Doubles from the copies of one thread block to those of the next.
    uint64_t copies_stride;
    // Positions of the copies of `nominal`, `slice_template`, `hist_template`, `norm_coefficient`,
    // `norm_rate` and `constraint_scale` in a set, in doubles.
    uint64_t nominal_at;
    uint64_t slice_at;
    uint64_t list_at;
    uint64_t coefficient_at;
    uint64_t rate_at;
    uint64_t scale_at;
    const InputCell* cells;
    const InputTemplate* templates;
    const InputNorm* norms;
    const InputWidth* widths;
    // Main counts, then auxiliary data, the same for all rows.
    const double* data;
    // Constants of `-ln L`: its value in the saturated model.
    double constant;
    const double* inputs;
    // Doubles from one row of inputs to the next, 0 if all rows have the same.
    uint64_t inputs_stride;
    const double* parameters;
    // Doubles from one row of parameters to the next, 0 if all rows have the same.
    uint64_t parameters_stride;
    // `-ln L` of each row.
    double* values;
    // n_params derivatives per row.
    double* by_parameters;
    // Doubles from the derivatives by parameters of one row to those of the next.
    uint64_t by_parameters_stride;
    // n_inputs derivatives per row.
    double* by_inputs;
    // Doubles from the derivatives by inputs of one row to those of the next.
    uint64_t by_inputs_stride;
    // FINE, BAD_INPUT, NO_LIKELIHOOD or ZERO_FACTOR, per row.
    int* status;
};
static_assert(sizeof(DifferentiateLaunch) == 736, "as on the host");

}  // namespace ns
