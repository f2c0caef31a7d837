#!/usr/bin/env python3
"""Writes tests/fixtures/build: one analysis as events in Parquet files, as the histograms of these events in a ROOT file,
and a configuration for each (`pip install numpy pyarrow uproot`).
"""

import pathlib

import numpy as np
import pyarrow
import pyarrow.parquet
import uproot

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "build"
EDGES = {"Signal region": np.array([200.0, 250.0, 300.0, 400.0, 500.0, 600.0]), "Control": np.array([0.0, 600.0])}
PATHS = {"Signal region": "SR", "Control": "CR"}

SYSTEMATICS = """
Systematics:
  - Name: Luminosity
    Type: Normalization
    Up: {Normalization: 0.05}
    Down: {Normalization: -0.05}

  - Name: Modelling
    Type: NormPlusShape
    Samples: Background
    Up: MODELLING
    Down: {Symmetrize: True}

  - Name: Weights
    Type: NormPlusShape
    ModifierName: weights
    Samples: [Background, Signal]
    Smoothing: {Algorithm: "353QH, twice", Regions: Signal region}
    Up: WEIGHTS_UP
    Down: WEIGHTS_DOWN

NormFactors:
  - Name: mu
    Samples: Signal
    Nominal: 1
    Bounds: [0, 10]
"""

HISTOGRAMS = (
    """# Histograms of the events of ntuples.yml.
General:
  Measurement: search
  POI: mu
  InputPath: "histograms.root:{RegionPath}/{SamplePath}/{VariationPath}"
  HistogramFolder: not_used
  VariationPath: nominal
  Fixed:
    - {Name: Luminosity, Value: 0}

Regions:
  - {Name: Signal region, RegionPath: SR}
  - {Name: Control, RegionPath: CR}

Samples:
  - {Name: Data, SamplePath: data, Data: True}
  - {Name: Signal, SamplePath: signal, Regions: Signal region}
  - {Name: Background, SamplePath: background}
"""
    + SYSTEMATICS.replace("MODELLING", "{VariationPath: modelling}")
    .replace("WEIGHTS_UP", "{VariationPath: weights_up}")
    .replace("WEIGHTS_DOWN", "{VariationPath: weights_down}")
)

NTUPLES = (
    """# An analysis of events in Parquet files.
General:
  Measurement: search
  POI: mu
  InputPath: "{SamplePath}.parquet"
  HistogramFolder: not_used
  Fixed:
    - {Name: Luminosity, Value: 0}

Regions:
  - Name: Signal region
    Variable: pt
    Binning: [200, 250, 300, 400, 500, 600]
    Filter: (charge > 0) & (pt >= 200)
  - Name: Control
    Variable: pt
    Binning: [0, 600]
    Filter: charge < 0

Samples:
  - {Name: Data, SamplePath: data, Data: True}
  - {Name: Signal, SamplePath: signal, Weight: weight, Regions: Signal region}
  - {Name: Background, SamplePath: background, Weight: weight}
"""
    + SYSTEMATICS.replace("MODELLING", "{SamplePath: background_varied}")
    .replace("WEIGHTS_UP", "{Weight: weight*(1 + 0.0005*pt)}")
    .replace("WEIGHTS_DOWN", '{Weight: "0.85*weight"}')
)


TREX = '''% Histograms of the events of ntuples.yml, for TRExFitter.
Job: "search"
  ReadFrom: HIST
  POI: "mu"
  HistoFile: "histograms"
  MCstatConstraint: GAUSSIAN
  SystPruningNorm: 0.002
  SystPruningShape: 0.002
  Label: "An example"

Fit: "fit"
  FitType: SPLUSB
  UseMinos: "mu"

Region: "SR"
  Type: SIGNAL

Region: "CR"
  Type: VALIDATION

Sample: "Data"
  Type: DATA
  HistoName: "SR/data/nominal"

Sample: "Signal"
  Type: SIGNAL
  HistoName: "SR/signal/nominal"
  NormFactor: "mu",1,0,10

Sample: "Background"
  Type: BACKGROUND
  Title: "Background"
  HistoName: "SR/background/nominal"

Systematic: "lumi"
  Type: OVERALL
  OverallUp: 0.02
  OverallDown: -0.02
  Samples: all

Systematic: "Modelling"
  Type: HISTO
  Samples: Background
  HistoNameUp: "SR/background/modelling"
  Symmetrisation: ONESIDED
  Smoothing: 40
'''


def events(rng, n, scale, weight):
    pt = 150.0 + rng.exponential(scale, n)
    charge = rng.choice([-1, 1], n).astype(np.int32)
    # Three binary digits after the point, so that sums are exact in any order.
    weights = np.round(weight * rng.uniform(0.5, 1.5, n) * 8) / 8
    return {"pt": np.round(pt, 1), "charge": charge, "weight": weights}


def selected(table, region):
    positive = (table["charge"] > 0) & (table["pt"] >= 200)
    return positive if region == "Signal region" else table["charge"] < 0


def histogram(table, region, weights):
    keep = selected(table, region)
    pt, weights, edges = table["pt"][keep], weights[keep], EDGES[region]
    inside = (pt >= edges[0]) & (pt < edges[-1])
    bins = np.searchsorted(edges, pt[inside], side="right")
    n = len(edges) + 1
    values = np.bincount(bins, weights[inside], n)
    variances = np.bincount(bins, weights[inside] ** 2, n)
    axis = uproot.writing.identify.to_TAxis(fName="xaxis", fTitle="pt", fNbins=n - 2, fXmin=edges[0], fXmax=edges[-1], fXbins=edges)
    return uproot.writing.identify.to_TH1x(
        fName=None, fTitle="", data=values, fEntries=float(len(pt)), fTsumw=values.sum(), fTsumw2=variances.sum(),
        fTsumwx=0.0, fTsumwx2=0.0, fSumw2=variances, fXaxis=axis,
    )  # fmt: skip


def main():
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(41)
    tables = {
        "signal": events(rng, 300, 300.0, 0.25),
        "background": events(rng, 400, 150.0, 1.0),
        "background_varied": events(rng, 400, 170.0, 1.0),
        "data": events(rng, 420, 160.0, 1.0),
    }
    del tables["data"]["weight"]
    for name, table in tables.items():
        pyarrow.parquet.write_table(pyarrow.table(table), FOLDER / f"{name}.parquet", compression="zstd")
    with uproot.recreate(FOLDER / "histograms.root") as file:
        for region, path in PATHS.items():
            data = tables["data"]
            file[f"{path}/data/nominal"] = histogram(data, region, np.ones(len(data["pt"])))
            for sample in ("signal", "background"):
                table = tables[sample]
                weights = table["weight"]
                file[f"{path}/{sample}/nominal"] = histogram(table, region, weights)
                file[f"{path}/{sample}/weights_up"] = histogram(table, region, weights * (1 + 0.0005 * table["pt"]))
                file[f"{path}/{sample}/weights_down"] = histogram(table, region, 0.85 * weights)
            varied = tables["background_varied"]
            file[f"{path}/background/modelling"] = histogram(varied, region, varied["weight"])
    (FOLDER / "histograms.yml").write_text(HISTOGRAMS)
    (FOLDER / "ntuples.yml").write_text(NTUPLES)
    (FOLDER / "trex.config").write_text(TREX)


if __name__ == "__main__":
    main()
