"""The accuracy contract (`docs/numerics.md`) as numbers: one place for all tests."""

# Expected data: relative to the sum of the absolute terms a bin is made of.
EXPECTED_DATA = 1e-12

# twice_nll of a fit: how far above another tool's minimum ours may be.
FIT_MINIMUM = 1e-6

# Gradient: relative to the sum of absolute terms of each element.
GRADIENT = 1e-12

# p-values of asymptotic tests: relative to pyhf's, which its own fits limit.
CLS_RELATIVE = 1e-6

# Upper limits: relative to pyhf's.
LIMIT_RELATIVE = 1e-5
