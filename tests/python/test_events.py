"""Events from Python: columns of all kinds, Parquet files, the builder, kernel densities."""

import json
import pathlib

import nextstat
import numpy as np
import pytest
from nextstat import build

RNG = np.random.default_rng(17)
MASSES = np.concatenate([RNG.normal(125, 2, 300), RNG.uniform(100, 160, 700)])
MASSES = MASSES[(MASSES > 100) & (MASSES < 160)]
WEIGHTS = RNG.uniform(0.5, 1.5, MASSES.size)


def document(**keys):
    return {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "peak", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 2},
            {"name": "flat", "type": "uniform_dist", "x": "m"},
            {"name": "SR", "type": "mixture_dist", "summands": ["peak", "flat"], "coefficients": ["s", "b"], "extended": True},
        ],
        "data": [{"name": "obs", "type": "unbinned", "axes": [{"name": "m", "min": 100, "max": 160}], **keys}],
        "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["obs"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mass", "value": 125.0, "min": 110, "max": 140},
            {"name": "s", "value": 250.0, "min": 0, "max": 2000}, {"name": "b", "value": 600.0, "min": 0, "max": 2000}]}],
    }


def expected(weights=None):
    entries = {"entries": [[float(m)] for m in MASSES]}
    if weights is not None:
        entries["weights"] = weights.tolist()
    return nextstat.fit(document(**entries))


class Stream:
    """An object that has nothing but an Arrow stream."""

    def __init__(self, table):
        self.table = table
        self.columns = None

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def tables():
    columns = {"m": MASSES, "weights": WEIGHTS}
    yield "columns", columns
    yield "lists", {name: column.tolist() for name, column in columns.items()}
    yield "structured array", np.rec.fromarrays([MASSES, WEIGHTS], names="m,weights")
    yield "more columns", {**columns, "label": np.array(["a"] * MASSES.size)}
    try:
        import pyarrow
    except ImportError:
        print("pyarrow is not installed: Arrow tables are not tried")
    else:
        table = pyarrow.table({**columns, "label": ["a"] * MASSES.size, "n": np.arange(MASSES.size)})
        yield "table", table
        # Batches with an offset, and columns of 32 bits.
        yield "batches", pyarrow.concat_tables([table.slice(0, 100), table.slice(100)])
        yield "stream", Stream(table)
    try:
        import polars
    except ImportError:
        print("polars is not installed: its frames are not tried")
    else:
        yield "polars", polars.DataFrame(columns)
    try:
        import pandas
    except ImportError:
        print("pandas is not installed: its frames are not tried")
    else:
        yield "pandas", pandas.DataFrame(columns)


@pytest.mark.parametrize("table", [table for _, table in tables()], ids=[name for name, _ in tables()])
def test_tables_of_all_kinds_give_the_fit_of_written_events(table):
    model = nextstat.load_workspace(document(), events={"obs": table})
    assert nextstat.fit(model).twice_nll == expected(WEIGHTS).twice_nll


@pytest.mark.parametrize("array", [MASSES, MASSES[:, None], MASSES.astype(np.longdouble)], ids=["1d", "2d", "long"])
def test_plain_arrays_are_columns_in_the_order_of_the_axes(array):
    model = nextstat.load_workspace(document(), events={"obs": array})
    assert nextstat.fit(model).twice_nll == expected().twice_nll


def test_data_of_a_fit_can_be_events():
    model = nextstat.load_workspace(document(entries=[[120.0], [130.0]]))
    result = nextstat.fit(model, data={"SR": {"m": MASSES}})
    assert result.twice_nll == expected().twice_nll
    assert nextstat.fit(model).twice_nll != result.twice_nll
    for events, message in [
        ({"SR": {"mm": MASSES}}, "no column 'm'"),
        ({"CR": {"m": MASSES}}, r"the data have no channel 'CR'; the model's channels are 'SR' \(events\)"),
        ({"SR": np.array([99.0])}, "event 0 of the events of 'SR' is outside of the axis 'm' from 100 to 160"),
        ({"SR": np.array([np.nan])}, "event 0 of the events of 'SR' has no finite number on the axis 'm'"),
    ]:
        with pytest.raises(ValueError, match=message):
            nextstat.fit(model, data=events)


def test_no_event_is_data_too():
    document_without = document(entries=[])
    right = nextstat.fit(nextstat.load_workspace(document_without)).twice_nll
    model = nextstat.load_workspace(document(entries=[[120.0], [130.0]]))
    for events in (np.array([]), {"m": np.array([])}):
        assert nextstat.fit(model, data={"SR": events}).twice_nll == right
    sources = nextstat.load_workspace(document(), events={"obs": {"m": np.array([])}})
    assert nextstat.fit(sources).twice_nll == right


def test_models_with_events_can_be_pickled():
    import pickle

    model = nextstat.load_workspace(document(), events={"obs": {"m": MASSES, "weights": WEIGHTS}})
    again = pickle.loads(pickle.dumps(model))
    assert nextstat.fit(again).twice_nll == nextstat.fit(model).twice_nll


@pytest.mark.parametrize(
    ("events", "error", "message"),
    [
        ({"obs": {"mm": MASSES}}, nextstat.WorkspaceError, "no column 'm'"),
        ({"data": MASSES}, nextstat.WorkspaceError, "'data', which is no data set of events"),
        ({"obs": np.ones((5, 2))}, ValueError, "a row per event and one column"),
        ({"obs": {"m": ["a"]}}, ValueError, "column 'm' of the events of 'obs' must be numbers"),
        ({"obs": {"m": MASSES, "weights": WEIGHTS[:5]}}, ValueError, "another length"),
        ({"obs": {"m": [101.0, np.nan]}}, nextstat.WorkspaceError, "Event 1 has no finite number"),
        ({"obs": {"m": [101.0, 99.0]}}, nextstat.WorkspaceError, "outside of its axis"),
        ([MASSES], TypeError, "events must be a dictionary"),
    ],
)
def test_mistakes_say_what_is_wrong(events, error, message):
    with pytest.raises(error, match=message):
        nextstat.load_workspace(document(), events=events)


def test_workspaces_take_no_events():
    workspace = pathlib.Path(__file__).parents[1] / "fixtures" / "simple_workspace.json"
    with pytest.raises(nextstat.WorkspaceError, match="a pyhf workspace, whose data are counts"):
        nextstat.load_workspace(workspace, events={"obs": MASSES})


def test_arrow_columns_without_numbers_are_refused():
    pyarrow = pytest.importorskip("pyarrow")
    nulls = pyarrow.table({"m": pyarrow.array([101.0, None])})
    with pytest.raises(ValueError, match=r"column 'm' of the events of 'obs' has no number \(null\) in row 1"):
        nextstat.load_workspace(document(), events={"obs": nulls})
    with pytest.raises(TypeError, match="column 'm' of the events of 'obs' has no plain numbers"):
        nextstat.load_workspace(document(), events={"obs": pyarrow.table({"m": ["a", "b"]})})
    large = pyarrow.table({"m": pyarrow.array([1, 2**53 + 1])})
    with pytest.raises(ValueError, match="an integer in row 1"):
        nextstat.load_workspace(document(), events={"obs": large})
    for kind in ("float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        column = pyarrow.array(np.array([101, 110, 120], dtype=kind))
        narrow = nextstat.load_workspace(document(), events={"obs": pyarrow.table({"m": column}).slice(1)})
        plain = nextstat.load_workspace(document(), events={"obs": np.array([110.0, 120.0])})
        assert nextstat.fit(narrow).twice_nll == nextstat.fit(plain).twice_nll


def test_parquet_files_are_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pyarrow.table({"m": np.sort(MASSES), "w": pyarrow.array(WEIGHTS.astype(np.float32)), "flag": MASSES > 130})
    right = {name: table.column(name).to_numpy(zero_copy_only=False) for name in ("m", "w", "flag")}
    options = [{"compression": name} for name in ("snappy", "zstd", "gzip", "lz4", "none")]
    options += [{"use_dictionary": False}, {"write_page_index": True, "data_page_size": 256}, {"version": "1.0"}]
    options += [{"data_page_version": "2.0", "compression": "zstd"}]
    options += [{"column_encoding": {"m": "BYTE_STREAM_SPLIT"}, "use_dictionary": False}]
    for i, option in enumerate(options):
        path = tmp_path / f"{i}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=100, **option)
        read = nextstat.read_parquet(path)
        for name, column in right.items():
            np.testing.assert_array_equal(read[name], column.astype(float), err_msg=f"{option} {name}")
        some = nextstat.read_parquet(path, ["w"], where=[("m", ">", 120), ("m", "<=", 131.5), ("flag", "!=", 1)])
        kept = (right["m"] > 120) & (right["m"] <= 131.5) & (right["flag"] != 1)
        np.testing.assert_array_equal(some["w"], right["w"][kept].astype(float))
    brotli = tmp_path / "brotli.parquet"
    pyarrow.parquet.write_table(table, brotli, compression="brotli")
    with pytest.raises(ValueError, match="compressed with brotli.*compression='zstd'"):
        nextstat.read_parquet(brotli, ["m"])
    with pytest.raises(FileNotFoundError):
        nextstat.read_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="'=' is no comparison"):
        nextstat.read_parquet(brotli, where=[("m", "=", 1)])

    source = {"file": "1.parquet", "columns": {"m": "m"}, "weight": "w"}
    model = tmp_path / "model.json"
    model.write_text(json.dumps(document(**{"nextstat.source": source})))
    weighted = nextstat.load_workspace(document(), events={"obs": {"m": right["m"], "weights": right["w"]}})
    assert nextstat.fit(model).twice_nll == nextstat.fit(weighted).twice_nll
    with pytest.raises(nextstat.WorkspaceError, match="was not read from a file"):
        nextstat.fit(document(**{"nextstat.source": source}))


def test_trees_of_root_files_are_read(tmp_path):
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "events.root"
    with uproot.recreate(path) as file:
        # An RNTuple, the format of new files, and a tree.
        file["tuple"] = {"m": MASSES, "n": np.arange(MASSES.size, dtype=np.int32)}
        file.mktree("tree", {"m": "float64", "n": "int32"})
        file["tree"].extend({"m": MASSES, "n": np.arange(MASSES.size, dtype=np.int32)})
    for tree in ("tree", "tuple"):
        read = nextstat.read_root(path, tree, where=[("n", ">=", 10)])
        assert sorted(read) == ["m", "n"]
        np.testing.assert_array_equal(read["m"], MASSES[10:])
    with pytest.raises(ValueError, match="no tree 'trees'; it has tree, tuple"):
        nextstat.read_root(path, "trees")
    with pytest.raises(ValueError, match="no branch 'x'"):
        nextstat.read_root(path, "tree", ["x"])


def built(data=None):
    m = build.ModelBuilder("search")
    mass = m.observable("m", 100, 160)
    mu, background = m.parameter("mu", 1, 0, 5), m.parameter("n_background", 700, 0, 5000)
    scale = m.nuisance("scale")
    peak = m.gaussian("signal", mass, mean=125 * (1 + 0.01 * scale), sigma=2)
    flat = m.uniform("background", mass)
    m.channel("SR", {peak: 300 * mu, flat: background}, data=MASSES if data is None else data)
    m.interest(mu)
    return m


def test_the_builder_makes_the_model_that_json_says(tmp_path):
    text = document(entries=[[float(m)] for m in MASSES])
    text["distributions"][0]["mean"] = "mean"
    text["functions"] = [
        {"name": "mean", "type": "generic_function", "expression": "125*(1 + 0.01*scale)"},
        {"name": "s", "type": "product", "factors": [300, "mu"]},
    ]
    text["distributions"].append({"name": "term", "type": "gaussian_dist", "x": "scale", "mean": 0, "sigma": 1})
    text["likelihoods"][0]["aux_distributions"] = ["term"]
    text["parameter_points"][0]["parameters"] = [
        {"name": "mu", "value": 1.0, "min": 0, "max": 5}, {"name": "b", "value": 700.0, "min": 0, "max": 5000},
        {"name": "scale", "value": 0.0, "min": -5, "max": 5}]
    text["analyses"] = [{"name": "A", "likelihood": "L", "parameters_of_interest": ["mu"]}]
    model = built().model()
    written, ours = nextstat.fit(text), nextstat.fit(model)
    assert ours.twice_nll == pytest.approx(written.twice_nll, abs=1e-9)
    assert model.poi_name == "mu"
    path = tmp_path / "search.hs3.json"
    built().write(path)
    assert nextstat.fit(path).twice_nll == pytest.approx(ours.twice_nll, abs=1e-12)
    assert 1 < nextstat.upper_limit(model).observed < 5


def test_every_density_of_the_builder_can_be_fitted():
    sample = RNG.normal(130, 8, 500)
    shapes = {
        "gaussian": lambda m, x, p: m.gaussian("d", x, p, 8),
        "bifurcated": lambda m, x, p: m.bifurcated_gaussian("d", x, p, 8, 10),
        "exponential": lambda m, x, p: m.exponential("d", x, 0.0002 * p),
        "crystal ball": lambda m, x, p: m.crystal_ball("d", x, p, 8, left=(1.5, 3)),
        "two tails": lambda m, x, p: m.crystal_ball("d", x, p, 8, left=(1.5, 3), right=(1, 2), sigma_right=9),
        "argus": lambda m, x, p: m.argus("d", x, 45 + p, -5),
        "breit-wigner": lambda m, x, p: m.breit_wigner("d", x, p, 8),
        "voigt": lambda m, x, p: m.voigt("d", x, p, 4, 5),
        "johnson": lambda m, x, p: m.johnson_su("d", x, p, 8, 0.1, 1.2),
        "polynomial": lambda m, x, p: m.polynomial("d", x, [1, 0.0001 * p]),
        "chebychev": lambda m, x, p: m.chebychev("d", x, [0.001 * p]),
        "bernstein": lambda m, x, p: m.bernstein("d", x, [1, 0.01 * p, 2]),
        "lognormal": lambda m, x, p: m.lognormal("d", x, build.log(p), 0.06),
        "generalized": lambda m, x, p: m.generalized_normal("d", x, p, 8, 2.5),
        "decay": lambda m, x, p: m.decay("d", x, p - 115, [(0.7, 115, 4), (0.3, 115, 8)]),
        "b decay": lambda m, x, p: m.b_decay("d", x, p - 115, delta_m=0.1, cos=0.2, sin=0.1, resolution=(115, 4)),
        "functions": lambda m, x, p: m.formula("d", 1.2 + build.erf((x - p) / 9) * build.tanh(p / 100), x),
        "formula": lambda m, x, p: m.formula("d", build.exp(-(((x - p) / 9) ** 2)) + 0.1, x),
        "kde": lambda m, x, p: m.mixture("d", [m.kde("k", x, sample), m.gaussian("g", x, p, 5)], [0.4]),
        "histogram": lambda m, x, p: m.mixture("d", [m.histogram("h", x, [100, 120, 160], [3, 5]), m.gaussian("g", x, p, 5)], [0.4]),
        "spline": lambda m, x, p: m.mixture("d", [m.spline("s", x, [100, 130, 160], [1, 3, 1]), m.gaussian("g", x, p, 5)], [0.4]),
    }
    for name, shape in shapes.items():
        m = build.ModelBuilder()
        x, p = m.observable("m", 100, 160), m.parameter("p", 128, 116, 140)
        m.channel("SR", shape(m, x, p), data=MASSES)
        result = nextstat.fit(m.model())
        assert result.converged, name
    m = build.ModelBuilder()
    x, y, p = m.observable("x", 0, 1), m.observable("y", 0, 1), m.parameter("p", 0.5, 0, 1)
    both = m.product("both", m.gaussian("gx", x, p, 0.2), m.uniform("uy", y))
    wide = m.multivariate_normal("wide", [x, y], [p, 0.5], [[0.1, 0.02], [0.02, 0.2]])
    m.channel("SR", {both: m.parameter("a", 100, 0, 1000), wide: m.parameter("b", 100, 0, 1000)}, data=RNG.uniform(0, 1, (300, 2)))
    m.constrain_count(20 * p, 11)
    assert nextstat.fit(m.model()).converged


def test_the_builder_refuses_mistakes():
    m = build.ModelBuilder()
    x = m.observable("m", 0, 1)
    with pytest.raises(ValueError, match="the name 'm' is taken"):
        m.parameter("m", 1)
    with pytest.raises(ValueError, match="the axis of 'y' is empty"):
        m.observable("y", 1, 1)
    with pytest.raises(TypeError, match="expected a number, a parameter or a formula"):
        m.gaussian("g", x, [1], None)
    with pytest.raises(TypeError, match="must be what `observable` returns"):
        m.uniform("u", 3)
    g, u = m.gaussian("bump", x, 0.5, 0.1), m.uniform("even", x)
    with pytest.raises(TypeError, match="the factors of 'p' must be densities, not list"):
        m.product("p", [g, u])
    with pytest.raises(TypeError, match="the summands of 's' must be a list of densities, not of str"):
        m.mixture("s", ["bump", "even"], [0.5])
    with pytest.raises(ValueError, match="needs a tail"):
        m.crystal_ball("c", x, 1, 2)
    odd = m.parameter("a-b", 1)
    with pytest.raises(ValueError, match="'a-b' cannot stand in a formula"):
        2 * odd
    with pytest.raises(ValueError, match="has no process"):
        m.channel("SR", {}, data=[])
    with pytest.raises(ValueError, match="write the model, and load its file"):
        m.channel("CR", {m.uniform("flat", x): 3}, data=build.EventFile("a.parquet"))
        m.model()


def test_kernel_densities_are_those_of_numpy():
    sample, weights = RNG.normal(0.4, 0.1, 150), RNG.uniform(0.5, 1.5, 150)
    inside = (sample >= 0) & (sample <= 1)
    knots, values, error = nextstat._native._kernel_density(sample, weights, 0.0, 1.0, 1.3, False)
    # Cranmer, hep-ex/0011057, with the effective number of events.
    x, w = sample[inside], weights[inside]
    n = w.sum() ** 2 / (w**2).sum()
    rule = 1.3 * (4 / 3) ** 0.2 * n**-0.2
    sigma = np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))

    def kernels(at, widths):
        t = (at[:, None] - x[None, :]) / widths
        return (w * np.exp(-0.5 * t**2) / (widths * np.sqrt(2 * np.pi))).sum(axis=1)

    pilot = kernels(x, np.full_like(x, rule * sigma)) / w.sum()
    pilot = np.maximum(pilot, 1 / (n * np.sqrt(2 * np.pi) * rule * sigma))
    right = kernels(knots, rule * np.sqrt(sigma / pilot))
    np.testing.assert_allclose(values, right, rtol=0, atol=(error + 1e-12) * right.max())
    assert error < 1e-5


def test_toys_of_events_are_those_that_fit_toys_fits():
    model = built().model()
    point = model.init
    toys = model.toy_events(point, 4, seed=9)
    assert [sorted(toy) for toy in toys] == [["SR", "auxdata"]] * 4
    again = model.toy_events(point, 2, seed=9, first=2)
    for one, other in zip(toys[2:], again, strict=True):
        np.testing.assert_array_equal(one["SR"]["m"], other["SR"]["m"])
        np.testing.assert_array_equal(one["auxdata"], other["auxdata"])
    fits = [nextstat.fit(model, data=toy) for toy in toys]
    study = nextstat.fit_toys(model, point, 4, seed=9)
    for entry in study.parameters:
        values = [fit.value(entry["name"]) for fit in fits]
        assert np.mean(values) == pytest.approx(entry["mean"], rel=1e-5, abs=1e-6), entry
    with pytest.raises(ValueError, match="'auxdata' of the data has 2 numbers; 1 are needed"):
        nextstat.fit(model, data={**toys[0], "auxdata": [0.0, 1.0]})
    with pytest.raises(ValueError, match="toy_events returns toys of this model"):
        model.toy_data(point, 2)
    counts = nextstat.load_workspace(pathlib.Path(__file__).parents[1] / "fixtures" / "simple_workspace.json")
    with pytest.raises(ValueError, match="no channels of events; toy_data"):
        counts.toy_events(counts.init)


def jumping(fixed=False):
    """Return a model whose density jumps at a free or fixed threshold."""
    model = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [{"name": "A", "type": "generic_dist", "expression": "(x < thr ? 1 : 2)*exp(-s*x)"}],
        "data": [
            {
                "name": "d",
                "type": "unbinned",
                "axes": [{"name": "x", "min": 0, "max": 10}],
                "entries": [[0.5], [2.2], [4.4], [5.9], [7.7], [9.1]],
            }
        ],
        "likelihoods": [{"name": "L", "distributions": ["A"], "data": ["d"]}],
        "domains": [
            {
                "name": "default_domain",
                "type": "product_domain",
                "axes": [{"name": "s", "min": -2, "max": 2}, {"name": "thr", "min": 1, "max": 9}],
            }
        ],
        "parameter_points": [
            {
                "name": "default_values",
                "parameters": [{"name": "s", "value": 0.1}, {"name": "thr", "value": 5.0, "const": fixed}],
            }
        ],
    }
    return nextstat.load_workspace(model)


def test_derivatives_with_respect_to_a_threshold_at_a_jump_are_nan_with_a_warning():
    model = jumping()
    names = model.parameter_names
    point = [{"s": 0.1, "thr": 5.0}[name] for name in names]
    thr = names.index("thr")
    for call in (model.grad_nll, lambda p: model.nll_and_grad(p)[1], model.hessian):
        with pytest.warns(RuntimeWarning, match="thr are NaN: a density jumps"):
            made = call(point)
        assert np.all(np.isnan(made[thr])) and np.isfinite(made[1 - thr]).any()
    step = 1e-5
    moved = [model.nll([x + sign * step * (i != thr) for i, x in enumerate(point)]) for sign in (1, -1)]
    with pytest.warns(RuntimeWarning):
        assert abs(model.grad_nll(point)[1 - thr] - (moved[0] - moved[1]) / (2 * step)) < 1e-6


def test_a_fixed_threshold_gives_no_warning(recwarn):
    model = jumping(fixed=True)
    model.grad_nll(model.init)
    assert not any(issubclass(one.category, RuntimeWarning) for one in recwarn)
    assert nextstat.fit(model).converged


def test_a_fit_with_a_free_threshold_at_a_jump_is_not_converged():
    result = nextstat.fit(jumping())
    assert not result.converged
    assert any("jumps" in text and "thr" in text and "scan" in text for text in result.warnings)
    assert not any("does not depend" in text for text in result.warnings)


def test_the_builder_finds_observables_in_formulas():
    m = build.ModelBuilder()
    t, dt = m.observable("t", -5, 5), m.observable("dt", 0.1, 1)
    scale, mean = m.parameter("scale", 1, 0.2, 5), m.parameter("mean", 0, -2, 2)
    width = m.function("width", scale * dt)
    assert m.gaussian("by_formula", t, mean, scale * dt).observables == [t, dt]
    assert m.gaussian("by_function", t, mean, width).observables == [t, dt]
    assert m.formula("found", build.exp(-dt)).observables == [dt]
    assert m.gaussian("plain", t, mean, scale).observables == [t]
    with pytest.raises(TypeError, match="must be what `observable` returns"):
        m.gaussian("of_a_parameter", mean, 0, 1)


def test_a_density_at_given_observables_is_divided_by_its_integral():
    rng = np.random.default_rng(5)
    widths = rng.uniform(0.1, 1, 2000)
    times = rng.normal(0.0, 1.3 * widths)

    def fitted(density):
        m = build.ModelBuilder()
        t, dt = m.observable("t", -20, 20), m.observable("dt", 0.1, 1)
        scale = m.parameter("scale", 1, 0.2, 5)
        m.channel("c", density(m, t, dt, scale), data={"t": times, "dt": widths})
        model = m.model()
        return model, nextstat.fit(model)

    model, result = fitted(lambda m, t, dt, scale: m.gaussian("g", t, 0, scale * dt))
    assert any("'g' depends on the observable 'dt'" in text for text in model.warnings), model.warnings
    assert result.converged
    model, right = fitted(lambda m, t, dt, s: m.formula("g", build.exp(-((t / (s * dt)) ** 2) / 2) / (s * dt), t, dt))
    assert not model.warnings
    assert abs(right.value("scale") - np.sqrt(np.mean((times / widths) ** 2))) < 1e-6


def test_counts_for_a_model_of_events_say_what_is_needed():
    m = build.ModelBuilder()
    x = m.observable("x", 0, 1)
    m.channel("SR", m.exponential("e", x, m.parameter("slope", 1, -5, 5)), data={"x": [0.1, 0.5]})
    model = m.model()
    with pytest.raises(ValueError, match=r"give a dictionary of its channels, for example \{'SR': \{'x': \[...\]\}\}"):
        nextstat.fit(model, data=[0.2, 0.3])
    with pytest.raises(ValueError, match="give a dictionary of its channels"):
        nextstat.fit_batch(model, [[0.2, 0.3]])


def test_a_missing_column_is_asked_for():
    m = build.ModelBuilder()
    x = m.observable("x", 0, 1)
    m.channel("SR", m.exponential("e", x, m.parameter("slope", 1, -5, 5)), data={"y": [0.1, 0.5]})
    with pytest.raises(nextstat.WorkspaceError, match="have no column 'x'. Give a column of this name."):
        m.model()
