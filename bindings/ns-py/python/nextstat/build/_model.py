"""The builder: collects the parts of a model, and writes them as an HS3 document."""

import json
import pathlib

from .. import _native
from ._densities import Densities, Density
from ._expression import Expression, Named, expression


class Observable(Named):
    """A quantity that is measured for every event, with the range of its axis."""

    def __init__(self, name, low, high, blind=()):
        super().__init__(name)
        self.low, self.high = float(low), float(high)
        self.blind = [[float(start), float(end)] for start, end in blind]


class Parameter(Named):
    """A parameter with its start value and bounds."""

    def __init__(self, name, value, low, high, fixed):
        super().__init__(name)
        self.value, self.low, self.high, self.fixed = float(value), low, high, fixed


class EventFile:
    """Events in a Parquet file. The file is in the folder of the model's file. `columns` maps observables to columns,
    `weight` names the column of weights, and `where` is a list of conditions `(column, sign, number)`."""

    def __init__(self, file, columns=None, weight=None, where=()):
        self.source = {"file": str(file), "format": "parquet"}
        if columns:
            self.source["columns"] = dict(columns)
        if weight is not None:
            self.source["weight"] = weight
        if where:
            self.source["where"] = [list(condition) for condition in where]


class ModelBuilder(Densities):
    """A model that is being built."""

    def __init__(self, name="model"):
        self.name = name
        self._names = {}
        self._parameters, self._distributions, self._functions = [], [], []
        self._channels, self._events, self._constraints = [], {}, []
        self._interest, self._blind = [], {}

    # A name may be used only once in a document.
    def _take(self, name):
        if not isinstance(name, str) or not name:
            raise ValueError("a part of a model needs a name")
        if name in self._names:
            raise ValueError(f"the name '{name}' is taken by another part of the model")
        self._names[name] = True
        return name

    def _free(self, wish):
        name, n = wish, 1
        while name in self._names:
            n += 1
            name = f"{wish}_{n}"
        return self._take(name)

    def observable(self, name, low, high, blind=()):
        """Adds an observable with the range of its axis. Densities are normalised over this range. `blind` is a list
        of ranges `(start, end)` in which pictures show no data."""
        if not low < high:
            raise ValueError(f"the axis of '{name}' is empty: it goes from {low} to {high}")
        return Observable(self._take(name), low, high, blind)

    def parameter(self, name, value, low=None, high=None, fixed=False):
        """Adds a parameter with its start value and its bounds (by default none). `fixed` says whether it is fixed."""
        added = Parameter(self._take(name), value, low, high, fixed)
        self._parameters.append(added)
        return added

    def nuisance(self, name, low=-5.0, high=5.0):
        """Adds a nuisance parameter with the standard normal distribution as its constraint."""
        added = self.parameter(name, 0.0, low, high)
        self.constrain(added, 0.0, 1.0)
        return added

    def function(self, name, formula):
        """Gives a formula of parameters a name. A formula with a name is computed only once per point."""
        formula = expression(formula)
        self._take(name)
        self._functions.append({"name": name, "type": "generic_function", "expression": formula._text})
        named = Named(name)
        named._parts |= formula._parts
        return named

    def constrain(self, parameter, measured, sigma, name=None):
        """Adds a Gaussian constraint term. `measured` is the measured value of a parameter or a formula, with
        uncertainty `sigma`."""
        # Toys and Asimov data replace the measured value, so it is a constant of the document.
        nominal = self._free(f"nom_{getattr(parameter, 'name', 'constraint')}")
        self._parameters.append(Parameter(nominal, measured, None, None, True))
        self._term("gaussian_dist", parameter, name, {"mean": nominal, "sigma": sigma})

    def constrain_count(self, mean, count, name=None):
        """Adds a Poisson constraint term. `count` is a measured count, for example in a sideband, with the
        expectation `mean`."""
        nominal = self._free(f"nom_{getattr(mean, 'name', 'count')}")
        self._parameters.append(Parameter(nominal, count, None, None, True))
        term = self._take(name or self._free(f"{nominal}_constraint_name")) if name else self._free(f"{nominal}_term")
        keys = {"x": nominal, "mean": self._value(mean, f"{term}_mean")}
        self._constraints.append(term)
        self._distributions.append({"name": term, "type": "poisson_dist", **keys})

    def _term(self, kind, parameter, name, keys):
        term = self._take(name) if name else self._free(f"{getattr(parameter, 'name', 'formula')}_constraint")
        keys = {"x": self._value(parameter, f"{term}_x"), **keys}
        self._constraints.append(term)
        self._distributions.append({"name": term, "type": kind, **keys})

    def channel(self, name, processes, data):
        """Adds a channel with its processes and its events.

        `processes` is a dictionary from densities to rates, i.e. expected numbers of events. It can also be a single
        density; the number of events is then not part of the likelihood. `data` is a table with one column per
        observable, in the forms that `events=` of `load_workspace` accepts, or an `EventFile`. A column `weights`
        contains weights.
        """
        self._take(name)
        if isinstance(processes, Density):
            self._distributions.append({"name": name, "type": "product_dist", "factors": [processes.name]})
            used = processes.observables
        else:
            processes = dict(processes)
            if not processes:
                raise ValueError(f"the channel '{name}' has no process")
            for density in processes:
                if not isinstance(density, Density):
                    raise TypeError("processes must be a density, or a dictionary of densities and rates")
            rates = [self._value(rate, f"n_{density.name}_{name}") for density, rate in processes.items()]
            self._distributions.append({
                "name": name, "type": "mixture_dist", "summands": [density.name for density in processes],
                "coefficients": rates, "extended": True,
            })
            used = [axis for density in processes for axis in density.observables]
        axes = list(dict.fromkeys(used))
        if not axes:
            raise ValueError(f"the densities of channel '{name}' have no observable")
        entry = {
            "name": self._free(f"data_{name}"), "type": "unbinned",
            "axes": [{"name": axis.name, "min": axis.low, "max": axis.high} for axis in axes],
        }
        if isinstance(data, EventFile):
            entry["nextstat.source"] = data.source
        else:
            self._events[entry["name"]] = data
        self._channels.append((name, entry))
        self._blind.update({axis.name: axis.blind for axis in axes if axis.blind})
        return name

    def interest(self, *parameters):
        """Sets the parameters of interest. Limits and tests use the first one."""
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError("a parameter of interest is what `parameter` returns")
        self._interest = [parameter.name for parameter in parameters]

    def _value(self, value, wish):
        """Returns a number, the name of a parameter, or the name of a new function that has the formula."""
        if isinstance(value, str):
            return value
        if isinstance(value, Named):
            return value.name
        if isinstance(value, Expression):
            name = self._free(wish)
            self._functions.append({"name": name, "type": "generic_function", "expression": value._text})
            return name
        expression(value)
        return float(value)

    def document(self):
        """Returns the model as an HS3 document (a dictionary). It contains the events, unless they are in a file."""
        data = []
        for _, entry in self._channels:
            entry = dict(entry)
            if entry["name"] in self._events:
                names = [axis["name"] for axis in entry["axes"]]
                columns = _native._event_columns(self._events[entry["name"]], names)
                entry["entries"] = [list(event) for event in zip(*(columns[name].tolist() for name in names))]
                if "weights" in columns and "weights" not in names:
                    entry["weights"] = columns["weights"].tolist()
            data.append(entry)
        return self._document(data)

    def _document(self, data):
        def bound(parameter):
            axis = {"name": parameter.name}
            for key, value in (("min", parameter.low), ("max", parameter.high)):
                if value is not None:
                    axis[key] = float(value)
            return axis

        def value(parameter):
            entry = {"name": parameter.name, "value": parameter.value}
            return {**entry, "const": True} if parameter.fixed else entry

        likelihood = {
            "name": self.name, "distributions": [name for name, _ in self._channels],
            "data": [entry["name"] for entry in data],
        }
        if self._constraints:
            likelihood["aux_distributions"] = list(self._constraints)
        if self._blind:
            likelihood["nextstat.blind"] = dict(self._blind)
        bounded = [p for p in self._parameters if p.low is not None or p.high is not None]
        return {
            "metadata": {"hs3_version": "0.2.9", "packages": [{"name": "NextStat", "version": _native.__version__}]},
            "distributions": list(self._distributions),
            "functions": list(self._functions),
            "data": data,
            "likelihoods": [likelihood],
            "domains": [{"name": "default_domain", "type": "product_domain", "axes": [bound(p) for p in bounded]}],
            "parameter_points": [{"name": "default_values", "parameters": [value(p) for p in self._parameters]}],
            "analyses": [{
                "name": self.name, "likelihood": self.name, "parameters_of_interest": list(self._interest),
                "domain": "default_domain", "init": "default_values",
            }],
        }

    def write(self, path):
        """Writes the HS3 document to a file."""
        pathlib.Path(path).write_text(json.dumps(self.document(), indent=1) + "\n")

    def model(self, **options):
        """Returns the model, which all analyses accept. `options` are those of `load_workspace`.

        A model with an `EventFile` or a flow has to be written first, because their files are looked for in the
        folder of the model.
        """
        if any(density["type"] == "nextstat.flow_dist" for density in self._distributions):
            raise ValueError("flows are in files beside the model: write the model, and load its file")
        parts = [entry for _, entry in self._channels] + self._distributions
        if any("nextstat.source" in part for part in parts):
            raise ValueError("the events are in a file beside the model: write the model, and load its file")
        entries = [entry for _, entry in self._channels]
        return _native.load_workspace(self._document(entries), events=dict(self._events), **options)
