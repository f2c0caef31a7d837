#!/usr/bin/env python3
"""Writes broken workspaces into tests/broken. Most of them are a valid workspace with a small change.

The name of a file says what is wrong with it. A snapshot test contains the message for each file. The script is plain
Python 3 without dependencies, and writes the same bytes on every run:

    python3 scripts/make_broken_workspaces.py            # write
    python3 scripts/make_broken_workspaces.py --check    # fail if a committed file differs
"""

import argparse
import copy
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "broken"

GOOD = {
    "channels": [
        {
            "name": "SR",
            "samples": [
                {
                    "name": "signal",
                    "data": [5.0, 8.0],
                    "modifiers": [
                        {"name": "mu", "type": "normfactor", "data": None},
                        {"name": "lumi", "type": "lumi", "data": None},
                        {"name": "theory", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}},
                    ],
                },
                {
                    "name": "background",
                    "data": [50.0, 40.0],
                    "modifiers": [
                        {"name": "jes", "type": "histosys", "data": {"lo_data": [48.0, 41.0], "hi_data": [52.0, 39.0]}},
                        {"name": "stat_SR", "type": "staterror", "data": [2.0, 1.5]},
                        {"name": "fakes", "type": "shapesys", "data": [4.0, 3.0]},
                    ],
                },
            ],
        },
        {
            "name": "CR",
            "samples": [
                {
                    "name": "background",
                    "data": [200.0],
                    "modifiers": [
                        {"name": "jes", "type": "histosys", "data": {"lo_data": [195.0], "hi_data": [206.0]}},
                        {"name": "shape", "type": "shapefactor", "data": None},
                    ],
                }
            ],
        },
    ],
    "observations": [{"name": "SR", "data": [57.0, 46.0]}, {"name": "CR", "data": [204.0]}],
    "measurements": [
        {
            "name": "fit",
            "config": {
                "poi": "mu",
                "parameters": [
                    {"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0], "sigmas": [0.02]},
                    {"name": "mu", "inits": [1.0], "bounds": [[0.0, 10.0]]},
                ],
            },
        }
    ],
    "version": "1.0.0",
}

CASES = {}


def case(name):
    """Registers a function that changes the valid workspace `GOOD` in place."""

    def register(function):
        assert name not in CASES, name
        CASES[name] = function
        return function

    return register


def sr(w):
    return w["channels"][0]


def signal(w):
    return sr(w)["samples"][0]


def background(w):
    return sr(w)["samples"][1]


def config(w):
    return w["measurements"][0]["config"]


def settings(w, name):
    return next(p for p in config(w)["parameters"] if p["name"] == name)


def dumped(w):
    return json.dumps(w, indent=1)


# --- not JSON ------------------------------------------------------------------------------

RAW = {
    "empty_file": lambda text: b"",
    "only_white_space": lambda text: b"  \n\t\n",
    "truncated": lambda text: text.encode()[: len(text) // 2],
    "truncated_in_a_string": lambda text: text[: text.index("background") + 4].encode(),
    "nan_literal": lambda text: text.replace("48.0", "NaN").encode(),
    "infinity_literal": lambda text: text.replace("195.0", "-Infinity").encode(),
    "number_too_large": lambda text: text.replace("41.0", "1e999").encode(),
    "warning_byte_order_mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf16": lambda text: text.encode("utf-16"),
    "utf16_without_mark": lambda text: text.encode("utf-16-le"),
    "latin1_name": lambda text: text.replace("background", "Untergr\u00fcnde").encode("latin-1"),
    "lone_surrogate": lambda text: text.replace('"signal"', '"sig\\ud800nal"').encode(),
    "control_character_in_name": lambda text: text.replace('"signal"', '"sig\nnal"').encode(),
    "gzip": lambda text: b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03",
    "xml": lambda text: b'<!DOCTYPE Combination SYSTEM "HistFactorySchema.dtd">\n<Combination/>\n',
    "two_documents": lambda text: (text + "\n" + text).encode(),
    "trailing_comma": lambda text: text.replace('"version": "1.0.0"', '"version": "1.0.0",').encode(),
    "missing_comma": lambda text: text.replace("48.0,", "48.0").encode(),
    "missing_colon": lambda text: text.replace('"version":', '"version"').encode(),
    "single_quotes": lambda text: text.replace('"', "'").encode(),
    "comment": lambda text: text.replace('"channels"', '// regions\n "channels"').encode(),
    "python_none": lambda text: text.replace("null", "None").encode(),
    "leading_zero": lambda text: text.replace("48.0", "048.0").encode(),
    "deeply_nested_arrays": lambda text: b"[" * 100000,
    "deeply_nested_objects": lambda text: b'{"a":' * 100000,
    "zero_bytes": lambda text: b"\x00" * 16,
    "bare_word": lambda text: b"workspace",
    "duplicate_key": lambda text: text.replace(
        '"name": "jes",', '"name": "jes", "type": "normsys",', 1
    ).encode(),
    "warning_duplicate_key_same_value": lambda text: text.replace(
        '"version": "1.0.0"', '"version": "1.0.0", "version": "1.0.0"'
    ).replace('"name": "jes",', '"name": "jes", "name": "jes",').encode(),
}

# --- not a workspace -----------------------------------------------------------------------

OTHER = {
    "top_level_array": [GOOD],
    "top_level_string": "workspace",
    "top_level_number": 42,
    "top_level_null": None,
    "empty_object": {},
    "json_patch_as_workspace": [{"op": "remove", "path": "/channels/0"}],
    "patchset_as_workspace": {"metadata": {}, "patches": [], "version": "1.0.0"},
    "model_spec_as_workspace": {"channels": GOOD["channels"], "parameters": []},
    "hs3_as_workspace": {"distributions": [], "likelihoods": [], "metadata": {"hs3_version": "0.2"}},
}

# --- structure -----------------------------------------------------------------------------


@case("channels_missing")
def _(w):
    del w["channels"]


@case("channels_empty")
def _(w):
    w["channels"] = []


@case("channels_object")
def _(w):
    w["channels"] = {c["name"]: c["samples"] for c in w["channels"]}


@case("channel_is_a_list")
def _(w):
    w["channels"][0] = ["SR", sr(w)["samples"]]


@case("channel_without_name")
def _(w):
    del sr(w)["name"]


@case("channel_name_is_a_number")
def _(w):
    sr(w)["name"] = 1


@case("samples_empty")
def _(w):
    w["channels"][1]["samples"] = []


@case("warning_sample_without_modifiers_key")
def _(w):
    del background(w)["modifiers"]


@case("sample_data_is_a_number_for_two_bins")
def _(w):
    background(w)["data"] = 50.0


@case("staterror_data_is_a_number_for_two_bins")
def _(w):
    background(w)["modifiers"][1]["data"] = 2.0


@case("sample_data_empty")
def _(w):
    background(w)["data"] = []


@case("sample_data_has_strings")
def _(w):
    background(w)["data"] = ["50.0", "forty"]


@case("sample_data_has_null")
def _(w):
    background(w)["data"] = [50.0, None]


@case("sample_data_nested")
def _(w):
    background(w)["data"] = [[50.0, 40.0]]


@case("unknown_key_at_top")
def _(w):
    w["author"] = "made by hand"


@case("unknown_key_in_channel")
def _(w):
    sr(w)["bins"] = 2


@case("unknown_key_in_sample")
def _(w):
    background(w)["modifers"] = background(w).pop("modifiers")


@case("unknown_key_in_modifier")
def _(w):
    signal(w)["modifiers"][0]["value"] = 1.0


@case("unknown_key_in_measurement")
def _(w):
    w["measurements"][0]["parameters"] = []


@case("unknown_key_in_setting")
def _(w):
    settings(w, "mu")["init"] = settings(w, "mu").pop("inits")


@case("version_misspelt")
def _(w):
    w["Version"] = w.pop("version")


@case("version_unknown")
def _(w):
    w["version"] = "2.0.0"


@case("version_is_a_number")
def _(w):
    w["version"] = 1.0


@case("modifier_type_unknown")
def _(w):
    background(w)["modifiers"][1]["type"] = "stateror"


@case("modifier_type_in_capitals")
def _(w):
    signal(w)["modifiers"][0]["type"] = "NormFactor"


@case("modifier_without_type")
def _(w):
    del background(w)["modifiers"][0]["type"]


@case("normsys_without_data")
def _(w):
    del signal(w)["modifiers"][2]["data"]


@case("normfactor_data_misspelt")
def _(w):
    signal(w)["modifiers"][0]["dta"] = signal(w)["modifiers"][0].pop("data")


@case("modifiers_object")
def _(w):
    signal(w)["modifiers"] = {"mu": "normfactor"}


@case("modifier_is_a_string")
def _(w):
    signal(w)["modifiers"][0] = "mu"


@case("histosys_without_hi_data")
def _(w):
    del background(w)["modifiers"][0]["data"]["hi_data"]


@case("histosys_with_normsys_data")
def _(w):
    background(w)["modifiers"][0]["data"] = {"lo": 0.9, "hi": 1.1}


@case("normsys_with_list")
def _(w):
    signal(w)["modifiers"][2]["data"] = [0.9, 1.1]


@case("normsys_hi_is_a_string")
def _(w):
    signal(w)["modifiers"][2]["data"]["hi"] = "1.1"


@case("normfactor_with_data")
def _(w):
    signal(w)["modifiers"][0]["data"] = 1.0


@case("shapesys_with_null")
def _(w):
    background(w)["modifiers"][2]["data"] = None


@case("lumi_with_another_name")
def _(w):
    signal(w)["modifiers"][1]["name"] = "Lumi"


@case("observation_without_data")
def _(w):
    del w["observations"][1]["data"]


@case("observations_missing")
def _(w):
    del w["observations"]


@case("measurements_empty")
def _(w):
    w["measurements"] = []


@case("measurement_without_config")
def _(w):
    del w["measurements"][0]["config"]


@case("poi_missing")
def _(w):
    del config(w)["poi"]


@case("poi_null")
def _(w):
    config(w)["poi"] = None


@case("parameters_missing")
def _(w):
    del config(w)["parameters"]


@case("setting_bounds_flat_of_a_vector")
def _(w):
    config(w)["parameters"].append({"name": "stat_SR", "bounds": [0.0, 10.0]})


@case("setting_bounds_of_three")
def _(w):
    settings(w, "mu")["bounds"] = [[0.0, 5.0, 10.0]]


@case("setting_fixed_is_a_string")
def _(w):
    settings(w, "mu")["fixed"] = "true"


@case("setting_inits_is_a_number_for_a_vector")
def _(w):
    config(w)["parameters"].append({"name": "stat_SR", "inits": 1.0})


@case("setting_inits_is_a_string")
def _(w):
    settings(w, "mu")["inits"] = "1.0"


@case("boolean_as_yield")
def _(w):
    background(w)["data"][0] = True


@case("many_things_at_once")
def _(w):
    w["comments"] = ""
    background(w)["data"] = [50.0, "40"]
    background(w)["modifiers"][0]["data"]["lo_data"] = [48.0]
    signal(w)["modifiers"][2]["data"]["lo"] = 0.0
    w["channels"][1]["samples"][0]["modifiers"][1]["type"] = "shapefact"
    w["observations"][1]["data"] = [-204.0]
    config(w)["parameters"].append({"name": "mu", "inits": [1.0, 2.0]})


# --- meaning -------------------------------------------------------------------------------


@case("channel_name_twice")
def _(w):
    w["channels"][1]["name"] = "SR"


@case("sample_name_twice")
def _(w):
    background(w)["name"] = "signal"


@case("observation_twice")
def _(w):
    w["observations"].append({"name": "CR", "data": [205.0]})


@case("measurement_name_twice")
def _(w):
    w["measurements"].append(copy.deepcopy(w["measurements"][0]))
    w["measurements"][1]["config"]["poi"] = "theory"


@case("modifier_twice_on_a_sample")
def _(w):
    background(w)["modifiers"].append(copy.deepcopy(background(w)["modifiers"][0]))
    background(w)["modifiers"][3]["data"]["hi_data"][0] = 53.0


@case("observation_missing")
def _(w):
    del w["observations"][1]


@case("observation_misspelt")
def _(w):
    w["observations"][1]["name"] = "Cr"


@case("observation_too_long")
def _(w):
    w["observations"][1]["data"].append(3.0)


@case("observation_negative")
def _(w):
    w["observations"][0]["data"][1] = -46.0


@case("sample_too_short")
def _(w):
    background(w)["data"] = [50.0]


@case("histosys_too_long")
def _(w):
    background(w)["modifiers"][0]["data"]["hi_data"] = [52.0, 39.0, 20.0]


@case("staterror_too_short")
def _(w):
    background(w)["modifiers"][1]["data"] = [2.0]


@case("shapesys_too_long")
def _(w):
    background(w)["modifiers"][2]["data"] = [4.0, 3.0, 2.0]


@case("normsys_zero")
def _(w):
    signal(w)["modifiers"][2]["data"]["lo"] = 0.0


@case("normsys_negative")
def _(w):
    signal(w)["modifiers"][2]["data"]["hi"] = -1.1


@case("shapesys_shared")
def _(w):
    w["channels"][1]["samples"][0]["modifiers"].append({"name": "fakes", "type": "shapesys", "data": [9.0]})


@case("shapesys_uncertainty_tiny")
def _(w):
    background(w)["modifiers"][2]["data"][0] = 1e-200


@case("staterror_uncertainty_huge")
def _(w):
    background(w)["modifiers"][1]["data"][0] = 1e300


@case("name_of_two_types")
def _(w):
    background(w)["modifiers"][1]["name"] = "jes"


@case("normfactor_called_lumi")
def _(w):
    w["channels"][1]["samples"][0]["modifiers"].append({"name": "lumi", "type": "normfactor", "data": None})


@case("staterror_on_other_samples_elsewhere")
def _(w):
    signal(w)["modifiers"].append({"name": "stat_SR", "type": "staterror", "data": [0.3, 0.4]})
    w["channels"][1]["samples"][0]["modifiers"].append({"name": "stat_SR", "type": "staterror", "data": [5.0]})


@case("shapefactor_over_different_binnings")
def _(w):
    background(w)["modifiers"].append({"name": "shape", "type": "shapefactor", "data": None})


@case("warning_no_modifiers_at_all")
def _(w):
    for channel in w["channels"]:
        for sample in channel["samples"]:
            sample["modifiers"] = []
    config(w)["parameters"] = []


@case("lumi_not_configured")
def _(w):
    config(w)["parameters"] = [p for p in config(w)["parameters"] if p["name"] != "lumi"]


@case("lumi_half_configured")
def _(w):
    del settings(w, "lumi")["auxdata"]
    del settings(w, "lumi")["bounds"]


@case("setting_twice")
def _(w):
    config(w)["parameters"].append({"name": "mu", "bounds": [[0.0, 5.0]]})


@case("setting_too_many_inits")
def _(w):
    settings(w, "mu")["inits"] = [1.0, 1.0]


@case("setting_too_few_for_a_vector")
def _(w):
    config(w)["parameters"].append({"name": "stat_SR", "inits": [1.0]})


@case("setting_sigmas_of_a_normsys")
def _(w):
    config(w)["parameters"].append({"name": "theory", "sigmas": [2.0]})


@case("setting_auxdata_of_a_normfactor")
def _(w):
    settings(w, "mu")["auxdata"] = [1.0]


@case("setting_factors_of_a_staterror")
def _(w):
    config(w)["parameters"].append({"name": "stat_SR", "factors": [1.0, 1.0]})


@case("setting_bounds_reversed")
def _(w):
    settings(w, "mu")["bounds"] = [[10.0, 0.0]]


@case("setting_sigma_zero")
def _(w):
    settings(w, "lumi")["sigmas"] = [0.0]


@case("setting_negative_auxiliary_count")
def _(w):
    config(w)["parameters"].append({"name": "fakes", "auxdata": [-1.0, 5.0]})


@case("setting_zero_factor")
def _(w):
    config(w)["parameters"].append({"name": "fakes", "factors": [0.0, 5.0]})


@case("poi_is_a_vector")
def _(w):
    config(w)["poi"] = "stat_SR"


@case("name_very_long")
def _(w):
    background(w)["modifiers"][1]["name"] = "stat" * 200


@case("name_with_a_line_break")
def _(w):
    sr(w)["name"] = "SR\nhigh"


# --- doubtful but usable: warnings -----------------------------------------------------------


@case("warning_poi_unused")
def _(w):
    config(w)["poi"] = "mu_sig"


@case("warning_observation_without_channel")
def _(w):
    w["observations"].append({"name": "VR", "data": [3.0]})


@case("warning_descriptive_keys")
def _(w):
    places = [w, sr(w), signal(w), signal(w)["modifiers"][0], background(w)["modifiers"][0]["data"]]
    places += [w["observations"][0], w["measurements"][0], config(w), settings(w, "mu")]
    for place in places:
        place["description"] = "of a person"
    w["$schema"] = "https://scikit-hep.org/pyhf/schemas/1.0.0/workspace.json"
    signal(w)["comment"] = ["any", {"value": "will do"}]
    sr(w)["metadata"] = {"name": "SR", "data": []}


@case("warning_version_missing")
def _(w):
    del w["version"]


@case("warning_normfactor_without_data")
def _(w):
    del signal(w)["modifiers"][0]["data"]


@case("warning_lumi_and_shapefactor_without_data")
def _(w):
    del signal(w)["modifiers"][1]["data"]
    del w["channels"][1]["samples"][0]["modifiers"][1]["data"]


@case("warning_number_for_a_list_of_one")
def _(w):
    sample = w["channels"][1]["samples"][0]
    sample["data"] = 200.0
    sample["modifiers"][0]["data"] = {"lo_data": 195.0, "hi_data": 206.0}
    sample["modifiers"].append({"name": "stat_CR", "type": "staterror", "data": 3})
    w["observations"][1]["data"] = 204.0
    settings(w, "lumi").update({"inits": 1.0, "auxdata": 1.0, "sigmas": 0.02})


@case("warning_bounds_of_one_pair")
def _(w):
    settings(w, "mu")["bounds"] = [0.0, 10.0]


@case("warning_same_modifier_twice")
def _(w):
    for sample in (signal(w), background(w), w["channels"][1]["samples"][0]):
        sample["modifiers"] += copy.deepcopy([m for m in sample["modifiers"] if m["type"] != "shapesys"])


@case("warning_same_shapesys_twice")
def _(w):
    background(w)["modifiers"].append(copy.deepcopy(background(w)["modifiers"][2]))


@case("warning_same_sample_twice")
def _(w):
    sr(w)["samples"].append(copy.deepcopy(background(w)))


@case("warning_same_channel_twice")
def _(w):
    w["channels"].append(copy.deepcopy(w["channels"][0]))


@case("warning_same_observation_twice")
def _(w):
    w["observations"].append(copy.deepcopy(w["observations"][0]))


@case("warning_same_measurement_twice")
def _(w):
    w["measurements"].append(copy.deepcopy(w["measurements"][0]))


@case("warning_same_setting_twice")
def _(w):
    config(w)["parameters"].append(copy.deepcopy(settings(w, "mu")))


@case("warning_poi_empty")
def _(w):
    config(w)["poi"] = ""


@case("warning_setting_unused_with_prefix")
def _(w):
    config(w)["parameters"].append({"name": "alpha_theory", "fixed": True})


@case("warning_init_outside_bounds")
def _(w):
    settings(w, "mu")["inits"] = [20.0]


@case("warning_bounds_equal")
def _(w):
    settings(w, "mu")["bounds"] = [[1.0, 1.0]]


@case("warning_negative_uncertainty")
def _(w):
    background(w)["modifiers"][1]["data"][1] = -1.5


@case("warning_name_of_an_element")
def _(w):
    background(w)["modifiers"].append({"name": "stat_SR[1]", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}})


@case("warning_lumi_without_sigmas")
def _(w):
    del settings(w, "lumi")["sigmas"]


def function(w, expression="1 + c", name="f", **data):
    config(w)["parameters"].append({"name": "c", "inits": [0.0], "bounds": [[-5.0, 5.0]]})
    own = data or {"expression": expression}
    background(w)["modifiers"].append({"name": name, "type": "function", "data": own})


@case("function_syntax")
def _(w):
    function(w, "1 + 2*(c")


@case("function_unknown_function")
def _(w):
    function(w, "zeta(c)")


@case("function_unknown_name")
def _(w):
    function(w, "1 + cc")


@case("function_of_itself")
def _(w):
    function(w, "1 + g")
    signal(w)["modifiers"].append({"name": "g", "type": "function", "data": {"expression": "f*c"}})


@case("function_with_two_expressions")
def _(w):
    function(w)
    signal(w)["modifiers"].append({"name": "f", "type": "function", "data": {"expression": "1 - c"}})


@case("function_too_few_bins")
def _(w):
    function(w, expressions=["1 + c"])


@case("function_of_factors_of_bins")
def _(w):
    function(w, "shape*c")


@case("function_has_name_of_parameter")
def _(w):
    function(w, "mu*(1 + c)", name="theory")


@case("function_parameter_without_bounds")
def _(w):
    function(w)
    del settings(w, "c")["bounds"]


@case("function_divides_by_zero")
def _(w):
    function(w, "1 + mu/c")


@case("function_without_expression")
def _(w):
    function(w, formula="1 + c")


@case("function_is_a_number")
def _(w):
    function(w)
    background(w)["modifiers"][-1]["data"] = 3.0


@case("function_parameter_with_negative_sigma")
def _(w):
    function(w)
    settings(w, "c")["sigmas"] = [-1.0]


def broken():
    text = dumped(GOOD)
    files = {name: change(text) for name, change in RAW.items()}
    files.update({name: dumped(document).encode() for name, document in OTHER.items()})
    for name, change in CASES.items():
        document = copy.deepcopy(GOOD)
        change(document)
        assert document != GOOD, name
        files[name] = dumped(document).encode()
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
