"""Expressions of HS3 files, by Python's own parser."""

from __future__ import annotations

import functools

_WORDS = {"PI": "3.141592653589793", "EULER": "2.718281828459045", "TRUE": "1", "FALSE": "0"}


@functools.cache
def compiled(expression: str):
    """An expression as code. Conditions are written `ifelse(a, b, c)` here, and `?` is not known."""
    assert "?" not in expression and "&" not in expression, expression
    return compile(expression.replace("^", "**"), expression, "eval")


@functools.cache
def names(expression: str) -> frozenset[str]:
    """Names of observables, parameters and functions of an expression."""
    return frozenset(compiled(expression).co_names) - {
        "exp",
        "log",
        "sqrt",
        "abs",
        "pow",
        "min",
        "max",
        "sin",
        "cos",
        "tan",
        "ifelse",
    }


def evaluate(expression: str, m, values: dict):
    """The value of an expression with the elementary functions `m`."""
    known = {
        "exp": m.exp,
        "log": m.log,
        "sqrt": m.sqrt,
        "abs": m.abs,
        "pow": m.power,
        "min": m.minimum,
        "max": m.maximum,
        "sin": m.sin,
        "cos": m.cos,
        "tan": m.tan,
        "ifelse": m.where,
        "PI": m.pi,
        "__builtins__": {},
    }
    return eval(compiled(expression), known, values)
