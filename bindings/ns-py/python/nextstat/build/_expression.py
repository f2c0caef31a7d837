"""Formulas of parameters and observables, written with Python's operators."""

import numbers
import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Expression:
    """A formula. Operators and functions such as `exp`, `log`, `erf` combine formulas. Densities, rates and functions accept
    formulas."""

    def __init__(self, text, parts=()):
        self._text = text
        self._parts = frozenset(parts)

    def __repr__(self):
        return f"<{type(self).__name__} {self._text}>"

    def _combined(self, other, pattern, swapped=False):
        other = expression(other)
        own = expression(self)
        first, second = (other, own) if swapped else (own, other)
        return Expression(pattern.format(first._text, second._text), first._parts | second._parts)

    def __add__(self, other):
        return self._combined(other, "({} + {})")

    def __radd__(self, other):
        return self._combined(other, "({} + {})", True)

    def __sub__(self, other):
        return self._combined(other, "({} - {})")

    def __rsub__(self, other):
        return self._combined(other, "({} - {})", True)

    def __mul__(self, other):
        return self._combined(other, "({} * {})")

    def __rmul__(self, other):
        return self._combined(other, "({} * {})", True)

    def __truediv__(self, other):
        return self._combined(other, "({} / {})")

    def __rtruediv__(self, other):
        return self._combined(other, "({} / {})", True)

    def __pow__(self, other):
        return self._combined(other, "pow({}, {})")

    def __rpow__(self, other):
        return self._combined(other, "pow({}, {})", True)

    def __neg__(self):
        own = expression(self)
        return Expression(f"(-{own._text})", own._parts)


class Named(Expression):
    """A named part of a model that formulas can use."""

    def __init__(self, name):
        super().__init__(name, (self,))
        self.name = name

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other


def expression(value):
    """Returns a number or a formula as a formula."""
    if isinstance(value, Named) and not _NAME.match(value.name):
        raise ValueError(f"'{value.name}' cannot stand in a formula: a name there has letters, digits and _ alone")
    if isinstance(value, Expression):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = repr(float(value))
        if number in ("inf", "-inf", "nan"):
            raise ValueError(f"a formula cannot have the number {number}")
        return Expression(f"({number})" if number.startswith("-") else number)
    raise TypeError(f"expected a number, a parameter or a formula, not {type(value).__name__}")


def _function(name):
    def function(x):
        x = expression(x)
        return Expression(f"{name}({x._text})", x._parts)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The function {name} of a number or a formula."
    return function


exp = _function("exp")
log = _function("log")
sqrt = _function("sqrt")
sin = _function("sin")
cos = _function("cos")
sinh = _function("sinh")
cosh = _function("cosh")
tanh = _function("tanh")
erf = _function("erf")
erfc = _function("erfc")
gamma = _function("gamma")
lgamma = _function("lgamma")
