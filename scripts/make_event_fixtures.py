#!/usr/bin/env python3
"""Writes the Parquet file and the model of docs/events.md to tests/fixtures/events. Needs NumPy and pyarrow.

The events have a falling spectrum of two-photon masses with a small peak, and a flag that says whether they are
selected. Some events are outside of the fit range. The numbers are the same on every machine, because the generator
is seeded and the file has no date.
"""

import json
import pathlib

import numpy as np
import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "events"


def main():
    FOLDER.mkdir(exist_ok=True)
    random = np.random.default_rng(125)
    falling = 95 + random.exponential(30, 2600)
    masses = np.concatenate([falling[falling < 180], random.normal(125, 1.8, 45)])
    random.shuffle(masses)
    table = pyarrow.table({
        "m_yy": np.round(masses, 3),
        "pt": np.round(random.gamma(2, 30, masses.size), 2).astype(np.float32),
        "tight": random.random(masses.size) < 0.7,
    })
    pyarrow.parquet.write_table(table, FOLDER / "diphoton.parquet", row_group_size=1000, compression="zstd")
    model = {
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "signal", "type": "gaussian_dist", "x": "m", "mean": "peak", "sigma": "width"},
            {"name": "background", "type": "exponential_dist", "x": "m", "c": "slope"},
            {"name": "SR", "type": "mixture_dist", "summands": ["signal", "background"],
             "coefficients": ["n_signal", "n_background"], "extended": True},
            {"name": "scale_term", "type": "gaussian_dist", "x": "scale", "mean": "nom_scale", "sigma": 1},
            {"name": "resolution_term", "type": "gaussian_dist", "x": "resolution", "mean": "nom_resolution", "sigma": 1},
        ],
        "functions": [
            {"name": "peak", "type": "generic_function", "expression": "125*(1 + 0.004*scale)"},
            {"name": "width", "type": "generic_function", "expression": "1.8*exp(0.1*resolution)"},
            {"name": "n_signal", "type": "product", "factors": [30, "mu"]},
        ],
        "data": [{
            "name": "diphoton", "type": "unbinned", "axes": [{"name": "m", "min": 105, "max": 160}],
            "nextstat.source": {
                "file": "diphoton.parquet", "columns": {"m": "m_yy"},
                "where": [["m_yy", ">=", 105], ["m_yy", "<=", 160], ["tight", "==", 1]],
            },
        }],
        "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["diphoton"],
                         "aux_distributions": ["scale_term", "resolution_term"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "mu", "min": 0, "max": 10}, {"name": "n_background", "min": 0, "max": 10000},
            {"name": "slope", "min": 0, "max": 0.2}, {"name": "scale", "min": -5, "max": 5},
            {"name": "resolution", "min": -5, "max": 5}]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mu", "value": 1}, {"name": "n_background", "value": 1000}, {"name": "slope", "value": 0.03},
            {"name": "scale", "value": 0}, {"name": "resolution", "value": 0},
            {"name": "nom_scale", "value": 0, "const": True}, {"name": "nom_resolution", "value": 0, "const": True}]}],
        "analyses": [{"name": "search", "likelihood": "L", "parameters_of_interest": ["mu"],
                      "domain": "default_domain", "init": "default_values"}],
    }
    (FOLDER / "diphoton.hs3.json").write_text(json.dumps(model, indent=1) + "\n")


if __name__ == "__main__":
    main()
