"""Results as columns of equal length, for data frames. Numbers have all their digits; those that do not exist are None."""

from __future__ import annotations

import importlib
from typing import Any

#: Kinds of values that are a column of a row.
_PLAIN = (bool, int, float, str, type(None))


def columns(result: Any) -> dict[str, list[Any]]:
    """The columns of a result by their names.

    A fit has a row per parameter, a batch of fits a row per data set, a ranking a row per parameter, yields a row per
    sample and bin, a scan a row per value, a limit a row per quantile, unfolded data a row per truth bin, an injection
    test a row per value. Toys that were kept have a row per toy, and a study without its toys a row per parameter.
    Every other result is one row with its numbers.
    """
    toys = getattr(result, "kept_toys", None)
    if toys is not None:
        return dict(toys)
    plain = result.to_dict()
    if "pois" in plain and "results" in plain:
        return _joint(result.names, plain)
    if "ranking" in plain:
        return _records(plain["ranking"])
    if "channels" in plain and "stage" in plain:
        return _yields(plain["channels"])
    if "truth" in plain and "bottom_line" in plain:
        return _records([_unfolded(row) for row in plain["truth"]])
    if "parameters" in plain and "n_toys" in plain:
        return _records(plain["parameters"])
    if "points" in plain and "line" in plain:
        return _records(plain["points"])
    if "mu_values" in plain:
        return _scan(plain)
    if "n_converged" in plain and "parameter_names" in plain:
        return _batch(plain)
    if "bestfit" in plain and "parameter_names" in plain:
        return _fit(plain)
    if "nsigma_order" in plain and "observed" in plain and "cl" in plain:
        return _limit(plain)
    return {key: [value] for key, value in plain.items() if isinstance(value, _PLAIN)}


def frame(result: Any, package: str) -> Any:
    """A data frame of `package`, which is "pandas" or "polars"."""
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"to_{package}() needs {package}: pip install {package}") from error
    return module.DataFrame(columns(result))


def stream(result: Any, schema: Any = None) -> Any:
    """The data frame as a stream of Arrow (the PyCapsule interface)."""
    for package, function in (("polars", "DataFrame"), ("pyarrow", "table"), ("pandas", "DataFrame")):
        try:
            table = getattr(importlib.import_module(package), function)(columns(result))
            return table.__arrow_c_stream__(schema)
        except (ImportError, AttributeError):
            continue
    raise ImportError("a stream of Arrow needs polars or pyarrow: pip install pyarrow")


def _records(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    keys = [key for key, value in (rows[0] if rows else {}).items() if isinstance(value, _PLAIN) or key == "kinds"]
    found: dict[str, list[Any]] = {key: [row.get(key) for row in rows] for key in keys}
    if "kinds" in found:
        found["kinds"] = [", ".join(kinds) for kinds in found["kinds"]]
    return found


def _unfolded(row: dict[str, Any]) -> dict[str, Any]:
    toys = row["toys"] or {}
    return {**{key: value for key, value in row.items() if key != "toys"}, **{f"toys_{key}": toys[key] for key in toys}}


def _joint(names: list[str], plain: dict[str, Any]) -> dict[str, list[Any]]:
    rankings = [{row["name"]: row for row in result["ranking"]} for result in plain["results"]]
    state = [next(rows[name] for rows in rankings if name in rows) for name in names]
    found: dict[str, list[Any]] = {"name": names, **{key: [row[key] for row in state] for key in ("pull", "constraint")}}
    for poi, rows in zip(plain["pois"], rankings, strict=True):
        for key in ("delta_mu_up", "delta_mu_down", "delta_mu_prefit_up", "delta_mu_prefit_down"):
            found[f"{key} {poi}"] = [rows.get(name, {}).get(key) for name in names]
    return found


def _fit(plain: dict[str, Any]) -> dict[str, list[Any]]:
    names = plain["parameter_names"]
    nothing = [None] * len(names)
    found = {"parameter": names, "bestfit": plain["bestfit"], "uncertainty": plain["uncertainties"] or nothing}
    found |= {key: plain.get(f"{key}s") or nothing for key in ("pull", "constraint")}
    minos = plain.get("minos") or {}
    for side in ("lower", "upper") if minos else ():
        found[f"minos_{side}"] = [minos.get(name, {}).get(side) for name in names]
    return found


def _batch(plain: dict[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {key: plain[key] for key in ("twice_nll", "converged", "edm", "n_iter", "errors") if key in plain}
    for i, name in enumerate(plain["parameter_names"]):
        found[name] = [None if row is None else row[i] for row in plain["bestfit"]]
        if plain.get("uncertainties") is not None:
            found[f"{name} uncertainty"] = [None if row is None else row[i] for row in plain["uncertainties"]]
    return found


def _scan(plain: dict[str, Any]) -> dict[str, list[Any]]:
    first, second = plain["mu_values"], plain.get("mu2_values")
    keys = ("twice_delta_nll", "q_mu_values", "converged", "reasons")
    if second is None:
        return {plain["param"]: first, **{key: plain[key] for key in keys if isinstance(plain.get(key), list)}}
    # One row of the grid per value of the first parameter.
    found = {plain["param"]: [x for x in first for _ in second], plain["param2"]: [y for _ in first for y in second]}
    for key in keys:
        if plain.get(key):
            found[key] = [value for row in plain[key] for value in row]
    return found


def _limit(plain: dict[str, Any]) -> dict[str, list[Any]]:
    n = len(plain["expected"])

    def column(observed: Any, expected: list[Any] | None) -> list[Any]:
        return [observed, *((expected or [])[:n] or [None] * n)]

    found = {
        "kind": column("observed", ["expected"] * n),
        "nsigma": column(None, plain["nsigma_order"]),
        "limit": column(plain["observed"], plain["expected"]),
    }
    if "expected_error" in plain:
        found["error"] = column(plain["observed_error"], plain["expected_error"])
    if "cls_at_limit" in plain:
        at = plain["cls_at_limit"]
        found["cls"] = column(at["observed"], at["expected"])
    return found


def _yields(channels: list[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {key: [] for key in ("channel", "bin", "sample", "events", "uncertainty")}

    def add(channel: dict[str, Any], sample: str, events: list[Any], uncertainty: list[Any] | None) -> None:
        for i, count in enumerate(events):
            row = (channel["name"], i, sample, count, uncertainty[i] if uncertainty else None)
            for key, value in zip(found, row, strict=True):
                found[key].append(value)

    for channel in channels:
        for sample in channel["samples"]:
            add(channel, sample["name"], sample["counts"], sample["uncertainty"])
        add(channel, "total", channel["total"], channel["uncertainty"])
        add(channel, "data", channel["data"], None)
    return found
