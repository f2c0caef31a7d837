"""The package's surface: loading, model methods, devices, errors, result objects."""

import copy
import json
import multiprocessing
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import pyhf
import pytest

import nextstat

SIMPLE = "simple_workspace.json"


def best_fit(model):
    """The best fit. Other processes can call this function, because they import this module."""
    return nextstat.fit(model).bestfit.tolist()


@pytest.fixture(scope="module")
def model(fixtures):
    return nextstat.load_workspace(fixtures / SIMPLE)


@pytest.fixture(scope="module")
def pyhf_model(fixtures):
    workspace = pyhf.Workspace(json.loads((fixtures / SIMPLE).read_text()))
    model = workspace.model()
    return model, np.asarray(workspace.data(model))


class TestLoading:
    def test_a_path_a_text_and_a_dictionary_give_the_same_model(self, fixtures, model):
        path = fixtures / SIMPLE
        for source in (path, str(path), json.loads(path.read_text())):
            assert nextstat.load_workspace(source).model_digest == model.model_digest

    def test_numpy_numbers_in_a_dictionary_are_numbers(self, fixtures, model):
        spec = json.loads((fixtures / SIMPLE).read_text())
        for observation in spec["observations"]:
            observation["data"] = np.asarray(observation["data"])
        assert nextstat.load_workspace(spec).observed_data().tolist() == model.observed_data().tolist()

    def test_measurement_and_poi(self, fixtures):
        path = fixtures / "several_measurements.json"
        names = [m["name"] for m in json.loads(path.read_text())["measurements"]]
        for name in names:
            assert nextstat.load_workspace(path, measurement=name).measurement == name
        other = nextstat.load_workspace(fixtures / SIMPLE, poi="background_norm")
        assert other.poi_name == "background_norm"
        assert other.parameter_names[other.poi_index] == "background_norm"

    def test_interpolation_codes(self, fixtures):
        def codes(**options):
            return nextstat.load_workspace(fixtures / SIMPLE, **options).interpolation

        assert codes() == codes(interp_defaults="root") == "smooth (normsys code4, histosys code4p)"
        assert codes(interp_defaults="pyhf") == "piecewise (normsys code1, histosys code0)"
        assert codes(normsys_code="code1", histosys_code="2") == "mixed (normsys code1, histosys code2)"

    def test_patches_in_every_form(self, fixtures):
        base, patch = fixtures / "background_only.json", fixtures / "signal_patch.json"
        by_path = nextstat.load_workspace(base, patch=patch)
        by_list = nextstat.load_workspace(base, patch=json.loads(patch.read_text()))
        several = nextstat.load_workspace(base, patch=[str(patch)])
        assert by_path.model_digest == by_list.model_digest == several.model_digest
        patchset = json.loads((fixtures / "patchset.json").read_text())
        name = patchset["patches"][0]["metadata"]["name"]
        member = nextstat.load_workspace(base, patch=f"{fixtures / 'patchset.json'}:{name}")
        assert member.model_digest != nextstat.load_workspace(base).model_digest

    def test_problems_are_listed_with_their_places(self):
        with pytest.raises(nextstat.WorkspaceError, match="errors") as caught:
            nextstat.load_workspace({"channels": [], "unknown": 1})
        problems = caught.value.problems
        assert len(problems) > 1
        assert all(set(p) == {"severity", "path", "message", "remedy"} for p in problems)
        assert any(p["path"] == "/unknown" for p in problems)
        assert isinstance(caught.value, nextstat.NextstatError)

    def test_files_that_are_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError) as caught:
            nextstat.load_workspace(tmp_path / "nothing.json")
        assert caught.value.filename == str(tmp_path / "nothing.json")
        assert "os error" not in str(caught.value)

    @pytest.mark.parametrize("source", [3, None, b"{}x", 1.5])
    def test_sources_of_another_kind(self, source):
        with pytest.raises((TypeError, OSError)):
            nextstat.load_workspace(source)

    @pytest.mark.parametrize(
        "options",
        [{"interp_defaults": "cubic"}, {"normsys_code": "code2"}, {"histosys_code": "code4"}],
    )
    def test_unknown_codes(self, fixtures, options):
        with pytest.raises(ValueError, match="unknown"):
            nextstat.load_workspace(fixtures / SIMPLE, **options)


class TestArguments:
    """Arguments of unexpected types, such as NumPy's bools and masked arrays, must not be misread."""

    def test_a_numpy_bool_asks_what_a_bool_asks(self, model):
        # NumPy's bools were once read as the numbers 0 and 1, so that Asimov data were fitted without a message.
        observed, asimov = nextstat.fit(model), nextstat.fit(model, asimov=True)
        assert nextstat.fit(model, asimov=np.bool_(False)).twice_nll == observed.twice_nll
        assert nextstat.fit(model, asimov=np.bool_(True)).twice_nll == asimov.twice_nll
        assert nextstat.fit(model, asimov=np.float64(1.0)).twice_nll == nextstat.fit(model, asimov=1).twice_nll

    def test_masks_and_imaginary_parts_are_not_dropped(self, model):
        point = model.init
        mask = np.arange(len(point)) == 1
        with pytest.raises(ValueError, match="params must be numbers: some are masked"):
            model.nll(np.ma.masked_array(point, mask=mask))
        with pytest.raises(ValueError, match="params must be real numbers, not complex ones"):
            model.nll(point + 0j)
        with pytest.raises(ValueError, match="data must be numbers: some are masked"):
            nextstat.fit(model, data=np.ma.masked_array(model.observed_data(False), mask=[True] + [False] * 6))
        assert model.nll(np.ma.masked_array(point, mask=False)) == model.nll(point)

    def test_one_name_for_minos_need_not_be_a_list(self, model):
        alone, listed = nextstat.fit(model, minos="mu").minos, nextstat.fit(model, minos=["mu"]).minos
        assert list(alone) == ["mu"]
        assert alone["mu"].lower == listed["mu"].lower

    def test_wrong_values_of_fixed_are_named(self, model):
        with pytest.raises(TypeError, match="the fixed value of parameter 'mu' must be a number, not 1.0x"):
            nextstat.fit(model, fixed={"mu": "1.0x"})
        with pytest.raises(TypeError, match="keys of fixed must be names of parameters, not 3"):
            nextstat.fit(model, fixed={3: 1.0})

    @pytest.mark.parametrize(
        ("call", "name", "says"),
        [
            (lambda m: nextstat.fit(m, threads=-1), "threads", "-1 is negative: give a whole number from 0"),
            (lambda m: nextstat.hypotest_toys(m, 1.0, n_toys=-5), "n_toys", "-5 is negative"),
            (lambda m: nextstat.hypotest_toys(m, 1.0, seed=2**64), "seed", "18446744073709551616 is too large"),
            (lambda m: nextstat.upper_limit(m, toys=-1), "toys", "-1 is negative"),
            (lambda m: nextstat.profile_scan(m, points=np.int64(-3)), "points", "-3 is negative"),
            (lambda m: nextstat.profile_scan(m, points2=-3), "points2", "-3 is negative"),
            (lambda m: nextstat.ranking(m, top=-2), "top", "-2 is negative"),
            (lambda m: m.toy_data(m.init, 3, first=-1), "first", "-1 is negative"),
        ],
    )
    def test_whole_numbers_out_of_range_are_named(self, model, call, name, says):
        # This was once an OverflowError about unsigned numbers.
        with pytest.raises(ValueError, match=re.escape(says)) as caught:
            call(model)
        assert f"'{name}'" in "".join(traceback.format_exception_only(caught.value))
        with pytest.raises(TypeError, match="threads must be a whole number, not 1.5"):
            nextstat.fit(model, threads=1.5)

    def test_whole_numbers_of_numpy_are_numbers(self, model):
        assert nextstat.fit(model, threads=np.int64(1)).twice_nll == nextstat.fit(model, threads=1).twice_nll
        assert len(nextstat.ranking(model, top=np.uint8(2)).ranking) == 2
        assert len(nextstat.ranking(model, top=None).ranking) > 2

    def test_json_text_is_no_path(self, fixtures):
        with pytest.raises(TypeError, match=r"not JSON text; make a dictionary of it with json\.loads"):
            nextstat.load_workspace((fixtures / SIMPLE).read_text())

    def test_a_million_threads_are_not_started(self, model):
        started = nextstat.fit(model, threads=1_000_000)
        assert started.twice_nll == nextstat.fit(model, threads=1).twice_nll

    def test_no_fits_have_no_spread(self, model):
        empty = nextstat.fit_batch(model, np.empty((0, 7)))
        assert len(empty) == 0
        rows = [line.split() for line in repr(empty).splitlines()]
        assert ["jet_scale"] in rows


class TestModel:
    def test_parameters_are_pyhfs(self, model, pyhf_model):
        config = pyhf_model[0].config
        assert model.parameter_names == list(config.par_names)
        assert model.init.tolist() == list(config.suggested_init())
        assert model.bounds.tolist() == [list(b) for b in config.suggested_bounds()]
        assert model.fixed.tolist() == list(config.suggested_fixed())
        assert model.fixed.dtype == bool
        assert model.poi_index == config.poi_index
        assert model.channels == dict(config.channel_nbins)

    def test_data_are_pyhfs(self, model, pyhf_model):
        assert model.observed_data() == pytest.approx(pyhf_model[1])
        bins = sum(model.channels.values())
        assert model.observed_data(include_auxdata=False).tolist() == pyhf_model[1][:bins].tolist()

    def test_values_gradients_and_curvature(self, model, pyhf_model):
        theirs, data = pyhf_model
        rng = np.random.default_rng(7)
        points = np.clip(model.init + rng.normal(0, 0.05, (5, 13)), *model.bounds.T)
        values = model.nll(points)
        assert values.shape == (5,)
        for point, value in zip(points, values, strict=True):
            expected = -float(np.asarray(theirs.logpdf(point, data))[0])
            assert value == pytest.approx(expected, rel=1e-12)
            assert model.nll(point) == value
            assert isinstance(model.nll(point), float)
            assert model.expected_data(point) == pytest.approx(np.asarray(theirs.expected_data(point)), rel=1e-12)
        gradient, hessian = model.grad_nll(points), model.hessian(points)
        assert gradient.shape == (5, 13) and hessian.shape == (5, 13, 13)
        assert model.grad_nll(points[0]).tolist() == gradient[0].tolist()
        step = 1e-5
        for i in range(13):
            shift = np.zeros(13)
            shift[i] = step
            slope = (model.nll(points[0] + shift) - model.nll(points[0] - shift)) / (2 * step)
            row = (model.grad_nll(points[0] + shift) - model.grad_nll(points[0] - shift)) / (2 * step)
            scale = max(1.0, abs(hessian[0, i, i]))
            assert gradient[0, i] == pytest.approx(slope, abs=1e-4 * scale)
            assert hessian[0, i] == pytest.approx(row, abs=1e-4 * scale)

    def test_other_data(self, model, pyhf_model):
        theirs, data = pyhf_model
        point, bins = model.init, sum(model.channels.values())
        other = data.copy()
        other[:bins] += 3
        expected = -float(np.asarray(theirs.logpdf(point, other))[0])
        assert model.nll(point, data=other) == pytest.approx(expected, rel=1e-12)
        # With main counts alone, the observed auxiliary data of the model are used.
        assert model.nll(point, other[:bins]) == model.nll(point, other)

    def test_batches_and_shapes_of_expected_data(self, model):
        point = model.init
        bins = sum(model.channels.values())
        assert model.expected_data([point, point], include_auxdata=False).shape == (2, bins)
        assert model.expected_data(point).shape == model.observed_data().shape
        assert model.nll(np.empty((0, 13))).shape == (0,)

    def test_arrays_of_any_layout_and_kind(self, model):
        point = model.init
        value = model.nll(point)
        strided = np.zeros(26)
        strided[::2] = point
        assert model.nll(strided[::2]) == value
        assert model.nll(list(point)) == value
        assert model.nll(np.asfortranarray([point, point])).tolist() == [value, value]
        single = point.astype(np.float32)
        assert model.nll(single) == model.nll(single.astype(float))

    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ([1.0, 2.0], "13 elements"),
            (np.zeros((2, 2, 13)), "dimension"),
            (1.0, "single number"),
            (["a"] * 13, "numbers"),
            ([float("nan")] * 13, "NaN"),
            ([1j] * 13, "numbers"),
            (None, "must be"),
        ],
    )
    def test_points_of_another_shape_or_kind(self, model, params, words):
        for method in (model.nll, model.grad_nll, model.hessian, model.expected_data):
            with pytest.raises(ValueError, match=words):
                method(params)

    def test_data_of_another_length(self, model):
        with pytest.raises(ValueError, match="7 elements"):
            model.nll(model.init, data=[1.0, 2.0])

    def test_repr(self, model):
        assert repr(model) == (
            "<nextstat.Model: measurement 'bump', 2 channels, 7 bins, 13 parameters, POI 'mu'>"
        )


class TestPickles:
    """Models can be sent to other processes, for example by `multiprocessing` and `joblib`."""

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"interp_defaults": "piecewise"},
            {"histosys_code": "code2"},
            {"poi": "jet_scale"},
            {"mask": "CR"},
            {"patch": [{"op": "replace", "path": "/observations/0/data/0", "value": 33.3}]},
        ],
    )
    def test_a_model_comes_back_as_it_was(self, fixtures, options):
        model = nextstat.load_workspace(fixtures / SIMPLE, **options)
        back = pickle.loads(pickle.dumps(model))
        assert back.model_digest == model.model_digest and back.warnings == model.warnings
        assert back.parameter_names == model.parameter_names and back.poi_index == model.poi_index
        point = model.init * 1.01
        assert back.nll(point) == model.nll(point)
        assert copy.copy(model) is model and copy.deepcopy(model) is model

    def test_models_go_to_other_processes(self, model):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            fits = pool.map(best_fit, [model, model])
        assert fits == [best_fit(model)] * 2


class TestDevices:
    def test_the_cpu_is_there(self):
        devices = {d.name: d for d in nextstat.devices()}
        assert devices["cpu"].available and devices["cpu"].description
        for device in devices.values():
            assert device.available == (device.reason is None)
            assert device.to_dict()["name"] == device.name

    def test_missing_devices_are_told(self, model):
        for device in nextstat.devices():
            if not device.available:
                with pytest.raises(nextstat.DeviceError) as raised:
                    nextstat.fit(model, device=device.name)
                assert device.reason in str(raised.value) and device.remedy in str(raised.value)
        with pytest.raises(ValueError, match="unknown device 'abacus'"):
            nextstat.fit(model, device="abacus")


class TestThreads:
    def test_the_interpreter_runs_on_during_a_batch(self, model):
        data = np.tile(model.observed_data(), (300, 1))
        done = threading.Event()
        ticks = 0

        def work():
            nextstat.fit_batch(model, data, threads=1)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            time.sleep(0.001)
            ticks += 1
        thread.join()
        assert ticks > 10

    def test_one_model_serves_many_threads(self, model):
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(nextstat.fit(model).bestfit.tolist())) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8 and all(r == results[0] for r in results)

    def test_ctrl_c_ends_a_batch(self, fixtures):
        # The time shows whether the batch was stopped: the interrupt is raised after a complete batch, too.
        code = f"""
import signal, threading, time, numpy as np, nextstat
m = nextstat.load_workspace({str(fixtures / SIMPLE)!r})
data = np.tile(m.observed_data(), (200_000, 1))
began = time.monotonic()
nextstat.fit_batch(m, data[:200], threads=1)
whole = 1000 * (time.monotonic() - began)
began = time.monotonic()
try:
    # Inside: on a busy machine the timer can fire before the next statement.
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    nextstat.fit_batch(m, data, threads=1)
except KeyboardInterrupt:
    print("stopped", (time.monotonic() - began) / whole)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
        word, share = run.stdout.split()
        assert word == "stopped" and float(share) < 0.5, run.stderr


def test_the_package_is_typed():
    folder = pathlib.Path(nextstat.__file__).parent
    assert (folder / "py.typed").exists()
    # Modules written in Python have their types beside their code, not in a stub.
    typed = [*folder.glob("*.pyi"), *(folder / f"_{name}.py" for name in ("client", "grid", "requests", "root"))]
    stubs = "".join(path.read_text() for path in typed)
    for name in nextstat.__all__:
        assert name in stubs, f"{name} has no stub"
    for kind in (nextstat.Model, nextstat.FitResult, nextstat.BatchResult, nextstat.Interval, nextstat.DeviceInfo):
        for attribute in vars(kind):
            if not attribute.startswith("_"):
                assert f"def {attribute}(" in stubs, f"{kind.__name__}.{attribute} has no stub"


def test_nll_and_grad_gives_both_for_one_point_and_for_a_batch(model):
    point = model.init
    value, gradient = model.nll_and_grad(point)
    assert value == model.nll(point)
    np.testing.assert_array_equal(gradient, model.grad_nll(point))
    values, gradients = model.nll_and_grad([point, point])
    assert values.shape == (2,) and gradients.shape == (2, len(point))
