"""Binned models built in Python and from configuration files, against pyhf, cabinetry and published numbers."""

import importlib.util
import json
import os
import pathlib
import re
import tempfile
import warnings

import nextstat
import numpy as np
import pyarrow.parquet
import pyhf
import pytest
from nextstat import build

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "build"
CABINETRY = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "not-set")) / "formats" / "cabinetry"

TREX = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "not-set")) / "formats" / "trex"

has_cabinetry = pytest.mark.skipif(
    importlib.util.find_spec("cabinetry") is None,
    reason="cabinetry is not installed (pip install 'cabinetry[contrib]'): workspaces are NOT COMPARED with its own",
)
needs_reference = pytest.mark.skipif(
    not CABINETRY.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/cabinetry: its example is NOT FITTED"
)


def pruning(path):
    """The lines of a pruning text of TRExFitter: region, sample, systematic, and what is used of it."""
    region = sample = ""
    for line in path.read_text().splitlines():
        if line.startswith("In Region"):
            region = line.split(":")[1].strip()
        elif "In Sample" in line:
            sample = line.split(":")[1].strip()
        elif "--->>" in line:
            _, systematic, _, *state = line.split()
            yield region, sample, systematic, " ".join(state)


class Axis:
    """An axis of the UHI protocol, without the additions of boost-histogram."""

    def __init__(self, edges):
        self._edges = edges

    def __len__(self):
        return len(self._edges) - 1

    def __getitem__(self, i):
        return (self._edges[i], self._edges[i + 1])


class Histogram:
    """A histogram of the UHI protocol."""

    kind = "COUNT"

    def __init__(self, values, variances, edges):
        self._values, self._variances, self.axes = values, variances, (Axis(edges),)

    def values(self):
        return np.array(self._values)

    def variances(self):
        return None if self._variances is None else np.array(self._variances)


def builder():
    b = build.BinnedBuilder("search", poi="mu")
    b.parameter("mu", bounds=(0, 5))
    sr = b.channel("SR", data=[14, 9], edges=[0, 1, 2])
    sr.sample("signal", Histogram([2.0, 4.0], [0.04, 0.09], [0, 1, 2]), norm_factors="mu")
    background = sr.sample("background", [10.0, 30.0], [1.0, 4.0])
    background.normalisation("lumi", 0.02).templates("scale", up=[20.0, 30.0], down=[5.0, 15.0])
    return b


def same(a, b, path=""):
    """Compares two documents, with numbers to 1e-12."""
    if isinstance(a, dict):
        assert set(a) == set(b), path
        for key in a:
            same(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}/{i}")
    elif isinstance(a, (int, float)) and not isinstance(a, bool):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12), path
    else:
        assert a == b, path


def test_arrays_and_histograms_become_a_workspace_that_pyhf_reads():
    document = builder().document()
    modifiers = document["channels"][0]["samples"][1]["modifiers"]
    assert [(m["name"], m["type"]) for m in modifiers] == [
        ("staterror_SR", "staterror"), ("lumi", "normsys"), ("scale", "normsys"), ("scale", "histosys"),
    ]  # fmt: skip
    assert modifiers[0]["data"] == [1.0, 2.0]
    assert modifiers[1]["data"] == {"hi": 1.02, "lo": 0.98}
    assert modifiers[2]["data"] == {"hi": 1.25, "lo": 0.5}
    assert modifiers[3]["data"] == {"hi_data": [16.0, 24.0], "lo_data": [10.0, 30.0]}
    workspace = pyhf.Workspace(document)
    model = workspace.model()
    ours = builder().model()
    point = model.config.suggested_init()
    twice_nll = -2 * model.logpdf(point, workspace.data(model))[0]
    assert 2 * ours.nll(point) == pytest.approx(twice_nll, rel=1e-10)
    assert nextstat.fit(ours).converged


def test_one_sided_templates_are_symmetrised_in_each_way():
    up, down, nominal = np.array([16.0, 32.0]), np.array([6.0, 26.0]), np.array([10.0, 30.0])

    def templates(**options):
        b = build.BinnedBuilder("m")
        b.channel("SR", data=[1, 1]).sample("b", nominal).templates("x", up=up, parts="together", **options)
        (modifier,) = b.document()["channels"][0]["samples"][0]["modifiers"]
        return np.array(modifier["data"]["hi_data"]), np.array(modifier["data"]["lo_data"])

    hi, lo = templates()
    assert hi == pytest.approx(up)
    assert lo == pytest.approx(0.8 * (2 * nominal - up / 1.2))
    assert templates(symmetrise="mirror")[1] == pytest.approx(2 * nominal - up)
    hi, lo = templates(down=down, symmetrise="two_sided")
    assert hi == pytest.approx(nominal + (up - down) / 2) and lo == pytest.approx(nominal - (up - down) / 2)


def test_small_effects_are_left_out_and_listed():
    b = builder()
    b.prune(normalisation=0.05, shape=0.01, mc=0.2)
    built = b.build()
    assert built.pruned == [
        {"channel": "SR", "sample": "background", "systematic": "lumi", "part": "normalisation", "up": 0.02, "down": -0.02, "reason": "small"}
    ]
    assert len(built.systematics) == 2
    assert "left out" in repr(built)
    assert "lumi" not in json.dumps(built.workspace) and "staterror" not in json.dumps(built.workspace)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_columns_of_data_frames_fill_histograms(package):
    frame = pytest.importorskip(package).DataFrame({"m": [0.0, 0.5, 1.0, 2.0, -1.0, 1.5], "w": [1.0, 2.0, 3.0, 9.0, 9.0, 0.5]})
    filled = build.fill(frame["m"], [0, 1, 2], weights=frame["w"])
    assert filled.values.tolist() == [3.0, 3.5]
    assert filled.variances.tolist() == [5.0, 9.25]
    assert build.fill(frame["m"], [0, 1, 2]).values.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("package", ["hist", "boost_histogram"])
def test_histograms_of_other_packages_are_taken(package):
    module = pytest.importorskip(package, reason=f"{package} is not installed: its histograms were NOT tested")
    filled = module.axis.Variable([0, 1, 3]) if package == "boost_histogram" else module.axis.Variable([0, 1, 3], name="m")
    made = (module.Histogram if package == "boost_histogram" else module.Hist)(filled, storage=module.storage.Weight())
    made.fill([0.5, 0.7, 2.0, 5.0], weight=[1.0, 2.0, 0.5, 9.0])
    b = build.BinnedBuilder("m")
    b.channel("SR", data=made).sample("b", made)
    document = b.document()
    assert document["observations"][0]["data"] == [3.0, 0.5]
    assert document["channels"][0]["samples"][0]["modifiers"][0]["data"] == pytest.approx([5**0.5, 0.5])
    assert b.description()["channels"][0]["edges"] == [0.0, 1.0, 3.0]


def test_mistakes_name_the_place():
    with pytest.raises(ValueError, match="channel SR: sample b has other bins"):
        build.BinnedBuilder("m").channel("SR", edges=[0, 1, 2]).sample("b", Histogram([1, 2], None, [0, 1, 3]))
    with pytest.raises(TypeError, match="neither a histogram nor an array"):
        build.BinnedBuilder("m").channel("SR").sample("b", "histogram")
    with pytest.raises(ValueError, match="bin 1 .* is not a finite number"):
        build.BinnedBuilder("m").channel("SR").sample("b", [1.0, np.nan])
    b = build.BinnedBuilder("m", poi="mu")
    b.channel("SR", data=[1]).sample("b", [1.0, 2.0]).templates("x", up=[1.0])
    with pytest.raises(nextstat.WorkspaceError) as caught:
        b.build()
    paths = [problem["path"] for problem in caught.value.problems]
    assert paths == ["measurement", "channel 'SR'", "channel 'SR', sample 'b', systematic 'x'"]
    with pytest.raises(ValueError, match="unknown variant `twosided`"):
        b = build.BinnedBuilder("m")
        b.channel("SR").sample("b", [1.0]).templates("x", up=[1.0], symmetrise="twosided")
        b.build()


def test_channels_without_data_have_the_sum_of_their_samples():
    b = build.BinnedBuilder("m")
    channel = b.channel("SR")
    channel.sample("a", [1.0, 2.0])
    channel.sample("b", [3.0, 4.0])
    with pytest.warns(UserWarning, match="has no data; the sum of its samples is taken"):
        assert b.document()["observations"] == [{"name": "SR", "data": [4.0, 6.0]}]


def trees(folder):
    """Writes the events of the fixture as trees of one ROOT file, with a configuration for them."""
    import uproot

    with uproot.recreate(folder / "events.root") as file:
        for path in FIXTURES.glob("*.parquet"):
            table = pyarrow.parquet.read_table(path)
            columns = {name: table[name].to_numpy() for name in table.column_names}
            # Assignment would write an RNTuple, whose columns uproot does not combine in expressions.
            file.mktree(path.stem, columns)
    text = (FIXTURES / "ntuples.yml").read_text()
    text = text.replace("{SamplePath}.parquet", "events.root").replace("SamplePath:", "Tree:")
    (folder / "trees.yml").write_text(text)
    return folder / "trees.yml"


def test_trees_give_what_columns_in_parquet_give(tmp_path):
    same(build.from_config(trees(tmp_path)).workspace, build.from_config(FIXTURES / "ntuples.yml").workspace)
    text = (tmp_path / "trees.yml").read_text()
    (tmp_path / "trees.yml").write_text(text.replace("Tree: data", "Tree: dta"))
    with pytest.raises(nextstat.WorkspaceError, match=r"trees.yml:21: sample 'Data' .*has no 'dta'; the closest that exists is 'data'"):
        build.from_config(tmp_path / "trees.yml")
    with pytest.raises(FileNotFoundError):
        build.from_config(tmp_path / "missing.yml")


@has_cabinetry
@pytest.mark.parametrize("kind", ["histograms", "ntuples"])
def test_workspaces_are_those_of_cabinetry(kind, tmp_path, monkeypatch):
    import cabinetry

    path = FIXTURES / "histograms.yml" if kind == "histograms" else trees(tmp_path)
    monkeypatch.chdir(path.parent)
    config = cabinetry.configuration.load(path)
    config["General"]["HistogramFolder"] = tempfile.mkdtemp(dir=tmp_path)
    (cabinetry.templates.collect if kind == "histograms" else cabinetry.templates.build)(config)
    cabinetry.templates.postprocess(config)
    same(cabinetry.workspace.build(config), build.from_config(path).workspace)


@needs_reference
def test_the_example_of_cabinetry_has_its_published_fit(tmp_path):
    text = (CABINETRY / "config_example.yml").read_text()
    for name in ("data.root", "prediction.root"):
        (tmp_path / name).symlink_to(CABINETRY / name)
    (tmp_path / "config.yml").write_text(text.replace("inputs/{SamplePath}", "{SamplePath}"))
    model = build.from_config(tmp_path / "config.yml").model()
    result = nextstat.fit(model, minos=["Signal_norm"])
    # Published are the numbers of MINUIT, which stops 2e-6 above the minimum.
    assert result.twice_nll == pytest.approx(17.1942035, abs=2e-7)
    published = {"Modeling": -0.32457145, "WeightBasedModeling": -0.58582788, "Signal_norm": 1.68953317, "Luminosity": -0.0880332}
    for name, value in published.items():
        assert result.value(name) == pytest.approx(value, abs=2e-3), name
    interval = result.minos["Signal_norm"]
    assert interval.lower == pytest.approx(-0.9580, abs=1e-3) and interval.upper == pytest.approx(0.9052, abs=1e-3)
    assert nextstat.goodness_of_fit(model).p_value == pytest.approx(0.24679341, abs=1e-4)


@has_cabinetry
@needs_reference
def test_the_example_of_cabinetry_is_its_workspace(tmp_path, monkeypatch):
    import cabinetry

    text = (CABINETRY / "config_example.yml").read_text()
    for name in ("data.root", "prediction.root"):
        (tmp_path / name).symlink_to(CABINETRY / name)
    (tmp_path / "config.yml").write_text(text.replace("inputs/{SamplePath}", "{SamplePath}"))
    monkeypatch.chdir(tmp_path)
    config = cabinetry.configuration.load("config.yml")
    cabinetry.templates.build(config)
    cabinetry.templates.postprocess(config)
    same(cabinetry.workspace.build(config), build.from_config("config.yml").workspace)


@pytest.mark.skipif(
    not TREX.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/trex: configurations are NOT COMPARED with TRExFitter"
)
def test_the_ntuples_of_trexfitter_have_its_yields(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "inputs").symlink_to(TREX / "inputs")
    text = (TREX / "configs" / "FitExampleNtuple.config").read_text()
    # Automatic bins are not supported; the sums do not depend on the bins.
    (tmp_path / "ntuples.config").write_text(text.replace('  Binning: "AutoBin","TransfoD",3,3\n', ""))
    with pytest.warns(UserWarning):
        built = build.from_config(tmp_path / "ntuples.config", mc_constraint="gaussian")
    workspace = built.workspace
    published = (TREX / "reference" / "FitExampleNtuple" / "Tables" / "Yields.txt").read_text()
    rows = [[cell.split(" pm ")[0].strip() for cell in line.split("|")[2:4]] for line in published.splitlines()[1:] if "|" in line]
    for i, channel in enumerate(workspace["channels"]):
        data = next(o["data"] for o in workspace["observations"] if o["name"] == channel["name"])
        sums = [sum(sample["data"]) for sample in channel["samples"]]
        expected = [float(row[i]) for row in rows]
        assert [*sums, sum(sums), sum(data)] == pytest.approx(expected, rel=5e-6), channel["name"]
    # What was pruned in the region whose bins are given; this depends on smoothing and symmetrising too.
    words = {(True, True): "kept", (True, False): "norm only", (False, True): "shape only", (False, False): "dropped"}
    ours = {}
    for row in built.systematics:
        parts = [row[part] is not None and row[part]["pruned"] is None for part in ("normalisation", "shape")]
        ours[row["channel"], row["sample"], row["systematic"]] = words[tuple(parts)]
    compared = 0
    for region, sample, systematic, state in pruning(TREX / "reference" / "FitExampleNtuple" / "PruningText.txt"):
        if region == "ljets_5j3b_HT" and state != "not present":
            assert ours[region, sample, systematic] == state, (sample, systematic)
            compared += 1
    assert compared == 15


@pytest.mark.skipif(
    not TREX.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/trex: configurations are NOT COMPARED with TRExFitter"
)
def test_the_example_of_trexfitter_has_its_fit(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "inputs").symlink_to(TREX / "inputs")
    (tmp_path / "FitExample.config").write_text((TREX / "configs" / "FitExample.config").read_text())
    with pytest.warns(UserWarning, match="does not contain settings of the fit: doLHscan"):
        built = build.from_config(tmp_path / "FitExample.config")
    result = nextstat.fit(built.model())
    text = (TREX / "reference" / "FitExample" / "Fits" / "FitExample.txt").read_text()
    published = [line.split() for line in text.split("CORRELATION")[0].splitlines()[1:] if line.strip()]
    assert len(published) == 12
    for name, value, error, _ in published:
        if name.startswith("gamma_stat_"):
            region, bin_ = name.removeprefix("gamma_stat_").split("_bin_")
            name = f"staterror_{region}[{bin_}]"
        # The printed digits, and a thousandth of the uncertainty for where MIGRAD stops.
        assert result.value(name) == pytest.approx(float(value), abs=1e-3 * float(error)), name
        if name != "SigXsecOverSM":
            # The parameter of interest is at its bound, where MINUIT's covariance depends on how it bounds parameters.
            assert result.uncertainty(name) == pytest.approx(float(error), rel=5e-3), name
    kept = {(row["channel"], row["sample"], row["systematic"]) for row in built.systematics}
    for region, sample, systematic, state in pruning(TREX / "reference" / "FitExample" / "PruningText.txt"):
        assert (state != "not present") == ((region, sample, systematic) in kept), (region, sample, systematic)
    assert not built.pruned


@pytest.mark.skipif(
    not TREX.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/trex: configurations are NOT COMPARED with TRExFitter"
)
def test_morphed_templates_of_trexfitter_have_its_yields_and_fit(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "inputs").symlink_to(TREX / "inputs")
    text = (TREX / "configs" / "FitExampleMorphing.config").read_text()
    # The smoothing of the reference is not read.
    plain = text.replace("  SmoothingOption: TTBARRESONANCE\n", "").replace("  Smoothing: 40\n", "")
    (tmp_path / "morphing.config").write_text(plain)
    with pytest.warns(UserWarning, match="does not contain settings of the fit"):
        built = build.from_config(tmp_path / "morphing.config")
    model = built.model()
    channels = nextstat.yields(model, prefit=True).channels
    sums = {channel["name"]: sum(sum(sample["counts"]) for sample in channel["samples"]) for channel in channels}
    # The table of the reference: 1.15114e+06 and 1.18299e+06.
    assert sums["SR_lep"] == pytest.approx(1.15114e6, abs=6)
    assert sums["CR_Wmass"] == pytest.approx(1.18299e6, abs=6)
    result = nextstat.fit(model, minos=["topWidth"])
    # The reference: +0.155542 -0.15514.
    assert result.minos["topWidth"].upper == pytest.approx(0.155542, rel=5e-3)
    assert result.minos["topWidth"].lower == pytest.approx(-0.15514, rel=5e-3)
    assert result.value("topWidth") == pytest.approx(1.32207, abs=0.005 * 0.1555)
    assert result.value("ttbarXsec") == pytest.approx(0.999994, abs=0.005 * 0.0096)


@pytest.mark.skipif(
    not TREX.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/trex: configurations are NOT COMPARED with TRExFitter"
)
def test_automatic_bins_of_trexfitter_have_its_fit(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "inputs").symlink_to(TREX / "inputs")
    (tmp_path / "ntuples.config").write_text((TREX / "configs" / "FitExampleNtuple.config").read_text())
    with pytest.warns(UserWarning, match="does not contain settings of the fit"):
        built = build.from_config(tmp_path / "ntuples.config")
    model = built.model()
    result = nextstat.fit(model)
    text = (TREX / "reference" / "FitExampleNtuple" / "Fits" / "FitExampleNtuple.txt").read_text()
    published = [line.split() for line in text.split("CORRELATION")[0].splitlines()[1:] if line.strip()]
    assert len(published) == 20
    for name, value, error, _ in published:
        if name.startswith("gamma_stat_"):
            region, bin_ = name.removeprefix("gamma_stat_").split("_bin_")
            name = f"staterror_{region}[{bin_}]"
        # The printed digits, and some thousandths of the uncertainty for where MIGRAD stops.
        assert result.value(name) == pytest.approx(float(value), abs=2e-3 * float(error)), name
        # The published uncertainties of the two free factors are not symmetric.
        if name not in ("mu_XS_ttH", "tt_norm"):
            assert result.uncertainty(name) == pytest.approx(float(error), rel=1e-2), name

    # Impacts of groups: what the uncertainty loses where the group is held.
    groups = {"Gammas": ["staterror_*"], "NormFactors": ["tt_norm"], "FullSyst": [name for name in model.parameter_names if name != "mu_XS_ttH"]}
    for block in (TREX / "configs" / "FitExampleNtuple.config").read_text().split("\nSystematic: ")[1:]:
        names = block.splitlines()[0].replace('"', "").split(";")
        groups.setdefault(re.search(r"Category: (\w+)", block)[1], []).extend(name.strip() for name in names)
    impacts = {group["name"]: group["delta_mu_fixed"] for group in nextstat.ranking(model, groups=groups).groups}
    table = (TREX / "reference" / "FitExampleNtuple" / "Fits" / "GroupedImpact.txt").read_text()
    published = {line.split()[0]: float(line.split()[1]) for line in table.splitlines()}
    assert set(published) == set(impacts) == {"FullSyst", "Gammas", "Instrumental", "NormFactors", "Theory"}
    for name, impact in published.items():
        assert impacts[name] == pytest.approx(impact, abs=3e-4 * published["FullSyst"] + 1e-4), name


def test_a_patchset_of_histograms_is_a_grid(tmp_path):
    edges = np.linspace(0, 4, 5)
    background = np.array([40.0, 30.0, 20.0, 10.0])
    search = build.BinnedBuilder("search")
    search.channel("SR", [42, 28, 21, 9], edges).title("$m$ [GeV]").sample("bkg", background).normalisation("rate", 0.1)
    search.channel("CR", [100]).sample("bkg", [100.0])
    assert search.axes == {"SR": {"title": "$m$ [GeV]", "edges": edges.tolist()}}
    built = search.build()
    assert built.axes == search.axes
    assert nextstat.yields(built.model(), prefit=True).channels[1].bin_edges == edges.tolist()
    built.write(tmp_path / "search.json")
    assert nextstat.yields(nextstat.load_workspace(tmp_path / "search.json"), prefit=True).channels[1].axis_title == "$m$ [GeV]"
    peak = {mass: {"SR": 8 * np.exp(-((np.arange(4) - mass) ** 2))} for mass in (0, 1.5, 3)}
    patches = search.patchset(peak, normalisation={"theory": 0.2})
    grid = nextstat.grid(search.document(), patches)
    assert [row.name for row in grid] == ["signal_0", "signal_1.5", "signal_3"] and grid.labels == ["mass"]
    assert [row.values["mass"] for row in grid] == [0, 1.5, 3]
    # The same model, built as a whole.
    whole = build.BinnedBuilder("search", poi="mu")
    channel = whole.channel("SR", [42, 28, 21, 9], edges)
    channel.sample("bkg", background).normalisation("rate", 0.1)
    channel.sample("signal", peak[1.5]["SR"], norm_factors="mu").normalisation("theory", 0.2)
    whole.channel("CR", [100]).sample("bkg", [100.0])
    limit = nextstat.upper_limit(whole.model())
    assert grid["signal_1.5"].result.observed == pytest.approx(limit.observed, rel=1e-6)
    plane = search.patchset({(1, 2): peak[3]}, labels=["a", "b"], sample="x")
    assert plane["patches"][0]["metadata"] == {"name": "x_1_2", "values": [1.0, 2.0]}
    with pytest.raises(ValueError, match="1 has 1 values, and there are 2 labels: a, b"):
        search.patchset({1: peak[3]}, labels=["a", "b"])
    with pytest.raises(ValueError, match="there is no channel 'VR'; there are SR, CR"):
        search.patchset({1: {"VR": background}})
    with pytest.raises(ValueError, match="other bins"):
        search.patchset({1: {"SR": build.fill([1.0], [0, 1, 3])}})


def test_a_warning_of_the_builder_comes_once_at_the_line_that_calls_it():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = build.BinnedBuilder("search")
        model.channel("SR", [5.0, 6.0], [0, 1, 2]).sample("b", [4.0, 5.0])
        model.model()
        model.document()
        model.build().model()
    (warning,) = found
    assert "names no parameter of interest" in str(warning.message)
    assert warning.filename == __file__


def test_warnings_of_pyhfs_models_come_once_at_the_line_that_calls():
    workspace = {
        "channels": [{"name": "c", "samples": [{"name": "s", "data": [5.0], "modifiers": [
            {"name": "norm", "type": "normfactor", "data": None}]}]}],
    }
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nextstat.from_pyhf(workspace)
    texts = [str(warning.message) for warning in found]
    assert len(texts) == len(set(texts)) and any("has no observations" in text for text in texts), texts
    assert {warning.filename for warning in found} == {__file__}
