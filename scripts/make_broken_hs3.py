#!/usr/bin/env python3
"""Writes broken HS3 models into tests/broken_hs3. Most of them are a valid model with a small change.

The name of a file says what is wrong with it. A snapshot test contains the message for each file. The script is plain
Python 3 without dependencies, and writes the same bytes on every run:

    python3 scripts/make_broken_hs3.py            # write
    python3 scripts/make_broken_hs3.py --check    # fail if a committed file differs
"""

import argparse
import copy
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "broken_hs3"

GOOD = {
    "metadata": {"hs3_version": "0.2.9"},
    "distributions": [
        {"name": "sig", "type": "gaussian_dist", "x": "m", "mean": "mean", "sigma": "width"},
        {"name": "bkg", "type": "generic_dist", "expression": "exp(-slope*m)"},
        {"name": "shape", "type": "mixture_dist", "summands": ["sig", "bkg"], "coefficients": ["nsig", "nbkg"], "extended": True},
        {"name": "eff_term", "type": "gaussian_dist", "x": "eff", "mean": 1.0, "sigma": 0.1},
        {"name": "region", "type": "product_dist", "factors": ["shape", "eff_term"]},
        {
            "name": "control",
            "type": "histfactory_dist",
            "axes": [{"name": "bin", "min": 0, "max": 2, "nbins": 2}],
            "samples": [
                {
                    "name": "top",
                    "data": {"contents": [50, 40], "errors": [2, 1.5]},
                    "modifiers": [
                        {"name": "k", "type": "normfactor", "parameter": "k_top"},
                        {"name": "xs", "type": "normsys", "parameter": "alpha_xs", "constraint": "Gauss", "data": {"hi": 1.1, "lo": 0.9}},
                        {"name": "stat", "type": "staterror", "parameters": ["g0", "g1"], "constraint": "Poisson"},
                    ],
                }
            ],
        },
    ],
    "functions": [
        {"name": "nsig", "type": "generic_function", "expression": "100*mu*eff"},
        {"name": "width", "type": "sum", "summands": ["w0", 0.5]},
    ],
    "data": [
        {"name": "events", "type": "unbinned", "axes": [{"name": "m", "min": 0, "max": 10}], "entries": [[1.5], [4.9], [5.1], [7.0]]},
        {"name": "counts", "type": "binned", "axes": [{"name": "bin", "min": 0, "max": 2, "nbins": 2}], "contents": [52, 37]},
    ],
    "likelihoods": [{"name": "L", "distributions": ["region", "control"], "data": ["events", "counts"]}],
    "domains": [
        {
            "name": "domain",
            "type": "product_domain",
            "axes": [
                {"name": "mu", "min": 0, "max": 10},
                {"name": "eff", "min": 0.5, "max": 1.5},
                {"name": "nbkg", "min": 0, "max": 1000},
                {"name": "mean", "min": 4, "max": 6},
                {"name": "w0", "min": 0.1, "max": 2},
                {"name": "slope", "min": 0, "max": 2},
                {"name": "k_top", "min": 0, "max": 5},
            ],
        }
    ],
    "parameter_points": [
        {
            "name": "start",
            "parameters": [
                {"name": "mu", "value": 1},
                {"name": "eff", "value": 1},
                {"name": "nbkg", "value": 100},
                {"name": "mean", "value": 5},
                {"name": "w0", "value": 0.5},
                {"name": "slope", "value": 0.2},
                {"name": "k_top", "value": 1},
            ],
        }
    ],
    "analyses": [{"name": "fit", "likelihood": "L", "parameters_of_interest": ["mu"], "domain": "domain", "init": "start"}],
}

CASES = {}


def case(name):
    """Registers a function that changes the valid model `GOOD` in place."""

    def register(function):
        assert name not in CASES, name
        CASES[name] = function
        return function

    return register


def named(model, section, name):
    """Returns the part of a section with this name."""
    return next(part for part in model[section] if part["name"] == name)


def dist(model, name):
    return named(model, "distributions", name)


def modifier(model, kind):
    sample = dist(model, "control")["samples"][0]
    return next(m for m in sample["modifiers"] if m["type"] == kind)


def change(name, section, part, key, value):
    """Registers a case that sets one key of a part."""

    @case(name)
    def _(m):
        named(m, section, part)[key] = value


def remove(name, section, part, key):
    """Registers a case that removes one key of a part."""

    @case(name)
    def _(m):
        del named(m, section, part)[key]


# --- structure ---------------------------------------------------------------------------------


@case("metadata_missing")
def _(m):
    del m["metadata"]


@case("version_missing")
def _(m):
    m["metadata"] = {}


@case("section_misspelt")
def _(m):
    m["distribution"] = m.pop("distributions")


@case("likelihoods_missing")
def _(m):
    del m["likelihoods"]
    del m["analyses"]


@case("distributions_object")
def _(m):
    m["distributions"] = {"sig": m["distributions"][0]}


remove("distribution_without_type", "distributions", "sig", "type")
remove("distribution_without_key", "distributions", "sig", "sigma")
remove("mixture_without_summands", "distributions", "shape", "summands")
change("key_misspelt", "distributions", "sig", "sigmas", "width")
change("key_of_another_tool", "distributions", "sig", "color", "red")
change("key_of_a_future_extension", "distributions", "sig", "nextstat.future", 1)
change("distribution_type_misspelt", "distributions", "sig", "type", "gausian_dist")
change("distribution_type_unknown", "distributions", "sig", "type", "relativistic_breit_wigner_dist")
change("function_type_unknown", "functions", "width", "type", "histogram")
change("function_type_misspelt", "functions", "width", "type", "summ")
change("value_is_an_object", "distributions", "sig", "mean", {"value": 5})
change("extended_is_a_string", "distributions", "shape", "extended", "true")
change("name_is_a_number", "distributions", "sig", "name", 3)
change("name_empty", "distributions", "eff_term", "name", "")


@case("name_used_twice")
def _(m):
    m["functions"].append({"name": "sig", "type": "sum", "summands": ["w0", 1]})


@case("two_data_sets_of_one_name")
def _(m):
    m["data"].append(copy.deepcopy(m["data"][0]))


# --- references --------------------------------------------------------------------------------


change("parameter_misspelt", "distributions", "sig", "mean", "meen")
change("parameter_unknown", "distributions", "sig", "mean", "somewhere_else")
change("summand_of_a_number", "distributions", "shape", "summands", ["sig", 1.0])
change("summand_unknown", "distributions", "shape", "summands", ["sig", "background"])
change("factor_is_a_function", "distributions", "region", "factors", ["shape", "width"])
change("value_is_a_distribution", "distributions", "sig", "mean", "bkg")
change("distribution_of_likelihood_unknown", "likelihoods", "L", "distributions", ["regions", "control"])
change("data_of_likelihood_unknown", "likelihoods", "L", "data", ["events", "observed"])
change("likelihood_with_fewer_data", "likelihoods", "L", "data", ["events"])
change("auxiliary_distribution_unknown", "likelihoods", "L", "aux_distributions", ["term"])
change("analysis_of_unknown_likelihood", "analyses", "fit", "likelihood", "LL")
change("analysis_with_unknown_domain", "analyses", "fit", "domain", "domains")
change("analysis_with_unknown_point", "analyses", "fit", "init", "begin")


@case("function_of_itself")
def _(m):
    named(m, "functions", "width")["summands"] = ["width", 1]


@case("functions_in_a_circle")
def _(m):
    named(m, "functions", "width")["summands"] = ["a", 1]
    m["functions"].append({"name": "a", "type": "product", "factors": ["b", 2]})
    m["functions"].append({"name": "b", "type": "generic_function", "expression": "width + w0"})


@case("distributions_in_a_circle")
def _(m):
    dist(m, "bkg").clear()
    m["distributions"][1] = {"name": "bkg", "type": "product_dist", "factors": ["shape"]}


@case("functions_too_deep")
def _(m):
    for i in range(300):
        inner = f"f{i - 1}" if i else "w0"
        m["functions"].append({"name": f"f{i}", "type": "sum", "summands": [inner, 0.001]})
    named(m, "functions", "width")["summands"] = ["f299"]


@case("densities_too_many")
def _(m):
    for i in range(30):
        inner = f"d{i - 1}" if i else "bkg"
        d = {"name": f"d{i}", "type": "mixture_dist", "summands": [inner, inner], "coefficients": [0.5], "extended": False}
        m["distributions"].append(d)
    dist(m, "shape")["summands"] = ["sig", "d29"]


# --- expressions -------------------------------------------------------------------------------


change("expression_unfinished", "functions", "nsig", "expression", "100*mu*")
change("expression_with_unknown_function", "functions", "nsig", "expression", "100*zeta(mu)*eff")
change("expression_with_a_position", "functions", "nsig", "expression", "100*@0*eff")
change("expression_with_unknown_name", "functions", "nsig", "expression", "100*mu*efficiency_2")
change("expression_too_deep", "functions", "nsig", "expression", "(" * 300 + "mu*eff" + ")" * 300)
change("expression_too_long", "functions", "nsig", "expression", "mu*eff" + "+0" * 40000)
change("expression_not_finite", "functions", "nsig", "expression", "1/0")
change("expression_with_wrong_arguments", "functions", "nsig", "expression", "pow(mu)*eff")
change("density_without_observable", "distributions", "bkg", "expression", "exp(-slope)")


# --- data --------------------------------------------------------------------------------------


@case("event_outside_of_its_axis")
def _(m):
    m["data"][0]["entries"] += [[12.0], [-1.0]]


@case("event_null")
def _(m):
    m["data"][0]["entries"][1] = [None]


@case("event_with_two_numbers")
def _(m):
    m["data"][0]["entries"][2] = [5.1, 2.0]


@case("events_are_strings")
def _(m):
    m["data"][0]["entries"] = ["1.5", "4.9"]


@case("too_few_weights")
def _(m):
    m["data"][0]["weights"] = [1.0, 1.0, 0.5]


@case("axis_without_range")
def _(m):
    del m["data"][0]["axes"][0]["max"]


@case("axis_empty")
def _(m):
    m["data"][0]["axes"][0].update(min=10, max=10)


@case("axis_twice")
def _(m):
    m["data"][0]["axes"] *= 2


@case("axis_of_another_name")
def _(m):
    m["data"][0]["axes"][0]["name"] = "mass"


@case("contents_too_short")
def _(m):
    m["data"][1]["contents"] = [52]


@case("contents_negative")
def _(m):
    m["data"][1]["contents"] = [52, -1]


@case("edges_falling")
def _(m):
    m["data"][1]["axes"] = [{"name": "bin", "edges": [0, 2, 1]}]


@case("bins_zero")
def _(m):
    m["data"][1]["axes"][0]["nbins"] = 0


@case("bins_not_those_of_the_channel")
def _(m):
    m["data"][1]["axes"][0]["max"] = 3


@case("data_type_unknown")
def _(m):
    m["data"][0]["type"] = "combined"


@case("histogram_channel_with_events")
def _(m):
    m["likelihoods"][0]["data"] = ["events", "events"]


@case("nan_literal")
def _(m):
    m["data"][0]["entries"][0] = [float("nan")]


# --- fit ranges and bins -----------------------------------------------------------------------


change("fit_range_empty", "likelihoods", "L", "nextstat.ranges", {"m": [[5, 5]]})
change("fit_ranges_overlap", "likelihoods", "L", "nextstat.ranges", {"m": [[0, 5], [4, 6]]})
change("fit_range_outside", "likelihoods", "L", "nextstat.ranges", {"m": [[0, 15]]})
change("fit_range_of_no_axis", "likelihoods", "L", "nextstat.ranges", {"mm": [[0, 5]]})


@case("blinded_ranges_wrong")
def _(m):
    m["likelihoods"][0]["nextstat.blind"] = {"m": [[3, 4], [3.5, 5]]}


@case("bin_rule_unknown")
def _(m):
    m["data"][0] = {"name": "events", "type": "binned", "axes": [{"name": "m", "min": 0, "max": 10, "nbins": 2}], "contents": [3, 4]}
    m["likelihoods"][0]["nextstat.bins"] = "middle"


# --- mixtures, constraints, parameters ---------------------------------------------------------


change("coefficients_too_many", "distributions", "shape", "coefficients", ["nsig", "nbkg", "mu"])
change("extended_without_last_rate", "distributions", "shape", "coefficients", ["nsig"])
change("coefficient_of_an_observable", "distributions", "shape", "coefficients", ["nsig", "m"])


@case("fractions_do_not_add_up")
def _(m):
    dist(m, "shape").update(coefficients=[0.5, 0.6], extended=False)


@case("fractions_need_not_add_up")
def _(m):
    dist(m, "shape").update(coefficients=["w0", "mean"], extended=False)


change("constraint_width_zero", "distributions", "eff_term", "sigma", 0)


@case("constraint_of_unsupported_type")
def _(m):
    m["distributions"][3] = {"name": "eff_term", "type": "exponential_dist", "x": "eff", "c": 1}


@case("covariance_not_positive")
def _(m):
    m["distributions"][3] = {
        "name": "eff_term",
        "type": "multivariate_normal_dist",
        "x": ["eff", "slope"],
        "mean": [1, 0.2],
        "covariances": [[0.01, 0.02], [0.02, 0.01]],
    }


@case("domain_reversed")
def _(m):
    m["domains"][0]["axes"][0] = {"name": "mu", "min": 10, "max": 0}


@case("domain_type_unknown")
def _(m):
    m["domains"][0]["type"] = "box"


@case("parameter_without_value")
def _(m):
    m["domains"][0]["axes"][3] = {"name": "mean"}
    del m["parameter_points"][0]["parameters"][3]


@case("value_is_a_string")
def _(m):
    m["parameter_points"][0]["parameters"][0]["value"] = "1"


@case("several_analyses")
def _(m):
    m["analyses"].append({"name": "other", "likelihood": "L", "domain": "domain"})


@case("only_asimov_data")
def _(m):
    for data, name in zip(m["data"], ("asimov_events", "asimov_counts")):
        data["name"] = name
    m["likelihoods"][0]["data"] = ["asimov_events", "asimov_counts"]


# --- HistFactory -------------------------------------------------------------------------------


@case("modifier_type_unknown")
def _(m):
    modifier(m, "normsys")["type"] = "normsyst"


@case("sample_too_short")
def _(m):
    dist(m, "control")["samples"][0]["data"]["contents"] = [50]


@case("sample_without_data")
def _(m):
    del dist(m, "control")["samples"][0]["data"]


@case("staterror_without_errors")
def _(m):
    del dist(m, "control")["samples"][0]["data"]["errors"]


@case("staterror_with_one_parameter")
def _(m):
    modifier(m, "staterror")["parameters"] = ["g0"]


@case("bin_parameters_in_another_order")
def _(m):
    sample = copy.deepcopy(dist(m, "control")["samples"][0])
    sample["name"] = "other"
    sample["modifiers"][2]["parameters"] = ["g1", "g0"]
    dist(m, "control")["samples"].append(sample)


@case("normsys_negative")
def _(m):
    modifier(m, "normsys")["data"]["lo"] = -0.1


@case("interpolation_unknown")
def _(m):
    modifier(m, "normsys")["interpolation"] = "cubic"


@case("interpolation_mixed")
def _(m):
    extra = copy.deepcopy(modifier(m, "normsys"))
    extra.update(name="other", parameter="alpha_other", interpolation="log")
    dist(m, "control")["samples"][0]["modifiers"].append(extra)


@case("normsys_constraint_of_unsupported_kind")
def _(m):
    modifier(m, "normsys")["constraint"] = "Poisson"


@case("warning_normsys_constraint_lognormal")
def _(m):
    modifier(m, "normsys")["constraint"] = "Lognormal"


@case("warning_normsys_without_constraint")
def _(m):
    del modifier(m, "normsys")["constraint"]


def shapesys(m, values, **more):
    """Adds a shapesys to the sample of the channel `control`, whose contents are two numbers."""
    extra = {"name": "fakes", "type": "shapesys", "parameters": ["f0", "f1"], "constraint": "Poisson", "data": {"vals": values}}
    dist(m, "control")["samples"][0]["modifiers"].append({**extra, **more})


@case("shapesys_of_unknown_meaning")
def _(m):
    shapesys(m, [3, 7])


@case("warning_shapesys_of_unknown_meaning")
def _(m):
    shapesys(m, [0.03, 0.07])


@case("shapesys_of_misspelt_meaning")
def _(m):
    shapesys(m, [3, 7], **{"nextstat.vals": "absolut"})


@case("staterror_settings_misspelt")
def _(m):
    dist(m, "control")["staterror"] = {"relThreshold": 0.05, "constraint": "Poison"}


def auxiliary(m, data, constant=True):
    """Adds a Gaussian term with data of its own to the likelihood."""
    m["distributions"].append({"name": "term", "type": "gaussian_dist", "x": "nom_eff", "mean": "eff", "sigma": 0.1})
    m["parameter_points"][0]["parameters"].append({"name": "nom_eff", "value": 1, "const": constant})
    likelihood = m["likelihoods"][0]
    likelihood["aux_distributions"] = likelihood.get("aux_distributions", []) + ["term"]
    likelihood["aux_data"] = data


@case("warning_aux_data_missing")
def _(m):
    auxiliary(m, ["global_observables"])


@case("aux_data_missing_and_not_constant")
def _(m):
    auxiliary(m, ["global_observables"], constant=False)


@case("aux_data_of_other_axes")
def _(m):
    m["data"].append({"name": "globs", "type": "unbinned", "axes": [{"name": "nom_efff", "min": 0, "max": 2}], "entries": [[1]]})
    auxiliary(m, ["globs"])


@case("aux_data_of_several_events")
def _(m):
    axes = [{"name": "nom_eff", "min": 0, "max": 2}, {"name": "nom_b", "min": 0, "max": 2}]
    m["data"].append({"name": "globs", "type": "unbinned", "axes": axes, "entries": [[1, 1], [1, 2]]})
    auxiliary(m, ["globs"])


@case("aux_data_of_wrong_number")
def _(m):
    auxiliary(m, [1.1, 1.2, 1.3])


@case("aux_data_without_distributions")
def _(m):
    m["likelihoods"][0].pop("aux_distributions", None)
    m["likelihoods"][0]["aux_data"] = [1.0]


@case("process_normalization_of_wrong_length")
def _(m):
    norm = {"name": "norm", "type": "CMS::process_normalization", "thetaList": ["eff"], "logKappa": [0.1, 0.2]}
    m["functions"].append({**norm, "asymmThetaList": [], "logAsymmKappa": [], "otherFactorList": []})


@case("process_normalization_of_no_pair")
def _(m):
    norm = {"name": "norm", "type": "CMS::process_normalization", "nominalValue": 1.0}
    m["functions"].append({**norm, "asymmThetaList": ["eff"], "logAsymmKappa": [[0.1]]})


@case("normsys_constraint_unknown")
def _(m):
    modifier(m, "normsys")["constraint"] = "Gaus"


@case("normfactor_is_a_constrained_function")
def _(m):
    modifier(m, "normfactor").update({"parameter": "nsig", "constraint": "Gauss"})


@case("normsys_of_a_function")
def _(m):
    modifier(m, "normsys")["parameter"] = "nsig"


@case("shapefactor_of_too_few_functions")
def _(m):
    # The channel has two bins.
    factor = modifier(m, "normfactor")
    del factor["parameter"]
    factor.update({"type": "shapefactor", "parameters": ["nsig"]})


@case("histosys_of_differences")
def _(m):
    data = {"hi": {"contents": [2, -3]}, "lo": {"contents": [-2, 3]}}
    extra = {"name": "jes", "type": "histosys", "parameter": "alpha_jes", "constraint": "Gauss", "data": data}
    dist(m, "control")["samples"][0]["modifiers"].append(extra)


@case("distribution_of_a_name_alone")
def _(m):
    m["distributions"].append({"name": "beta"})


@case("channel_of_an_unsupported_type")
def _(m):
    m["distributions"].append({"name": "resonance", "type": "relativistic_breit_wigner_dist", "x": "m", "mean": 5, "sigma": 1})
    m["likelihoods"][0]["distributions"][0] = "resonance"


@case("many_things_at_once")
def _(m):
    dist(m, "sig")["mean"] = "meen"
    named(m, "functions", "nsig")["expression"] = "100*mu*"
    m["data"][0]["entries"][0] = [11.0]
    m["data"][1]["contents"] = [52]
    m["domains"][0]["axes"][0] = {"name": "mu", "min": 10, "max": 0}


# --- warnings ----------------------------------------------------------------------------------


@case("warning_value_outside_of_its_range")
def _(m):
    m["parameter_points"][0]["parameters"][0]["value"] = 20


@case("warning_crystal_ball")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "crystalball_dist", "m": "m", "m0": "mean", "sigma": "width", "alpha": 1.5, "n": 3}


@case("warning_unused_axis")
def _(m):
    m["data"][0]["axes"].append({"name": "y", "min": 0, "max": 1})
    m["data"][0]["entries"] = [[x[0], 0.5] for x in m["data"][0]["entries"]]


@case("warning_interest_without_influence")
def _(m):
    m["analyses"][0]["parameters_of_interest"] = ["mus"]


def source(name, **keys):
    """Registers a case that puts the events into a separate file. `keys` replace keys of a valid `nextstat.source`."""

    @case(name)
    def _(m):
        data = m["data"][0]
        entries = data.pop("entries")
        data["nextstat.source"] = {"file": "events.parquet", "columns": {"m": "m_yy"}, **keys}
        if name == "source_beside_entries":
            data["entries"] = entries
        if name == "source_is_a_path":
            data["nextstat.source"] = "events.parquet"


source("source_of_a_model_that_is_no_file")
source("source_beside_entries")
source("source_is_a_path")
source("source_of_a_root_file", file="events.root", tree="t")
source("source_of_unknown_format", format="csv")
source("source_with_unknown_axis", columns={"mass": "m_yy"})
source("source_with_key_misspelt", wheres=[])
source("source_with_unknown_sign", where=[["m_yy", "=>", 100]])
source("source_with_a_text_as_limit", where=[["m_yy", ">", "100"]])
source("source_with_weight_of_two", weight=["w", "v"])
source("source_without_file_name", file=None)


def template(name, **keys):
    """Replaces the signal by a template of four events."""

    @case(name)
    def _(m):
        response = {"parameter": "alpha", "up": [1.1, 1.2, 1, 1], "down": [0.9, 0.8, 1, 1]}
        response.update(keys.pop("response", {}))
        shape = {
            "name": "sig", "type": "nextstat.template_dist", "x": "m", "entries": [1, 4, 5, 8], "weights": [1, 1, 1, 1],
            "estimator": {"type": "histogram", "edges": [0, 5, 10]}, "responses": [response]}
        shape.update(keys)
        m["distributions"][0] = shape
        m["distributions"].append({"name": "alpha_term", "type": "gaussian_dist", "x": "alpha", "mean": 0, "sigma": 1})
        m["likelihoods"][0]["aux_distributions"] = ["alpha_term"]
        values = m["parameter_points"][0]["parameters"]
        values.append({"name": "alpha", "value": 0})
        if name == "template_without_nuisance_parameter":
            values.pop()
            m["likelihoods"][0]["aux_distributions"] = []
            m["distributions"].pop()
        if name == "warning_template_without_constraint":
            m["likelihoods"][0]["aux_distributions"] = []
        if name == "template_in_a_mixture_of_fractions":
            m["distributions"].append(
                {"name": "both", "type": "mixture_dist", "summands": ["sig", "bkg"], "coefficients": [0.4], "extended": False})
            m["distributions"][2]["summands"] = ["both", "bkg"]


template("template_with_too_few_up_weights", response={"up": [1, 1]})
template("template_with_too_many_weights", weights=[1, 1, 1, 1, 1])
template("template_with_negative_sum", weights=[1, -1, -2, 1])
template("warning_template_with_negative_bin", weights=[-1, 0.5, 2, 1])
template("template_with_null_weight", response={"up": [1, None, 1, 1]})
template("template_without_nuisance_parameter")
template("template_of_a_number", response={"parameter": 1})
template("template_with_unknown_interpolation", response={"interpolation": {"type": "mult", "in": "exp", "out": "exp"}})
template("template_acts_on_nothing_known", response={"acts_on": ["rate"]})
template("template_with_falling_edges", estimator={"type": "histogram", "edges": [0, 5, 4]})
template("template_of_unknown_estimator", estimator={"type": "spline"})
template("template_of_kernels_with_responses", estimator={"type": "kde"})
template("template_of_unknown_kernels", responses=[], estimator={"type": "kde", "kernel": "box"})
template("template_of_kernels_with_event_outside", responses=[], estimator={"type": "kde"}, entries=[1, 4, 5, 80])
template("template_with_event_outside", entries=[1, 4, 5, 11])
template("template_with_column_but_no_file", response={"up": "w_up"})
template("template_without_weight", weights=[0, 0, 0, 0])
template("template_in_a_mixture_of_fractions")
template("warning_template_without_constraint")


@case("crystal_ball_without_tail")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "nextstat.crystalball_dist", "m": "m", "m0": "mean", "sigma_L": 1, "sigma_R": 1}


@case("crystal_ball_with_half_a_tail")
def _(m):
    m["distributions"][0] = {
        "name": "sig", "type": "nextstat.crystalball_dist", "m": "m", "m0": "mean", "sigma_L": 1, "sigma_R": 1, "alpha_L": 1}


def decay(name, of=None, more=(), **changes):
    """Adds a case: the signal is a decay with a resolution, with changes of the distribution or of its resolution."""

    @case(name)
    def _(m):
        resolution = {"name": "resolution", "type": "gauss_model_function", "x": "m", "mean": 0, "sigma": "width"}
        m["distributions"][0] = {
            "name": "sig", "type": "decay_dist", "t": "m", "tau": "mean", "decayType": 0, "resolutionModel": "resolution", **changes}
        m["distributions"] += [{"name": "resolution", **of} if of and "type" in of else resolution | (of or {}), *more]


decay("decay_of_unknown_type", decayType=3)
decay("decay_without_resolution", resolutionModel="resolutoin")
decay("decay_with_a_density_as_resolution", resolutionModel="bkg")
decay("decay_of_a_parameter", t="mean")
decay("decay_with_resolution_of_something_else", of={"x": "mean"})
decay("decay_with_too_few_fractions", of={"type": "mixture_model", "summands": ["a", "b"], "coefficients": []}, more=[
    {"name": "a", "type": "gauss_model_function", "x": "m", "mean": 0, "sigma": 1},
    {"name": "b", "type": "gauss_model_function", "x": "m", "mean": 0, "sigma": 2}])
decay("decay_with_unknown_key", frequency=3)


def signal(name, more=(), likelihood=None, **keys):
    """Adds a case: another density in place of the signal, further distributions, and keys of the likelihood."""

    @case(name)
    def _(m):
        m["distributions"][0] = {"name": "sig", **keys}
        m["distributions"] += list(more)
        m["likelihoods"][0].update(likelihood or {})


def convolution(name, first="core", second="blur", more=(), **changes):
    """Adds a case: the signal is a convolution."""
    parts = [{"name": "core", "type": "landau_dist", "x": "m", "mean": "mean", "sigma": "width"},
             {"name": "blur", "type": "gaussian_dist", "x": "m", "mean": 0, "sigma": 0.3}]
    signal(name, [*parts, *more], type="fft_conv_pdf", **({"conv_var": "m", "pdf1": first, "pdf2": second} | changes))


BARS = {"type": "histogram_dist", "data": {"axes": [{"name": "m", "min": 0, "max": 10, "nbins": 2}], "contents": [1, 2]}}
convolution("convolution_of_unknown_density", first="cor")
convolution("convolution_of_a_function", second="width")
convolution("convolution_of_two_histograms", "a", "b", [{"name": "a", **BARS}, {"name": "b", **BARS}])
convolution("convolution_of_a_convolution", "inner", "blur", [
    {"name": "inner", "type": "fft_conv_pdf", "conv_var": "m", "pdf1": "core", "pdf2": "blur"}])
convolution("convolution_along_a_parameter", conv_var="mean")
convolution("convolution_along_nothing", conv_var="x")
convolution("convolution_of_one_density", pdf2=3)
convolution("convolution_of_itself", first="sig")
convolution("convolution_with_unknown_key", buffer=0.1)
convolution("convolution_of_a_decay_at_given_errors", "life", "blur", [
    {"name": "life", "type": "decay_dist", "t": "m", "tau": "mean", "decayType": 0, "resolutionModel": "own"},
    {"name": "own", "type": "gauss_model_function", "x": "m", "mean": 0, "sigma": "m"}])
convolution("warning_convolution_of_an_exponential", "fall", "blur", [
    {"name": "fall", "type": "exponential_dist", "x": "m", "c": "slope"}])
signal("landau_without_width", type="landau_dist", x="m", mean="mean")
signal("landau_with_a_negative_width", type="landau_dist", x="m", mean="mean", sigma=-0.3)


@case("warning_landau_whose_width_may_be_negative")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "landau_dist", "x": "m", "mean": "mean", "sigma": "w0"}
    next(axis for axis in m["domains"][0]["axes"] if axis["name"] == "w0")["min"] = -2


signal("landau_of_unknown_parameter", type="landau_dist", x="m", mean="maen", sigma="width")
signal("landau_with_the_wrong_name", type="landau_dits", x="m", mean="mean", sigma="width")
signal("power_sum_with_too_few_exponents", type="power_sum_dist", x="m", coefficients=[1, 2], exponents=[-1])
signal("power_sum_of_strings", type="power_sum_dist", x="m", coefficients=["one"], exponents=[-1])
signal("power_sum_without_exponents", type="power_sum_dist", x="m", coefficients=[1])
PLANE = {"name": "plane", "type": "generic_dist", "expression": "exp(-(m-slope)^2)"}
signal("projection_over_an_axis", [PLANE], type="projected_dist", input_pdf="plane", observables=["m"])
signal("projection_of_a_number", type="projected_dist", input_pdf=2, observables=["nbkg"])
signal("projection_of_something_else", type="projected_dist", input_pdf="bkg", observables=["nbkg"])
GAUSS = {"type": "gaussian_dist", "x": "m", "mean": "mean", "sigma": "width"}
signal("coefficients_of_something", likelihood={"nextstat.coefficients": "everything"}, **GAUSS)
signal("coefficients_of_a_number", likelihood={"nextstat.coefficients": 1}, **GAUSS)
signal("boxes_that_overlap", likelihood={"nextstat.ranges": [{"m": [0, 5]}, {"m": [4, 6]}]}, **GAUSS)
signal("box_of_no_axis", likelihood={"nextstat.ranges": [{"x": [0, 5]}]}, **GAUSS)
signal("box_outside", likelihood={"nextstat.ranges": [{"m": [5, 11]}]}, **GAUSS)
signal("box_empty", likelihood={"nextstat.ranges": [{"m": [5, 5]}]}, **GAUSS)
signal("box_of_one_number", likelihood={"nextstat.ranges": [{"m": [5]}]}, **GAUSS)
signal("box_without_names", likelihood={"nextstat.ranges": [[0, 5]]}, **GAUSS)
signal("weighted_sum_extended", type="weighted_sum_dist", samples=["bkg"], coefficients=[1], extended=True)
signal("efficiency_of_unknown_density", type="efficiency_product_pdf_dist", pdf="bgk", eff="eff")
signal("efficiency_of_a_number", type="efficiency_product_pdf_dist", pdf=3.0, eff="width")
signal("efficiency_without_function", type="efficiency_product_pdf_dist", pdf="bkg")


@case("projection_without_a_range")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "projected_dist", "input_pdf": "plane", "observables": ["slope"]}
    m["distributions"].append(PLANE)
    m["domains"][0]["axes"] = [axis for axis in m["domains"][0]["axes"] if axis["name"] != "slope"]


def rate_in(name, limits=(2, 8), likelihood=None, domain="window"):
    """Adds a case: the expected number of events belongs to a range."""

    @case(name)
    def _(m):
        m["distributions"][2] = {"name": "shape", "type": "extend_pdf", "pdf": "sig", "norm": "nbkg", "range": domain}
        m["domains"].append({"name": "window", "type": "product_domain", "axes": [{"name": "m", "min": limits[0], "max": limits[1]}]})
        m["likelihoods"][0].update(likelihood or {})


rate_in("rate_in_an_unknown_range", domain="windwo")
rate_in("rate_in_a_range_beyond_the_axis", limits=(2, 12))
rate_in("rate_in_an_empty_range", limits=(8, 2))
rate_in("rate_in_a_range_and_of_the_axes", likelihood={"nextstat.coefficients": "axes"})


@case("resolution_as_a_density")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "gauss_model_function", "x": "m", "mean": 0, "sigma": 1}


@case("given_what_is_no_observable")
def _(m):
    m["distributions"][0]["nextstat.given"] = ["mu"]


@case("given_its_own_observable")
def _(m):
    m["distributions"][0] |= {"sigma": "wide", "nextstat.given": ["m"]}
    m["functions"].append({"name": "wide", "type": "product", "factors": ["m", "width"]})


@case("given_without_a_closed_integral")
def _(m):
    m["distributions"][1]["nextstat.given"] = ["m"]


@case("expression_with_variables_by_position")
def _(m):
    m["distributions"][1] |= {"expression": "exp(-@0*@2)", "arguments": ["slope", "m"]}


@case("weighted_sum_with_too_few_coefficients")
def _(m):
    m["distributions"][0] = {
        "name": "sig", "type": "weighted_sum_dist", "samples": ["bkg", "bkg", "bkg"], "coefficients": ["mean"], "extended": False}


@case("weighted_sum_of_nothing_known")
def _(m):
    m["distributions"][0] = {"name": "sig", "type": "weighted_sum_dist", "samples": ["bgk"], "coefficients": [1], "extended": True}


RAW = {
    "missing_comma": lambda text: text.replace(b'"type": "sum",', b'"type": "sum"', 1),
    "duplicate_key": lambda text: text.replace(b'"sigma": "width"', b'"sigma": "width", "sigma": 2', 1),
}


def dumped(document):
    return (json.dumps(document, indent=1) + "\n").encode()


def broken():
    files = {name: change(dumped(GOOD)) for name, change in RAW.items()}
    for name, function in CASES.items():
        document = copy.deepcopy(GOOD)
        function(document)
        assert document != GOOD, name
        files[name] = dumped(document)
    return {f"{name}.json": content for name, content in files.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER, help="folder to write to")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    wanted = broken()
    present = {path.name: path.read_bytes() for path in args.output.glob("*.json")}
    if args.check:
        wrong = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
        for name in wrong:
            print(f"{name} is not what {pathlib.Path(__file__).name} writes", file=sys.stderr)
        return 1 if wrong else 0
    for name in present.keys() - wanted.keys():
        (args.output / name).unlink()
    for name, content in wanted.items():
        (args.output / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
