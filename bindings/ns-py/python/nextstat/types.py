"""Types of the parts of results. Parts are dictionaries whose keys are attributes, too: `channel.sum` is `channel["sum"]`.

None stands for a number that does not exist.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Blinded",
    "BinnedStatistic",
    "BorderPoint",
    "BottomLine",
    "Breakdown",
    "ChannelEstimate",
    "ChannelGoodness",
    "ChannelYields",
    "ClsAtLimit",
    "Combined",
    "Compared",
    "CompatibilityToys",
    "ContextGradient",
    "DerivedQuantity",
    "Difference",
    "Distributions",
    "Estimate",
    "ExpectedSet",
    "FlowRun",
    "GpuCheck",
    "GroupImpact",
    "GroupSums",
    "Impacts",
    "Injected",
    "IntegralError",
    "IntervalPoint",
    "LikelihoodInterval",
    "LimitScan",
    "Line",
    "Marginal",
    "ParameterStudy",
    "Part",
    "PerHypothesis",
    "PredictionTest",
    "RankedParameter",
    "RegionPoint",
    "SampleYields",
    "Sequence",
    "SequencePart",
    "SimplifiedBin",
    "SpuriousBackground",
    "SpuriousPeak",
    "TauPoint",
    "ToyLimitPoint",
    "Toys",
    "UnfoldToys",
    "UnfoldedBin",
    "UnfoldedBinToys",
]

Maybe = float | None


class Part(dict[str, Any]):
    """A part of a result: a dictionary whose keys are attributes, too. A key that is a word of Python has an underscore
    behind it as attribute (`parameter.global_`). Parts are equal to dictionaries with the same entries."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        for key in (name, name.removesuffix("_")):
            if key in self:
                return self[key]
        raise AttributeError(f"there is no '{name}' in this part of the result; it has {', '.join(map(str, self))}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("parts of results cannot be changed through attributes; copy them with dict()")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self if isinstance(key, str) and key.isidentifier())]


class ExpectedSet(Part):
    """p-values that are expected without signal, at -2, -1, 0, 1 and 2 standard deviations."""

    cls: list[Maybe]
    clsb: list[Maybe]
    clb: list[Maybe]
    nsigma_order: list[int]


class ClsAtLimit(Part):
    """CLs at the limits."""

    observed: Maybe
    expected: list[Maybe]


class LimitScan(Part):
    """CLs at the values of a scan. `expected` has five lists."""

    mu_values: list[float]
    observed: list[Maybe]
    expected: list[list[Maybe]]
    nsigma_order: list[int]


class PerHypothesis(Part):
    """Counts for the toys of both hypotheses: without signal (`b`) and the tested one (`sb`)."""

    b: int
    sb: int


class BinnedStatistic(Part):
    """A statistic of toys in bins. Toys whose statistic is 0, and those beyond the last bin, are in no bin."""

    bin_edges: list[float]
    counts: list[int]
    at_zero: int
    beyond: int


class Distributions(Part):
    """The distributions of a statistic in the toys of both hypotheses, in common bins."""

    b: BinnedStatistic
    sb: BinnedStatistic


class Toys(Part):
    """Toys of a test, and how many are left out."""

    n_toys: int
    n_nonconverged: int
    n_error: int
    seed: int
    toys_per_s: Maybe
    distribution: BinnedStatistic


class ChannelGoodness(Part):
    """The statistic of one channel of events."""

    name: str
    value: float
    n_events: float
    n_bins: int | None
    least_expected: Maybe


class ToyLimitPoint(Part):
    """A value that was tested for a limit with toys."""

    mu: float
    cls: Maybe
    cls_error: Maybe
    clsb: Maybe
    clb: Maybe
    q_obs: Maybe
    expected_cls: list[Maybe]
    expected_cls_error: list[Maybe]
    n_nonconverged: PerHypothesis
    n_error: PerHypothesis


class LikelihoodInterval(Part):
    """An interval by the chi2 law."""

    level: float
    lower: Maybe
    lower_reason: str | None
    upper: Maybe
    upper_reason: str | None


class IntervalPoint(Part):
    """A value that was tested for an interval with toys."""

    value: float
    t: float
    p_value: Maybe
    p_value_error: Maybe
    p_value_asymptotic: float
    n_toys: int
    n_nonconverged: int
    n_error: int


class BorderPoint(Part):
    """The border of a confidence region in one direction from the best fit."""

    angle: float
    at: list[float] | None
    error: list[float] | None
    relative_error: Maybe
    at_bound: bool
    reason: str | None
    asymptotic: list[float] | None


class RegionPoint(Part):
    """A point that was tested for a confidence region with toys."""

    at: list[float]
    t: float
    p_value: Maybe
    p_value_error: Maybe
    p_value_asymptotic: float
    n_toys: int
    n_nonconverged: int
    n_error: int


class Marginal(Part):
    """The posterior of one parameter. `quantiles` are at 2.5, 16, 84 and 97.5 percent."""

    name: str
    best_fit: float
    mean: float
    mean_error: Maybe
    sd: float
    median: float
    quantiles: list[float]
    lower: float
    upper: float
    upper_limit: float
    upper_limit_error: Maybe
    r_hat: Maybe
    ess_bulk: Maybe
    ess_tail: Maybe


class Estimate(Part):
    """A best-fit value with its uncertainty, and the distances to the ends of its interval."""

    value: float
    uncertainty: Maybe
    lower: Maybe
    upper: Maybe


class ChannelEstimate(Part):
    """The value of one channel, and the common value of the others."""

    channel: str
    own: Estimate
    others: Estimate | None


class Combined(Part):
    """A quantity that given results are combined to. `weights` are those of all results."""

    quantity: str
    value: float
    uncertainty: float
    uncertainties: dict[str, float]
    weights: list[float]


class CompatibilityToys(Part):
    """Toys of a compatibility test."""

    n_toys: int
    n_left_out: int
    seed: int
    toys_per_s: Maybe


class SpuriousPeak(Part):
    """The spurious signal at one place."""

    place: float
    strength: float
    uncertainty: float
    ratio: float


class SpuriousBackground(Part):
    """The spurious signals with one background."""

    name: str
    n_events: float
    strength: list[Maybe]
    uncertainty: list[Maybe]
    largest: SpuriousPeak | None
    largest_ratio: SpuriousPeak | None


class UnfoldedBinToys(Part):
    """The factor of a truth bin in unfolded toys."""

    bias: Maybe
    bias_error: Maybe
    spread: Maybe
    mean_uncertainty: Maybe
    coverage: Maybe
    coverage_penalised: Maybe
    coverage_error: Maybe
    n_intervals: int


class UnfoldedBin(Part):
    """A truth bin: its unfolded factor `value`, the ratio to the prediction, and its unfolded number of events `unfolded`."""

    name: str
    value: float
    uncertainty: Maybe
    uncertainty_penalised: Maybe
    global_correlation: Maybe
    bias: Maybe
    prediction: Maybe
    unfolded: Maybe
    unfolded_uncertainty: Maybe
    toys: UnfoldedBinToys | None


class TauPoint(Part):
    """A scanned strength of a regularisation."""

    tau: float
    chi2: Maybe
    roughness: float
    curvature: Maybe
    mean_correlation: Maybe
    converged: bool


class PredictionTest(Part):
    """A comparison with the prediction."""

    chi2: float
    n_dof: int
    p_value: Maybe


class BottomLine(Part):
    """The bottom-line test: the prediction against the data (`folded`) and against the unfolded factors."""

    folded: PredictionTest | None
    unfolded: PredictionTest | None
    passed: bool | None


class UnfoldToys(Part):
    """Toys of unfolding."""

    n_toys: int
    n_left_out: int
    at: str
    seed: int
    toys_per_s: Maybe


class ParameterStudy(Part):
    """Bias, pulls and coverage of one parameter in fits of toys."""

    name: str
    generated: float
    mean: Maybe
    median: Maybe
    spread: Maybe
    bias: Maybe
    bias_error: Maybe
    pull_mean: Maybe
    pull_mean_error: Maybe
    pull_width: Maybe
    pull_width_error: Maybe
    coverage: Maybe
    coverage_error: Maybe
    n_pulls: int
    n_without_uncertainty: int


class Injected(ParameterStudy):
    """The study of toys with one injected value."""

    value: float
    n_toys: int
    n_failed: int


class Line(Part):
    """A straight line through fitted values."""

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    correlation: float
    chi2: float
    n_dof: int
    p_value: Maybe


class SimplifiedBin(Part):
    """A bin of a simplified likelihood."""

    channel: str
    bin: int
    observed: float
    signal: float
    mean: float
    sigma: float
    skewness: float
    skewness_error: float
    a: float
    b: float
    c: float


class Compared(Part):
    """A quantity of the full and of the simplified likelihood."""

    quantity: str
    full: Maybe
    simplified: Maybe


class SampleYields(Part):
    """Expected events of a sample in one channel, per bin and in sum. Samples of channels of single events have a curve."""

    name: str
    signal: bool
    counts: list[float]
    uncertainty: list[Maybe]
    curve: list[float]
    sum: float
    sum_uncertainty: Maybe


class ChannelYields(Part):
    """Expected and observed events of one channel. Only channels of single events have `observable`, `data_uncertainty`,
    `blind` and `curve_positions`, only blinded channels `blinded`, and channels of bins have `axis_title` and `bin_edges` if
    the model knows them."""

    name: str
    samples: list[SampleYields]
    total: list[float]
    uncertainty: list[Maybe]
    data: list[float]
    sum: float
    sum_uncertainty: Maybe
    data_sum: float
    observable: str
    axis_title: str
    bin_edges: list[float]
    blinded: bool
    data_uncertainty: list[float]
    blind: list[list[float]]
    curve_positions: list[float]


class Impacts(Part):
    """Impacts of one parameter. `reasons` says by side ("up", "down", "prefit_up", "prefit_down") why an impact is missing."""

    delta_mu_up: Maybe
    delta_mu_down: Maybe
    delta_mu_prefit_up: Maybe
    delta_mu_prefit_down: Maybe
    value_up: Maybe
    value_down: Maybe
    value_prefit_up: Maybe
    value_prefit_down: Maybe
    clipped_up: bool
    clipped_down: bool
    clipped_prefit_up: bool
    clipped_prefit_down: bool
    converged_up: bool | None
    converged_down: bool | None
    converged_prefit_up: bool | None
    converged_prefit_down: bool | None
    reasons: dict[str, str]


class RankedParameter(Impacts):
    """A nuisance parameter with its impacts. `refit`, `covariance` and `global_` (the key "global") are there if these
    definitions were asked for."""

    name: str
    param_idx: int
    kinds: list[str]
    value: float
    uncertainty: Maybe
    lower: Maybe
    upper: Maybe
    prefit_uncertainty: Maybe
    pull: Maybe
    constraint: Maybe
    at_bound: bool
    at_kink: bool
    constraint_terms: list[str]
    refit: Impacts
    covariance: Impacts
    global_: Impacts


class GroupImpact(Part):
    """Impact of a group of parameters."""

    name: str
    parameters: list[str]
    delta_mu_global: Maybe
    delta_mu_fixed: Maybe
    reason: str | None


class GroupSums(Part):
    """Sums over groups: roots of the sums of squares."""

    delta_mu_global: Maybe
    delta_mu_fixed: Maybe


class SequencePart(Part):
    """The part of one group if groups are held one after another."""

    name: str
    delta_mu: Maybe
    left: Maybe


class Sequence(Part):
    """Parts of the uncertainty that add up in squares."""

    total: Maybe
    groups: list[SequencePart]
    other: Maybe
    statistical: Maybe
    sum: Maybe


class Breakdown(Part):
    """Statistical and systematic parts of an uncertainty."""

    total: Maybe
    statistical: Maybe
    systematic: Maybe
    mc_statistical: Maybe
    systematic_without_mc: Maybe


class DerivedQuantity(Part):
    """A function of parameters at the best fit. `interval` is there if it was asked for, with the keys of `Interval`."""

    expression: str
    value: Maybe
    uncertainty: Maybe
    interval: dict[str, float | str | None]


class IntegralError(Part):
    """The largest relative error of an integral of a density."""

    relative: Maybe
    channel: str
    process: str


class ContextGradient(Part):
    """How derivatives with respect to the context of a flow were computed."""

    channel: str
    flow: str
    context: list[str]
    method: str
    steps: list[float]


class Blinded(Part):
    """Channels whose data are those that a fit of the others expects."""

    channels: list[str]
    poi: Maybe


class Difference(Part):
    """A difference between a GPU and the CPU."""

    difference: float
    tolerance: float


class GpuCheck(Part):
    """Comparison of fits on a GPU with the CPU."""

    n_fits: int
    n_checked: int
    nll: Difference | None
    gradient: Difference | None
    edm: Difference | None


class FlowRun(Part):
    """How a flow was evaluated."""

    name: str
    provider: str
    flow_precision: str
    largest_difference: Maybe


#: The classes of parts, by the names that they have inside the package.
_CLASSES: dict[str, type[Part]] = {
    name: value for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, Part)
}
_CLASSES |= {"GoodnessToys": Toys, "Derived": DerivedQuantity, "IntegralErrorOf": IntegralError, "Blind": Blinded}


def _part(name: str | None, entries: dict[str, Any]) -> Part:
    """Makes a part of a dictionary. `name` is that of the structure inside the package, if it has one."""
    kind = _CLASSES.get(name or "", Part)
    if name == "Compared" and "difference" in entries:
        kind = Difference
    elif name == "PerHypothesis" and isinstance(entries.get("b"), dict):
        kind = Distributions
    elif name is None and "param_idx" in entries:
        kind = RankedParameter
    elif name is None and "delta_mu_up" in entries:
        kind = Impacts
    elif name is None and "pull_width" in entries and "value" in entries:
        kind = Injected
    return kind(entries)
