"""Models for tests of derivatives: all modifiers, bounds that hold parameters, signals without yields in some bins, functions."""

import copy
import json
import pathlib

import nextstat

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"


def all_modifiers():
    """Signal and a background with templates; every type of modifier."""
    return json.loads((FIXTURES / "all_modifiers.json").read_text()), ["signal", "top"], {}


def every_number():
    """The same model with templates, factors and widths among the inputs."""
    inputs = [
        ("nominal", "SR", "top"),
        ("histosys_hi", "SR", "top", "top_shape"),
        ("histosys_lo", "SR", "top", "top_shape"),
        ("normsys_hi", "SR", "signal", "trigger"),
        ("normsys_lo", "VR", "top", "trigger"),
        ("staterror", "stat_SR"),
        ("shapesys", "fake_rate"),
    ]
    return json.loads((FIXTURES / "all_modifiers.json").read_text()), inputs, {}


def without_rates():
    """The same inputs but the uncertainties of the shapesys, whose auxiliary data follow them."""
    workspace, inputs, options = every_number()
    return workspace, inputs[:-1], options


def at_bounds():
    """A factor that ends strictly at its upper bound: the data have half as much again of its sample."""
    workspace, _, _ = all_modifiers()
    for channel, sample in zip(workspace["channels"], (1, 1), strict=True):
        channel["samples"][sample]["modifiers"].append({"name": "top_norm", "type": "normfactor", "data": None})
    parameters = workspace["measurements"][0]["config"]["parameters"]
    parameters.append({"name": "top_norm", "inits": [1.0], "bounds": [[0.0, 1.02]]})
    workspace["observations"][0]["data"] = [75.0, 60.0, 33.0]
    workspace["observations"][1]["data"] = [168.0, 115.0, 54.0]
    return workspace, ["signal"], {}


def empty_bins():
    """A signal without yields in some bins."""
    workspace, _, _ = all_modifiers()
    workspace["channels"][0]["samples"][0]["data"] = [0.0, 14.0, 0.0]
    return workspace, ["signal"], {}


def two_bins():
    """pyhf's two-bin model, with Asimov data that follow the inputs."""
    return json.loads((FIXTURES / "simple_workspace.json").read_text()), None, {"asimov": 1.0}


def abcd():
    """A background that is a function of the rates of three control regions."""
    return json.loads((FIXTURES / "abcd.json").read_text()), ["signal", ("nominal", "A", "background")], {}


def eft():
    """Quadratic yields, interference that changes its sign, and a function of functions."""
    return json.loads((FIXTURES / "eft.json").read_text()), ["signal", "interference"], {}


MODELS = [all_modifiers, every_number, at_bounds, empty_bins, two_bins, abcd]


def opened(make, kind=nextstat.ProfiledDifferentiableSession, **options):
    """Return a session of one of the models."""
    workspace, inputs, own = make()
    model = nextstat.load_workspace(workspace)
    inputs = inputs or [workspace["channels"][0]["samples"][0]["name"]]
    return kind(model, inputs, **own, **options)


def replaced(make, session, yields):
    """Return the workspace with other nominal yields; None if other numbers are inputs."""
    workspace, _, _ = make()
    workspace = copy.deepcopy(workspace)
    for names, (first, end) in session.inputs:
        if names[0] != "nominal":
            return None
        (channel,) = [c for c in workspace["channels"] if c["name"] == names[1]]
        (sample,) = [s for s in channel["samples"] if s["name"] == names[2]]
        sample["data"] = list(yields[first:end])
        for other in channel["samples"]:
            # Relative widths are held: those of the workspace are absolute.
            if other is sample and any(m["type"] in ("staterror", "shapesys") for m in sample["modifiers"]):
                return None
    return workspace
