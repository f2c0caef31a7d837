"""Reads the models that `root_tutorial.py` wrote, and compares `-2 ln L` with ROOT's.

`python root_sweep.py FOLDER` prints a line for each fit: what is read, what differs and what is refused. With
`--run [TUTORIAL ...]` it runs ROOT's own tutorials first, all of them or those that are named.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import sys

import nextstat

FOLDER = pathlib.Path(__file__).resolve().parent
#: Largest difference of `-2 ln L` between two points: relative to the difference, and to `-2 ln L` itself.
TOLERANCE = (1e-9, 1e-12)


NAME_ALONE = ("refused", "ROOT writes the name of the density alone, without a type")
#: Fits that do not agree, with the reason.
KNOWN = {
    "rf103_interprfuncs-1": ("differs", "ROOT's numerical integral of a kink is off; ours agrees with 30 digits"),
    "rf104_classfactory-1": NAME_ALONE,
    "rf104_classfactory-2": NAME_ALONE,
    "rf105_funcbinding-1": NAME_ALONE,
    "rf204b_extendedLikelihood_rangedFit-1": ("differs", "ROOT's rate is that of the fit range, not of the named one"),
    "rf204b_extendedLikelihood_rangedFit-3": ("differs", "ROOT's rate is that of the fit range, not of the named one"),
    "rf208_convolution-1": ("differs", "ROOT's Landau density has 8 digits, and its convolution is cut at the ends of its buffers"),
    "rf210_angularconv-1": ("differs", "ROOT convolves cyclically, and without a buffer"),
    "rf210_angularconv-2": ("refused", "a convolution along a function"),
    "rf211_paramconv-1": ("refused", "a projection of a convolution along another variable"),
    "rf306_condpereventerrors-1": ("differs", "ROOT leaves the errors of the events out of the file"),
    "rf307_fullpereventerrors-1": ("differs", "ROOT leaves the errors of the events out of the file"),
    "rf314_paramfitrange-1": ("refused", "the axis begins at a function of an observable, of which ROOT writes one value"),
    "rf315_projectpdf-1": ("differs", "ROOT leaves out that a factor is conditional"),
    "rf613_global_observables-1": ("differs", "ROOT leaves out the global observable of its data"),
    "rf613_global_observables-2": ("differs", "ROOT leaves out the global observable of its data"),
    "rf613_global_observables-3": ("differs", "ROOT leaves out the global observable of its data"),
    "rf614_binned_fit_problems-2": ("differs", "ROOT integrates by bins, a setting that the file does not have"),
    "rf614_binned_fit_problems-4": ("differs", "ROOT integrates by bins, a setting that the file does not have"),
    "rf616_morphing-2": NAME_ALONE,
    "rf619_discrete_profiling-1": NAME_ALONE,
    "rf701_efficiencyfit-1": NAME_ALONE,
    "rf702_efficiencyfit_2D-1": NAME_ALONE,
    "rf703_effpdfprod-1": ("differs", "ROOT's numerical integral is off by 1e-6; ours agrees with 30 digits"),
    "rf704_amplitudefit-1": ("differs", "ROOT's numerical integral is off by 1e-9"),
    "rf705_linearmorph-1": NAME_ALONE,
    "rf705_linearmorph-2": NAME_ALONE,
    "rf709_BarlowBeeston-1": ("refused", "an extended sum of functions"),
    "rf709_BarlowBeeston-2": NAME_ALONE,
    "rf709_BarlowBeeston-3": NAME_ALONE,
    "rf712_lagrangianmorphfit-1": NAME_ALONE,
}


def tutorials() -> list[pathlib.Path]:
    """ROOT's tutorials of RooFit that fit something, rf101 to rf712."""
    import ROOT

    folder = pathlib.Path(ROOT.__file__).parent / "tutorials" / "roofit" / "roofit"
    found = sorted(folder.glob("rf[1-7]*.py"))
    return [path for path in found if "fitTo" in path.read_text() or "createNLL" in path.read_text()]


def run(tutorial: pathlib.Path, folder: pathlib.Path, seconds: float = 150.0) -> str:
    """Writes the fits of one tutorial. Returns what went wrong, or nothing."""
    call = [sys.executable, "-W", "ignore", str(FOLDER / "root_tutorial.py"), str(tutorial), str(folder)]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{tutorial.stem} took more than {seconds:g} s"
    return "" if done.returncode == 0 else f"{tutorial.stem} ended with {done.returncode}: {done.stderr[-200:]}"


def likelihood(document: dict, case: dict) -> dict:
    """The likelihood that ROOT leaves out: the density with its data, ranges of the fit, and constraint terms."""
    inside = document.get("misc", {}).get("ROOT_internal", {})
    together = inside.get("combined_distributions", {}).get(case["pdf"])
    made = {"name": "fit", "distributions": [case["pdf"]], "data": ["observed"]}
    if together is not None:
        # A distribution and a set of data for each label of a category.
        labels = together["labels"]
        known = {data["name"] for data in document["data"]}
        made["distributions"] = together["distributions"]
        made["data"] = [next(name for name in (f"observed_{label}", f"observed.{label}", label) if name in known)
                        for label in labels]
    boxes = case.get("boxes", [])
    if boxes:
        made["nextstat.ranges"] = boxes
        kinds = {d["name"]: d for d in document["distributions"]}
        # RooFit's fractions and yields of sums are those of the whole axes, whatever is fitted.
        if not kinds.get(case["pdf"], {}).get("range") and "SumCoefRange" not in case["options"]:
            made["nextstat.coefficients"] = "axes"
    if "IntegrateBins" in case["options"]:
        made["nextstat.bins"] = "integral"
    terms = case["options"].get("ExternalConstraints", [])
    if terms:
        made["aux_distributions"] = terms
    return made


def document(case: dict) -> dict:
    """The file, with a likelihood."""
    whole = json.loads(case["text"])
    whole.setdefault("likelihoods", []).append(likelihood(whole, case))
    whole.pop("analyses", None)
    return whole


def compare(case: dict) -> tuple[str, str]:
    """A word for what happened, and more about it."""
    if "text" not in case:
        return "not exported", case.get("failure", "ROOT crashed")
    try:
        model = nextstat.load_workspace(document(case), analysis="fit")
    except Exception as error:  # noqa: BLE001
        return "refused", str(error)
    names = model.parameter_names()
    missing = [name for name in names if name not in case["points"][0]]
    constant = dict(zip(names, model.suggested_init()))
    if set(case["points"][0]) - set(names):
        return "differs", f"ROOT has the parameters {sorted(set(case['points'][0]) - set(names))} too"
    ours = [2 * model.nll([point.get(name, constant[name]) for name in names]) for point in case["points"]]
    # Where a density is 0 at an event, ROOT gives no number.
    pairs = [(mine, 2 * value) for mine, value in zip(ours, case["nll"]) if math.isfinite(value) and math.isfinite(mine)]
    if len(pairs) < 2:
        return "no values", f"ROOT has a finite -ln L at {len(pairs)} of {len(ours)} points"
    (first, base), others = pairs[0], pairs[1:]
    away = [(abs(mine - first - (value - base)), abs(value - base)) for mine, value in others]
    good = all(miss <= TOLERANCE[0] * (1 + size) + TOLERANCE[1] * abs(base) for miss, size in away)
    further = f", {len(missing)} parameters that ROOT holds" if missing else ""
    return ("agrees" if good else "differs"), f"by {max(away)[0]:.2g} of {max(size for _, size in away):.3g}{further}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--run", nargs="*", metavar="TUTORIAL")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.run is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for tutorial in tutorials():
            if not options.run or any(tutorial.stem.startswith(name) for name in options.run):
                problem = run(tutorial, folder)
                if problem:
                    print(problem)
    counts: dict[str, int] = {}
    for path in sorted(folder.glob("rf*.json")):
        case = json.loads(path.read_text())
        word, more = compare(case)
        counts[word] = counts.get(word, 0) + 1
        known = KNOWN.get(case["name"], ("", ""))
        reason = f" [known: {known[1]}]" if known[0] == word else ""
        print(f"{case['name']:45s} {word:12s} {' '.join(more.split())[:300]}{reason} {case['options'] or ''}")
    print(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
