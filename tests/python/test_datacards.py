"""Models of datacards against Combine's likelihood in NumPy (``card_likelihood.py``) and Combine's own results.

The cards are random ones, and those of the folder NEXTSTAT_REFERENCE_DIR.
"""

import os
import pathlib
import pickle
import random
import warnings

import nextstat
import numpy as np
import pytest
from card_likelihood import CardLikelihood

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARDS = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "not-set")) / "formats" / "cards"

needs_cards = pytest.mark.skipif(
    not CARDS.is_dir(), reason="NEXTSTAT_REFERENCE_DIR has no folder formats/cards: cards are NOT COMPARED with Combine"
)


def model_of(card, **options):
    """The model of a card, whose warnings other tests look at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return nextstat.load_datacard(card, **options)


def point_of(model, values):
    """The values of all parameters in the model's order; those that are not given have their start values."""
    point = np.array(model.init)
    for name, value in values.items():
        if name in model.parameter_names:
            point[model.parameter_names.index(name)] = value
    return point


def template(rng, scale):
    return [scale * rng.uniform(0.2, 1.0) for _ in range(6)]


def word(rng, kind):
    """The size of an effect in one column."""
    if rng.random() < 0.4:
        return "-"
    if kind in ("lnN", "lnU"):
        pairs = [f"{rng.uniform(0.85, 0.98):.3f}/{rng.uniform(1.02, 1.3):.3f}", f"{rng.uniform(0.9, 1.2):.3f}/1.1"]
        return rng.choice([f"{rng.uniform(0.8, 1.3):.3f}", *pairs])
    return "1"


def random_card(folder, seed, log=False, mc_stats=None):
    """Writes a card with a counting channel, a channel with templates, and effects of all types.

    With ``log``, shapes are interpolated by their logarithms. ``mc_stats`` ends the line ``sr autoMCStats``.
    """
    rng = random.Random(seed)
    rows = ["channel,process,systematic,bin,sum_w,sum_ww"]

    def histogram(process, systematic, values):
        weight = (lambda: rng.choice([0.0, 0.02, 0.3, 1.5])) if mc_stats else (lambda: 0.02)
        rows.extend(f"sr,{process},{systematic},{b},{v!r},{weight() * v!r}" for b, v in enumerate(values))

    histogram("data_obs", "nominal", [float(rng.randint(0, 12)) for _ in range(6)])
    nominal = {process: template(rng, scale) for process, scale in (("sig", 2.0), ("bkg", 8.0), ("fake", 3.0))}
    for process, values in nominal.items():
        histogram(process, "nominal", values)
        for name in ("s0", "s1", "s2"):
            for side in ("Up", "Down"):
                # An upper limit of 30 % keeps templates positive within some sigmas.
                histogram(process, name + side, [v * rng.uniform(0.8, 1.3) for v in values])
    (folder / "templates.csv").write_text("\n".join(rows) + "\n")
    count = rng.randint(0, 9)
    alpha = rng.uniform(0.3, 1.2)
    lines = [
        "imax *", "jmax *", "kmax *",
        "shapes * sr templates.csv $CHANNEL:$PROCESS $CHANNEL:$PROCESS:$SYSTEMATIC",
        "shapes * cr FAKE",
        f"bin cr sr\nobservation {rng.randint(0, 20)} -1",
        "bin      cr  cr   sr  sr  sr",
        "process  sig bkg  sig bkg fake",
        "process  0   1    0   1   2",
        f"rate     0.7 {count * alpha!r} -1 -1 -1",
    ]  # fmt: skip
    lines += [f"n{i} {kind} " + " ".join(word(rng, kind) for _ in range(5)) for i, kind in enumerate(["lnN"] * 4 + ["lnU"])]
    lines.append(f"side gmN {count} - {alpha!r} - - -")
    scale = rng.choice(["1", "0.5"])
    kinds = ["shapeN"] * 3 if log else ["shape", "shape?", "shapeU"]
    for name, kind in zip(("s0", "s1", "s2"), kinds):
        lines.append(f"{name} {kind} - - " + " ".join(rng.choice([scale, "-"]) for _ in range(3)))
    lines.append("s0 lnN 1.1 - 0.95/1.2 - -")
    lines.append("free rateParam * bkg 1 [0,5]\nfree param 1.1 0.2 [0,5]\nscale_fake rateParam sr f*e 1")
    if mc_stats:
        lines.append(f"sr autoMCStats {mc_stats}")
    (folder / "card.txt").write_text("\n".join(lines) + "\n")
    return folder / "card.txt"


def random_points(likelihood, rng, size, names):
    """Points of the likelihood and of the engine, whose sideband factors are relative to the count."""
    pairs, held = [], likelihood.one_sided()
    for _ in range(40):
        mine, theirs = {"r": rng.uniform(0.0, 3.0)}, {}
        for name, (kind, *numbers) in likelihood.constraints.items():
            unit = 1.0
            if kind == "poisson":
                unit = max(numbers[0], 1)
                mine[name] = unit * rng.uniform(0.5, 1.6)
            elif kind == "gauss":
                mine[name] = numbers[0] + (name not in held) * size * numbers[1] * rng.gauss(0.0, 1.0)
            else:
                mine[name] = rng.uniform(-1.0, 1.0)
            theirs[name] = mine[name] / unit
        for column in likelihood.columns:
            for name in column.factors:
                mine.setdefault(name, rng.uniform(0.6, 1.4))
        for name in names:
            mine.setdefault(name, names[name] + 0.05 * rng.gauss(0.0, 1.0))
        theirs = {**mine, **theirs}
        likelihood.nll(mine)
        if not likelihood.clipped:
            pairs.append((mine, theirs))
    assert len(pairs) >= 11, "templates are negative at too many points"
    return pairs[:11]


def compare(model, likelihood, size=1.0, seed=1):
    names = {}
    for channel in likelihood.channels:
        if likelihood.mc_stats == "staterror" and channel in likelihood.auto:
            names.update({f"prop_bin{channel}[{b}]": 1.0 for b, s in enumerate(likelihood.gammas(channel)) if s > 0})
        if likelihood.mc_stats == "combine" and channel in likelihood.auto:
            bins = likelihood.bin_names(channel)
            assert set(bins) <= set(model.parameter_names)
            names.update({name: 0.0 if count is None else 1.0 for name, count in bins.items()})
    pairs = random_points(likelihood, random.Random(seed), size, names)
    found = [model.nll(point_of(model, theirs)) for _, theirs in pairs]
    expected = [likelihood.nll(mine) for mine, _ in pairs]
    # The two leave out different constants of the data.
    offset = found[0] - expected[0]
    for value, wanted in zip(found, expected):
        assert abs(value - offset - wanted) <= 1e-6 + 1e-9 * abs(wanted)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_random_cards_have_combines_likelihood(tmp_path, seed):
    card = random_card(tmp_path, seed)
    model = model_of(card)
    compare(model, CardLikelihood(card), seed=seed)
    assert nextstat.fit(model).converged


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("line", [None, "0", "12 1"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_random_cards_have_combines_statistics_of_templates(tmp_path, line, log):
    for seed in range(2):
        card = random_card(tmp_path, 100 + seed, log=log, mc_stats=line)
        model = model_of(card)
        compare(model, CardLikelihood(card, mc_stats="combine"), seed=seed)
        # Far from the start, such templates expect negative numbers of events, and a search takes long among their minima.
        assert nextstat.fit(model, search="local").converged


REFERENCE = [
    ("tutorials/CAT23001/datacard-1-counting-experiment.txt", {}),
    ("tutorials/CAT23001/datacard-2-template-analysis.txt", {}),
    ("tutorials/CAT23001/datacard-5-multi-signal.txt", {}),
    ("tutorials/counting/realistic-counting-experiment.txt", {}),
    ("tutorials/counting/realistic-multi-channel.txt", {}),
    ("tutorials/counting/simple-multi-channel.txt", {}),
    ("tutorials/groups/groupnuisA.txt", {}),
    ("tutorials/groups/myanalysis.dc.txt", {}),
    ("tutorials/longexercise/datacard_part2.txt", {}),
    ("tutorials/longexercise/datacard_part3_nocrs.txt", {"mass": 200, "mc_stats": "staterror"}),
    ("tutorials/longexercise/datacard_part3_ttbar_cr.txt", {"mc_stats": "staterror"}),
    ("tutorials/rate_params/signal_region.txt", {}),
    ("tutorials/shapes/simple-shapes-TH1.txt", {}),
    ("tutorials/shapes/simple-shapes-df.txt", {}),
    ("ci/htt_multiple_regions.txt", {"mass": 125, "mask": "htt_tt_2_8TeV"}),
    ("ci/templ_datacard_largeYields.txt", {"mc_stats": "staterror"}),
    ("ci/templ_datacard_largeYields.txt", {"mc_stats": "combine"}),
    ("ci/template-analysis_shapeInterp.txt", {"mass": 200, "mc_stats": "staterror"}),
    ("ci/template-analysis_shapeInterp.txt", {"mass": 200, "mc_stats": "combine"}),
    ("ci/template-analysis_shapeNInterp.txt", {"mass": 200, "mc_stats": "combine"}),
    ("tutorials/longexercise/datacard_part3_nocrs.txt", {"mass": 200, "mc_stats": "combine"}),
    ("tutorials/longexercise/datacard_part3_ttbar_cr.txt", {"mc_stats": "combine"}),
]


@needs_cards
@pytest.mark.parametrize(("name", "options"), REFERENCE, ids=[name for name, _ in REFERENCE])
def test_published_cards_have_combines_likelihood(name, options):
    masks = [options["mask"]] if "mask" in options else []
    likelihood = CardLikelihood(CARDS / name, options.get("mass"), masks, options.get("mc_stats"))
    compare(model_of(CARDS / name, **options), likelihood, size=0.2)


MULTI = {"map": [".*/ggH:r_ggH[1,0,20]", ".*/qqH:r_qqH[1,0,20]"]}
# What Combine prints, with its options; it stops within about 1 % of sigma.
PRINTED = [
    ("ci/htt_multiple_regions.txt", {"mass": 125, "mask": "htt_tt_2_8TeV", "map": ".*/(ZH|qqH|WH|ggH):r[1,-5,20]"}, {"r": (0.943, -0.790, 0.917)}),
    ("tutorials/multiDim/toy-hgg-125.txt", MULTI, {"r_ggH": (0.882, -0.749, 0.795), "r_qqH": (4.683, -2.746, 3.464)}),
    ("tutorials/CAT23001/datacard-5-multi-signal.txt", MULTI, {"r_ggH": (0.882, -0.749, 0.795), "r_qqH": (4.683, -2.746, 3.464)}),
    ("tutorials/CAT23001/datacard-5-multi-signal.txt", {}, {"r": (1.4812, -0.5987, 0.6644)}),
]  # fmt: skip


@needs_cards
@pytest.mark.parametrize(("name", "options", "printed"), PRINTED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_best_fits_are_those_of_combine(name, options, printed):
    fit = nextstat.fit(model_of(CARDS / name, **options), minos=list(printed))
    for parameter, (value, below, above) in printed.items():
        found = fit.bestfit[fit.parameter_names.index(parameter)]
        interval = fit.minos[parameter]
        sigma = 0.5 * (above - below)
        # The printed numbers are rounded.
        tolerance = 0.01 * sigma + 0.0005
        assert abs(found - value) <= tolerance
        assert abs(interval.lower - below) <= tolerance
        assert abs(interval.upper - above) <= tolerance


@needs_cards
def test_the_limit_of_the_realistic_counting_experiment_is_combines():
    limit = nextstat.upper_limit(model_of(CARDS / "tutorials/counting/realistic-counting-experiment.txt"))
    assert limit.observed == pytest.approx(1.628, rel=2e-3)
    # Combine stops within 0.5 % of a limit.
    assert limit.expected == pytest.approx([0.9640, 1.4329, 2.3281, 3.9800, 6.6194], rel=6e-3)


FIXTURE = ROOT / "tests" / "fixtures" / "cards"


def test_a_model_of_a_card_is_pickled_with_its_options():
    with pytest.warns(UserWarning, match="autoMCStats"):
        model = nextstat.load_datacard(FIXTURE / "shapes.txt", mc_stats="staterror")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again, fit = pickle.loads(pickle.dumps((model, nextstat.fit(model))))
        assert again.parameter_names == model.parameter_names
        assert again.nll(again.init) == model.nll(model.init)
        assert fit.bestfit.tolist() == nextstat.fit(again).bestfit.tolist()


def test_channels_and_parameters_of_interest_are_chosen():
    card = FIXTURE / "counting.txt"
    assert list(model_of(card, mask="dijet").channels) == ["incl"]
    assert list(model_of(card, channels=["dijet"]).channels) == ["dijet"]
    model = model_of(card, map=[".*/ggH:r_ggH[1,0,20]", ".*/qqH:r_qqH[1,-2,9]"], poi="r_qqH")
    assert model.parameter_names[model.poi_index] == "r_qqH"
    assert model.bounds[model.poi_index].tolist() == [-2.0, 9.0]


def test_messages_name_the_argument_and_the_file(tmp_path):
    with pytest.raises(nextstat.WorkspaceError, match="mc_stats.*'some'.*Use 'combine', 'ignore' or 'staterror'"):
        nextstat.load_datacard(FIXTURE / "shapes.txt", mc_stats="some")
    with pytest.raises(TypeError, match="simple_workspace.json is no datacard; read it with load_workspace"):
        nextstat.load_datacard(ROOT / "tests" / "fixtures" / "simple_workspace.json")
    with pytest.raises(nextstat.WorkspaceError, match=r"nextstat.load_datacard\(path\)"):
        nextstat.load_workspace(FIXTURE / "counting.txt")
    with pytest.raises(OSError):
        nextstat.load_datacard(tmp_path / "missing.txt")
