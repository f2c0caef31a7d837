"""HistFactory's XML: expected data and auxiliary data as after pyhf's own import, where pyhf leaves nothing out.

The files are those of `NEXTSTAT_REFERENCE_DIR`; without it, and without uproot, these tests are left out."""

import logging
import os
import pathlib
import shutil
from xml.etree import ElementTree

import numpy as np
import pyhf
import pytest

import nextstat

FOLDER = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "")) / "formats" / "xml"
HAS_FILES = bool(os.environ.get("NEXTSTAT_REFERENCE_DIR")) and FOLDER.is_dir()

# The combination files, by the folder in which their paths begin.
SAME = [
    "multibin_histfactory/config/example.xml",
    "multibin_histfactory_p0/config/example.xml",
    "multichan_coupledhistosys_histfactory/config/example.xml",
    "multichan_coupledoverall_histfactory/config/example.xml",
    "multichannel_histfactory/config/example.xml",
    "overallsys_histfactory/config/example.xml",
    "shared_nuispar_across_types/config/example.xml",
    "shared_nuispar_across_types/config/example_notshared.xml",
    "xmlimport_input/config/examples/example_DataDriven.xml",
    "xmlimport_input2/config/example.xml",
]
# Here pyhf leaves out Poisson constraints of the simulation, constraint terms, or takes a Gaussian ShapeSys for a Poisson
# one: expected data agree, and constraints do not.
CONSTRAINTS_DIFFER = [
    "xmlimport_input/config/example.xml",
    "xmlimport_input/config/examples/example_ShapeSys.xml",
    "xmlimport_input3/config/examples/example_ShapeSys.xml",
    "xmlimport_input4/config/example.xml",
]

pytestmark = pytest.mark.skipif(
    not HAS_FILES, reason="NOT COMPARED: NEXTSTAT_REFERENCE_DIR is not set or has no XML of HistFactory"
)


def imported(name):
    pytest.importorskip("uproot", reason="NOT COMPARED with pyhf's import: uproot is not installed")
    from pyhf import readxml

    logging.getLogger("pyhf.readxml").setLevel(logging.ERROR)
    readxml.clear_filecache()
    return pyhf.Workspace(readxml.parse(FOLDER / name, FOLDER / name.split("/")[0]))


def points(model, count=6):
    generator = np.random.default_rng(20260101)
    start = np.array(model.config.suggested_init())
    low, high = np.array(model.config.suggested_bounds()).T
    room = 0.3 * np.minimum(high - start, start - low)
    yield start
    for _ in range(count):
        yield start + generator.uniform(-1.0, 1.0, len(start)) * room


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SAME + CONSTRAINTS_DIFFER)
def test_expected_data_are_those_of_pyhf(name):
    workspace = imported(name)
    for measurement in workspace.measurement_names:
        theirs = workspace.model(measurement_name=measurement)
        ours = nextstat.load_workspace(FOLDER / name, measurement=measurement)
        names, known = ours.parameter_names, theirs.config.par_names
        assert set(names) == set(known)
        for point in points(theirs):
            value = dict(zip(known, point))
            expected = ours.expected_data([value[n] for n in names], include_auxdata=False)
            assert expected == pytest.approx(theirs.expected_actualdata(point), rel=1e-12, abs=1e-300)
        if name in SAME:
            data = workspace.data(theirs)
            auxiliary = data[theirs.config.nmaindata :]
            assert sorted(ours.expected_data(ours.init)[theirs.config.nmaindata :]) == pytest.approx(
                sorted(auxiliary), rel=1e-12
            )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_roofit_agrees_on_other_constraints(tmp_path):
    """Differences of -ln L of RooFit (ROOT 6.38) for `xmlimport_input`, with the histograms of its file.

    The points are the minimum, and others from which it differs in syst2 and in the factors of the bins. RooFit rounds
    relative uncertainties to 32 bits, so that Poisson terms agree to 1e-7.
    """
    model = nextstat.load_workspace(FOLDER / "xmlimport_input/config/example.xml")
    start = {
        "SigXsecOverSM": 1.1151764235079322,
        "syst2": -0.008789813575853862,
        "syst3": 0.017966578853496482,
        "staterror_channel1[0]": 0.9995611013475822,
        "staterror_channel1[1]": 1.0035892072013208,
        "syst1": 0.0,
        "lumi": 1.0,
    }
    names = model.parameter_names
    nll = lambda **change: model.nll([{**start, **change}[n] for n in names])
    first = nll()
    assert nll(SigXsecOverSM=0.5) - first == pytest.approx(0.8400788906035359, abs=1e-10)
    assert nll(SigXsecOverSM=2.0, syst2=0.7) - first == pytest.approx(2.2353187477535528, abs=1e-10)
    factors = {"staterror_channel1[0]": 1.1, "staterror_channel1[1]": 0.8}
    assert nll(SigXsecOverSM=2.0, syst2=0.7, **factors) - first == pytest.approx(8.664315667912135, abs=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_are_factors():
    """The product of the two functions sqrt(s) is s."""
    model = nextstat.load_workspace(FOLDER / "xmlimport_input/config/examples/example_Expression.xml")
    plain = nextstat.load_workspace(FOLDER / "xmlimport_input/config/example.xml")
    assert model.poi_name == "SigXsecOverSM" and not {"rootPOI", "rootPOI2"} & set(model.parameter_names)
    start, bounds = (dict(zip(model.parameter_names, values)) for values in (model.init, model.bounds.tolist()))
    assert start["SigXsecOverSM"] == 1.5 and bounds["SigXsecOverSM"] == [0.0, 3.0]
    for s in (0.3, 1.0, 2.5):
        point, other = ({n: v for n, v in zip(m.parameter_names, m.init)} | {"SigXsecOverSM": s} for m in (model, plain))
        ours = model.expected_data(list(point.values()), include_auxdata=False)
        assert ours == pytest.approx(plain.expected_data(list(other.values()), include_auxdata=False), rel=1e-12)


def measurement(ROOT, path):
    """The first measurement of a combination file, made with HistFactory's classes: the package `root` has no reader of XML."""
    F = ROOT.RooStats.HistFactory
    first = ElementTree.parse(path).getroot()
    element = first.find("Measurement")
    out = F.Measurement(element.get("Name"), "")
    out.SetPOI(element.findtext("POI").split()[0])
    out.SetLumi(float(element.get("Lumi")))
    out.SetLumiRelErr(float(element.get("LumiRelErr")))
    for setting in element.findall("ParamSetting"):
        for name in setting.text.split():
            if setting.get("Val"):
                out.SetParamValue(name, float(setting.get("Val")))
            if setting.get("Const") == "True":
                out.AddConstantParam(name)
    truth = {"True": True, "False": False}
    kinds = {"Poisson": F.Constraint.Poisson, "Gaussian": F.Constraint.Gaussian, "Pois": F.Constraint.Poisson,
             "Gauss": F.Constraint.Gaussian}
    for text in first.findall("Input"):
        file = ElementTree.parse(text.text.strip()).getroot()
        around = {key: file.get(key, "") for key in ("InputFile", "HistoPath", "HistoName")}
        place = lambda part, outer, *ends: [part.get(key + end) or outer[key] for end in ends or ("",)
                                             for key in ("HistoName", "InputFile", "HistoPath")]
        channel = F.Channel(file.get("Name"), around["InputFile"])
        config = file.find("StatErrorConfig")
        if config is not None:
            channel.SetStatErrorConfig(float(config.get("RelErrorThreshold")), kinds[config.get("ConstraintType")])
        if file.find("Data") is not None:
            channel.SetData(*place(file.find("Data"), around))
        for part in file.findall("Sample"):
            name, input_file, folder = place(part, around)
            sample = F.Sample(part.get("Name"), name, input_file, folder)
            sample.SetNormalizeByTheory(truth[part.get("NormalizeByTheory", "True")])
            inner = {"InputFile": input_file, "HistoPath": folder, "HistoName": name}
            for effect in part:
                own = effect.get("Name")
                if effect.tag == "OverallSys":
                    sample.AddOverallSys(own, float(effect.get("Low")), float(effect.get("High")))
                elif effect.tag == "NormFactor":
                    sample.AddNormFactor(own, *(float(effect.get(key)) for key in ("Val", "Low", "High")))
                elif effect.tag == "HistoSys":
                    # The histograms downwards come first.
                    sample.AddHistoSys(own, *place(effect, inner, "Low", "High"))
                elif effect.tag == "ShapeSys":
                    kind = kinds[effect.get("ConstraintType", "Gaussian")]
                    sample.AddShapeSys(own, kind, *place(effect, inner))
                elif effect.tag == "ShapeFactor":
                    sample.AddShapeFactor(own)
                elif effect.tag == "StatError" and effect.get("HistoName"):
                    sample.ActivateStatError(*place(effect, inner))
                elif effect.tag == "StatError":
                    sample.ActivateStatError()
                else:
                    raise AssertionError(effect.tag)
            channel.AddSample(sample)
        out.AddChannel(channel)
    out.CollectHistograms()
    return out


def roofit(path, folder):
    """The negative log-likelihood of RooFit for the first measurement of a combination file, and its parameters by their names."""
    ROOT = pytest.importorskip("ROOT", reason="NOT COMPARED with RooFit itself: the package `root` is not installed")
    ROOT.RooMsgService.instance().setGlobalKillBelow(ROOT.RooFit.ERROR)
    before = os.getcwd()
    # HistFactory takes the paths of the XML from the folder in which it runs.
    os.chdir(folder)
    try:
        workspace = ROOT.RooStats.HistFactory.MakeModelAndMeasurementFast(measurement(ROOT, path))
    finally:
        os.chdir(before)
    config = workspace.obj("ModelConfig")
    data = workspace.data("obsData") or workspace.data("asimovData")
    nll = config.GetPdf().createNLL(data, ROOT.RooFit.GlobalObservables(config.GetGlobalObservables()))
    parameters = {p.GetName(): p for p in nll.getParameters(data) if not p.isConstant()}
    return workspace, nll, parameters


def our_name(name, names):
    """The name of a parameter of RooFit in the model."""
    if name == "Lumi":
        return "lumi"
    if name.startswith("alpha_"):
        return name.removeprefix("alpha_")
    if name.startswith("gamma_"):
        kind, _, bin = name.removeprefix("gamma_").rpartition("_bin_")
        if kind.startswith("stat_"):
            return f"staterror_{kind.removeprefix('stat_')}[{bin}]"
        # gamma_SYSTEMATIC_CHANNEL_bin_0
        return next((n for n in names if n.endswith(f"[{bin}]") and kind.startswith(n.split("[")[0])), name)
    return name


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SAME + CONSTRAINTS_DIFFER)
def test_roofit_itself_agrees(name, tmp_path):
    """Differences of -ln L at random points are those of RooFit.

    RooFit rounds relative uncertainties to 32 bits, and normalises Poisson terms over the range of their data. A factor of a bin in
    which its sample has nothing stays: RooFit gives it the width of the histogram, and it acts on nothing.
    """
    folder = tmp_path / "copy"
    shutil.copytree(FOLDER / name.split("/")[0], folder)
    path = folder / name.split("/", 1)[1]
    workspace, nll, parameters = roofit(path, folder)
    model = nextstat.load_workspace(path)
    names = model.parameter_names
    ours = {theirs: our_name(theirs, names) for theirs in parameters}
    assert set(ours.values()) <= set(names), (ours, names)
    start = dict(zip(names, model.init))
    start |= {ours[theirs]: p.getVal() for theirs, p in parameters.items()}
    first = (model.nll([start[n] for n in names]), nll.getVal())
    data = lambda values: np.asarray(model.expected_data([values[n] for n in names], include_auxdata=False))
    acts = lambda name: np.any(data(start) != data({**start, name: start[name] + 0.1}))
    parameters = {theirs: p for theirs, p in parameters.items() if acts(ours[theirs])}
    least = 1e-3 if any(theirs.startswith("gamma_stat") for theirs in parameters) else 1e-5
    generator = np.random.default_rng(7)
    for _ in range(8):
        point = dict(start)
        for theirs, p in parameters.items():
            middle = start[ours[theirs]]
            low, high = max(p.getMin(), middle - 1.5), min(p.getMax(), middle + 1.5)
            if theirs.startswith("gamma_"):
                low, high = max(low, 0.8), min(high, 1.2)
            elif theirs == "Lumi":
                low, high = 0.9 * middle, 1.1 * middle
            value = generator.uniform(low, high)
            p.setVal(value)
            point[ours[theirs]] = value
        change = (model.nll([point[n] for n in names]) - first[0], nll.getVal() - first[1])
        assert change[0] == pytest.approx(change[1], rel=1e-5, abs=least)
    del workspace
