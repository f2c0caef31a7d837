"""A background workspace and signal yields, put together to one workspace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from .. import _native
from ._regions import Region, read, signal_regions

__all__ = ["PyhfData"]

# The name of the signal strength in a measurement that names no parameter of interest.
STRENGTH = "mu_SIG"


class PyhfData:
    """A background workspace of an analysis, and the signal yields in its regions.

    `nsignals` maps names of regions to expected events, or lists these in the order of `regions`. `inputJson` is the workspace without
    signal: a dictionary, or a path. `regions` are SModelS's dictionaries `{"smodels": name, "type": "SR", "pyhf": "channel[0]"}`; without
    them the bins are named as in the workspace. Control regions (`"CR"`) are left out unless `includeCRs`, and then have a signal
    if they have a name. Validation regions (`"VR"`) are always left out. `signalUncertainty` is one relative uncertainty of all yields.
    The first measurement of the workspace is used.

    Raises `WorkspaceError` for regions and yields that do not fit the workspace, and a workspace that has a signal already.
    """

    def __init__(
        self,
        nsignals: Mapping[str, float] | Sequence[float],
        inputJson: dict[str, Any] | str | PathLike[str],
        regions: Sequence[Mapping[str, Any]] | None = None,
        includeCRs: bool = False,
        signalUncertainty: float | None = None,
        globalInfo: Any = None,
        jsonFileName: str | None = None,
    ) -> None:
        self.inputJson: dict[str, Any] = _native.patch(inputJson, [])
        if jsonFileName is None and not isinstance(inputJson, dict):
            jsonFileName = PurePath(fspath(inputJson)).name
        self.jsonFileName = jsonFileName
        self.includeCRs = includeCRs
        self.signalUncertainty = signalUncertainty
        self.globalInfo = globalInfo
        for part in ("channels", "observations", "measurements"):
            if not self.inputJson.get(part):
                raise _native.WorkspaceError(f"the workspace {jsonFileName or ''} has no {part}; give a workspace of pyhf without signal")
        channels = {observed["name"]: len(observed["data"]) for observed in self.inputJson["observations"]}
        self.regions: list[Region] = read(channels, regions, includeCRs)
        self.signals = signal_regions(self.regions, includeCRs)
        self.nsignals: dict[str, float] = self._named(nsignals)
        self._check_bins(channels)
        self._check_background()

    @property
    def zeroSignalsFlag(self) -> bool:
        """Whether no region expects a signal."""
        return all(value == 0 for value in self.nsignals.values())

    @property
    def totalSignalYield(self) -> float:
        """The sum of all yields."""
        return math.fsum(self.nsignals.values())

    @property
    def strength(self) -> str:
        """The parameter that scales the signal: the parameter of interest of the workspace."""
        return str(self.inputJson["measurements"][0]["config"].get("poi") or STRENGTH)

    def getTotalXSec(self) -> Any:
        """The sum of all yields over `globalInfo.lumi`: a cross section times efficiencies, in the inverse of its unit."""
        if self.globalInfo is None:
            raise ValueError("the luminosity is not known; give PyhfUpperLimitComputer(data, lumi=...)")
        return self.totalSignalYield / self.globalInfo.lumi

    def patch(self, bounds: tuple[float, float]) -> list[dict[str, Any]]:
        """The JSON Patch that adds the signal and removes regions left out. `bounds` are those of the signal strength."""
        operations: list[dict[str, Any]] = [
            {"op": "add", "path": f"/channels/{at}/samples/0", "value": self._sample(channel["name"])}
            for at, channel in enumerate(self.inputJson["channels"])
            if any(region.channel == channel["name"] for region in self.signals)
        ]
        gone = {region.channel for region in self.regions if region.kind == "VR" or (region.kind == "CR" and not self.includeCRs)}
        for part in ("channels", "observations"):
            names = [entry["name"] for entry in self.inputJson[part]]
            # From the last one, because a removal moves those behind it.
            operations += [{"op": "remove", "path": f"/{part}/{at}"} for at in range(len(names) - 1, -1, -1) if names[at] in gone]
        config = self.inputJson["measurements"][0]["config"]
        others = [entry for entry in config.get("parameters", []) if entry["name"] != self.strength]
        start: dict[str, Any] = {"name": self.strength, "inits": [min(1.0, bounds[1] / 10)], "bounds": [list(bounds)]}
        place = "/measurements/0/config"
        operations += [
            {"op": "add", "path": f"{place}/poi", "value": self.strength},
            {"op": "add", "path": f"{place}/parameters", "value": [*others, start]},
        ]
        return operations

    def _sample(self, channel: str) -> dict[str, Any]:
        """The signal of one channel."""
        bins = sorted((region.bin, str(region.smodels)) for region in self.signals if region.channel == channel)
        yields = [self.nsignals[name] for _, name in bins]
        modifiers: list[dict[str, Any]] = [{"name": self.strength, "type": "normfactor", "data": None}]
        config = self.inputJson["measurements"][0]["config"]
        if any(entry["name"] == "lumi" and "sigmas" in entry for entry in config.get("parameters", [])):
            modifiers.append({"name": "lumi", "type": "lumi", "data": None})
        if self.signalUncertainty:
            high, low = ([(1 + sign * self.signalUncertainty) * value for value in yields] for sign in (1, -1))
            modifiers.append({"name": "signalUncertainty", "type": "histosys", "data": {"hi_data": high, "lo_data": low}})
        return {"name": "bsm", "data": yields, "modifiers": modifiers}

    def _named(self, given: Mapping[str, float] | Sequence[float]) -> dict[str, float]:
        names = [str(region.smodels) for region in self.signals]
        if not isinstance(given, Mapping):
            if len(given) != len(names):
                raise _native.WorkspaceError(f"{len(given)} signal yields for {len(names)} regions: {', '.join(names)}")
            given = dict(zip(names, given))
        left_out = {region.smodels or region.pyhf for region in self.regions} - set(names)
        for name, value in given.items():
            if name in left_out:
                raise _native.WorkspaceError(
                    f"a signal is given for {name!r}, which is a control or validation region without a signal; leave the yield out, "
                    "or keep control regions with includeCRs=True and name them with the key 'smodels'"
                )
            if name not in names:
                raise _native.WorkspaceError(f"a signal is given for {name!r}, which is no region; regions are {', '.join(names)}")
            if not math.isfinite(value):
                raise _native.WorkspaceError(f"the signal in {name!r} is {value}; give a finite number of events")
        missing = [name for name in names if name not in given]
        if missing:
            raise _native.WorkspaceError(f"no signal is given for {', '.join(missing)}; give 0 where none is expected")
        return {name: float(given[name]) for name in names}

    def _check_bins(self, channels: Mapping[str, int]) -> None:
        if not self.signals:
            raise _native.WorkspaceError("no region has a signal; regions need the type 'SR', and a name in the key 'smodels'")
        for channel in {region.channel: None for region in self.signals}:
            named = {region.bin for region in self.signals if region.channel == channel}
            missing = [f"{channel}[{at}]" for at in range(channels[channel]) if at not in named]
            if missing:
                raise _native.WorkspaceError(f"channel {channel!r} has {channels[channel]} bins, and no region is {', '.join(missing)}")

    def _check_background(self) -> None:
        for channel in self.inputJson["channels"]:
            for sample in channel["samples"]:
                if any(modifier["name"] == self.strength for modifier in sample["modifiers"]):
                    raise _native.WorkspaceError(
                        f"sample {sample['name']!r} of channel {channel['name']!r} is scaled by {self.strength!r} already; "
                        "give the workspace without a signal"
                    )
