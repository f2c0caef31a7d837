"""`nextstat.Client` against a server on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
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
        assert result["bestfit"] == list(nextstat.fit(model).bestfit)
    counts = model.observed_data()
    n_main = len(model.observed_data(include_auxdata=False))
    sets = [{"main": list(counts[:n_main]), "aux": list(counts[n_main:])}, {"main": [x + 1 for x in counts[:n_main]]}]
    batch = client.fit_batch(kept, sets)
    there = nextstat.fit_batch(model, [counts, [x + 1 for x in counts[:n_main]] + list(counts[n_main:])])
    assert batch["bestfit"] == there.bestfit.tolist() and batch["n_converged"] == 2
    limit = client.upper_limit(kept, cl=0.9)
    assert limit["observed"] == nextstat.upper_limit(model, cl=0.9).observed
    test = client.hypotest(1.0, kept, test_stat="q")
    assert test["cls"] == nextstat.hypotest(1.0, model, test_stat="q").cls
    assert client.ranking(kept, top=1)["ranking"][0]["name"] == nextstat.ranking(model, top=1)[0]["name"]
    assert client.significance(kept)["converged"] and client.goodness_of_fit(kept)["converged"]
    assert client.profile_scan(kept, first={"points": 5})["converged"]
    assert client.yields(kept, at="init")["channels"] and client.inspect(kept)["valid"]
    assert client.validate(SIMPLE)["valid"]
    assert client.devices()[0]["name"] == "cpu"


def test_pictures_and_workspaces(client):
    assert client.fit(SIMPLE, plot="png").startswith(b"\x89PNG")
    channel = json.loads(SIMPLE.read_text())["channels"][0]["name"]
    renamed = client.rename(SIMPLE, channels={channel: "other"})
    assert renamed["channels"][0]["name"] == "other"
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
    assert toys["n_toys"] == {"b": 20_000, "sb": 20_000}
    assert steps and steps[-1][1] == 40_000
    assert toys["cls"] == client.hypotest_toys(1.0, SIMPLE, n_toys=20_000, seed=1)["cls"]


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
        assert all(fit["bestfit"] == fits[0]["bestfit"] for fit in fits)
        toys = asyncio.ensure_future(remote.hypotest_toys(1.0, model, n_toys=100_000_000))
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
    assert merged["clsb"] == nextstat.hypotest_toys(1.0, nextstat.load_workspace(SIMPLE), n_toys=60, seed=3).clsb
    with pytest.raises(nextstat.NextstatError, match="missing"):
        client.merge_toys(shards[0])
    assert client.merge_toys(shards[0], allow_incomplete=True)["shard"] == "incomplete"
