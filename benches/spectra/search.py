"""Fits random spectra with a peak at a free place, and compares each fit with 60 descents from places over the range.

    python benches/spectra/search.py --count 2000

Prints every spectrum whose fit ends above the lowest minimum, by the default and by the thorough search, and the time of
both relative to one descent. Half of the spectra have a free width.
"""

import argparse
import time

import nextstat
import numpy as np

RANGE = (100.0, 160.0)
PLACES = (102.0, 158.0)
DESCENTS = 60
SAME = 1e-6


def within(draw, count):
    """Returns ``count`` numbers of ``draw`` that lie in the range."""
    numbers = []
    while len(numbers) < count:
        number = draw()
        if RANGE[0] < number < RANGE[1]:
            numbers.append(float(number))
    return numbers


def spectrum(seed):
    """Returns an HS3 document, and whether the width of the peak is free."""
    random = np.random.default_rng([46, seed])
    n = int(np.exp(random.uniform(np.log(30), np.log(2000))))
    width = random.uniform(0.5, 2.0)
    n_peak = max(3, int(n * random.uniform(0.02, 0.3)))
    mean, scale = random.uniform(103, 157), random.uniform(15, 60)
    events = within(lambda: RANGE[0] + random.exponential(scale), n - n_peak)
    events += within(lambda: random.normal(mean, width), n_peak)
    start = random.uniform(*PLACES)
    free = bool(random.random() < 0.5)
    bounds = {"ns": (0, n), "nb": (0, 2 * n), "m": PLACES, "w": (0.3, 8), "c": (0.001, 0.3)}
    values = {"ns": n_peak, "nb": n - n_peak, "m": start, "w": width, "c": 1 / 30}
    point = [{"name": name, "value": float(value)} for name, value in values.items()]
    if not free:
        point[3]["const"] = True
    axes = [{"name": name, "min": float(lo), "max": float(hi)} for name, (lo, hi) in bounds.items()]
    document = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "peak", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": "w"},
            {"name": "rest", "type": "exponential_dist", "x": "x", "c": "c"},
            {
                "name": "sum",
                "type": "mixture_dist",
                "summands": ["peak", "rest"],
                "coefficients": ["ns", "nb"],
                "extended": True,
            },
        ],
        "data": [
            {
                "name": "data",
                "type": "unbinned",
                "axes": [{"name": "x", "min": RANGE[0], "max": RANGE[1]}],
                "entries": [[x] for x in events],
            }
        ],
        "likelihoods": [{"name": "L", "distributions": ["sum"], "data": ["data"]}],
        "domains": [{"name": "D", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "P", "parameters": point}],
        "analyses": [
            {"name": "a", "likelihood": "L", "parameters_of_interest": ["ns"], "domain": "D", "init": "P"}
        ],
    }
    return document, free


def lowest_of_descents(model, free):
    """Returns the lowest converged value of ``-ln L`` of descents from places over the range."""
    lowest = np.inf
    for k in range(DESCENTS):
        start = {"m": PLACES[0] + (PLACES[1] - PLACES[0]) * (k + 0.5) / DESCENTS}
        if free:
            start["w"] = (0.6, 1.2, 3.0)[k % 3]
        fit = nextstat.fit(model, uncertainties=False, search="local", init=start)
        if fit.converged:
            lowest = min(lowest, fit.nll)
    return lowest


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    searches = ("standard", "thorough", "local")
    seconds, missed = dict.fromkeys(searches, 0.0), dict.fromkeys(searches, 0)
    for seed in range(args.first, args.first + args.count):
        document, free = spectrum(seed)
        model = nextstat.load_workspace(document)
        found = {}
        for search in searches:
            began = time.perf_counter()
            found[search] = nextstat.fit(model, uncertainties=False, search=search).nll
            seconds[search] += time.perf_counter() - began
        lowest = min(lowest_of_descents(model, free), *found.values())
        for search in searches:
            above = found[search] - lowest
            if above > SAME:
                missed[search] += 1
                if search != "local":
                    width = "free" if free else "given"
                    print(f"spectrum {seed}, {width} width: {search} ends {above:.3g} above", flush=True)
    for search in searches:
        ratio = seconds[search] / seconds["local"]
        print(f"{search}: {missed[search]} of {args.count} above the lowest, {ratio:.2f} times one descent")


if __name__ == "__main__":
    main()
