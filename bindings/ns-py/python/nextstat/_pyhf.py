"""Builds models from pyhf's objects. pyhf is not imported, because attributes suffice to recognise its objects."""

import warnings

import numpy as np

from . import _native, _warn


def from_pyhf(source, data=None, *, measurement=None, patch=None, poi=None, **options):
    """Builds the model of a `pyhf.Workspace`, of a `pyhf.Model`, or of the specification (a dictionary) of either.

    `source` may also be JSON text or a path. Options are those of `load_workspace`. A `pyhf.Model` keeps its
    parameter of interest and its interpolation codes, but has no observations. `data` contains the observations: main
    counts, or main counts followed by the auxiliary data of the model. Without `data`, the observations are the data
    expected at the initial parameters, with a warning. Every analysis can use other data by `data=`.
    """
    if _is_model(source):
        codes = _codes(source.config)
        if {"interp_defaults", "normsys_code", "histosys_code"} & options.keys():
            codes = {}
        name = getattr(source.config, "poi_name", None)
        workspace = _workspace(source.spec, name, measurement or "pyhf")
        return _observed(workspace, data, {"patch": patch, "poi": poi, **codes, **options})
    if isinstance(source, dict) and "channels" in source and "measurements" not in source:
        names = {m["name"] for c in source["channels"] for s in c["samples"] for m in s["modifiers"]}
        # pyhf's default name of the parameter of interest.
        workspace = _workspace(source, "mu" if "mu" in names else None, measurement or "pyhf")
        return _observed(workspace, data, {"patch": patch, "poi": poi, **options})
    if data is not None:
        raise ValueError("a workspace has its observations; give other data to the analysis, fit(model, data=...)")
    if isinstance(source, dict):
        source = dict(source)
    return _native.Model.from_workspace(source, measurement, patch, poi=poi, **options)


def _is_model(source):
    return hasattr(source, "spec") and hasattr(source, "config") and not isinstance(source, dict)


def _codes(config):
    settings = getattr(config, "modifier_settings", None) or {}
    code = {kind: settings.get(kind, {}).get("interpcode") for kind in ("normsys", "histosys")}
    return {f"{kind}_code": value for kind, value in code.items() if value is not None}


def _workspace(spec, poi, measurement):
    """Returns a workspace with the channels of a specification. Its observations are the nominal yields."""
    channels = spec["channels"]
    nominal = [np.sum([np.asarray(s["data"], dtype=float) for s in c["samples"]], axis=0) for c in channels]
    return {
        "channels": channels,
        "observations": [{"name": c["name"], "data": n.tolist()} for c, n in zip(channels, nominal)],
        "measurements": [
            {"name": measurement, "config": {"poi": poi or "", "parameters": spec.get("parameters", [])}}
        ],
        "version": "1.0.0",
    }


def _observed(workspace, data, options):
    # The model of these observations has the same warnings.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _native.load_workspace(workspace, **options)
    n_bins = sum(model.channels.values())
    if data is None:
        _warn.warn(
            "a pyhf model has no observations: this one observes what it expects at its initial parameters; "
            "give from_pyhf(model, data), or data= to the analysis"
        )
        main = model.expected_data(model.init, False)
    else:
        given = np.asarray(data, dtype=float)
        aux = model.observed_data()[n_bins:]
        if given.shape not in ((n_bins,), (n_bins + aux.size,)):
            raise ValueError(
                f"data must have {n_bins} elements (main counts) or {n_bins + aux.size} (with auxiliary data); "
                f"its shape is {given.shape}"
            )
        main = given[:n_bins]
        if given.size > n_bins and not np.allclose(given[n_bins:], aux, rtol=1e-12, atol=0):
            raise ValueError(
                "the auxiliary data are not those of the model, and a workspace has no place for others; "
                "give main counts here and all data to the analysis, fit(model, data=...)"
            )
    # The data of pyhf and of the model have the channels in alphabetical order.
    counts, first = {}, 0
    for name, n in model.channels.items():
        counts[name] = np.asarray(main[first : first + n]).tolist()
        first += n
    observations = [{"name": o["name"], "data": counts[o["name"]]} for o in workspace["observations"] if o["name"] in counts]
    rest = [o for o in workspace["observations"] if o["name"] not in counts]
    return _native.load_workspace({**workspace, "observations": observations + rest}, **options)
