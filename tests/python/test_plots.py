"""Pictures of every result, and the yields in some of them, compared with pyhf."""

import copy
import json
import pathlib
import pickle
import shutil
import struct

import numpy as np
import pyhf
import pytest

import nextstat
from nextstat import build

SMALL = ["simple_workspace.json", "all_modifiers.json", "asymmetric.json", "shared_names.json", "overrides.json"]
CODES = {
    "smooth": {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}},
    "piecewise": {"normsys": {"interpcode": "code1"}, "histosys": {"interpcode": "code0"}},
}


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / "simple_workspace.json")


@pytest.fixture(scope="module")
def fit(model):
    return nextstat.fit(model)


def texts(picture):
    """All texts of a picture, one per line."""
    import xml.etree.ElementTree as tree

    root = tree.fromstring(picture.svg)
    return "\n".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text"))


# ---------------------------------------------------------------- pictures


def test_axes_of_channels(fixtures, tmp_path):
    """Titles and bin edges come from an argument or from the file beside a workspace, and pickles keep them."""
    source = tmp_path / "search.json"
    source.write_bytes((fixtures / "simple_workspace.json").read_bytes())
    axes = {"SR": {"title": "$m_{bb}$ [GeV]", "edges": np.array([100, 120, 140, 160, 200])}}
    given = nextstat.load_workspace(source, axes=axes)
    channel = nextstat.yields(given, prefit=True).channels[1]
    assert channel.bin_edges == [100, 120, 140, 160, 200] and channel.axis_title == "$m_{bb}$ [GeV]"
    drawn = nextstat.fit(given).plot(kind="yields")
    assert "GeV]" in texts(drawn) and "200" in texts(drawn)
    for copied in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
        assert nextstat.yields(copied, prefit=True).channels[1].bin_edges == channel.bin_edges
    result = pickle.loads(pickle.dumps(nextstat.fit(given)))
    assert result.plot(kind="yields").svg == drawn.svg
    assert "GeV]" not in texts(nextstat.fit(nextstat.load_workspace(source)).plot(kind="yields"))
    (tmp_path / "search.axes.json").write_text(json.dumps({"SR": {"title": "beside"}}))
    assert nextstat.yields(nextstat.load_workspace(source), prefit=True).channels[1].axis_title == "beside"
    assert "axis_title" not in nextstat.yields(nextstat.load_workspace(source, axes={}), prefit=True).channels[1]
    with pytest.raises(nextstat.WorkspaceError, match="has 4 bins and 2 edges"):
        nextstat.load_workspace(source, axes={"SR": {"edges": [0, 1]}})
    with pytest.raises(TypeError, match="axes must be a path or a dictionary by channel"):
        nextstat.load_workspace(source, axes=3)


CHANNEL = """<!DOCTYPE Channel SYSTEM 'HistFactorySchema.dtd'>
<Channel Name="SR" InputFile="histograms.root">
<Data HistoPath="SR/data" HistoName="nominal"/>
<Sample Name="signal" HistoPath="SR/signal" HistoName="nominal" NormalizeByTheory="False">
<NormFactor Name="mu" Val="1" Low="0" High="10"/></Sample>
<Sample Name="background" HistoPath="SR/background" HistoName="nominal" NormalizeByTheory="False">
<OverallSys Name="theory" Low="0.9" High="1.1"/></Sample>
</Channel>
"""
COMBINATION = """<!DOCTYPE Combination SYSTEM 'HistFactorySchema.dtd'>
<Combination OutputFilePrefix="out"><Input>channel.xml</Input>
<Measurement Name="m" Lumi="1" LumiRelErr="0.02"><POI>mu</POI>{term}</Measurement></Combination>
"""
CARD = """imax 1
jmax 1
kmax *
shapes * SR histograms.root $CHANNEL/$PROCESS/nominal
shapes data_obs SR histograms.root $CHANNEL/data/nominal
bin SR
observation -1
bin SR SR
process signal background
process 0 1
rate -1 -1
lumi lnN 1.02 1.02
"""
# With this constraint the model is read as an HS3 model and not as a workspace.
GAMMA = '<ConstraintTerm Type="Gamma" RelativeUncertainty="0.3">theory</ConstraintTerm>'


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["xml", "xml of an HS3 model", "card", "configuration"])
def test_pickles_keep_the_axes_of_histograms(fixtures, tmp_path, kind):
    shutil.copy(fixtures / "build" / "histograms.root", tmp_path)
    if kind == "configuration":
        model = build.from_config(fixtures / "build" / "histograms.yml").model()
    elif kind == "card":
        (tmp_path / "card.txt").write_text(CARD)
        model = nextstat.load_datacard(tmp_path / "card.txt")
    else:
        (tmp_path / "channel.xml").write_text(CHANNEL)
        term = GAMMA if "HS3" in kind else ""
        (tmp_path / "combination.xml").write_text(COMBINATION.format(term=term))
        model = nextstat.load_workspace(tmp_path / "combination.xml")

    def axis(model):
        channels = nextstat.yields(model, prefit=True).channels
        return {channel.name: (channel.get("axis_title"), channel.get("bin_edges")) for channel in channels}

    title, edges = axis(model)["Signal region" if kind == "configuration" else "SR"]
    # A configuration of histograms has no titles.
    assert title == (None if kind == "configuration" else "pt") and len(edges) > 2 and edges[0] < edges[1]
    fit = nextstat.fit(model)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.with_poi(model.poi_names)):
        assert axis(copied) == axis(model)
    assert pickle.loads(pickle.dumps(fit)).plot(kind="yields").svg == fit.plot(kind="yields").svg
    # A part of the axes that is given is not all of them.
    if kind == "xml":
        other = nextstat.load_workspace(tmp_path / "combination.xml", axes={"SR": {"title": "mine"}})
        assert axis(pickle.loads(pickle.dumps(other)))["SR"] == ("mine", edges)


def results(model):
    """Every result that can be drawn, with a word that its picture must show."""
    fit = nextstat.fit(model)
    second = next(name for name in model.parameter_names if name != model.poi_name)
    return {
        "pulls": (fit, {}, "±1 standard deviation"),
        "correlation": (fit, {"kind": "correlation"}, second),
        "prefit": (fit, {"kind": "yields", "prefit": True}, "Pre-fit"),
        "postfit": (fit, {"kind": "yields"}, "Post-fit"),
        "yields": (nextstat.yields(model), {}, "Post-fit"),
        "scan": (nextstat.profile_scan(model, points=7), {}, model.poi_name),
        "contours": (nextstat.profile_scan(model, points=5, param2=second, points2=5), {}, second),
        "ranking": (nextstat.ranking(model), {}, f"Impact on {model.poi_name}"),
        "limit": (nextstat.upper_limit(model), {"points": 11}, "α = 0.05"),
        "limit with a scan": (nextstat.upper_limit(model, scan_values=np.linspace(0, 4, 9)), {}, "α = 0.05"),
        "toys": (nextstat.hypotest_toys(model, 2.0, n_toys=50), {}, "CLs+b = "),
        "goodness": (nextstat.goodness_of_fit(model, toys=50), {"log_y": True}, "observed χ² = "),
        "toy pulls": (nextstat.fit_toys(model, n_toys=50), {"columns": 1}, "width of pulls"),
    }


@pytest.fixture(scope="module")
def drawn(model):
    return {name: (result, options, result.plot(**options), word) for name, (result, options, word) in results(model).items()}


KINDS = ["pulls", "correlation", "prefit", "postfit", "yields", "scan", "contours", "ranking", "limit", "limit with a scan"]
KINDS += ["toys", "goodness", "toy pulls"]


def test_a_goodness_of_fit_without_toys_says_how_to_get_them(model):
    with pytest.raises(ValueError, match=r"no toys to draw: get it with toys, as in goodness_of_fit\(model, toys=1000\)"):
        nextstat.goodness_of_fit(model).plot()


def test_toys_of_several_processes_have_the_picture_of_one(model):
    test = nextstat.toys_prepare(model, 2.0, n_toys=40)
    parts = [(name, *test.run(name, *part)) for name in ("b", "sb") for part in ((20, 40), (0, 20))]
    merged = nextstat.toys_summarise(test.header, parts)
    assert merged.plot().svg == nextstat.hypotest_toys(model, 2.0, n_toys=40).plot().svg


@pytest.mark.parametrize("kind", KINDS)
class TestEveryPicture:
    def test_shows_itself_in_a_notebook(self, drawn, kind):
        picture, word = drawn[kind][2:]
        assert isinstance(picture, nextstat.Picture)
        assert picture._repr_svg_() == picture.svg and picture.svg.startswith("<svg")
        assert word in texts(picture)
        assert picture.width > 300 and picture.height > 200
        assert repr(picture).startswith("<nextstat.Picture")

    def test_is_written_in_three_formats(self, drawn, kind, tmp_path):
        result, options, picture, _ = drawn[kind]
        for extension, start in [("svg", b"<svg"), ("png", b"\x89PNG\r\n\x1a\n"), ("pdf", b"%PDF-")]:
            path = tmp_path / f"picture.{extension}"
            result.plot(path, **options)
            content = path.read_bytes()
            assert content.startswith(start) and len(content) > 2000
            picture.save(str(path))
            assert path.read_bytes() == content, "the same picture twice has the same bytes"

    def test_bytes(self, drawn, kind):
        picture = drawn[kind][2]
        for scale in [1.0, 2.0]:
            width, height = struct.unpack(">II", picture.png(scale)[16:24])
            assert (width, height) == (round(scale * picture.width), round(scale * picture.height))
        assert picture.pdf().startswith(b"%PDF-")

    def test_title(self, drawn, kind):
        result, options = drawn[kind][:2]
        words = texts(result.plot(title="A title of one's own", subtitle="and below it", **options))
        assert "A title of one's own" in words and "and below it" in words

    def test_a_wrong_path_is_refused(self, drawn, kind, tmp_path):
        result, options = drawn[kind][:2]
        with pytest.raises(ValueError, match=r"end the name in .svg, .png or .pdf"):
            result.plot(tmp_path / "picture.jpg", **options)
        with pytest.raises(OSError, match="nowhere"):
            result.plot(tmp_path / "nowhere" / "picture.svg", **options)
        assert not list(tmp_path.iterdir())


class TestOptions:
    def test_kinds_of_a_fit(self, model, fit):
        with pytest.raises(ValueError, match='unknown kind \'pull\'; use "pulls"'):
            fit.plot(kind="pull")
        with pytest.raises(ValueError, match="covariance=True"):
            nextstat.fit(model, covariance=False).plot(kind="correlation")
        with pytest.raises(ValueError, match="no correlation is as large"):
            fit.plot(kind="correlation", threshold=1.0)

    def test_pulls_show_free_parameters_and_the_values_of_those_without_a_constraint(self, model, fit):
        words = texts(fit.plot())
        held = nextstat.fit(model, fixed={"jet_scale": 0.0})
        assert "jet_scale" in words and "jet_scale" not in texts(held.plot())
        without = np.isnan(np.array(fit.pulls, dtype=float)).sum()
        assert without and sum(" ± " in line for line in words.split("\n")) == without

    def test_the_correlation_shows_numbers(self, model, fit):
        names = model.parameter_names
        rho = fit.covariance / np.outer(fit.uncertainties, fit.uncertainties)
        largest = np.nanmax(np.abs(rho - np.eye(len(names))))
        words = texts(fit.plot(kind="correlation", threshold=largest - 1e-9))
        assert f"{largest:.2f}" in words.replace("−", "-").replace("-", "")
        assert f"the 2 of {len(names)} parameters" in words

    def test_channels_of_yields(self, model, fit):
        first = next(iter(model.channels))
        result = nextstat.yields(model)
        for result, options in [(result, {}), (fit, {"kind": "yields"})]:
            words = texts(result.plot(channels=[first], log_y=True, **options)).split("\n")
            assert first in words and not set(list(model.channels)[1:]) & set(words)
            with pytest.raises(ValueError, match="no channel 'SR_nowhere'; there are"):
                result.plot(channels=["SR_nowhere"], **options)

    def test_ranking_rows(self, model):
        ranking = nextstat.ranking(model, prefit=True)
        names = set(texts(ranking.plot(max_rows=2)).split("\n"))
        assert set(ranking.names[:2]) <= names and not set(ranking.names[2:]) & names

    def test_scan_levels_and_unsorted_points(self, model):
        scan = nextstat.profile_scan(model, [2.0, 0.5, 1.0, 1.5, 1.0, 0.0])
        assert "90 %" in texts(scan.plot(levels=[2.7055434541])), scan
        assert scan.plot().svg == nextstat.profile_scan(model, [0.0, 0.5, 1.0, 1.5, 2.0]).plot().svg

    def test_limits_without_one_kind(self, model):
        for option, word in [("expected_only", "observed"), ("observed_only", "expected")]:
            words = texts(nextstat.upper_limit(model, **{option: True}).plot(points=9)).split("\n")
            assert word not in words
        with pytest.raises(ValueError, match="at least 2"):
            nextstat.upper_limit(model).plot(points=1)

    def test_the_font_licence_travels_with_the_package(self):
        inside = pathlib.Path(nextstat.__file__).with_name("FONT_LICENCE.txt").read_text()
        font = pathlib.Path(__file__).parents[2] / "crates" / "ns-viz" / "font" / "LICENSE"
        assert inside == font.read_text()


# ---------------------------------------------------------------- yields


def reference(spec, codes):
    pyhf.set_backend("numpy")
    workspace = pyhf.Workspace(spec)
    model = workspace.model(modifier_settings=CODES[codes])
    return model, np.asarray(workspace.data(model, include_auxdata=False))


def pyhf_samples(model, point):
    """Expected events by channel and sample."""
    by_sample = np.asarray(model.main_model.expected_data(pyhf.tensorlib.astensor(point), return_by_sample=True))
    if by_sample.shape[0] == 1 and by_sample.ndim == 3:
        by_sample = by_sample[0]
    return {
        (channel, sample): by_sample[i][model.config.channel_slices[channel]]
        for channel in model.config.channels
        for i, sample in enumerate(model.config.samples)
    }


def spread(model, point, sigma, rho):
    """The uncertainty of each bin and of each channel's sum, by the textbook double sum."""
    bounds = np.asarray(model.config.suggested_bounds(), float)
    shifts = []
    for i, width in enumerate(sigma):
        if not width:
            shifts.append(np.zeros(sum(model.config.channel_nbins.values())))
            continue
        ends = np.clip([point[i] + width, point[i] - width], *bounds[i])
        pair = []
        for end in ends:
            moved = np.array(point, float)
            moved[i] = end
            pair.append(np.asarray(model.expected_data(moved, include_auxdata=False)))
        # Half the difference of both sides, as in cabinetry. If a bound shortens a side, it is scaled up.
        shifts.append((pair[0] - pair[1]) * width / (ends[0] - ends[1]))
    shifts = np.asarray(shifts)
    bins = np.sqrt(np.einsum("ib,ij,jb->b", shifts, rho, shifts))
    sums = {}
    for channel in model.config.channels:
        total = shifts[:, model.config.channel_slices[channel]].sum(axis=1)
        sums[channel] = np.sqrt(total @ rho @ total)
    return bins, sums


def prefit_sigma(model):
    """Widths of the constraints; 0 for free and for fixed parameters."""
    sigma = []
    for name in model.config.par_order:
        paramset = model.config.param_set(name)
        fixed = paramset.suggested_fixed
        width = paramset.width() if paramset.constrained else [0.0] * paramset.n_parameters
        sigma += [0.0 if held else float(w) for w, held in zip(width, fixed)]
    return np.asarray(sigma)


def compare(ours, model, data, bins, sums):
    samples = pyhf_samples(model, ours.parameters)
    named = {channel["name"]: channel for channel in ours.channels}
    assert list(named) == model.config.channels
    assert ours.parameter_names == model.config.par_names
    for name, channel in named.items():
        here = model.config.channel_slices[name]
        total = np.zeros(len(channel["total"]))
        for sample in channel["samples"]:
            np.testing.assert_allclose(sample["counts"], samples.pop((name, sample["name"])), rtol=1e-12, atol=1e-12)
            total += sample["counts"]
        np.testing.assert_allclose(channel["total"], total, rtol=1e-13)
        np.testing.assert_allclose(channel["data"], data[here], rtol=1e-15)
        np.testing.assert_allclose(channel["uncertainty"], bins[here], rtol=1e-7, atol=1e-9)
        assert channel["sum"] == pytest.approx(sum(channel["total"]))
        assert channel["data_sum"] == pytest.approx(sum(channel["data"]))
        assert channel["sum_uncertainty"] == pytest.approx(sums[name], rel=1e-7, abs=1e-9)
    assert all((left == 0).all() for left in samples.values()), "samples that we left out"


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", SMALL)
class TestYieldsAgainstPyhf:
    def test_before_the_fit(self, fixtures, name, codes):
        spec = json.loads((fixtures / name).read_text())
        model, data = reference(spec, codes)
        ours = nextstat.yields(nextstat.load_workspace(spec, interp_defaults=codes), prefit=True)
        assert ours.stage == "prefit"
        np.testing.assert_array_equal(ours.parameters, model.config.suggested_init())
        sigma = prefit_sigma(model)
        compare(ours, model, data, *spread(model, ours.parameters, sigma, np.eye(len(sigma))))

    def test_after_the_fit(self, fixtures, name, codes):
        spec = json.loads((fixtures / name).read_text())
        model, data = reference(spec, codes)
        ours = nextstat.load_workspace(spec, interp_defaults=codes)
        fit, result = nextstat.fit(ours), nextstat.yields(ours)
        assert result.stage == "postfit" and result.converged
        np.testing.assert_array_equal(result.parameters, fit.bestfit)
        sigma = np.nan_to_num(fit.uncertainties)
        widths = np.where(sigma > 0, sigma, 1.0)
        compare(result, model, data, *spread(model, fit.bestfit, sigma, fit.covariance / np.outer(widths, widths)))


class TestYields:
    def test_signal_is_what_the_parameter_of_interest_scales(self, fixtures):
        spec = json.loads((fixtures / "simple_workspace.json").read_text())
        model = nextstat.load_workspace(spec)
        scaled = {
            (channel["name"], sample["name"])
            for channel in spec["channels"]
            for sample in channel["samples"]
            for modifier in sample["modifiers"]
            if modifier["type"] == "normfactor" and modifier["name"] == model.poi_name
        }
        found = {
            (channel["name"], sample["name"])
            for channel in nextstat.yields(model, prefit=True).channels
            for sample in channel["samples"]
            if sample["signal"]
        }
        assert found == scaled and found

    def test_data_and_fixed_parameters_are_those_of_the_fit(self, model):
        counts = model.observed_data(include_auxdata=False) + 3.0
        result = nextstat.yields(model, data=counts, prefit=True)
        np.testing.assert_array_equal(np.concatenate([c["data"] for c in result.channels]), counts)
        asimov = nextstat.yields(model, asimov=2.0, fixed={model.poi_name: 2.0})
        assert asimov.parameters[model.poi_index] == 2.0
        for channel in asimov.channels:
            np.testing.assert_allclose(channel["data"], channel["total"], rtol=1e-6)
        held = nextstat.yields(model, prefit=True, fixed={"jet_scale": 1.0})
        free = nextstat.yields(model, prefit=True)
        assert held.parameters[model.parameter_names.index("jet_scale")] == 1.0
        assert held.channels[0]["sum_uncertainty"] < free.channels[0]["sum_uncertainty"]

    def test_a_post_fit_picture_shows_the_data_of_the_fit(self, model):
        counts = np.full(sum(model.channels.values()), 100.0)
        fit = nextstat.fit(model, data=counts)
        assert fit.plot(kind="yields").svg == nextstat.yields(model, data=counts).plot().svg
        assert fit.plot(kind="yields", prefit=True).svg == nextstat.yields(model, data=counts, prefit=True).plot().svg

    def test_without_uncertainties_none_is_invented(self, model, fit):
        bare = nextstat.fit(model, covariance=False, uncertainties=False)
        assert "uncertainty" not in texts(bare.plot(kind="yields")).split("\n")
        assert "uncertainty" in texts(fit.plot(kind="yields")).split("\n")

    def test_table_and_dictionary(self, model):
        result = nextstat.yields(model)
        assert all(channel in repr(result) for channel in model.channels)
        assert "<table" in result._repr_html_()
        assert set(result.to_dict()) >= {"stage", "channels", "parameters", "warnings", "model_digest", "wall_s"}
