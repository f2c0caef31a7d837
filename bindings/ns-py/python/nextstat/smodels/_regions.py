"""Regions of an analysis: which bins of a workspace get a signal, and which channels are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native

__all__ = ["Region", "kind_of", "read", "signal_regions"]


@dataclass(frozen=True)
class Region:
    """One bin of a channel, with the name that SModelS gives to it (None: it gets no signal)."""

    smodels: str | None
    kind: str
    channel: str
    bin: int
    pyhf: str


def kind_of(name: str) -> str:
    """Guesses "SR", "CR" or "VR" from the name of a channel, where no type is given: by its beginning, or a "CR" within it."""
    for kind in ("CR", "VR", "SR"):
        if name.startswith(kind):
            return kind
    return "CR" if "CR" in name else "SR"


def read(channels: Mapping[str, int], given: Sequence[Mapping[str, Any]] | None, keep_controls: bool) -> list[Region]:
    """Reads regions of SModelS: dictionaries with `smodels`, `type` and `pyhf` ("channel", or "channel[2]" for a bin).

    `channels` are the numbers of bins. Without `given`, all bins are regions, named as in the workspace. Where no region has the
    key `pyhf`, they are the bins of the workspace in its order: those of signal channels, and of control channels with `keep_controls`.
    Raises `WorkspaceError` for an unknown or repeated bin, and a missing key.
    """
    names = _bins(channels)
    if given is None:
        return [_whole(channel, at, n) for channel, n in channels.items() for at in range(n)]
    regions: list[Region] = []
    if given and all("pyhf" not in region for region in given):
        return _in_order(channels, given, keep_controls)
    for region in given:
        try:
            pyhf, label = region["pyhf"], region["smodels"]
        except KeyError as missing:
            raise _native.WorkspaceError(
                f"region {dict(region)} has no key {missing}; a region is {{'smodels': 'SR_1', 'type': 'SR', 'pyhf': 'channel[0]'}}"
            ) from None
        if pyhf not in names:
            raise _native.WorkspaceError(
                f"region {label!r} is {pyhf!r} of the workspace, which has no such bin; its bins are "
                f"{', '.join(_name(channel, at, n) for channel, n in channels.items() for at in range(n))}"
            )
        channel, at = names[pyhf]
        regions.append(Region(label, region.get("type", kind_of(channel)), channel, at, pyhf))
    _refuse_twice([f"{region.channel}[{region.bin}]" for region in regions], "is named by two regions")
    _refuse_twice([region.smodels for region in regions if region.smodels is not None], "is the name of two regions")
    return regions


def signal_regions(regions: Sequence[Region], keep_controls: bool) -> list[Region]:
    """Regions that get a signal. Raises `WorkspaceError` for a signal region without a name."""
    for region in regions:
        if region.kind == "SR" and region.smodels is None:
            raise _native.WorkspaceError(f"signal region {region.pyhf!r} has no name for its yield; set its key 'smodels'")
    kinds = ("SR", "CR") if keep_controls else ("SR",)
    return [region for region in regions if region.kind in kinds and region.smodels is not None]


def _name(channel: str, at: int, n: int) -> str:
    return channel if n == 1 else f"{channel}[{at}]"


def _bins(channels: Mapping[str, int]) -> dict[str, tuple[str, int]]:
    """All names of bins. The only bin of a channel is named with and without a number."""
    names = {f"{channel}[{at}]": (channel, at) for channel, n in channels.items() for at in range(n)}
    return names | {channel: (channel, 0) for channel, n in channels.items() if n == 1}


def _whole(channel: str, at: int, n: int) -> Region:
    kind, name = kind_of(channel), _name(channel, at, n)
    return Region(name if kind == "SR" else None, kind, channel, at, name)


def _in_order(channels: Mapping[str, int], given: Sequence[Mapping[str, Any]], keep_controls: bool) -> list[Region]:
    bins = [_whole(channel, at, n) for channel, n in channels.items() for at in range(n)]
    signals = [bin for bin in bins if bin.kind == "SR"]
    # With as many names as bins of signal channels, control channels stay without a signal.
    filled = signals if len(given) == len(signals) or not keep_controls else [bin for bin in bins if bin.kind != "VR"]
    if len(given) != len(filled):
        raise _native.WorkspaceError(
            f"{len(given)} regions without the key 'pyhf' are for {len(filled)} bins of the workspace: "
            f"{', '.join(bin.pyhf for bin in filled)}"
        )
    labels = {bin.pyhf: region.get("smodels") for bin, region in zip(filled, given)}
    return [Region(labels.get(bin.pyhf), bin.kind, bin.channel, bin.bin, bin.pyhf) for bin in bins]


def _refuse_twice(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _native.WorkspaceError(f"{name!r} {what}; name each once")
