"""Dask: a cluster gives the results of one machine. Workers that die, points that fail, runs that are stopped."""

import copy
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import nextstat

HAS_DASK = importlib.util.find_spec("distributed") is not None
if HAS_DASK:
    from dask.distributed import Client, Future, LocalCluster

    import nextstat.distributed as nd
    from nextstat.distributed import _gather, _worker
    from nextstat.distributed._source import source_of
else:
    warnings.warn(
        "NO TEST OF nextstat.distributed RUNS: Dask is not installed (pip install 'dask[distributed]>=2024.8')", stacklevel=1
    )

needs_dask = pytest.mark.skipif(not HAS_DASK, reason="Dask is not installed (pip install 'dask[distributed]>=2024.8')")

SIMPLE = "simple_workspace.json"
# Keys whose values differ between two runs, or between machines.
OF_THE_RUN = {"wall_s", "toys_per_s", "device", "device_reason", "gpu_check"}


def start_cluster():
    """A cluster on this machine. Dask's workers did not all start once, and it waits for them without end unless told."""
    for last in (False, False, True):
        try:
            return LocalCluster(
                n_workers=4,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
                death_timeout=60,
            )
        except Exception as error:  # Dask raises errors of many types here
            if last:
                raise
            warnings.warn(f"Dask's workers did not start, trying again: {error}", stacklevel=1)


@pytest.fixture(scope="module")
def client():
    with start_cluster() as cluster, Client(cluster) as client:
        addresses = [cluster.scheduler_address, *client.nthreads()]
        assert len(addresses) == 5 and all(address.startswith("tcp://127.0.0.1:") for address in addresses)
        assert set(client.nthreads().values()) == {1}
        yield client


@pytest.fixture(scope="module")
def path(fixtures):
    return fixtures / SIMPLE


def numbers(result):
    """The entries of a result that must not depend on where it was computed."""
    values = result if isinstance(result, dict) else result.to_dict()
    return {key: numbers(v) if isinstance(v, dict) else v for key, v in values.items() if key not in OF_THE_RUN}


def test_without_dask_the_import_says_what_to_install():
    script = """
import sys
sys.modules["distributed"] = None  # what the import system takes for "not there"
import nextstat
try:
    import nextstat.distributed
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "pip install 'dask[distributed]>=2024.8'" in done.stdout, done.stderr


@needs_dask
class TestToys:
    def test_results_are_those_of_one_machine_for_any_chunk(self, client, path):
        local = nextstat.hypotest_toys(path, 1.0, n_toys=1500, seed=3, expected_set=True)
        for chunk in (None, 37, 5000):
            heard = []
            result = nd.hypotest_toys(
                client, path, 1.0, n_toys=1500, seed=3, expected_set=True, chunk=chunk,
                progress=lambda *pair: heard.append(pair),
            )
            assert type(result) is nextstat.HypotestToysResult
            assert numbers(result) == numbers(local)
            assert heard[-1] == (3000, 3000) and heard == sorted(heard)

    def test_every_toy_is_that_of_one_machine(self, client, path):
        rows = nd.run_toys(client, path, 1.0, n_toys=700, seed=5, chunk=64)
        test = nextstat.toys_prepare(path, 1.0, n_toys=700, seed=5)
        assert rows.header == test.header
        for which in ("b", "sb"):
            index, q, mu_hat, status, reasons = test.run(which, 0, 700)
            columns = rows.columns(which)
            for name, known in zip(("index", "statistic", "mu_hat", "status"), (index, q, mu_hat, status)):
                assert columns[name].dtype == known.dtype and (columns[name] == known).all(), name
            assert rows.reasons(which) == reasons

    def test_options_reach_the_toys(self, client, path, fixtures):
        model = nextstat.load_workspace(path)
        data = model.observed_data() + np.eye(len(model.observed_data()))[0]
        for mu, options in [
            (1.0, {"data": data, "fixed": {"lumi": 1.0}}),
            (0.5, {"asimov": 0.0, "test_stat": "q"}),
            (0.0, {"test_stat": "q0", "init": model.init}),
        ]:
            local = nextstat.hypotest_toys(model, mu, n_toys=200, seed=1, **options)
            assert numbers(nd.hypotest_toys(client, path, mu, n_toys=200, seed=1, **options)) == numbers(local)
        patched = nd.ModelSource(
            fixtures / "background_only.json", patch=f"{fixtures / 'patchset.json'}:gluino_1400_200",
            interp_defaults="piecewise",
        )
        local = nextstat.hypotest_toys(patched.load(), 1.0, n_toys=200, seed=1)
        assert numbers(nd.hypotest_toys(client, patched, 1.0, n_toys=200, seed=1)) == numbers(local)
        patched = nd.ModelSource(fixtures / "background_only.json", patch=fixtures / "signal_patch.json", mask="CR_top")
        local = nextstat.hypotest_toys(patched.load(), 1.0, n_toys=200, seed=1)
        assert numbers(nd.hypotest_toys(client, patched, 1.0, n_toys=200, seed=1)) == numbers(local)

    def test_wrong_questions(self, client, path):
        with pytest.raises(ValueError, match="ask for 1 to"):
            nd.hypotest_toys(client, path, 1.0, n_toys=0)
        with pytest.raises(ValueError, match="at least 1 toy"):
            nd.hypotest_toys(client, path, 1.0, chunk=0)
        with pytest.raises(TypeError, match="compiled Model cannot be sent"):
            nd.hypotest_toys(client, nextstat.load_workspace(path), 1.0)
        with pytest.raises(TypeError, match="first argument is a dask.distributed.Client, not PosixPath|WindowsPath"):
            nd.hypotest_toys(path, path, 1.0)


@needs_dask
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_killed_in_mid_run_changes_nothing(client, path):
    local = nextstat.toys_prepare(path, 1.0, n_toys=60_000, seed=8)
    client.wait_for_workers(4)
    pids = client.run(os.getpid)
    killed = []

    def progress(done, total):
        assert total == 120_000
        if done <= total // 20 or killed:
            return
        # On a busy machine all workers may be idle at one call.
        at_work = {address: keys for address, keys in client.processing().items() if keys}
        if at_work:
            # A worker with tasks, if possible one whose results are not all fetched yet.
            held = client.has_what()
            address = max(at_work, key=lambda a: (len(held.get(a, ())), len(at_work[a])))
            os.kill(pids[address], signal.SIGKILL)
            killed.append((done, address, len(at_work[address])))

    rows = nd.run_toys(client, path, 1.0, n_toys=60_000, seed=8, chunk=250, progress=progress)

    ((done, address, n_tasks),) = killed
    assert 6_000 < done < 60_000, "killed in mid-run"
    assert n_tasks > 0, "the worker had tasks"
    until = time.monotonic() + 60
    while alive(pids[address]):
        assert time.monotonic() < until, "the worker is still there"
        time.sleep(0.05)
    for which in ("b", "sb"):
        columns = rows.columns(which)
        assert columns["index"].tolist() == list(range(60_000)), "nothing lost, nothing doubled"
        _, q, mu_hat, status, _ = local.run(which, 0, 60_000)
        assert (columns["statistic"] == q).all() and (columns["mu_hat"] == mu_hat).all()
        assert (columns["status"] == status).all()
    whole = nextstat.hypotest_toys(path, 1.0, n_toys=60_000, seed=8)
    assert numbers(rows.summarise()) == numbers(whole)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@needs_dask
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
class TestCtrlC:
    def test_toys_done_are_kept_and_the_cluster_is_free(self, client, path):
        def progress(done, total):
            if done > 3000:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt) as caught:
            nd.hypotest_toys(client, path, 1.0, n_toys=200_000, seed=1, chunk=500, progress=progress)
        result = caught.value.result
        assert 3000 < sum(result.n_toys.values()) < 10_000
        assert any(f"of {400_000} toys are here" in w for w in result.warnings)
        # Of the run only the running tasks are left, until they end.
        until = time.monotonic() + 60
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < until, "tasks are left on the cluster"
            time.sleep(0.05)

    def test_rows_done_are_kept(self, client, path):
        def progress(done, total):
            if done == 2:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt) as caught:
            nd.profile_scans(client, path, points=11, progress=progress)
        rows = caught.value.result
        assert len(rows) == len(nextstat.load_workspace(path).parameter_names)
        states = [row.status for row in rows]
        assert states.count("done") == 2 and set(states) == {"done", "not run"}
        assert len(rows.failed) == len(rows) - 2

    def test_an_error_of_the_progress_function_is_raised(self, client, path):
        with pytest.raises(ZeroDivisionError):
            nd.profile_scans(client, path, ["mu"], progress=lambda done, total: 1 / 0)


@needs_dask
class TestScansAndLimits:
    def test_scans(self, client, path, capsys):
        rows = nd.profile_scans(
            client, path, ["mu", ("mu", "jet_scale")], points=7, points2=5, fixed={"lumi": 1.0}, progress=True
        )
        local = [
            nextstat.profile_scan(path, param="mu", points=7, fixed={"lumi": 1.0}),
            nextstat.profile_scan(path, param="mu", param2="jet_scale", points=7, points2=5, fixed={"lumi": 1.0}),
        ]
        assert [numbers(row.result) for row in rows] == [numbers(scan) for scan in local]
        assert rows["mu"].result.array("twice_delta_nll").tolist() == local[0].twice_delta_nll.tolist()
        assert rows["mu,jet_scale"].values == {"param": "mu", "param2": "jet_scale"}
        assert repr(rows["mu"].result).splitlines()[:8] == repr(local[0]).splitlines()[:8]
        assert rows["mu"].result.kind == "ScanResult" and "2 of 2 done" in repr(rows)
        assert "2/2 scans, " in capsys.readouterr().err
        values = np.linspace(0, 2, 5)
        (row,) = nd.profile_scans(client, path, ["mu"], mu_values=values)
        assert numbers(row.result) == numbers(nextstat.profile_scan(path, values))

    def test_all_free_parameters(self, client, path):
        free = [name for name in nextstat.load_workspace(path).parameter_names if name != "lumi"]
        rows = nd.profile_scans(client, path, points=3, intervals=False, fixed={"lumi": 1.0})
        assert [row.name for row in rows] == free and not rows.failed

    def test_limits(self, client, path, fixtures):
        models = {"smooth": path, "piecewise": nd.ModelSource(path, interp_defaults="piecewise")}
        rows = nd.upper_limits(client, models, cl=0.9)
        for name, codes in (("smooth", "smooth"), ("piecewise", "piecewise")):
            model = nextstat.load_workspace(path, interp_defaults=codes)
            assert numbers(rows[name].result) == numbers(nextstat.upper_limit(model, cl=0.9))
        first, second = nd.upper_limits(client, [json.loads(path.read_text()), fixtures / "background_only.json"])
        assert first.result.observed == nextstat.upper_limit(path).observed
        assert second.status == "failed" and "parameter of interest" in second.reason

    def test_limits_with_toys(self, client, path):
        (row,) = nd.upper_limits(client, [path], toys=300, seed=2, observed_only=True)
        local = nextstat.upper_limit(path, toys=300, seed=2, observed_only=True)
        assert row.result.kind == "ToyLimitResult" and numbers(row.result) == numbers(local)

    def test_wrong_questions(self, client, path):
        for options, what in [({"threads": 2}, "one thread"), ({"confidence": 0.9}, "confidence")]:
            with pytest.raises(TypeError, match=what):
                nd.upper_limits(client, [path], **options)
        with pytest.raises(TypeError, match="list of models"):
            nd.upper_limits(client, json.loads(path.read_text()))
        with pytest.raises(ValueError, match="unknown parameter 'nu'"):
            nd.profile_scans(client, path, ["nu"])
        with pytest.raises(TypeError, match=r"params=\[...\], not in param2"):
            nd.profile_scans(client, path, param2="mu")
        with pytest.raises(FileNotFoundError):
            nd.upper_limits(client, ["nowhere.json"])


@needs_dask
class TestSignalGrid:
    def test_limits_are_rows_of_a_grid_with_its_tables_and_pictures(self, client, fixtures):
        background, patchset = fixtures / "background_only.json", fixtures / "patchset.json"
        rows, here = nd.signal_grid(client, background, patchset), nextstat.grid(background, patchset)
        assert type(rows[0]) is type(here[0]) and isinstance(here, nd.Rows)
        assert rows.to_csv() == here.to_csv()
        assert rows.plot(labels="m_lsp").svg == here.plot(labels="m_lsp").svg
        with pytest.raises(TypeError, match="only rows of upper limits"):
            nd.signal_grid(client, background, patchset, "significance").plot()

    @pytest.mark.parametrize(
        "what, options",
        [
            ("upper_limit", {}),
            ("hypotest", {"mu": 1.0}),
            ("hypotest_toys", {"mu": 1.0, "n_toys": 100, "seed": 4}),
            ("significance", {}),
            ("goodness_of_fit", {}),
            ("fit", {"covariance": False}),
        ],
    )
    def test_points_are_those_of_one_machine(self, client, fixtures, what, options):
        background, patchset = fixtures / "background_only.json", fixtures / "patchset.json"
        rows = nd.signal_grid(client, background, patchset, what, **options)
        assert [row.name for row in rows] == ["gluino_1400_200", "gluino_1600_400", "gluino_1800_600"]
        assert rows[0].values == {"m_gluino": 1400, "m_lsp": 200}
        for row in rows:
            model = nextstat.load_workspace(background, patch=f"{patchset}:{row.name}")
            local = getattr(nextstat, what)(model=model, **options)
            assert (row.status, row.reason) == ("done", None)
            assert numbers(row.result) == numbers(local)
            assert row.worker in client.nthreads() and row.wall_s > 0
        flat = rows.to_dicts()[1]
        assert flat["m_gluino"] == 1600 and flat["model_digest"] == rows[1].result.model_digest
        assert "3 of 3 done" in repr(rows) and "<table>" in rows._repr_html_()

    def test_a_broken_point_is_a_row_with_its_reason(self, client, fixtures):
        background = json.loads((fixtures / "background_only.json").read_text())
        patchset = json.loads((fixtures / "patchset.json").read_text())
        good = nd.signal_grid(client, background, patchset)
        broken = copy.deepcopy(patchset)
        broken["patches"][1]["patch"][0]["path"] = "/channels/77/samples/0"
        for i, patch in enumerate(([{"op": "add"}], None, [1, 2], "patchset.json:x")):
            broken["patches"].append({"metadata": {"name": f"odd{i}", "values": [i, i]}, "patch": patch})
        # A point whose analysis fails, although its patch can be applied.
        no_poi = copy.deepcopy(patchset["patches"][0])
        no_poi["metadata"]["name"] = "no signal"
        no_poi["patch"] = []
        broken["patches"].append(no_poi)
        rows = nd.signal_grid(client, background, broken)
        assert [row.status for row in rows] == ["done", "failed", "done"] + 5 * ["failed"]
        assert "WorkspaceError" in rows[1].reason and "/channels/77" in rows[1].reason and rows[1].result is None
        assert all("the patch is no list of operations" in row.reason for row in rows[4:7])
        assert "WorkspaceError" in rows["odd0"].reason
        assert "parameter of interest" in rows["no signal"].reason
        assert [numbers(rows[i].result) for i in (0, 2)] == [numbers(good[i].result) for i in (0, 2)]
        assert len(rows.failed) == 6 and rows.failed[0].name == "gluino_1600_400"
        assert "2 of 8 done" in repr(rows) and "reason" in repr(rows)

    def test_patches_in_other_forms(self, client, fixtures):
        background, patchset = fixtures / "background_only.json", fixtures / "patchset.json"
        whole = nd.signal_grid(client, background, patchset)
        members = {p["metadata"]["name"]: p["patch"] for p in json.loads(patchset.read_text())["patches"]}
        named = [f"{patchset}:{name}" for name in members]
        for patches in (members, list(members.values()), named):
            rows = nd.signal_grid(client, background, patches)
            assert [row.result.observed for row in rows] == [row.result.observed for row in whole]
        # The same point twice gives one task and two rows.
        twice = nd.signal_grid(client, background, [named[0], named[0]])
        assert [row.result.observed for row in twice] == 2 * [whole[0].result.observed]
        # The patches of a `ModelSource` are applied before that of the point.
        source = nd.ModelSource(background, patch=f"{patchset}:gluino_1400_200")
        rename = [{"op": "replace", "path": "/channels/0/samples/0/data/0", "value": 10.0}]
        (row,) = nd.signal_grid(client, source, {"more": rename})
        model = nextstat.load_workspace(background, patch=[named[0], rename])
        assert numbers(row.result) == numbers(nextstat.upper_limit(model))
        assert len(nd.signal_grid(client, background, [])) == 0

    def test_wrong_questions(self, client, fixtures, path):
        background, patchset = fixtures / "background_only.json", fixtures / "patchset.json"
        with pytest.raises(nextstat.WorkspaceError, match="made for another workspace"):
            nd.signal_grid(client, path, patchset)
        with pytest.raises(ValueError, match="unknown what 'limits'"):
            nd.signal_grid(client, background, patchset, "limits")
        with pytest.raises(TypeError, match="mu"):
            nd.signal_grid(client, background, patchset, "hypotest")
        with pytest.raises(TypeError, match="needs a list of patches"):
            nd.signal_grid(client, background, [{"op": "remove", "path": "/channels/0"}])
        with pytest.raises(TypeError, match="a grid needs a patchset"):
            nd.signal_grid(client, background, fixtures / "signal_patch.json")
        with pytest.raises(nextstat.WorkspaceError, match="no patch 'gluino_9'"):
            nd.signal_grid(client, background, [f"{patchset}:gluino_9"])
        with pytest.raises(nextstat.WorkspaceError, match="no JSON Patch; a member of a patchset is"):
            nd.signal_grid(client, background, [patchset])


@needs_dask
class TestCluster:
    def test_workers_of_another_version(self, client, path, monkeypatch):
        odd = sorted(client.nthreads())[0]

        def pretend(version):
            import nextstat

            nextstat.__version__ = nextstat._native.__version__ = version

        here = nextstat.__version__
        try:
            client.run(pretend, "0.0.9", workers=[odd])
            with pytest.raises(nd.WorkerMismatchError, match=f"has nextstat {here}, but worker {odd} has nextstat 0.0.9"):
                nd.hypotest_toys(client, path, 1.0, n_toys=10)
            # Without the check, as for a worker that joins later, the task itself raises the error.
            monkeypatch.setattr("nextstat.distributed._toys.check", lambda client: None)
            with pytest.raises(nd.WorkerMismatchError, match="has nextstat 0.0.9"):
                nd.hypotest_toys(client, path, 1.0, n_toys=400, chunk=8)
        finally:
            client.run(pretend, here, workers=[odd])

    def test_workers_without_the_package(self, client, path, monkeypatch):
        monkeypatch.setattr(client, "run", lambda *args, **options: {"tcp://127.0.0.1:1": None})
        with pytest.raises(nd.WorkerMismatchError, match="tcp://127.0.0.1:1 has no nextstat"):
            nd.upper_limits(client, [path])

        class Late:
            """A task on a worker that came after the check."""

            def result(self):
                raise ModuleNotFoundError("No module named 'nextstat'", name="nextstat")

        with pytest.raises(nd.WorkerMismatchError, match="no nextstat.distributed"):
            _gather._result(Late())

    def test_a_worker_that_builds_another_model(self, path):
        with pytest.raises(nd.WorkerMismatchError, match="builds another model"):
            _worker.analyse(source_of(path).shipment(digest="0" * 64), "fit", {})

    def test_a_task_that_kills_its_workers_is_a_row(self, client, path):
        def die(shipment):
            import os

            os._exit(1)

        def allow(number, dask_scheduler):
            before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
            return before

        before = client.run_on_scheduler(allow, 0)
        try:
            tasks = [_gather.Task(die, source_of(path).shipment(), ())]
            (row,) = nextstat.distributed._analyses.run_rows(client, tasks, [("bad", {})], None, "points")
        finally:
            client.run_on_scheduler(allow, before)
        assert row.status == "failed" and "every worker that ran this task died (tried 1 times" in row.reason
        client.wait_for_workers(4)

    def test_tasks_that_others_cancel(self, client, path):
        def progress(done, total):
            ours = [Future(key, client) for key in list(client.futures) if key.startswith("nextstat-toys")]
            client.cancel(ours)

        with pytest.raises(nd.WorkerError, match="the cluster dropped the task"):
            nd.run_toys(client, path, 1.0, n_toys=20_000, chunk=200, progress=progress)

    def test_models_are_built_once_per_worker(self, client, path):
        def held(dask_worker):
            from nextstat.distributed import _worker

            return sum(key == shipment.model_key and len(slot) for key, (_, slot) in _worker._models.entries.items())

        shipment = source_of(path).shipment()
        nd.run_toys(client, path, 1.0, n_toys=400, seed=1, chunk=16)
        nd.run_toys(client, path, 2.0, n_toys=400, seed=2, chunk=16)
        assert set(client.run(held).values()) == {1}

    def test_what_threads_share_is_made_once(self):
        shelf, made = _worker.Shelf(2), []
        ready = threading.Barrier(8)

        def make(key):
            made.append(key)
            time.sleep(0.05)
            return object()

        found = []

        def ask():
            ready.wait()
            found.append(shelf.get("a", lambda: make("a")))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert made == ["a"] and len(set(map(id, found))) == 1 and len(found) == 8
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                shelf.get("b", lambda: 1 / 0)
        shelf.get("b", lambda: make("b"))
        shelf.get("c", lambda: make("c"))
        shelf.get("a", lambda: make("a"))
        assert made == ["a", "b", "c", "a"]

    def test_tasks_are_named_by_content(self, path):
        shipments = [source_of(path).shipment(), source_of(json.loads(path.read_text())).shipment()]
        tasks = [_gather.Task(_worker.analyse, s, ("fit", {"data": np.arange(3.0)})) for s in shipments]
        assert tasks[0].key == tasks[1].key
        others = [
            _gather.Task(_worker.analyse, shipments[0], ("fit", {"data": np.arange(3.0) + 1e-15})),
            _gather.Task(_worker.toys, shipments[0], ("b", 0, 5)),
            _gather.Task(_worker.toys, shipments[0], ("sb", 0, 5)),
            _gather.Task(_worker.toys, nd.ModelSource(path, poi="lumi").shipment(), ("sb", 0, 5)),
        ]
        assert len({task.key for task in [*tasks, *others]}) == 5
