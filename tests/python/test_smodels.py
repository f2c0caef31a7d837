"""SModelS's calls on workspaces: the numbers are those of pyhf for the same patched workspace, and of SModelS itself."""

import copy
import json
import types
import warnings

import jsonpatch
import nextstat
import numpy as np
import pyhf
import pytest
from nextstat.smodels import PyhfData, PyhfUpperLimitComputer, StatsComputer

YIELDS = {"low": 5.2, "high": 3.9, "control": 0.6}
REGIONS = [
    {"smodels": "low", "type": "SR", "pyhf": "SR_high[0]"},
    {"smodels": "high", "type": "SR", "pyhf": "SR_high[1]"},
    {"smodels": "control", "type": "CR", "pyhf": "CR_top"},
]
EVALUATIONS = ["observed", "apriori", "aposteriori"]


@pytest.fixture(scope="module")
def background(fixtures):
    return json.loads((fixtures / "background_only.json").read_text())


@pytest.fixture(scope="module")
def computer(background):
    return PyhfUpperLimitComputer(PyhfData(YIELDS, background, REGIONS, includeCRs=True), lumi=139.0)


def pyhf_model(background, scale=1.0, uncertainty=None, controls=True):
    """The patched workspace in pyhf, made without the module that is tested."""
    document = copy.deepcopy(background)
    modifiers = [{"name": "mu_sig", "type": "normfactor", "data": None}, {"name": "lumi", "type": "lumi", "data": None}]
    patch = []
    for channel, counts in enumerate([[5.2, 3.9], [0.6]]):
        counts = [scale * count for count in counts]
        shape = []
        if uncertainty is not None:
            low, high = ([(1 + sign * uncertainty) * count for count in counts] for sign in (-1, 1))
            shape = [{"name": "s", "type": "histosys", "data": {"lo_data": low, "hi_data": high}}]
        sample = {"name": "signal", "data": counts, "modifiers": modifiers + shape}
        patch.append({"op": "add", "path": f"/channels/{channel}/samples/0", "value": sample})
    if not controls:
        patch[1:] = [{"op": "remove", "path": "/channels/1"}, {"op": "remove", "path": "/observations/1"}]
    document = jsonpatch.apply_patch(document, patch)
    workspace = pyhf.Workspace(document)
    model = workspace.model(modifier_settings={"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}})
    data = np.array(workspace.data(model))
    before = np.array(model.config.suggested_init())
    before[model.config.poi_index] = 0.0
    return model, {"observed": data, "aposteriori": data, "apriori": np.array(model.expected_data(before))}


def pyhf_levels(model, counts, mu):
    """Observed CLs of pyhf at `mu`, and the expected band."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observed, band = pyhf.infer.hypotest(mu, counts, model, return_expected_set=True)
    return float(observed), [float(level) for level in band]


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("options", [{}, {"uncertainty": 0.2}, {"controls": False}, {"scale": 3.0}])
def test_limits_are_those_of_pyhf(background, evaluation, options):
    """At our limits, CLs of pyhf is 0.05 within what 1e-4 of the limit makes of it."""
    scale, controls = options.get("scale", 1.0), options.get("controls", True)
    regions = REGIONS if controls else [*REGIONS[:2], {**REGIONS[2], "smodels": None}]
    names = YIELDS if controls else ["low", "high"]
    data = PyhfData(
        {name: scale * YIELDS[name] for name in names}, background, regions, controls, signalUncertainty=options.get("uncertainty")
    )
    ours = PyhfUpperLimitComputer(data)
    model, counts = pyhf_model(background, **options)
    found, band = pyhf_levels(model, counts[evaluation], ours.getUpperLimitOnMu(evaluation))
    assert (band[2] if evaluation == "aposteriori" else found) == pytest.approx(0.05, abs=2e-5)
    if evaluation != "observed" and not options:
        for at in (-2, -1, 1, 2):
            limit = ours.getUpperLimitOnMu(evaluation, nSigma=at)
            assert pyhf_levels(model, counts[evaluation], limit)[1][at + 2] == pytest.approx(0.05, abs=2e-5)


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_confidence_levels_and_likelihoods_are_those_of_pyhf(background, computer, evaluation):
    model, counts = pyhf_model(background)
    observed, band = pyhf.infer.hypotest(0.8, counts[evaluation], model, return_expected_set=True)
    cls = float(band[2] if evaluation == "aposteriori" else observed)
    assert computer.CLs(0.8, evaluation) == pytest.approx(cls, rel=1e-4)
    for form, value in {"1-CLs": 1 - cls, "CLs-alpha": cls - 0.05, "alpha-CLs": 0.05 - cls}.items():
        assert computer.CLs(0.8, evaluation, form) == pytest.approx(value, abs=1e-4)
    if evaluation != "observed":
        found = [computer.CLs(0.8, evaluation, nSigma=at) for at in (-2, -1, 1, 2)]
        np.testing.assert_allclose(found, [float(band[at]) for at in (0, 1, 3, 4)], rtol=2e-4)
    held = float(pyhf.infer.mle.fixed_poi_fit(0.5, counts[evaluation], model, return_fitted_val=True)[1]) / 2
    assert computer.nll(0.5, evaluation) == pytest.approx(held, abs=1e-5)
    assert computer.likelihood(0.5, evaluation) == pytest.approx(np.exp(-held), rel=1e-5)
    assert computer.likelihood(0.5, evaluation, return_nll=True) == computer.nll(0.5, evaluation)
    asimov = pyhf.infer.calculators.generate_asimov_data(0.0, counts[evaluation], model, None, None, None)
    there = float(pyhf.infer.mle.fixed_poi_fit(0.5, asimov, model, return_fitted_val=True)[1]) / 2
    assert computer.nll(0.5, evaluation, asimov=0.0) == pytest.approx(there, abs=1e-4)
    best, value = pyhf.infer.mle.fit(counts[evaluation], model, return_fitted_val=True)
    least = computer.nll_min(evaluation)
    assert least["nll_min"] == pytest.approx(float(value) / 2, abs=1e-5)
    assert least["muhat"] == pytest.approx(float(best[model.config.poi_index]), abs=1e-3)
    assert computer.lmax(evaluation)["lmax"] == pytest.approx(np.exp(-least["nll_min"]))
    assert computer.lmax(evaluation, return_nll=True)["lmax"] == least["nll_min"]


def test_negative_signals(background):
    data = PyhfData({"low": 5.2, "high": 3.9}, background, REGIONS[:2] + [{**REGIONS[2], "smodels": None}])
    computer = PyhfUpperLimitComputer(data)
    model, counts = pyhf_model(background, controls=False)
    bounds = model.config.suggested_bounds()
    bounds[model.config.poi_index] = (-0.5, 10.0)
    best, value = pyhf.infer.mle.fit(counts["observed"], model, par_bounds=bounds, return_fitted_val=True)
    least = computer.nll_min(allowNegativeSignals=True)
    assert least["muhat"] == pytest.approx(float(best[model.config.poi_index]), abs=1e-3)
    assert least["nll_min"] == pytest.approx(float(value) / 2, abs=1e-5)
    bounded = computer.nll_min()
    assert bounded["muhat"] == 0.0 and bounded["nll_min"] > least["nll_min"]
    # At the bound a fit has no uncertainty of both sides. That of the second derivatives is near the one at the minimum.
    assert bounded["sigma_mu"] == pytest.approx(least["sigma_mu"], rel=0.1)


def test_cross_sections_are_yields_over_luminosity(computer):
    assert computer.getTotalXSec() == pytest.approx(9.7 / 139.0)
    limit = computer.getUpperLimitOnMu("apriori")
    assert computer.getUpperLimitOnSigmaTimesEff("apriori") == pytest.approx(limit * 9.7 / 139.0)
    other = PyhfUpperLimitComputer(PyhfData([1.0, 1.0], computer.data.inputJson, globalInfo=types.SimpleNamespace(lumi=2.0)))
    assert other.getTotalXSec() == 1.0
    with pytest.raises(ValueError, match=r"give PyhfUpperLimitComputer\(data, lumi=\.\.\.\)"):
        PyhfUpperLimitComputer(PyhfData([1.0, 1.0], computer.data.inputJson)).getTotalXSec()


def test_weak_and_strong_signals_have_limits_in_proportion(background, computer):
    for scale in (1e-6, 1e6):
        other = PyhfUpperLimitComputer(PyhfData({n: scale * v for n, v in YIELDS.items()}, background, REGIONS, True))
        assert scale * other.getUpperLimitOnMu() == pytest.approx(computer.getUpperLimitOnMu(), rel=1e-6)


def test_yields_are_in_the_order_of_the_regions(fixtures, background):
    path = fixtures / "background_only.json"
    named = PyhfData({"SR_high[1]": 3.9, "SR_high[0]": 5.2}, background, includeCRs=True)
    for other in (
        PyhfData([5.2, 3.9], path, includeCRs=True),
        PyhfData([5.2, 3.9], background, [{"smodels": "SR_high[0]"}, {"smodels": "SR_high[1]"}], includeCRs=True),
        PyhfData([3.9, 5.2], background, [REGIONS[1] | {"smodels": "SR_high[1]"}, REGIONS[0] | {"smodels": "SR_high[0]"}], True),
    ):
        assert other.nsignals == named.nsignals
        assert PyhfUpperLimitComputer(other).workspace == PyhfUpperLimitComputer(named).workspace
    signal = PyhfUpperLimitComputer(named).workspace["channels"][0]["samples"][0]
    assert signal["data"] == [5.2, 3.9]
    # The control region is kept, without a signal.
    assert [s["name"] for s in PyhfUpperLimitComputer(named).workspace["channels"][1]["samples"]] == ["top", "other"]
    # The given workspace stays as it is.
    assert background == json.loads(path.read_text())
    assert PyhfData([5.2, 3.9], path).jsonFileName == "background_only.json"


def test_the_most_sensitive_workspace_answers(background, computer):
    weaker = PyhfUpperLimitComputer(PyhfData([2.0, 1.0], background), lumi=139.0)
    none = PyhfUpperLimitComputer(PyhfData([0.0, 0.0], background), lumi=139.0)
    both = StatsComputer([weaker, none, computer], allowNegativeSignals=True)
    assert both.getMostSensitiveModel() is computer
    assert both.getUpperLimit("observed") == computer.getUpperLimitOnMu()
    assert both.getTotalXSec() == pytest.approx((9.7 + 3.0) / 139.0)
    assert both.getUpperLimit("observed", limit_on_xsec=True) == pytest.approx(computer.getUpperLimitOnMu() * 12.7 / 139.0)
    assert both.CLs(0.8) == computer.CLs(0.8)
    five = both.get_five_values("observed", return_nll=True)
    assert five["nllsm"] == computer.nll(0.0) and five["nllbsm"] == computer.nll(1.0)
    assert five["nll_min"] <= min(five["nllsm"], five["nllbsm"])
    assert both.get_five_values("observed", return_nll=False)["lbsm"] == pytest.approx(np.exp(-five["nllbsm"]))


def test_without_a_signal_there_is_no_limit(background):
    computer = PyhfUpperLimitComputer(PyhfData([0.0, 0.0], background, includeCRs=True))
    assert computer.zeroSignalsFlag and computer.getUpperLimitOnMu() is None and computer.getUpperLimitOnSigmaTimesEff() is None
    stats = StatsComputer([computer])
    assert stats.getMostSensitiveModel() is None and stats.getUpperLimit() is None
    assert stats.CLs() is None and stats.nll() is None and stats.nll_min() is None and stats.get_five_values() == {}


def test_names_of_evaluations(computer):
    limits = {name: computer.getUpperLimitOnMu(name) for name in EVALUATIONS}
    assert computer.getUpperLimitOnMu(expected=False) == limits["observed"]
    assert computer.getUpperLimitOnMu(expected=True) == limits["apriori"]
    assert computer.getUpperLimitOnMu(expected="posteriori") == limits["aposteriori"]
    assert computer.getUpperLimitOnMu(types.SimpleNamespace(name="apriori")) == limits["apriori"]
    with pytest.raises(ValueError, match="'before'; give 'observed', 'apriori' or 'aposteriori'"):
        computer.getUpperLimitOnMu("before")
    with pytest.raises(ValueError, match="an observed value has no band"):
        computer.getUpperLimitOnMu("observed", nSigma=1)
    with pytest.raises(ValueError, match="nSigma is 3; give -2, -1, 0, 1 or 2"):
        computer.CLs(1.0, "apriori", nSigma=3)
    with pytest.raises(ValueError, match="return_type is 'cls'; give one of CLs, 1-CLs, CLs-alpha, alpha-CLs"):
        computer.CLs(1.0, return_type="cls")
    with pytest.raises(ValueError, match="subComputers is empty"):
        StatsComputer([])


def edited(region, **changes):
    return [*REGIONS[:region], {**REGIONS[region], **changes}, *REGIONS[region + 1 :]]


@pytest.mark.parametrize(
    ("yields", "regions", "controls", "message"),
    [
        (YIELDS, REGIONS, False, "'control', which is a control or validation region .* includeCRs=True"),
        ({"low": 1.0, "high": 1.0}, REGIONS, True, "no signal is given for control; give 0"),
        ({**YIELDS, "other": 1.0}, REGIONS, True, "'other', which is no region; regions are low, high, control"),
        ({**YIELDS, "low": float("nan")}, REGIONS, True, "the signal in 'low' is nan; give a finite number"),
        ([1.0], REGIONS, True, "1 signal yields for 3 regions: low, high, control"),
        (YIELDS, edited(0, pyhf="SR_low"), True, r"'SR_low' of the workspace, .* bins are SR_high\[0\], SR_high\[1\], CR_top"),
        (YIELDS, edited(0, pyhf="SR_high[1]"), True, r"'SR_high\[1\]' is named by two regions"),
        (YIELDS, edited(1, smodels="low"), True, "'low' is the name of two regions"),
        (YIELDS, edited(0, smodels=None), True, r"signal region 'SR_high\[0\]' has no name"),
        ([1.0, 1.0], REGIONS[1:], True, r"channel 'SR_high' has 2 bins, and no region is SR_high\[0\]"),
        (YIELDS, [*REGIONS[:2], {"smodels": "control", "type": "CR"}], True, "has no key 'pyhf'"),
        ([1.0], [{"smodels": "low"}], True, r"1 regions without the key 'pyhf' are for 3 bins .* SR_high\[0\], SR_high\[1\], CR_top"),
        ([], [{**REGIONS[2], "smodels": None}], True, "no region has a signal"),
    ],
)
def test_regions_that_do_not_fit(background, yields, regions, controls, message):
    with pytest.raises(nextstat.WorkspaceError, match=message):
        PyhfData(yields, background, regions, controls)


def test_workspaces_that_do_not_fit(background, fixtures):
    signal = nextstat.patch(background, str(fixtures / "signal_patch.json"))
    with pytest.raises(nextstat.WorkspaceError, match="sample 'gluino_1400_200' of channel 'SR_high' is scaled by 'mu_sig' already"):
        PyhfData([1.0, 1.0], signal)
    with pytest.raises(nextstat.WorkspaceError, match="has no observations"):
        PyhfData([1.0], {key: value for key, value in background.items() if key != "observations"})


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_numbers_are_those_of_smodels(background, evaluation):
    theirs = pytest.importorskip("smodels.statistics.pyhfInterface", reason="SModelS is not installed: its own numbers are NOT compared")
    basics = pytest.importorskip("smodels.statistics.basicStats")
    tools = pytest.importorskip("smodels.statistics.statsTools")
    # SModelS calls the signal strength mu_SIG.
    document = copy.deepcopy(background)
    document["measurements"][0]["config"]["poi"] = "mu_SIG"
    of = getattr(basics.NllEvalType, evaluation)
    info = types.SimpleNamespace(lumi=139.0, id="search")

    def made(module):
        data = module.PyhfData(dict(YIELDS), copy.deepcopy(document), copy.deepcopy(REGIONS), True, 0.1, info, "a.json")
        return module.PyhfUpperLimitComputer(data, lumi=139.0)

    reference, ours = made(theirs), made(nextstat.smodels)
    assert ours.getUpperLimitOnMu(of) == pytest.approx(reference.getUpperLimitOnMu(of), rel=1e-4)
    assert ours.CLs(0.8, of) == pytest.approx(reference.CLs(0.8, of), rel=1e-4)
    assert ours.nll(0.5, of) == pytest.approx(reference.nll(0.5, of), abs=1e-5)
    assert ours.nll_min(of)["nll_min"] == pytest.approx(reference.nll_min(of)["nll_min"], abs=1e-5)
    # Its own StatsComputer takes ours.
    stats = tools.StatsComputer([ours])
    assert stats.getUpperLimit(of) == ours.getUpperLimitOnMu(of)
    assert stats.get_five_values(of, return_nll=True)["nllbsm"] == ours.nll(1.0, of)
