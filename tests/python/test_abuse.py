"""Unusual and hostile use: forks, copies, huge requests, names with control characters, interrupts."""

import concurrent.futures
import copy
import decimal
import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nextstat

FIXTURES = Path(__file__).parents[1] / "fixtures"
SIMPLE = FIXTURES / "simple_workspace.json"


@pytest.fixture(scope="module")
def model():
    return nextstat.load_workspace(SIMPLE)


def simple():
    return json.loads(SIMPLE.read_text())


def results(model):
    """Results of all classes."""
    fit = nextstat.fit(model, minos=["mu"])
    asimov = nextstat.fit(model, asimov=True, fixed={"lumi": 1.0}, covariance=False)
    scan = nextstat.profile_scan(model, points=5)
    return [
        fit,
        asimov,
        fit.minos["mu"],
        nextstat.fit_batch(model, [model.observed_data()] * 3, covariance=True),
        scan,
        nextstat.profile_scan(model, points=3, param2="jet_scale", points2=3),
        scan.intervals[0],
        nextstat.ranking(model, ["refit", "covariance"]),
        nextstat.hypotest(model, 1.0),
        nextstat.upper_limit(model, scan_values=[0.5, 1.0]),
        nextstat.upper_limit(model, test_stat="q", data=model.observed_data()),
        nextstat.significance(model),
        nextstat.goodness_of_fit(model),
        nextstat.hypotest_toys(model, 1.0, n_toys=20),
        nextstat.upper_limit(model, toys=50),
        nextstat.fit_toys(model, n_toys=10),
        nextstat.yields(model),
        fit.plot(),
        *nextstat.devices(),
    ]


def same(left, right):
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    return repr(left) == repr(right)


def state(result):
    if isinstance(result, nextstat.Picture):
        return result.svg
    if hasattr(result, "to_dict"):
        return json.dumps(result.to_dict(), sort_keys=True)
    return repr(result)


def test_results_can_be_pickled_and_copied(model):
    for result in results(model):
        copies = [pickle.loads(pickle.dumps(result, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
        copies += [copy.copy(result), copy.deepcopy(result)]
        for other in copies:
            assert type(other) is type(result)
            assert state(other) == state(result)
            assert repr(other) == repr(result)
            for name in dir(result):
                value = getattr(result, name)
                if not name.startswith("_") and not callable(value):
                    assert same(value, getattr(other, name)), f"{type(result).__name__}.{name}"


def test_every_key_is_an_attribute_of_the_class(model):
    for result in results(model):
        if hasattr(result, "to_dict"):
            assert set(result.to_dict()) <= set(dir(type(result))), type(result).__name__


def test_nested_results_can_be_pickled(model):
    fit = nextstat.fit(model)
    kept = {"fits": [fit, {"again": fit}], "model": model}
    back = pickle.loads(pickle.dumps(kept))
    assert back["fits"][0] is back["fits"][1]["again"]
    assert np.array_equal(back["fits"][0].bestfit, fit.bestfit)
    # A pickle of two results of the same model contains the workspace only once.
    assert len(pickle.dumps([fit, nextstat.fit(model)])) < 2 * len(pickle.dumps(fit))


def test_restored_results_can_be_drawn(model):
    fit = pickle.loads(pickle.dumps(nextstat.fit(model)))
    for kind in ("pulls", "correlation", "yields"):
        assert fit.plot(kind=kind).svg == nextstat.fit(model).plot(kind=kind).svg
    limit = nextstat.upper_limit(model)
    assert pickle.loads(pickle.dumps(limit)).plot(points=5).svg == limit.plot(points=5).svg
    for result in (
        nextstat.ranking(model),
        nextstat.yields(model),
        nextstat.profile_scan(model, points=5),
        nextstat.hypotest_toys(model, 1.0, n_toys=20),
        nextstat.fit_toys(model, n_toys=20),
        nextstat.goodness_of_fit(model, toys=20),
    ):
        assert pickle.loads(pickle.dumps(result)).plot().svg == result.plot().svg


def test_a_prepared_test_can_be_pickled(model):
    test = nextstat.toys_prepare(model, 1.0, n_toys=20, seed=3)
    back = pickle.loads(pickle.dumps(test))
    assert back.header == test.header
    for left, right in zip(test.run("b", 0, 20)[:4], back.run("b", 0, 20)[:4]):
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def in_child(model, datasets, queue):
    batch = nextstat.fit_batch(model, datasets, threads=4)
    again = nextstat.fit_batch(model, datasets, threads=4)
    queue.put((batch.nll, again.nll, nextstat.hypotest_toys(model, 1.0, n_toys=300, threads=4).cls))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_that_was_used_before_a_fork_works_in_the_child(model):
    datasets = model.toy_data(model.init, 64, seed=1)
    before = nextstat.fit_batch(model, datasets, threads=4)
    toys = nextstat.hypotest_toys(model, 1.0, n_toys=300, threads=4)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=in_child, args=(model, datasets, queue), daemon=True) for _ in range(2)]
    for child in children:
        child.start()
    for _ in children:
        first, second, cls = queue.get(timeout=120)
        assert np.array_equal(first, before.nll) and np.array_equal(second, before.nll)
        assert cls == toys.cls
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    assert np.array_equal(nextstat.fit_batch(model, datasets, threads=4).nll, before.nll)


def test_huge_requests_are_memory_errors(model):
    point = model.init
    for n_toys in (10**12, 10**18, 2**63):
        with pytest.raises(MemoryError):
            model.toy_data(point, n_toys)
    with pytest.raises(ValueError, match="more than"):
        nextstat.profile_scan(model, points=10**12)
    with pytest.raises(ValueError, match="more than"):
        nextstat.profile_scan(model, points=10**6, param2="jet_scale", points2=10**6)
    with pytest.raises(ValueError, match="at most"):
        nextstat.upper_limit(model).plot(points=10**12)
    with pytest.raises(ValueError):
        nextstat.hypotest_toys(model, 1.0, n_toys=2**64 - 1)


def test_names_cannot_steer_a_terminal():
    spec = json.loads(SIMPLE.read_text().replace("jet_scale", "jet\\u001b[31m\\u202e"))
    model = nextstat.load_workspace(spec)
    evil = "jet\x1b[31m\u202e"
    assert evil in model.parameter_names
    for shown in (repr(nextstat.fit(model)), repr(nextstat.ranking(model)), nextstat.fit(model)._repr_html_()):
        assert "\x1b" not in shown and "\u202e" not in shown
        assert "jet\\u{1b}[31m\\u{202e}" in shown
    spec["channels"][0]["samples"][0]["modifiers"].append({"name": evil, "type": evil, "data": None})
    with pytest.raises(nextstat.WorkspaceError) as error:
        nextstat.load_workspace(spec)
    assert "\x1b" not in str(error.value) and "\\u{1b}" in str(error.value)


@pytest.mark.skipif(not hasattr(nextstat._native, "_panic"), reason="this build is optimised")
def test_a_panic_is_an_exception_like_any_other():
    for place in ("thread", "short", "released"):
        with pytest.raises(RuntimeError, match="please report"):
            nextstat._native._panic(place)


def interrupted(work):
    """Seconds from Ctrl-C to its exception."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.7, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)


def test_interrupts_are_obeyed_soon(model):
    # The promise is one second, but the machine may be busy with other tests.
    many = np.tile(model.init, (300_000, 1))
    assert interrupted(lambda: [model.hessian(many) for _ in range(50)]) < 5
    assert interrupted(lambda: [model.nll(many) for _ in range(500)]) < 5
    assert interrupted(lambda: [model.toy_data(many[0], 3_000_000) for _ in range(200)]) < 5
    assert interrupted(lambda: nextstat.fit_toys(model, n_toys=10**8)) < 5


def test_endless_input_stops_at_a_limit():
    if not Path("/dev/zero").exists():
        pytest.skip("there is no endless file here")
    with pytest.raises(nextstat.WorkspaceError, match="longer than 1 GiB"):
        nextstat.load_workspace("/dev/zero")


def test_a_pickled_model_keeps_the_warnings_of_how_it_was_read(tmp_path):
    document = simple()
    document["description"] = "of a person"
    document["channels"][0]["samples"][0]["modifiers"][0].pop("data")
    model = nextstat.load_workspace(document)
    assert len(model.warnings) == 2
    again = pickle.loads(pickle.dumps(model))
    assert again.warnings == model.warnings
    assert pickle.loads(pickle.dumps(again)).warnings == model.warnings
    assert nextstat.fit(again).warnings == nextstat.fit(model).warnings
    picture = pickle.loads(pickle.dumps(nextstat.upper_limit(again)))
    assert picture.warnings == nextstat.upper_limit(model).warnings
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + json.dumps(simple()).encode())
    model = nextstat.load_workspace(marked)
    assert "byte order mark" in model.warnings[0]
    assert pickle.loads(pickle.dumps(model)).warnings == model.warnings


def test_objects_that_are_no_json_are_named():
    document = simple()
    document["channels"][0]["samples"][0]["data"][0] = decimal.Decimal("1.5")
    with pytest.raises(TypeError, match="dictionaries, lists, strings, numbers.* has a Decimal in it"):
        nextstat.load_workspace(document)
    document["channels"][0]["samples"][0]["data"][0] = np.float32(1.5)
    assert nextstat.load_workspace(document).parameter_names


def test_a_test_without_a_value_says_what_is_meant(model):
    for wrong in (model, "1", None):
        for test in (nextstat.hypotest, nextstat.hypotest_toys, nextstat.toys_prepare):
            with pytest.raises(TypeError, match=r"mu must be the tested value .* as in hypotest\(model, 1.0\), not "):
                test(model, wrong)
    assert nextstat.hypotest(model, np.int64(1)).cls == nextstat.hypotest(model, 1).cls


def test_threads_share_a_model(model):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        fits = list(pool.map(lambda _: nextstat.fit(model).twice_nll, range(16)))
    assert len(set(fits)) == 1
