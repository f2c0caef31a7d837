"""The scalar model, the reference of other tests, is itself compared with pyhf."""

import numpy as np
import pytest
from comparison import pyhf_model, pyhf_twice_nll
from random_workspaces import HISTOSYS_CODES, NORMSYS_CODES, draw_broken, draw_case, random_point

SEED = 20


@pytest.mark.parametrize("index", range(120))
def test_scalar_model_agrees_with_pyhf(index):
    case = draw_case(SEED, index)
    model, data = pyhf_model(case)
    scalar = case.scalar()
    assert scalar.parameter_names == model.config.par_names
    assert scalar.init == [float(x) for x in model.config.suggested_init()]
    assert scalar.bounds == [tuple(map(float, b)) for b in model.config.suggested_bounds()]
    assert scalar.fixed == list(model.config.suggested_fixed())
    rng = np.random.default_rng([SEED, index])
    for point in [scalar.init, *(random_point(rng, scalar) for _ in range(3))]:
        counts, sizes = scalar.expected_main(point)
        expected = np.asarray(model.expected_data(point))
        assert np.all(np.abs(expected[: len(counts)] - counts) <= 1e-12 * np.asarray(sizes))
        assert expected[len(counts) :] == pytest.approx(scalar.expected_aux(point), rel=1e-14)
        value = scalar.evaluate(point)
        theirs = pyhf_twice_nll(model, point, data)
        if value.ambiguous:
            continue
        if not np.isfinite(theirs):
            assert not np.isfinite(value.twice_nll)
            continue
        assert abs(value.twice_nll - theirs) <= value.tolerance + value.pyhf_tolerance


def test_the_generator_covers_what_it_promises():
    """The random workspaces contain every modifier type, every interpolation code and every special case."""
    seen = set()
    for index in range(300):
        case = draw_case(1, index)
        seen |= {case.normsys_code, case.histosys_code}
        seen |= {f"{len(case.spec['measurements'])} measurements", f"{len(case.spec['channels'])} channels"}
        poi = next(m for m in case.spec["measurements"] if case.measurement in (None, m["name"]))["config"]["poi"]
        names = {}
        for channel in case.spec["channels"]:
            for sample in channel["samples"]:
                seen |= {"zero yield" for y in sample["data"] if y == 0}
                seen |= {"negative yield" for y in sample["data"] if y < 0}
                for modifier in sample["modifiers"]:
                    seen.add(modifier["type"])
                    names.setdefault(modifier["name"], set()).add((modifier["type"], channel["name"]))
                    if modifier["type"] in ("staterror", "shapesys"):
                        seen |= {f"zero {modifier['type']}" for u in modifier["data"] if u == 0}
        for name, uses in names.items():
            types, channels = {t for t, _ in uses}, {c for _, c in uses}
            if len(types) > 1:
                seen.add("normsys and histosys under one name")
            if len(channels) > 1:
                seen |= {f"{t} over channels" for t in types}
        seen.add("empty POI" if poi == "" else "unknown POI" if poi not in names else "POI")
        if poi in names and {t for t, _ in names[poi]} & {"normsys", "histosys", "lumi"}:
            seen.add("constrained POI")
        counts = [n for o in case.spec["observations"] for n in o["data"]]
        seen |= {"zero count" for n in counts if n == 0} | {"huge count" for n in counts if n > 1e6}
        for measurement in case.spec["measurements"]:
            for settings in measurement["config"]["parameters"]:
                seen |= {f"{key} set" for key in settings}
        seen |= {"fixed parameter" for f in case.scalar().fixed if f}
    wanted = {*NORMSYS_CODES, *HISTOSYS_CODES}
    wanted |= {"histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror"}
    wanted |= {"1 measurements", "3 measurements", "1 channels", "3 channels", "zero yield", "negative yield"}
    wanted |= {"zero staterror", "zero shapesys", "normsys and histosys under one name", "staterror over channels"}
    wanted |= {"shapefactor over channels", "normsys over channels", "empty POI", "unknown POI", "constrained POI", "POI"}
    wanted |= {"zero count", "huge count", "fixed parameter"}
    wanted |= {f"{key} set" for key in ("inits", "bounds", "fixed", "auxdata", "sigmas", "factors")}
    assert wanted <= seen, f"never drawn: {sorted(wanted - seen)}"


def test_the_same_numbers_give_the_same_workspace():
    assert draw_case(3, 14).spec == draw_case(3, 14).spec
    assert draw_broken(3, 15)[0].spec == draw_broken(3, 15)[0].spec
