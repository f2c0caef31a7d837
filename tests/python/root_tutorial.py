"""Runs one tutorial of RooFit and writes each model that it fits: as HS3, with ROOT's own values of `-ln L`.

`python root_tutorial.py TUTORIAL FOLDER` needs ROOT (`pip install root==0.1a12`). For the n-th fit of the tutorial it
writes `FOLDER/NAME-n.json` with the text of the file, the fit's options, ten points with ROOT's `-ln L`, and ROOT's
minimum. ROOT writes no likelihood for a model without a ModelConfig, so one is added, with the ranges of the fit.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import runpy
import sys

import ROOT

POINTS = 10
#: So many fits of one tutorial are written: those of a study of toys are all alike.
MOST = 12
#: Options of a fit that change `-ln L`.
READ = {"Range", "Extended", "ConditionalObservables", "ExternalConstraints", "Constrain", "GlobalObservables",
        "IntegrateBins", "RecoverFromUndefinedRegions", "SumCoefRange", "SplitRange"}


def floating(pdf, data):
    """The free parameters: names with value, lowest and highest value."""
    parameters = pdf.getParameters(data)
    real = [p for p in parameters if isinstance(p, ROOT.RooRealVar) and not p.isConstant()]
    return sorted(real, key=lambda p: p.GetName())


def points(parameters, seed: str) -> list[dict[str, float]]:
    """The values of the start, and others near it, within the ranges."""
    source = random.Random(seed)
    found = [{p.GetName(): p.getVal() for p in parameters}]
    for _ in range(POINTS - 1):
        place = {}
        for p in parameters:
            value, low, high = p.getVal(), p.getMin(), p.getMax()
            below = min(0.1 * abs(value) + 0.02 * (high - low if high - low < 1e6 else abs(value)), 0.5 * (value - low))
            above = min(0.1 * abs(value) + 0.02 * (high - low if high - low < 1e6 else abs(value)), 0.5 * (high - value))
            place[p.GetName()] = source.uniform(value - below, value + above)
        found.append(place)
    return found


def names(objects) -> list[str]:
    return [o.GetName() for o in objects] if hasattr(objects, "__iter__") and not isinstance(objects, str) else []


def exported(pdf, data, further) -> str:
    space = ROOT.RooWorkspace("w")
    silent = ROOT.RooFit.Silence()
    space.Import(pdf, silent, ROOT.RooFit.RecycleConflictNodes())
    for term in further:
        space.Import(term, silent, ROOT.RooFit.RecycleConflictNodes())
    space.Import(data, silent, ROOT.RooFit.Rename("observed"))
    return str(ROOT.RooJSONFactoryWSTool(space).exportJSONtoString())


class Record:
    """Writes the fits of a tutorial."""

    def __init__(self, tutorial: str, folder: pathlib.Path) -> None:
        self.name, self.folder, self.count, self.busy = pathlib.Path(tutorial).stem, folder, 0, False

    def begin(self, pdf, data, options: dict) -> dict | None:
        self.count += 1
        if self.count > MOST:
            return None
        own = {key: value for key, value in options.items() if key in READ}
        known = {key: names(value) or str(value) for key, value in own.items()}
        case = {"name": f"{self.name}-{self.count}", "pdf": pdf.GetName(), "type": pdf.ClassName(), "options": known}
        parameters = floating(pdf, data)
        if "Range" in own:
            # A box per name of a range; the names of observables without it have their whole axes.
            axes = [o for o in pdf.getObservables(data) if isinstance(o, ROOT.RooRealVar)]
            if isinstance(own["Range"], str):
                case["boxes"] = [{o.GetName(): [o.getMin(r), o.getMax(r)] for o in axes if o.hasRange(r)}
                                 for r in own["Range"].split(",")]
            else:
                case["boxes"] = [{o.GetName(): list(map(float, own["Range"])) for o in axes}]
        case["points"] = points(parameters, case["name"])
        start = {p.GetName(): p.getVal() for p in parameters}
        nll = pdf.createNLL(data, **own)
        case["nll"] = []
        for place in case["points"]:
            for p in parameters:
                p.setVal(place[p.GetName()])
            case["nll"].append(nll.getVal())
        for p in parameters:
            p.setVal(start[p.GetName()])
        del nll
        self.save(case)
        try:
            case["text"] = exported(pdf, data, own.get("ExternalConstraints", []))
        except Exception as error:  # noqa: BLE001
            case["failure"] = str(error)[:500]
        self.save(case)
        return case

    def end(self, pdf, data, case: dict) -> None:
        case["minimum"] = {p.GetName(): p.getVal() for p in floating(pdf, data)}
        self.save(case)

    def save(self, case: dict) -> None:
        (self.folder / f"{case['name']}.json").write_text(json.dumps(case))


def main() -> int:
    tutorial, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    ROOT.gROOT.SetBatch(True)
    ROOT.RooMsgService.instance().setGlobalKillBelow(ROOT.RooFit.FATAL)
    record, fit = Record(tutorial, folder), ROOT.RooAbsPdf.fitTo

    def fit_to(pdf, data, *arguments, **options):
        case = None
        if not record.busy:
            record.busy = True
            try:
                case = record.begin(pdf, data, options)
            except Exception as error:  # noqa: BLE001
                print("NOT RECORDED", type(error), error, file=sys.stderr)
        try:
            result = fit(pdf, data, *arguments, **options)
        finally:
            record.busy = False
        if case is not None:
            record.end(pdf, data, case)
        return result

    ROOT.RooAbsPdf.fitTo = fit_to
    create = ROOT.RooAbsPdf.createNLL

    def create_nll(pdf, data, *arguments, **options):
        if not record.busy:
            record.busy = True
            try:
                record.begin(pdf, data, options)
            except Exception as error:  # noqa: BLE001
                print("NOT RECORDED", type(error), error, file=sys.stderr)
            finally:
                record.busy = False
        return create(pdf, data, *arguments, **options)

    ROOT.RooAbsPdf.createNLL = create_nll
    os.chdir(folder)
    runpy.run_path(tutorial, run_name="__main__")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # ROOT may crash when it tidies up.
    os._exit(code)
