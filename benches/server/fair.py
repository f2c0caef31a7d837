#!/usr/bin/env python3
"""Measures how long a request waits on nextstat-server beside clients that ask quick fits all the time.

    benches/server/fair.py SERVER QUICK.json SLOW.json [--clients 12 32] [--seconds 30] [--analysis significance]
                           [--one-client] [--threads N]

SERVER is the path of the program. One client asks `hypotest` of SLOW again and again, one request at a time. Beside it
CLIENTS others ask ANALYSIS of QUICK in the same way, each with a token of its own, or with --one-client all without
tokens, which makes them one client. Traffic stays on this machine, and the run ends after SECONDS per number of clients.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

MOST_CLIENTS = 64
MOST_SECONDS = 300


def connect(address: str, token: str | None):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})

    def post(path: str, body) -> tuple[int, bytes]:
        connection.request("POST", path, body if isinstance(body, str) else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    return post


def ask(address: str, token: str | None, path: str, body, until: float, times) -> None:
    """Sends the same request again and again, and puts the times of all requests into a queue."""
    post, own = connect(address, token), []
    while time.perf_counter() < until:
        began = time.perf_counter()
        status, text = post(path, body)
        own.append((time.perf_counter() - began, status))
        if status != 200:
            time.sleep(0.1)
    times.put(own)


def quantile(times: list[float], part: float) -> float:
    return sorted(times)[int(part * (len(times) - 1))] if times else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("quick", type=pathlib.Path)
    parser.add_argument("slow", type=pathlib.Path)
    parser.add_argument("--clients", type=int, nargs="+", default=[12, 32])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--analysis", default="significance")
    parser.add_argument("--one-client", action="store_true")
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    if max(args.clients) > MOST_CLIENTS or args.seconds > MOST_SECONDS:
        parser.error(f"at most {MOST_CLIENTS} clients and {MOST_SECONDS} seconds")
    with tempfile.NamedTemporaryFile("w", suffix=".tokens") as file:
        tokens = [f"token-{i:04}-0123456789" for i in range(MOST_CLIENTS + 1)]
        file.write("".join(f"client{i} {token}\n" for i, token in enumerate(tokens)))
        file.flush()
        command = [args.server, "--listen", "127.0.0.1:0", "--device", "cpu", "--threads", str(args.threads)]
        if args.one_client:
            tokens = [None] * len(tokens)
        else:
            command += ["--token-file", file.name]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        address = json.loads(server.stderr.readline())["fields"]["address"]
        threading.Thread(target=server.stderr.read, daemon=True).start()
        try:
            measure(address, tokens, args)
        finally:
            server.terminate()
            server.wait()


def measure(address: str, tokens: list, args) -> None:
    post = connect(address, tokens[0])

    def keep(path: pathlib.Path) -> dict:
        status, text = post("/v1/models", '{"model": {"workspace": ' + path.read_text() + "}}")
        if status != 200:
            raise SystemExit(f"{path}: {status} {text[:300]!r}")
        kept = json.loads(text)
        return {"model": {key: kept[key] for key in ("model_digest", "data_digest")}}

    slow = keep(args.slow) | {"mu": 1.0}
    quick = keep(args.quick)
    quick_path = f"/v1/{args.analysis}"

    def alone(path: str, body) -> float:
        times = []
        for _ in range(30):
            began = time.perf_counter()
            status, text = post(path, body)
            if status != 200:
                raise SystemExit(f"{path}: {status} {text[:300]!r}")
            times.append(time.perf_counter() - began)
        return quantile(times, 0.5)

    own, of_quick = alone("/v1/hypotest", slow), alone(quick_path, quick)
    print(f"alone: hypotest {1e3 * own:.1f} ms, {args.analysis} {1e3 * of_quick:.1f} ms", flush=True)
    print("| other clients | hypotest: p50 | p99 | longest | p99 / own time | number | quick: p50 | p99 | number | not 200 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for clients in args.clients:
        until = time.perf_counter() + args.seconds
        queue, first = multiprocessing.Queue(), multiprocessing.Queue()
        jobs = [(tokens[i + 1], quick_path, quick, queue) for i in range(clients)]
        jobs.append((tokens[0], "/v1/hypotest", slow, first))
        processes = [
            multiprocessing.Process(target=ask, args=(address, token, path, body, until, times))
            for token, path, body, times in jobs
        ]
        for process in processes:
            process.start()
        slow_times, quick_times = first.get(), [one for _ in range(clients) for one in queue.get()]
        for process in processes:
            process.join()
        bad = sum(status != 200 for _, status in slow_times + quick_times)
        slow_s, quick_s = [t for t, _ in slow_times], [t for t, _ in quick_times]
        ms = [f"{1e3 * quantile(slow_s, part):.0f} ms" for part in (0.5, 0.99, 1.0)]
        of_others = [f"{1e3 * quantile(quick_s, part):.0f} ms" for part in (0.5, 0.99)]
        print(f"| {clients} | " + " | ".join(ms) + f" | {quantile(slow_s, 0.99) / own:.1f} | {len(slow_s)} | "
              + " | ".join(of_others) + f" | {len(quick_s)} | {bad} |", flush=True)


if __name__ == "__main__":
    main()
