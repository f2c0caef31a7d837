#!/usr/bin/env python3
"""Measures how much a job of toys on nextstat-server slows down while another client fits other models, and how long
these fits take.

    benches/server/share.py SERVER WORKSPACE... [--device cpu|cuda] [--seconds 2] [--repeats 4]

SERVER is the path of the program. For every workspace, a job of `hypotest-toys` of about SECONDS is run in turns with
and without another client. This client fits two of the other workspaces on the CPU, one after the other, 20 times a
second. Needs at least two workspaces.
"""

from __future__ import annotations

import argparse
import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import threading
import time


class Connection:
    """A connection that stays open."""

    def __init__(self, address: str):
        self.http = http.client.HTTPConnection(address)
        self.http.connect()
        self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method: str, path: str, body=None):
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        self.http.request(method, path, text, {"content-type": "application/json"})
        answer = self.http.getresponse()
        content = json.loads(answer.read())
        if answer.status not in (200, 202):
            raise SystemExit(f"{path}: {answer.status} {content}")
        return answer.status, content


def run_job(connection: Connection, model, n_toys: int, seed: int, device: str) -> float:
    """Runs a job of toys and returns its time in seconds."""
    began = time.perf_counter()
    body = {"model": model, "mu": 1.0, "wait_s": 0, "device": device, "options": {"n_toys": n_toys, "seed": seed}}
    status, job = connection.send("POST", "/v1/hypotest-toys", body)
    while status == 202:
        time.sleep(0.01)
        state = connection.send("GET", f"/v1/jobs/{job['id']}")[1]["state"]
        if state == "done":
            break
        if state != "running":
            raise SystemExit(f"the job has {state}")
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("workspaces", nargs="+", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=4)
    args = parser.parse_args()
    if len(args.workspaces) < 2:
        parser.error("give two workspaces or more")
    process = subprocess.Popen([args.server, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    address = json.loads(process.stderr.readline())["fields"]["address"]
    threading.Thread(target=process.stderr.read, daemon=True).start()
    connection = Connection(address)
    models = []
    for path in args.workspaces:
        kept = connection.send("POST", "/v1/models", '{"model": {"workspace": ' + path.read_text() + "}}")[1]
        models.append({key: kept[key] for key in ("model_digest", "data_digest")})
    print("| job of | toys per hypothesis | alone | beside fits | longer by | fit of another model: p50 | p99 | longest |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for i, (path, model) in enumerate(zip(args.workspaces, models)):
        others = [models[(i + k) % len(models)] for k in (1, 2) if (i + k) % len(models) != i]
        for other in others:
            connection.send("POST", "/v1/fit", {"model": other, "device": "cpu"})
        # The number of toys is chosen so that the job takes the requested time.
        n_toys = 50
        while (took := run_job(connection, model, n_toys, 99, args.device)) < 0.2 * args.seconds:
            n_toys = int(n_toys * min(10.0, 0.3 * args.seconds / max(took, 1e-3)))
        n_toys = max(50, int(n_toys * args.seconds / took))
        times, runs = [], {False: [], True: []}
        for repeat in range(args.repeats):
            for busy in (False, True) if repeat % 2 else (True, False):
                stop = threading.Event()

                def fits():
                    own = Connection(address)
                    while not stop.is_set():
                        for other in others:
                            began = time.perf_counter()
                            own.send("POST", "/v1/fit", {"model": other, "device": "cpu"})
                            times.append(time.perf_counter() - began)
                        time.sleep(0.05)

                client = threading.Thread(target=fits)
                if busy:
                    client.start()
                runs[busy].append(run_job(connection, model, n_toys, repeat, args.device))
                stop.set()
                if busy:
                    client.join()
        alone, beside = (statistics.median(runs[busy]) for busy in (False, True))
        times.sort()
        ms = [1e3 * times[int(part * (len(times) - 1))] for part in (0.5, 0.99, 1.0)]
        print(f"| {path.stem} | {n_toys} | {alone:.2f} s | {beside:.2f} s | {100 * (beside / alone - 1):.1f} % | "
              + " | ".join(f"{x:.1f} ms" for x in ms) + " |", flush=True)
    process.terminate()
    process.wait()


if __name__ == "__main__":
    main()
