"""The builder of binned models: collects a description, which the native module turns into a workspace."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _native, _warn
from ._histogram import Filled, Floats, histogram

#: How two templates are made symmetric.
Symmetrise: TypeAlias = Literal["none", "one_sided", "mirror", "two_sided", "abs_mean", "maximum"]
#: Which part of the effect of templates is used.
Parts: TypeAlias = Literal["both", "normalisation", "shape", "together"]


class BuiltWorkspace:
    """A workspace that was built.

    `workspace` is the document, a dictionary that pyhf reads too. `systematics` has a dictionary for every effect of a
    systematic on a sample of a channel: its size, whether it was smoothed, and why parts of it were left out. `axes` are the
    titles and bin edges of the channels, for pictures; workspaces of pyhf have no place for them.
    """

    def __init__(self, text: str, notes: Sequence[str] = ()) -> None:
        found = json.loads(text)
        # Warnings that the builder has issued.
        self._notes = notes
        self.workspace: dict[str, Any] = found["workspace"]
        self.systematics: list[dict[str, Any]] = found["systematics"]
        self.axes: dict[str, dict[str, Any]] = found["axes"]

    @property
    def pruned(self) -> list[dict[str, Any]]:
        """The parts of effects that were left out: channel, sample, systematic, part, its changes up and down, reason."""
        rows = []
        for row in self.systematics:
            for part in ("normalisation", "shape"):
                effect = row[part]
                if effect is not None and effect["pruned"] not in (None, "one_bin"):
                    names = {key: row[key] for key in ("channel", "sample", "systematic")}
                    rows.append({**names, "part": part, "up": effect["up"], "down": effect["down"], "reason": effect["pruned"]})
        return rows

    def model(self, **options: Any) -> _native.Model:
        """The model. `options` are those of `nextstat.load_workspace`."""
        channels = options.get("channels")
        channels = [channels] if isinstance(channels, str) else channels
        axes = {name: axis for name, axis in self.axes.items() if channels is None or name in channels}
        with _warn.without(self._notes):
            return _native.load_workspace(self.workspace, **{"axes": axes, **options})

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the workspace to a file, and its axes beside it: `search.axes.json` beside `search.json`, where pictures of
        the file find them."""
        path = pathlib.Path(path)
        path.write_text(json.dumps(self.workspace, indent=2) + "\n", encoding="utf-8")
        beside = pathlib.Path(_native._axes_beside(path))
        if self.axes:
            beside.write_text(json.dumps(self.axes, indent=2) + "\n", encoding="utf-8")
        else:
            # Those of an earlier workspace of this name would be taken for its own.
            beside.unlink(missing_ok=True)

    def __repr__(self) -> str:
        names = dict.fromkeys(row["channel"] for row in self.systematics)
        return f"<workspace of {', '.join(names) or 'channels without systematics'}; {len(self.systematics)} effects, {len(self.pruned)} parts left out>"


class BinnedSample:
    """A sample of a channel that is being built. Its methods return the sample."""

    def __init__(self, channel: BinnedChannel, entry: dict[str, Any]) -> None:
        self._channel, self._entry = channel, entry
        self.name: str = entry["name"]

    def normalisation(self, name: str, up: float, down: float | None = None, *, parameter: str | None = None) -> BinnedSample:
        """Adds an uncertainty of the normalisation. `up` and `down` are relative changes: 0.05 for 5 %. By default `down`
        is `-up`. `parameter` is the name of the parameter, if it is not `name`."""
        effect = {"type": "normalisation", "up": float(up), "down": float(-up if down is None else down)}
        return self._add(name, parameter, effect)

    def templates(
        self,
        name: str,
        up: Any,
        down: Any = None,
        *,
        symmetrise: Symmetrise | None = None,
        smooth: bool = False,
        parts: Parts = "both",
        parameter: str | None = None,
    ) -> BinnedSample:
        """Adds an uncertainty with templates for a change by one standard deviation: histograms as for `sample`.

        Without `down`, or with `symmetrise`, the templates are made symmetric (docs/build.md). `smooth` smooths their ratios
        to the nominal template with 353QH, twice. `parts` says which part of the effect is used.
        """
        effect: dict[str, Any] = {"type": "templates", "up": self._channel._bins(up, f"{self.name}, {name} up")[0]}
        if down is not None:
            effect["down"] = self._channel._bins(down, f"{self.name}, {name} down")[0]
        if symmetrise is not None:
            effect["symmetrise"] = symmetrise
        if smooth:
            effect["smooth"] = "353QH, twice"
        effect["parts"] = parts
        return self._add(name, parameter, effect)

    def uncorrelated(self, name: str, sigmas: ArrayLike) -> BinnedSample:
        """Adds an independent uncertainty of each bin (`shapesys`). `sigmas` are in events."""
        found = histogram(sigmas, None, f"{self.name}, {name}")
        return self._add(name, None, {"type": "uncorrelated", "sigmas": found.values.tolist()})

    def norm_factor(self, name: str) -> BinnedSample:
        """Adds a free factor on the whole sample."""
        self._entry["norm_factors"].append(name)
        return self

    def shape_factor(self, name: str) -> BinnedSample:
        """Adds a free factor for every bin."""
        self._entry["shape_factors"].append(name)
        return self

    def _add(self, name: str, parameter: str | None, effect: dict[str, Any]) -> BinnedSample:
        self._entry["systematics"].append({"name": name, "parameter": parameter, "effect": effect})
        return self


class BinnedChannel:
    """A channel that is being built."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self._entry = entry
        self.name: str = entry["name"]

    def title(self, title: str) -> BinnedChannel:
        """Sets the title of the horizontal axis, with its unit, for pictures. It may have LaTeX: `$m_{bb}$ [GeV]`."""
        self._entry["title"] = title
        return self

    def data(self, data: Any) -> BinnedChannel:
        """Sets the observed events: a histogram as for `sample`."""
        self._entry["data"] = self._bins(data, "the data")[0]
        return self

    def sample(
        self,
        name: str,
        template: Any,
        variances: ArrayLike | None = None,
        *,
        norm_factors: str | Sequence[str] = (),
        mc_statistics: bool = True,
    ) -> BinnedSample:
        """Adds a sample. `template` is a histogram: an object with the UHI protocol (hist, boost-histogram, uproot), a
        result of `fill`, or an array with one number per bin. `variances` are the sums of squared weights, if the
        histogram does not have them. With variances and `mc_statistics`, the bins have parameters for the statistics of
        the simulation (`staterror`). `norm_factors` names free factors on the sample."""
        values, squares = self._bins(template, f"sample {name}", variances)
        entry: dict[str, Any] = {
            "name": name,
            "template": {"values": values, "variances": squares},
            "mc_statistics": mc_statistics,
            "norm_factors": [norm_factors] if isinstance(norm_factors, str) else list(norm_factors),
            "shape_factors": [],
            "systematics": [],
        }
        self._entry["samples"].append(entry)
        return BinnedSample(self, entry)

    def _bins(self, source: Any, what: str, variances: ArrayLike | None = None) -> tuple[list[float], list[float] | None]:
        """The contents of a histogram that has the bins of the channel."""
        found = histogram(source, variances, f"channel {self.name}: {what}")
        known = self._entry["edges"]
        if known is None and found.edges is not None:
            self._entry["edges"] = found.edges.tolist()
        elif found.edges is not None and not _same(np.asarray(known), found.edges):
            raise ValueError(f"channel {self.name}: {what} has other bins than the channel")
        return found.values.tolist(), None if found.variances is None else found.variances.tolist()


class BinnedBuilder:
    """A binned model that is being built."""

    def __init__(self, name: str = "measurement", poi: str = "") -> None:
        self._measurement: dict[str, Any] = {"name": name, "poi": poi, "parameters": []}
        self._channels: list[dict[str, Any]] = []
        self._added: list[BinnedChannel] = []
        self._pruning: dict[str, float | None] = {}
        self._mc_threshold = 0.0
        self._mc_constraint = "gaussian"
        self._told: set[str] = set()

    def channel(self, name: str, data: Any = None, edges: ArrayLike | None = None) -> BinnedChannel:
        """Adds a channel. `data` is a histogram of the observed events; without it, the data are the sum of the samples.
        `edges` are the edges of the bins. By default they are those of the first histogram that has any."""
        limits = None if edges is None else np.asarray(edges, dtype=np.float64).tolist()
        entry: dict[str, Any] = {"name": name, "title": None, "edges": limits, "data": None, "samples": []}
        self._channels.append(entry)
        added = BinnedChannel(entry)
        self._added.append(added)
        return added if data is None else added.data(data)

    def parameter(
        self, name: str, init: float | None = None, bounds: tuple[float, float] | None = None, fixed: bool = False
    ) -> None:
        """Sets the start value and the bounds of a parameter, and whether it is constant."""
        entry = {"name": name, "init": init, "bounds": None if bounds is None else list(bounds), "fixed": fixed}
        self._measurement["parameters"].append(entry)

    def mc_constraint(self, kind: Literal["gaussian", "poisson"]) -> None:
        """Chooses the constraint of parameters for the statistics of simulation, by default "gaussian". With "poisson", which
        workspaces of pyhf cannot say, the result is an HS3 model."""
        self._mc_constraint = kind

    def prune(self, normalisation: float | None = None, shape: float | None = None, mc: float | None = None) -> None:
        """Sets thresholds, up to which effects are left out. `normalisation` is for the relative change of a sample's sum,
        `shape` for that of its bins once the change of the sum is divided out, `mc` for the relative uncertainty of a bin
        from the statistics of simulation."""
        self._pruning = {"normalisation": normalisation, "shape": shape}
        self._mc_threshold = 0.0 if mc is None else float(mc)

    @property
    def axes(self) -> dict[str, dict[str, Any]]:
        """Titles and edges of the horizontal axes by channel: the key "axes" of a style of `nextstat.draw`."""
        found = {}
        for channel in self._added:
            axis = {key: channel._entry[key] for key in ("title", "edges") if channel._entry[key] is not None}
            if axis:
                found[channel.name] = axis
        return found

    def patchset(
        self,
        signals: Mapping[Any, Mapping[str, Any]],
        *,
        poi: str = "mu",
        sample: str = "signal",
        labels: str | Sequence[str] = "mass",
        normalisation: Mapping[str, float] | None = None,
    ) -> dict[str, Any]:
        """A patchset for `nextstat.grid`: one patch for each signal, which adds a sample to the channels of this builder.

        `signals` maps the values of each signal, a number or several in a tuple, to its histograms by channel, as for
        `BinnedChannel.sample`. `labels` are the names of the values. The sample has the free factor `poi`, which becomes the
        parameter of interest. `normalisation` are relative uncertainties of the sample by the name of their parameter.
        """
        names = [labels] if isinstance(labels, str) else list(labels)
        modifiers: list[dict[str, Any]] = [{"name": poi, "type": "normfactor", "data": None}]
        for name, size in (normalisation or {}).items():
            modifiers.append({"name": name, "type": "normsys", "data": {"hi": 1.0 + size, "lo": 1.0 - size}})
        known = {channel.name: channel for channel in self._added}
        workspace = self.document()
        order = {channel["name"]: i for i, channel in enumerate(workspace["channels"])}
        patches = []
        for point, histograms in signals.items():
            values = [float(value) for value in (point if isinstance(point, tuple) else (point,))]
            if len(values) != len(names):
                raise ValueError(f"signals: {point!r} has {len(values)} values, and there are {len(names)} labels: {', '.join(names)}")
            patch: list[dict[str, Any]] = [{"op": "add", "path": "/measurements/0/config/poi", "value": poi}]
            for channel, template in histograms.items():
                if channel not in known:
                    raise ValueError(f"signals: there is no channel '{channel}'; there are {', '.join(known)}")
                counts = known[channel]._bins(template, f"signal {point!r}")[0]
                added = {"name": sample, "data": counts, "modifiers": modifiers}
                patch.append({"op": "add", "path": f"/channels/{order[channel]}/samples/-", "value": added})
            name = "_".join([sample, *(f"{value:g}" for value in values)])
            patches.append({"metadata": {"name": name, "values": values}, "patch": patch})
        digests = {"sha256": _native.digest(workspace)}
        metadata = {"references": {}, "digests": digests, "labels": names, "description": f"signals of {sample}"}
        return {"metadata": metadata, "patches": patches, "version": "1.0.0"}

    def description(self) -> dict[str, Any]:
        """The description that the workspace is built from."""
        return {
            "measurement": self._measurement,
            "channels": self._channels,
            "pruning": self._pruning,
            "mc_threshold": self._mc_threshold,
            "mc_constraint": self._mc_constraint,
        }

    def build(self) -> BuiltWorkspace:
        """Builds the workspace. Raises `WorkspaceError` with every problem. A warning is issued once, by the first call."""
        return _finished(_native._build(json.dumps(self.description())), self._told)

    def document(self) -> dict[str, Any]:
        """The workspace as a dictionary, which pyhf reads too."""
        return self.build().workspace

    def model(self, **options: Any) -> _native.Model:
        """The model. `options` are those of `nextstat.load_workspace`."""
        return self.build().model(**options)


def from_config(
    path: str | PathLike[str],
    *,
    norm_threshold: float | None = None,
    shape_threshold: float | None = None,
    mc_threshold: float | None = None,
    mc_constraint: Literal["gaussian", "poisson"] | None = None,
) -> BuiltWorkspace:
    """Builds the workspace of a configuration file of cabinetry or TRExFitter, as `nextstat build` does.

    The thresholds are those of `BinnedBuilder.prune`, and `mc_constraint` is the constraint of parameters for the statistics of
    simulation; by default as in the program that the configuration is for.
    Raises `WorkspaceError` with every problem of the file, or `OSError` if it cannot be read.
    """
    return _finished(_native._build_config(fspath(path), norm_threshold, shape_threshold, mc_threshold, mc_constraint))


def _finished(result: tuple[str, list[str]], told: set[str] | None = None) -> BuiltWorkspace:
    text, notes = result
    told = set() if told is None else told
    for note in notes:
        if note not in told:
            told.add(note)
            _warn.warn(note)
    return BuiltWorkspace(text, notes)


def _same(a: Floats, b: Floats) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=1e-9 * abs(a[-1] - a[0])))


__all__ = ["BinnedBuilder", "BinnedChannel", "BinnedSample", "BuiltWorkspace", "Filled", "from_config"]
