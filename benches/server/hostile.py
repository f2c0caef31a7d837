#!/usr/bin/env python3
"""Sends hostile requests to nextstat-server and measures its largest resident memory.

    benches/server/hostile.py SERVER [--memory 256M] [--minutes 10] [--seed 1]

SERVER is the path of the program. Eight clients send patches that double the document, deep and large bodies, many
different models, many mistakes, abandoned requests and scans whose results are kept; ten more connections send bodies
very slowly. Traffic stays on this machine, and the run ends after MINUTES. The exit status is 1 if the server stops
answering, or if its resident memory exceeds `--memory` plus a fifth.
"""

from __future__ import annotations

import argparse
import collections
import http.client
import json
import random
import socket
import subprocess
import threading
import time

MOST_MINUTES = 60
CLIENTS = 8
SLOW = 10


def workspace(number: int, n_parameters: int = 16) -> dict:
    modifiers = [{"name": f"s{i}", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}} for i in range(n_parameters - 1)]
    modifiers.append({"name": "mu", "type": "normfactor", "data": None})
    data = [10.0 + number % 997, 20.0 + number / 1000]
    return {
        "channels": [{"name": "c", "samples": [{"name": "s", "data": data, "modifiers": modifiers}]}],
        "observations": [{"name": "c", "data": data}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def bomb(of: random.Random) -> tuple[str, str]:
    copies = [{"op": "copy", "from": "", "path": f"/x{i}"} for i in range(40)]
    if of.random() < 0.5:
        copies = [{"op": "add", "path": "/y", "value": []}]
        copies += [{"op": "copy", "from": "/channels", "path": "/y/-"} for _ in range(20_000)]
    patches = [{"patch": copies}] * of.choice([1, 1, 3])
    return "/v1/" + of.choice(["fit", "models", "validate"]), json.dumps(
        {"model": {"workspace": workspace(of.randrange(10**6)), "patches": patches}})


def large(of: random.Random) -> tuple[str, str]:
    item = of.choice(["0", "{}", '{"":0}', "[]", '"' + "x" * 1000 + '"', "1e-3"])
    size = int(10 ** of.uniform(4, 7.3))
    items = ",".join([item] * (size // (len(item) + 1) + 1))
    path = "/v1/" + of.choice(["fit", "validate", "prune", "inspect"])
    if path == "/v1/prune":
        return path, '{"workspace": {"channels": [' + items + "]}}"
    return path, '{"model": {"workspace": {"channels": [' + items + "]}}}"


def typed(of: random.Random) -> tuple[str, str]:
    item, key = of.choice([('{"main":[]}', "datasets"), ("{}", "patches"), ('""', "channels")])
    items = ",".join([item] * int(10 ** of.uniform(2, 6)))
    if key == "datasets":
        return "/v1/fit-batch", json.dumps({"model": {"workspace": workspace(1)}})[:-1] + f', "datasets": [{items}]}}'
    return "/v1/fit", '{"model": {"workspace": {}, "' + key + '": [' + items + "]}}"


def deep(of: random.Random) -> tuple[str, str]:
    text = of.choice(["[", '{"a":', '{"model":{"workspace":']) * int(10 ** of.uniform(2, 6))
    return "/v1/fit", text


def model(of: random.Random) -> tuple[str, str]:
    n = of.choice([16, 16, 16, 60, 200])
    return "/v1/" + of.choice(["models", "fit"]), json.dumps({"model": {"workspace": workspace(of.randrange(10**9), n)}})


def kept_result(of: random.Random) -> tuple[str, str]:
    return "/v1/scan", json.dumps({"model": {"workspace": workspace(1, 3)}, "wait_s": 0,
                                   "options": {"first": {"points": of.choice([10, 300, 2000])}}})


KINDS = [bomb, large, typed, deep, model, model, model, kept_result]


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def attack(address: str, seed: int, until: float, counts: collections.Counter, lock: threading.Lock) -> None:
    of = random.Random(seed)
    while time.monotonic() < until:
        kind = of.choice(KINDS)
        path, body = kind(of)
        connection = http.client.HTTPConnection(address, timeout=120)
        try:
            connection.request("POST", path, body, {"content-type": "application/json"})
            # One request in ten is abandoned.
            status = "left" if of.random() < 0.1 else connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            # The server may close a connection whose body it does not want.
            status = type(error).__name__
        finally:
            connection.close()
        with lock:
            counts[kind.__name__, status] += 1


def crawl(host: str, port: int, until: float) -> None:
    """Sends a body byte by byte, again and again."""
    while time.monotonic() < until:
        try:
            with socket.create_connection((host, port), timeout=60) as stream:
                stream.sendall(b"POST /v1/fit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                               b"content-length: 60000000\r\n\r\n" + b" " * 1_000_000)
                while time.monotonic() < until:
                    stream.sendall(b" ")
                    time.sleep(0.5)
        except OSError:
            time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.minutes > MOST_MINUTES:
        parser.error(f"at most {MOST_MINUTES} minutes")
    memory = int(float(args.memory[:-1]) * 1024 ** (" KMG".index(args.memory[-1])))
    command = [args.server, "--listen", "127.0.0.1:0", "--device", "cpu", "--memory", args.memory]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    address = json.loads(server.stderr.readline())["fields"]["address"]
    threading.Thread(target=lambda: collections.deque(server.stderr, maxlen=0), daemon=True).start()
    host, port = address.rsplit(":", 1)
    start, until = resident(server.pid), time.monotonic() + 60 * args.minutes
    counts, lock = collections.Counter(), threading.Lock()
    threads = [threading.Thread(target=attack, args=(address, args.seed + i, until, counts, lock)) for i in range(CLIENTS)]
    threads += [threading.Thread(target=crawl, args=(host, int(port), until)) for _ in range(SLOW)]
    for thread in threads:
        thread.start()
    largest, slowest, failed = start, 0.0, 0
    while time.monotonic() < until and server.poll() is None:
        largest = max(largest, resident(server.pid))
        began = time.monotonic()
        connection = http.client.HTTPConnection(address, timeout=30)
        try:
            connection.request("GET", "/v1/health")
            failed += connection.getresponse().status != 200
        except OSError:
            failed += 1
        connection.close()
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    alive = server.poll() is None
    time.sleep(5)
    end = resident(server.pid) if alive else 0
    server.terminate()
    server.wait()
    mb = 1e-6
    print(f"{sum(counts.values())} requests in {args.minutes} minutes, --memory {args.memory} ({memory * mb:.0f} MB)")
    print(f"resident: {start * mb:.0f} MB at the start, {largest * mb:.0f} MB at most, {end * mb:.0f} MB at the end")
    print(f"health: {failed} failed, the slowest took {slowest:.2f} s")
    for kind, status in sorted(counts, key=str):
        print(f"  {kind} {status}: {counts[kind, status]}")
    if not alive or failed or largest > 1.2 * memory:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
