"""Random models of events against an independent likelihood, minimiser and quadrature.

`NEXTSTAT_EVENT_MODELS` is how many models are drawn, `NEXTSTAT_EVENT_SEED` their seed. `event_property_run.py` compares thousands.
"""

import os

import pytest
from event_oracle import checks, draw

MODELS = int(os.environ.get("NEXTSTAT_EVENT_MODELS", "20"))
SEED = int(os.environ.get("NEXTSTAT_EVENT_SEED", "1"))
#: Models of seed 1 that are left out, because the oracle takes half a minute for each.
LEFT_OUT = {68, 79, 112}
#: Models that once disagreed, as seed and index.
KNOWN = {
    "rounding hides the lowest point": (21, 53),
    "a wide peak is cut by the bins of a histogram": (31, 566),
    "a fraction would leave its bound for another slope": (101, 487),
    "a start of the user is in the valley of a higher minimum": (101, 1665),
}
#: Models of one test, so that processes share the work evenly.
GROUP = 10


@pytest.mark.parametrize("first", range(0, MODELS, GROUP))
def test_random_event_models_agree_with_the_oracle(first: int) -> None:
    """Values, minima, uncertainties, Asimov data, limits and tests of ten models."""
    problems = []
    for index in range(first, min(first + GROUP, MODELS)):
        if SEED == 1 and index in LEFT_OUT:
            continue
        case = draw.draw(SEED, index)
        problems += [f"{case.label()}: {problem}" for problem in checks.compare(case, quick=True)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("why", KNOWN)
def test_models_that_once_disagreed_agree(why: str) -> None:
    case = draw.draw(*KNOWN[why])
    assert not checks.compare(case, quick=True), why
