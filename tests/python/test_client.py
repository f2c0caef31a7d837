"""`nextstat.Client` against a server on this machine."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

import pytest

import nextstat

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMPLE = ROOT / "tests/fixtures/simple_workspace.json"


def program() -> pathlib.Path | None:
    """The server: NEXTSTAT_SERVER, or that of the last build."""
    named = os.environ.get("NEXTSTAT_SERVER")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    places = [pathlib.Path(named)] if named else [target / kind / "nextstat-server" for kind in ("debug", "release")]
    return next((place for place in places if place.exists()), None)


@pytest.fixture(scope="module")
def url():
    """Address of a running server."""
    found = program()
    if found is None:
        pytest.skip("NOT TESTED: there is no nextstat-server; run `cargo build -p ns-server` first")
    process = subprocess.Popen([found, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    address = json.loads(process.stderr.readline())["fields"]["address"]
    threading.Thread(target=process.stderr.read, daemon=True).start()
    yield f"http://{address}"
    process.terminate()
    assert process.wait(60) == 0


@pytest.fixture
def client(url):
    return nextstat.Client(url, device="cpu")


def test_results_are_those_of_the_library(client):
    model = nextstat.load_workspace(SIMPLE)
    kept = client.load_workspace(SIMPLE)
    assert isinstance(kept, nextstat.RemoteModel)
    for workspace in (kept, SIMPLE, json.loads(SIMPLE.read_text()), SIMPLE.read_text()):
        result = client.fit(workspace)
        assert result.bestfit.tolist() == list(nextstat.fit(model).bestfit)
    counts = model.observed_data()
    n_main = len(model.observed_data(include_auxdata=False))
    sets = [{"main": list(counts[:n_main]), "aux": list(counts[n_main:])}, {"main": [x + 1 for x in counts[:n_main]]}]
    batch = client.fit_batch(kept, sets)
    there = nextstat.fit_batch(model, [counts, [x + 1 for x in counts[:n_main]] + list(counts[n_main:])])
    assert batch.bestfit == there.bestfit.tolist() and batch.n_converged == 2
    limit = client.upper_limit(kept, cl=0.9)
    assert limit.observed == nextstat.upper_limit(model, cl=0.9).observed
    test = client.hypotest(kept, 1.0, test_stat="q")
    assert test.cls == nextstat.hypotest(model, 1.0, test_stat="q").cls
    assert client.ranking(kept, top=1)[0]["name"] == nextstat.ranking(model, top=1)[0]["name"]
    assert client.significance(kept).converged and client.goodness_of_fit(kept).converged
    assert client.profile_scan(kept, first={"points": 5}).converged.all()
    assert client.yields(kept, at="init").channels and client.inspect(kept)["valid"]
    assert client.validate(SIMPLE)["valid"]
    assert client.devices()[0]["name"] == "cpu"


def test_several_parameters_of_interest(client):
    file, both = ROOT / "tests/fixtures/two_signals.json", ["mu_ggH", "mu_qqH"]
    kept, here = client.load_workspace(file, poi=both), nextstat.load_workspace(file, poi=both)
    for function, key in (("upper_limit", "observed"), ("significance", "z"), ("ranking", "mu_uncertainty")):
        found, wanted = getattr(client, function)(kept), getattr(nextstat, function)(here, poi=both)
        assert list(found) == both
        assert [getattr(found[name], key) for name in both] == [getattr(wanted[name], key) for name in both]
        assert type(found["mu_qqH"]) is type(wanted["mu_qqH"])
    assert str(nextstat.joint_ranking(client.ranking(kept))).startswith("parameter")
    point = {"mu_ggH": 1.0, "mu_qqH": 2.0}
    test = client.hypotest(kept, point, toys=20, seed=3)
    assert test.t == nextstat.hypotest(here, point).t and test.p_value_toys is not None
    with pytest.raises(nextstat.ServerError, match="2 parameters of interest"):
        client.hypotest(kept, 1.0)


def test_results_are_of_the_classes_of_the_library(client, tmp_path):
    model = nextstat.load_workspace(SIMPLE)
    kept = client.load_workspace(SIMPLE)
    pairs = [
        (client.fit(kept, minos=["mu"]), nextstat.fit(model, minos="mu")),
        (client.fit(json.loads(SIMPLE.read_text())), nextstat.fit(model)),
        (client.hypotest(kept, 1.0), nextstat.hypotest(model, 1.0)),
        (client.hypotest_toys(kept, 1.0, n_toys=20), nextstat.hypotest_toys(model, 1.0, n_toys=20, device="cpu")),
        (client.fit_toys(kept, n_toys=20), nextstat.fit_toys(model, n_toys=20, device="cpu")),
        (client.upper_limit(kept), nextstat.upper_limit(model)),
        (client.significance(kept), nextstat.significance(model)),
        (client.goodness_of_fit(kept), nextstat.goodness_of_fit(model)),
        (client.profile_scan(kept, first={"points": 5}), nextstat.profile_scan(model, points=5)),
        (client.ranking(kept), nextstat.ranking(model)),
        (client.yields(kept), nextstat.yields(model)),
    ]
    for there, here in pairs:
        assert type(there) is type(here)
        left_out = {"wall_s", "device_reason", "toys_per_s"}
        plain = [{k: v for k, v in r.to_dict().items() if k not in left_out} for r in (there, here)]
        assert plain[0] == plain[1], type(here)
        # Texts have the time of the run at their end, and the rate of toys.
        text = [repr(r).split("measurement")[0].split(" toys/s")[0].rsplit(" ", 1)[0] for r in (there, here)]
        assert text[0] == text[1]
        assert there.to_csv().split('"measurement')[0].split("measurement")[0] == here.to_csv().split('"measurement')[0].split("measurement")[0]
    fit, limit = pairs[0][0], pairs[5][0]
    assert fit.plot().svg == pairs[0][1].plot().svg and fit.minos["mu"].lower == pairs[0][1].minos["mu"].lower
    assert pairs[9][0].plot().svg == pairs[9][1].plot().svg
    with pytest.raises(ValueError, match="limit of a server has no scan"):
        limit.plot()
    with pytest.warns(DeprecationWarning, match=r'result\["observed"\] becomes result.observed'):
        assert limit["observed"] == limit.observed
    with pytest.warns(DeprecationWarning, match="the model comes first"):
        assert client.hypotest(1.0, kept).cls == pairs[2][0].cls
    # A model that only the server has gives numbers, as attributes.
    bare = client.fit(nextstat.RemoteModel(kept.model_digest, kept.data_digest))
    assert bare.bestfit == pairs[0][0].bestfit.tolist()


def same(there, here):
    """Whether a result of the server is that of the package, without the times."""
    left_out = {"wall_s", "device_reason", "toys_per_s"}

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items() if key not in left_out}
        return [plain(part) for part in value] if isinstance(value, list) else value

    return type(there) is type(here) and plain(there.to_dict()) == plain(here.to_dict())


def test_analyses_with_models_of_their_own(client):
    """Tests of channels and of backgrounds, unfolding and simplified likelihoods."""
    fixtures = ROOT / "tests/fixtures"
    many, tested, other = fixtures / "many_bins.json", fixtures / "hs3/exponential.hs3.json", fixtures / "hs3/power.hs3.json"
    there = client.compatibility(many, leave_out=True, n_toys=40, seed=2)
    here = nextstat.compatibility(many, leave_out=True, toys=40, seed=2, device="cpu")
    assert same(there, here) and there.plot().svg == here.plot().svg
    there = client.spurious_signal(tested, {"power": other}, "mass", points=5)
    here = nextstat.spurious_signal(tested, {"power": other}, "mass", points=5, device="cpu")
    assert same(there, here) and there.plot().svg == here.plot().svg
    assert client.spurious_signal(client.load_workspace(tested), {"power": client.load_workspace(other)}, "mass", points=5).backgrounds == here.backgrounds

    spectrum = fixtures / "unfolding.json"
    prediction = json.loads((fixtures / "unfolding_truth.json").read_text())
    there = client.unfold(spectrum, "truth_*", prediction=prediction, regularisation="curvature", points=11)
    here = nextstat.unfold(spectrum, "truth_*", prediction=prediction, regularisation="curvature", points=11, device="cpu")
    assert same(there, here) and there.plot_strengths().svg == here.plot_strengths().svg
    drawn = client.unfold(spectrum, ["truth_*"], prediction=prediction["yields"], regularisation="curvature", points=11, plot="svg", picture="strengths")
    assert b"<svg" in drawn

    control = client.load_workspace(SIMPLE, mask=["SR"])
    fit = client.fit(control)
    there = client.simplify(SIMPLE, at=fit, channels=["SR"], n_draws=20_000)
    here = nextstat.simplify(SIMPLE, at=nextstat.fit(nextstat.load_workspace(SIMPLE, mask="SR"), covariance=True), regions="SR", draws=20_000)
    assert same(there, here) and there.workspace == here.workspace
    checked = client.simplify(SIMPLE, n_draws=20_000, validation=True).validation
    assert len(checked) == 8 and nextstat.fit(there.workspace).converged


def test_samples_of_posteriors_have_their_numbers(client):
    options = {"draws": 300, "tune": 300, "chains": 2, "seed": 3, "priors": {"mu": "exponential(2)"}}
    there = client.sample(SIMPLE, **options)
    here = nextstat.sample(SIMPLE, device="cpu", **options)
    plain = here.to_dict()
    assert there.parameters == plain["parameters"] and there.priors == here.priors
    assert (there.least_ess, there.most_r_hat) == (here.least_ess, here.most_r_hat)
    assert there.n_chains == 2 and not hasattr(there, "draws")
    with pytest.raises(nextstat.ServerError, match="exponential"):
        client.sample(SIMPLE, priors={"mu": "exponential(-2)"})


def test_given_results_are_combined(client):
    file = ROOT / "tests/fixtures/given_results.toml"
    there, here = client.blue(file), nextstat.blue(file)
    assert there == here and type(there) is type(here) is dict
    given = {"results": [{"name": "A", "value": 1.0, "uncertainties": {"stat": 0.1, "scale": 1.0}},
                         {"name": "B", "value": 1.3, "uncertainties": {"stat": 0.1, "scale": 2.0}}],
             "correlations": {"stat": 0, "scale": 1}}
    with pytest.warns(UserWarning, match="the weight of B is negative"):
        assert client.blue(given)["combined"][0].value < 1.0
    with pytest.raises(nextstat.ServerError, match="/correlations: correlations: 'scale' is missing"):
        client.blue({**given, "correlations": {"stat": 0}})


def test_intervals_regions_and_searches(client):
    two, events = ROOT / "tests/fixtures/two_signals.json", ROOT / "tests/fixtures/hs3/mixed.hs3.json"
    assert same(client.interval(SIMPLE), nextstat.interval(SIMPLE, device="cpu"))
    there = client.interval(SIMPLE, n_toys=40, points=5, seed=1)
    assert same(there, nextstat.interval(SIMPLE, toys=40, points=5, seed=1, device="cpu")) and there.plot().svg
    both = ["mu_ggH", "mu_qqH"]
    there = client.region(client.load_workspace(two, poi=both))
    assert same(there, nextstat.region(nextstat.load_workspace(two, poi=both), device="cpu")) and there.plot().svg
    assert same(client.look_elsewhere(events, "mass", points=11), nextstat.look_elsewhere(events, "mass", points=11, device="cpu"))
    assert same(client.injection(SIMPLE, [1, 2], n_toys=20), nextstat.injection(SIMPLE, [1, 2], n_toys=20, device="cpu"))


def test_archives_are_sent_as_they_are(client, tmp_path):
    """Cards, XML and configurations with the files that they name, as the server takes them."""
    card = ROOT / "tests/fixtures/cards/counting.txt"
    packed = {}
    for kind in ("tar", "gztar", "zip"):
        folder = tmp_path / kind
        folder.mkdir()
        shutil.copy(card, folder / "card.txt")
        packed[kind] = shutil.make_archive(str(tmp_path / f"analysis_{kind}"), kind, folder)
    expected = nextstat.fit(nextstat.load_datacard(card, mass=125.0))
    for path in packed.values():
        kept = client.load_workspace(path, file="card.txt", mass=125.0)
        assert client.fit(kept).bestfit == pytest.approx(expected.bestfit.tolist(), abs=1e-9)
        assert client.upper_limit(pathlib.Path(path)).observed == client.upper_limit(kept).observed
    # A compressed workspace is no archive.
    compressed = tmp_path / "workspace.json.gz"
    compressed.write_bytes(gzip.compress(SIMPLE.read_bytes()))
    assert client.fit(compressed).converged
    with pytest.raises(nextstat.WorkspaceError, match="other.txt"):
        client.load_workspace(packed["zip"], file="other.txt")


def test_pictures_and_workspaces(client):
    assert client.fit(SIMPLE, plot="png").startswith(b"\x89PNG")
    channel = json.loads(SIMPLE.read_text())["channels"][0]["name"]
    renamed = client.rename(SIMPLE, channels={channel: "other"})
    assert renamed["channels"][0]["name"] == "other"
    modifier = json.loads(SIMPLE.read_text())["channels"][0]["samples"][1]["modifiers"][0]["name"]
    places = {"first": [channel]}
    assert client.decorrelate(SIMPLE, modifier, "channel") == nextstat.decorrelate(SIMPLE, modifier, "channel")
    assert client.decorrelate(SIMPLE, modifier, places) == nextstat.decorrelate(SIMPLE, modifier, places)
    both = client.combine(SIMPLE, renamed, join="outer")
    assert {c["name"] for c in both["channels"]} >= {channel, "other"}


def test_errors_are_those_of_the_package(client):
    with pytest.raises(nextstat.ServerError, match="/options/serach: unknown field") as caught:
        client.fit(SIMPLE, serach="local")
    assert caught.value.status == 422
    with pytest.raises(nextstat.WorkspaceError, match="/model/workspace"):
        client.fit({"channels": []})
    with pytest.raises(nextstat.DeviceError):
        client.fit(SIMPLE, device="cuda:9")
    with pytest.raises(nextstat.ServerError):
        client.fit(nextstat.RemoteModel("0" * 64, "0" * 64))
    with pytest.raises(TypeError):
        client.load_workspace(nextstat.RemoteModel("0", "0"), poi="mu")
    with pytest.raises(ValueError, match="no address"):
        nextstat.Client("localhost:8765")
    assert nextstat.NextstatError in nextstat.ServerError.__mro__


def test_a_job_is_waited_for(client):
    steps = []
    toys = client._analysis("hypotest-toys", SIMPLE, {"n_toys": 20_000, "seed": 1}, mu=1.0, wait_s=0,
                            progress=lambda done, total: steps.append((done, total)))
    assert toys.n_toys == {"b": 20_000, "sb": 20_000}
    assert steps and steps[-1][1] == 40_000
    assert toys.cls == client.hypotest_toys(SIMPLE, 1.0, n_toys=20_000, seed=1).cls


def test_an_interrupted_call_cancels_its_job(client):
    def stop(done, total):
        raise KeyboardInterrupt

    before = running(client)
    with pytest.raises(KeyboardInterrupt):
        client._analysis("hypotest-toys", SIMPLE, {"n_toys": 100_000_000}, mu=1.0, wait_s=0, progress=stop)
    assert running(client) == before


def running(client) -> int:
    """Number of the client's jobs that run."""
    jobs = client._send(nextstat._requests.Request("GET", "/v1/jobs"))
    return sum(job["state"] == "running" for job in jobs)


def test_awaited_calls_run_side_by_side_and_can_be_cancelled(url, client):
    async def calls():
        remote = nextstat.AsyncClient(url, device="cpu")
        model = await remote.load_workspace(SIMPLE)
        fits = await asyncio.gather(*(remote.fit(model) for _ in range(8)))
        assert all(fit.bestfit.tolist() == fits[0].bestfit.tolist() for fit in fits)
        toys = asyncio.ensure_future(remote.hypotest_toys(model, 1.0, n_toys=100_000_000))
        await asyncio.sleep(0.5)
        toys.cancel()
        with pytest.raises(asyncio.CancelledError):
            await toys
        with pytest.raises(nextstat.ServerError):
            await remote.fit(model, serach="local")

    asyncio.run(calls())
    deadline = time.monotonic() + 30
    while active(client) > 0:
        assert time.monotonic() < deadline, "the cancelled call goes on"


def active(client) -> int:
    """Number of requests and jobs in progress."""
    text = client._send(nextstat._requests.Request("GET", "/metrics"), bytes.decode)
    return int(next(line for line in text.splitlines() if line.startswith("nextstat_active ")).split()[1])


def test_shards_of_toys_are_merged(client, tmp_path):
    shards = []
    for shard in ("1/2", "2/2"):
        shards.append(tmp_path / f"{shard[0]}.parquet")
        flags = ["--mu", "1", "--n-toys", "60", "--seed", "3", "--shard", shard, "--save", shards[-1]]
        subprocess.run([program().with_name("nextstat"), "hypotest-toys", "-i", SIMPLE, *flags], check=True)
    merged = client.merge_toys(*shards)
    assert merged.clsb == nextstat.hypotest_toys(nextstat.load_workspace(SIMPLE), 1.0, n_toys=60, seed=3).clsb
    with pytest.raises(nextstat.NextstatError, match="missing"):
        client.merge_toys(shards[0])
    assert client.merge_toys(shards[0], allow_incomplete=True).shard == "incomplete"
