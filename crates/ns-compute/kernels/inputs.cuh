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
    // Element of the parameter in the model's `Plan::constraint_scale`. It is kept, because the same number
    // computed from the width would differ by rounding.
    double own_scale;
};
static_assert(sizeof(InputWidth) == 32, "as on the host");

// An input that is computed from the caller's inputs. It is `factor` times a sum of them, or `factor` divided by
// the sum.
struct InputFollower {
    // Range of the summed inputs in `DifferentiateLaunch::sources`.
    int first;
    int end;
    // 1 if `factor` is divided by the sum, otherwise 0.
    int inverse;
    int padding;
    double factor;
    // Constant part of the sum.
    double held;
};
static_assert(sizeof(InputFollower) == 32, "as on the host");

// An auxiliary datum of a Poisson constraint that changes with the width of the constraint.
struct InputDatum {
    int param;
    // Index of the datum among the auxiliary data.
    int aux;
    // Index of the width among the inputs.
    int input;
    int padding;
    // The datum divided by the rate of the constraint.
    double ratio;
};
static_assert(sizeof(InputDatum) == 24, "as on the host");

// The parameter of `ns_differentiate`, `ns_differentiate_changing`, and of both with working arrays in global
// memory.
struct DifferentiateLaunch {
    Plan plan;
    uint32_t offset[58];
    int n_rows;
    // Number of all inputs. Those of the caller come first.
    int n_inputs;
    // Number of inputs in a row of the caller. All other inputs are computed from these (`InputFollower`).
    int n_given;
    int n_cells;
    int n_templates;
    int n_norms;
    int n_widths;
    // Offset of the partial sums in shared memory, in doubles.
    int sums_at;
    // Number of auxiliary data that change with the inputs.
    int n_data;
    int padding;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // One set of copies per thread block: copies of those arrays of the plan that contain inputs.
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
    // Positions in a set of copies: of the values of all inputs, of the derivatives with respect to them, and of
    // the derivatives with respect to the inputs that are computed from others.
    uint64_t all_at;
    uint64_t by_all_at;
    uint64_t changes_at;
    const InputCell* cells;
    const InputTemplate* templates;
    const InputNorm* norms;
    const InputWidth* widths;
    // Rules for the inputs that are computed from the caller's inputs, in the order of those inputs.
    const InputFollower* followers;
    const int* sources;
    // For each of the caller's inputs, the first of its followers in `followers_of`; then the length of that list.
    const int* followers_from;
    const int* followers_of;
    const InputDatum* changing;
    // Parameters of the Asimov data; null if the data are no Asimov data.
    const double* asimov;
    // Main counts, then auxiliary data. All rows have the same data, except for those that change with the inputs.
    const double* data;
    // Constants of `-ln L`: its value in the saturated model, without the terms of data that change.
    double constant;
    const double* inputs;
    // Doubles from one row of inputs to the next, 0 if all rows have the same.
    uint64_t inputs_stride;
    const double* parameters;
    // Doubles from one row of parameters to the next, 0 if all rows have the same.
    uint64_t parameters_stride;
    // `-ln L` of each row.
    double* values;
    // Derivatives of `-ln L` with respect to the parameters, n_params per row.
    double* by_parameters;
    // Doubles from the derivatives by parameters of one row to those of the next.
    uint64_t by_parameters_stride;
    // Derivatives of `-ln L` with respect to the caller's inputs, n_given per row.
    double* by_inputs;
    // Doubles from the derivatives by inputs of one row to those of the next.
    uint64_t by_inputs_stride;
    // FINE, BAD_INPUT, NO_LIKELIHOOD, ZERO_FACTOR or NO_ASIMOV, per row.
    int* status;
};
static_assert(sizeof(DifferentiateLaunch) == 872, "as on the host");

}  // namespace ns
