"""Combine's likelihood of a datacard in NumPy: a reference for the tests, written from its documentation alone.

It reads the card and the ROOT files by itself (uproot) and shares no code with the package. It keeps Combine's clip of
every morphed template at 1e-9, which models of the package leave out.
"""

from __future__ import annotations

import csv
import fnmatch
import math
import pathlib

import numpy as np

SMALLEST = 1e-9


def log_kappa(t, lo, hi):
    """Logarithm of the factor of an asymmetric log-normal uncertainty (``lo`` at -1, ``hi`` at +1)."""
    up, down = math.log(hi), -math.log(lo)
    mean, half = 0.5 * (up + down), 0.5 * (up - down)
    x = 2.0 * t
    step = math.copysign(1.0, x) if abs(x) >= 1.0 else x * (3 * x**4 - 10 * x**2 + 15) / 8
    return t * (mean + half * step)


def smooth_step(x, region):
    if abs(x) >= region:
        return math.copysign(1.0, x)
    x = x / region
    return 0.125 * x * (x * x * (3 * x * x - 10) + 15)


class Files:
    """Histograms of the files that cards name, as (contents, squared errors)."""

    def __init__(self, folder):
        self.folder, self.open = folder, {}

    def get(self, file, name):
        if file.endswith(".csv"):
            return self.table(file, name)
        import uproot

        root = self.open.setdefault(file, uproot.open(self.folder / file))
        if name not in root:
            return None
        histogram = root[name]
        return np.array(histogram.values(), float), np.array(histogram.variances(), float)

    def table(self, file, name):
        if file not in self.open:
            rows = {}
            with open(self.folder / file) as text:
                for row in csv.DictReader(text):
                    key = (row["channel"], row["process"], row["systematic"])
                    rows.setdefault(key, []).append((float(row["sum_w"]), float(row["sum_ww"])))
            self.open[file] = rows
        key = tuple((name.split(":") + ["nominal"])[:3])
        rows = self.open[file].get(key)
        return None if rows is None else tuple(np.array(rows).T)


class Column:
    """A process of a channel."""

    def __init__(self, channel, process, signal, rate):
        self.channel, self.process, self.signal, self.rate = channel, process, signal, rate
        self.template = self.variances = None
        self.log_normals, self.shapes, self.factors, self.gamma = [], [], [], None
        # Whether shapes are interpolated by their logarithms.
        self.log = False


class CardLikelihood:
    """``-ln L`` of a card as a function of a dictionary of parameters, without the constants of the data."""

    def __init__(self, path, mass=None, masks=(), mc_stats=None):
        self.path = pathlib.Path(path)
        self.mass, self.mc_stats = "" if mass is None else f"{mass:g}", mc_stats
        self.files = Files(self.path.parent)
        self.shapes, self.systematics, self.constraints = [], [], {}
        self.auto, self.observed, self.start = {}, {}, {}
        # Whether a morphed template was negative at the last point.
        self.clipped = False
        rows = [line.split("#")[0].split() for line in self.path.read_text().splitlines()]
        rows = [row for row in rows if row]
        rate = next(i for i, row in enumerate(rows) if row[0] == "rate")
        self.header(rows[: rate + 1])
        for row in rows[rate + 1 :]:
            if len(row) > 1 and not row[0].startswith("--"):
                self.line(row)
        self.masked = set(masks)
        self.read_templates()
        for row in self.systematics:
            self.systematic(*row)
        self.channels = [name for name in self.observed if name not in self.masked]

    def header(self, rows):
        bins, processes = [], []
        for row in rows:
            if row[0] == "shapes":
                self.shapes.append(row[1:])
            elif row[0] == "bin":
                bins.append(row[1:])
            elif row[0] == "observation":
                names = bins[0]
                self.observed = dict(zip(names, map(float, row[1:])))
            elif row[0] == "process":
                processes.append(row[1:])
            elif row[0] == "rate":
                names, ids = sorted(processes, key=lambda line: all(w.lstrip("-").isdigit() for w in line))
                self.columns = [
                    Column(b, p, int(i) <= 0, float(r)) for b, p, i, r in zip(bins[-1], names, ids, row[1:])
                ]

    def line(self, row):
        name, kind = row[0].replace("[nofloat]", ""), row[1]
        if kind == "rateParam":
            self.start[name] = float(row[4])
            for column in self.columns:
                if fnmatch.fnmatchcase(column.channel, row[2]) and fnmatch.fnmatchcase(column.process, row[3]):
                    column.factors.append(name)
        elif kind == "autoMCStats":
            for channel in self.observed:
                if fnmatch.fnmatchcase(channel, name):
                    self.auto[channel] = [float(word) for word in row[2:5]]
        elif kind == "param":
            self.constraints[name] = ("gauss", float(row[2]), float(row[3]))
        elif kind in ("lnN", "lnU", "gmN", "shape", "shape?", "shapeU", "shapeN"):
            self.systematics.append((name, kind, row[2:]))
        elif kind != "group":
            raise NotImplementedError(kind)

    def rule(self, channel, process):
        wanted = [(channel, process), (channel, "*"), ("*", process), ("*", "*")]
        rules = {(row[1], row[0]): row[2:] for row in self.shapes}
        return next((rules[key] for key in wanted if key in rules), ["FAKE"])

    def histogram(self, channel, process, systematic=None):
        rule = self.rule(channel, process)
        if rule[0] == "FAKE" or (systematic and len(rule) < 3):
            return None
        text = [rule[0], rule[2] if systematic else rule[1]]
        words = [("PROCESS", process), ("CHANNEL", channel), ("SYSTEMATIC", systematic or ""), ("MASS", self.mass)]
        for word, value in words:
            text = [t.replace("$" + word, value) for t in text]
        return self.files.get(*text)

    def read_templates(self):
        for channel in self.observed:
            if channel in self.masked:
                continue
            data = self.histogram(channel, "data_obs")
            self.observed[channel] = np.array([self.observed[channel]]) if data is None else data[0]
        for column in self.columns:
            if column.channel in self.masked or column.rate == 0:
                continue
            found = self.histogram(column.channel, column.process)
            if found is not None:
                column.template, column.variances = found
                if column.rate < 0:
                    column.rate = column.template.sum()

    def systematic(self, name, kind, words):
        constraint = ("none",) if kind.endswith("U") else ("gauss", 0.0, 1.0)
        if kind == "gmN":
            count, words = int(words[0]), words[1:]
            constraint = ("poisson", count)
        for column, word in zip(self.columns, words):
            if set(word) == {"-"} or float(word.split("/")[0]) == 0 or column.channel in self.masked:
                continue
            pair = [float(x) for x in word.split("/")]
            if kind[:2] == "ln" and set(pair) == {1.0}:
                continue
            if kind in ("shape", "shapeU", "shapeN") and column.template is None:
                continue
            # A line without effect has no parameter.
            self.constraints.setdefault(name, constraint)
            if kind == "gmN":
                column.gamma, column.rate = (name, pair[0], count), column.rate or 1e-6
                continue
            if kind.startswith("shape") and column.template is not None:
                up = self.histogram(column.channel, column.process, name + "Up")
                if up is not None or "?" not in kind:
                    down = self.histogram(column.channel, column.process, name + "Down")
                    column.shapes.append((name, pair[0], down[0], up[0]))
                    column.log = kind == "shapeN"
                    self.normalisation(column, *column.shapes[-1])
                    continue
            lo, hi = pair if len(pair) == 2 else (1 / pair[0], pair[0])
            column.log_normals.append((name, lo, hi))

    def one_sided(self):
        """Parameters that fill an empty bin on one side only, so that the template is negative on the other side."""
        found = set()
        for column in self.columns:
            for name, _, down, up in column.shapes:
                if np.any((column.template <= 0) & ((up > 0) | (down > 0))):
                    found.add(name)
        return found

    @staticmethod
    def normalisation(column, name, scale, down, up):
        total = column.template.sum()
        lo, hi = down.sum() / total, up.sum() / total
        if abs(lo - 1) >= 1e-3 or abs(hi - 1) >= 1e-3:
            column.log_normals.append((name, float(f"{lo**scale:f}"), float(f"{hi**scale:f}")))

    def morphed(self, column, at):
        """Template of a process, as yields with norm 1."""
        own = column.channel in self.auto
        template = column.template
        nominal = template if own else template / template.sum()
        total = nominal.copy()
        region = min([1.0] + [scale for _, scale, _, _ in column.shapes])
        if column.log:
            power = np.zeros_like(nominal)
            for name, scale, down, up in column.shapes:
                with np.errstate(divide="ignore", invalid="ignore"):
                    lo, hi = (np.log(t * (nominal.sum() / t.sum()) / nominal) for t in (down, up))
                lo, hi = (np.where((t > 0) & (nominal > 0), x, 0.0) for t, x in ((down, lo), (up, hi)))
                x = scale * at[name]
                power += 0.5 * x * ((hi - lo) + (hi + lo) * smooth_step(x, region))
            total = np.maximum(np.maximum(nominal, 0.0) * np.exp(power), SMALLEST)
            return total if own else total / total.sum()
        for name, scale, down, up in column.shapes:
            lo, hi = (t * (nominal.sum() / t.sum()) - nominal for t in (down, up))
            x = scale * at[name]
            total += 0.5 * x * ((hi - lo) + (hi + lo) * smooth_step(x, region))
        self.clipped |= bool(np.any((total < -1e-9 * nominal.sum()) & (nominal >= 0)))
        total = np.maximum(total, SMALLEST)
        return total if own else total / total.sum()

    def norm(self, column, at, poi_of):
        own = column.template is not None and column.channel in self.auto
        norm = 1.0 if own else column.rate
        if column.gamma:
            name, alpha, count = column.gamma
            norm = (1.0 / max(count, 1) if own else alpha) * at[name]
        for name, lo, hi in column.log_normals:
            norm *= math.exp(log_kappa(at[name], lo, hi))
        for name in column.factors + [poi_of(column)]:
            norm *= 1.0 if name is None else at[name]
        return norm

    def expected(self, at, poi_of):
        """Norm and shape by channel and process. ``poi_of`` gives the name of the parameter of interest of a process."""
        out = {}
        for column in self.columns:
            if column.channel in self.masked or column.rate == 0:
                continue
            shape = np.ones(1) if column.template is None else self.morphed(column, at)
            out[column.channel, column.process] = self.norm(column, at, poi_of), shape
        return out

    def kinds(self, channel):
        """What ``autoMCStats`` makes of each bin: ``[]``, ``["total"]``, or ``(column, "poisson" | "gauss", count)`` by process."""
        threshold, signal = (self.auto[channel] + [0.0])[:2]
        start = {name: (numbers[0] if numbers else 0.0) for name, (_, *numbers) in self.constraints.items()}
        # A param gives a rateParam of its name another start value.
        start = {**self.start, **start}
        one = lambda column: "one" if column.signal else None  # noqa: E731
        start["one"] = 1.0
        users = [c for c in self.columns if c.channel == channel and c.template is not None and c.rate]
        found = []
        for b in range(len(self.observed[channel])):
            rows = [(c, max(c.template[b], SMALLEST), math.sqrt(c.variances[b]), self.norm(c, start, one)) for c in users]
            counted = [row for row in rows if signal or not row[0].signal]
            total, square = sum(n * v for _, v, _, n in counted), sum((n * e) ** 2 for _, _, e, n in counted)
            if square <= 0:
                found.append([])
            elif int(0.5 + total**2 / square) > threshold:
                found.append(["total"])
            else:
                terms = []
                for column, v, e, _ in rows:
                    if e <= 0:
                        continue
                    count = int(0.5 + v * v / (e * e))
                    poisson = v >= 0.999 * e and count <= threshold
                    terms.append((column, "poisson" if poisson else "gauss", count))
                found.append(terms)
        return found

    def bin_names(self, channel):
        """Names of the parameters of ``autoMCStats`` with their counts, or ``None`` for a Gaussian constraint."""
        names = {}
        for b, kinds in enumerate(self.kinds(channel)):
            for kind in kinds:
                if kind == "total":
                    names[f"prop_bin{channel}_bin{b}"] = None
                else:
                    names[f"prop_bin{channel}_bin{b}_{kind[0].process}"] = kind[2] if kind[1] == "poisson" else None
        return names

    def with_mc_statistics(self, channel, parts, at):
        """Expected events of a channel with the uncertainties of ``autoMCStats``, and their part of ``-ln L``."""
        total, value = 0.0, 0.0
        columns = {c.process: c for c in self.columns if c.channel == channel}
        own = {process: part for (where, process), part in parts.items() if where == channel}
        for norm, shape in own.values():
            total = total + norm * shape
        for b, kinds in enumerate(self.kinds(channel)):
            for kind in kinds:
                if kind == "total":
                    x = at[f"prop_bin{channel}_bin{b}"]
                    square = sum(n * n * columns[p].variances[b] for p, (n, _) in own.items() if columns[p].template is not None)
                    total[b] += x * math.sqrt(square)
                    value += 0.5 * x * x
                    continue
                column, form, count = kind
                x = at[f"prop_bin{channel}_bin{b}_{column.process}"]
                norm, shape = own[column.process]
                if form == "poisson":
                    total[b] += (x - 1) * norm * shape[b]
                    value += count * (x - math.log(x))
                else:
                    total[b] += x * norm * math.sqrt(column.variances[b])
                    value += 0.5 * x * x
        return total, value

    def gammas(self, channel):
        """Relative statistical uncertainty of the sum of the backgrounds, bin by bin."""
        users = [c for c in self.columns if c.channel == channel and not c.signal and c.template is not None and c.rate]
        total, squares = sum(c.template for c in users), sum(c.variances for c in users)
        return np.where(total > 0, np.sqrt(squares) / np.where(total > 0, total, 1), 0.0)

    def nll(self, at, poi_of=lambda column: "r" if column.signal else None):
        self.clipped = False
        value = 0.0
        parts = self.expected(at, poi_of)
        for channel in self.channels:
            total = np.zeros_like(self.observed[channel])
            sigma = self.gammas(channel) if self.mc_stats == "staterror" and channel in self.auto else None
            for (where, process), (norm, shape) in parts.items():
                if where == channel:
                    yields = norm * shape
                    column = next(c for c in self.columns if (c.channel, c.process) == (where, process))
                    factor = 1.0
                    if sigma is not None and not column.signal:
                        factor = np.array([at.get(f"prop_bin{channel}[{b}]", 1.0) for b in range(len(total))])
                        factor = np.where(sigma > 0, factor, 1.0)
                    total = total + yields * factor
            if self.mc_stats == "combine" and channel in self.auto:
                total, constraints = self.with_mc_statistics(channel, parts, at)
                value += constraints
            data = self.observed[channel]
            value += float(np.sum(total - data * np.log(total)))
            if sigma is not None:
                pulls = [(at.get(f"prop_bin{channel}[{b}]", 1.0) - 1) / s for b, s in enumerate(sigma) if s > 0]
                value += 0.5 * sum(p * p for p in pulls)
        for name, (kind, *numbers) in self.constraints.items():
            x = at.get(name)
            if x is None:
                continue
            if kind == "gauss":
                value += 0.5 * ((x - numbers[0]) / numbers[1]) ** 2
            elif kind == "poisson":
                value += x - numbers[0] * math.log(x) if numbers[0] else x
        return value
