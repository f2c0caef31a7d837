"""Tests of the comparison itself: a right engine passes, and each kind of wrong engine is noticed."""

import numpy as np
import pytest
from comparison import compare_case, pyhf_minima, pyhf_model
from random_workspaces import draw_case

SEED = 11


class ScalarEngine:
    """The scalar model as an engine. Its minimum is found by pyhf."""

    def __init__(self, case):
        self.case, self.model = case, case.scalar()

    @property
    def parameter_names(self):
        return self.model.parameter_names

    @property
    def init(self):
        return self.model.init

    @property
    def bounds(self):
        return self.model.bounds

    @property
    def fixed(self):
        return self.model.fixed

    def expected_data(self, point):
        return np.asarray(self.model.expected_main(point)[0] + self.model.expected_aux(point))

    def twice_nll(self, point):
        return self.model.evaluate(point).twice_nll

    def fit(self):
        points = pyhf_minima(*pyhf_model(self.case)).values()
        best = min(points, key=self.twice_nll, default=self.init)
        return best, self.twice_nll(best), True


class Reordered(ScalarEngine):
    @property
    def parameter_names(self):
        return super().parameter_names[::-1]


class LooserBounds(ScalarEngine):
    @property
    def bounds(self):
        return [(lo, hi + 1e-9) for lo, hi in super().bounds]


class WrongExpectation(ScalarEngine):
    def expected_data(self, point):
        return super().expected_data(point) * (1 + 1e-10)


class WrongConstant(ScalarEngine):
    def twice_nll(self, point):
        return super().twice_nll(point) + 1e-7


class ShallowMinimum(ScalarEngine):
    def fit(self):
        best, _, converged = super().fit()
        for i, (lo, hi) in enumerate(self.bounds):
            if not self.fixed[i]:
                best[i] = min(max(best[i] + 0.05, lo), hi)
        return best, self.twice_nll(best), converged


class BoastfulMinimum(ScalarEngine):
    def fit(self):
        best, value, converged = super().fit()
        return best, value - 1e-3, converged


class NotConverged(ScalarEngine):
    def fit(self):
        return *super().fit()[:2], False


class Refuses(ScalarEngine):
    def __init__(self, case):
        raise ValueError("no")


@pytest.mark.parametrize("index", range(20))
def test_the_right_engine_passes(index):
    assert compare_case(draw_case(SEED, index), ScalarEngine) == []


@pytest.mark.parametrize(
    "wrong",
    [Reordered, LooserBounds, WrongExpectation, WrongConstant, ShallowMinimum, BoastfulMinimum, NotConverged, Refuses],
)
def test_a_wrong_engine_is_noticed(wrong):
    cases = [draw_case(SEED, index) for index in range(6)]
    assert any(compare_case(case, wrong) for case in cases)
