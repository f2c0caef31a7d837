"""The accuracy contract (`docs/numerics.md`) as numbers: one place for all tests."""

# Expected data: relative to the sum of the absolute terms of a bin.
EXPECTED_DATA = 1e-12

# twice_nll of a fit: how far above another tool's minimum ours may be.
FIT_MINIMUM = 1e-6

# Gradient: relative to the sum of absolute terms of each element.
GRADIENT = 1e-12

# p-values of asymptotic tests: relative to pyhf's, whose accuracy is limited by pyhf's fits.
CLS_RELATIVE = 1e-6

# Upper limits: relative to pyhf's.
LIMIT_RELATIVE = 1e-5

# Between the CPU and a CUDA device; crates/ns-inference/tests/gpu/tolerances.rs has the same numbers.

# -ln L at the same point: units of the last place of the sum of absolute terms, and a floor.
CUDA_NLL_ROUNDINGS = 8.0
CUDA_NLL_FLOOR = 1e-12

# A gradient element: relative to the sum of its absolute terms.
CUDA_GRADIENT = 1e-12

# A Hessian element: relative to the square root of the product of the two parameters' sums of absolute terms.
CUDA_HESSIAN = 1e-12

# A best-fit value: in units of the larger of its uncertainty and 1, for parameters that the data determine.
CUDA_BEST_FIT = 1e-6

# -ln L at the minimum: a floor, in addition to the roundings above.
CUDA_MINIMUM_FLOOR = 1e-10

# A covariance element: relative to sqrt(C_ii C_jj).
CUDA_COVARIANCE = 1e-6

# The test statistic of a toy, and the fraction of toys whose difference must be within this tolerance.
CUDA_STATISTIC = 1e-8
CUDA_STATISTIC_FRACTION = 0.9999
# Strongly nonlinear models: two searches may end in different minima.
CUDA_STATISTIC_NONLINEAR_FRACTION = 0.99

# The same with piecewise interpolation, whose likelihoods have many minima: two searches do not always end in the same one.
CUDA_STATISTIC_PIECEWISE = 1e-6
CUDA_STATISTIC_PIECEWISE_FRACTION = 0.995

# The impact of a parameter in a ranking, and the number of highest-ranked parameters that must be the same.
CUDA_IMPACT = 1e-6
CUDA_TOP = 10.0
