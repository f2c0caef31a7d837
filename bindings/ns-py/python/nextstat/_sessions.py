"""Checks that a function with derivatives gets the session that it needs."""

from __future__ import annotations

from . import DifferentiableSession, ProfiledDifferentiableSession


def of_likelihood(session: object, function: str) -> None:
    """Raise ``TypeError`` if a function of the likelihood does not get a ``DifferentiableSession``."""
    if isinstance(session, DifferentiableSession):
        return
    hint = (
        "; it evaluates the likelihood at given parameters, without fits: open one with the same model and inputs"
        if isinstance(session, ProfiledDifferentiableSession)
        else ""
    )
    raise TypeError(f"{function} needs a nextstat.DifferentiableSession, not {_kind(session)}{hint}")


def of_profiled(session: object, function: str) -> None:
    """Raise ``TypeError`` if a function of fits does not get a ``ProfiledDifferentiableSession``."""
    if isinstance(session, ProfiledDifferentiableSession):
        return
    hint = (
        "; it makes the fits: open one with the same model and inputs"
        if isinstance(session, DifferentiableSession)
        else ""
    )
    raise TypeError(f"{function} needs a nextstat.ProfiledDifferentiableSession, not {_kind(session)}{hint}")


def _kind(session: object) -> str:
    return f"a {type(session).__name__}"
