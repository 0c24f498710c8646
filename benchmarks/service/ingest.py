"""Acknowledged events per second over HTTP, against the least that a server can do with the same requests.

Ours is `truelift serve`, as it is shipped. Its limits, measured in turn in the same run: for single events a
bare server that decodes the JSON and appends to one synced file, and for batches a bare server with our
decoder and no store. The client is wrk, whose processor time is told; each event has an id of its own.
"""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import print as show

from benchmarks.service.bare_servers import serve_decoder, serve_synced_file
from benchmarks.service.serving import served
from benchmarks.service.sites import Site, a_site, shipped_service
from pipeline.settings import Settings
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.warehouse_facts import read_facts
from pipeline.store.spool.spool_facts import inspect_spool

SECONDS = float(os.environ.get("BENCH_INGEST_SECONDS", "5"))
SUSTAINED_SECONDS = float(os.environ.get("BENCH_INGEST_SUSTAINED_SECONDS", "60"))
ROUNDS = 3
# Seconds from the acknowledgement of an event until queries find it.
MOST_LAG = 5


@dataclass(frozen=True, slots=True)
class LoadKind:
    """A kind of load, and what is to be reached: a share of the limit, and a 99th percentile."""

    name: str
    connections: int
    events_a_request: int
    limit: str
    share: float
    p99_ms: float


SINGLE = LoadKind("one event a request", 64, 1, "synced file", 0.3, 30)
BATCHES = LoadKind("500 events a request", 8, 500, "our decoder, no store", 0.6, 100)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one load reached: events per second, milliseconds of latency, and processors of the client."""

    rate: float
    p50_ms: float
    p99_ms: float
    client: float


def run_in_parts() -> Iterator[list[dict[str, Any]]]:
    """Measure both kinds of load against their limits, and what a minute and a rollup change."""
    if shutil.which("wrk") is None:
        raise RuntimeError("the client is wrk; install it, such as by apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        site = a_site(Path(folder, "ours"))
        with served(serve_decoder, site.experiment_id, (site.variant_id,)) as limit_port:
            yield _compare(BATCHES, site, limit_port)
        with served(serve_synced_file, Path(folder)) as limit_port:
            yield _compare(SINGLE, site, limit_port)
            yield [_while_a_rollup_runs(site, limit_port)]


def _compare(kind: LoadKind, site: Site, limit_port: int) -> list[dict[str, Any]]:
    """Measure in turn, so that whatever else the machine does falls on both; the best rounds count."""
    ours, limits = list[Measured](), list[Measured]()
    with shipped_service(site) as (port, _):
        for _ in range(ROUNDS):
            limits.append(measured(kind, site, limit_port, SECONDS))
            ours.append(measured(kind, site, port, SECONDS))
    best, limit = max(ours, key=lambda one: one.rate), max(limits, key=lambda one: one.rate)
    rows = [_row(kind.name, kind, best, limit)]
    if kind is BATCHES:
        sustained, lag = _sustained(kind, site)
        rows.append(_row(f"the same for {SUSTAINED_SECONDS:.0f} s", kind, sustained, limit, lag=lag))
    return rows


def _sustained(kind: LoadKind, site: Site) -> tuple[Measured, float]:
    """Run one load for long, and kill the service at its end; what it had not loaded is the lag, in seconds.

    Every acknowledged event is in the warehouse or in the spool then; RuntimeError otherwise.
    """
    with shipped_service(site) as (port, service):
        found = measured(kind, site, port, SUSTAINED_SECONDS)
        service.kill()
        service.wait()
    settings = Settings(data_dir=site.data_dir)
    facts = read_facts(settings.warehouse_path)
    spool = inspect_spool(settings.spool_path, facts.id, facts.loaded_seq)
    if spool.problem or max(facts.newest_seq, spool.last_seq) < CommitMark(settings.warehouse_path).read():
        raise RuntimeError(f"acknowledged events are missing: {spool}")
    return found, max(0, spool.last_seq - facts.loaded_seq) / found.rate


def _while_a_rollup_runs(site: Site, limit_port: int) -> dict[str, Any]:
    """Measure single events while results are counted anew again and again."""
    has_ended = threading.Event()
    with shipped_service(site) as (port, _):
        path = f"/api/v1/projects/{site.project_id}/experiments/{site.experiment_id}/results"
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {site.token}"}
        )

        def read_results() -> None:
            while not has_ended.is_set():
                urllib.request.urlopen(request).close()  # noqa: S310 - as above

        reader = threading.Thread(target=read_results)
        reader.start()
        try:
            ours = measured(SINGLE, site, port, SECONDS)
        finally:
            has_ended.set()
            reader.join()
    return _row(
        f"{SINGLE.name}, while results are counted", SINGLE, ours, measured(SINGLE, site, limit_port, SECONDS)
    )


def _row(
    name: str, kind: LoadKind, ours: Measured, limit: Measured, lag: float | None = None
) -> dict[str, Any]:
    is_met = ours.rate / limit.rate >= kind.share and ours.p99_ms <= kind.p99_ms and (lag or 0) < MOST_LAG
    return {
        "load": name,
        "connections": kind.connections,
        "truelift, events/s": f"{ours.rate:,.0f}",
        "p50 / p99, ms": f"{ours.p50_ms:.1f} / {ours.p99_ms:.1f}",
        "limit": kind.limit,
        "limit, events/s": f"{limit.rate:,.0f}",
        "limit p50 / p99, ms": f"{limit.p50_ms:.1f} / {limit.p99_ms:.1f}",
        "ratio": f"{ours.rate / limit.rate:.2f}",
        "client, cores": f"{ours.client:.2f}",
        "loader's lag, s": "" if lag is None else f"{lag:.1f}",
        "goal": f"ratio {kind.share}, p99 {kind.p99_ms:.0f} ms",
        "met": "yes" if is_met else "no",
    }


def measured(kind: LoadKind, site: Site, port: int, seconds: float) -> Measured:
    """Run one load of wrk; RuntimeError where a request was not answered by 200."""
    before = _client_seconds()
    command = [
        "wrk",
        "--threads=1",
        f"--connections={kind.connections}",
        f"--duration={seconds:.0f}s",
        f"--script={Path(__file__).with_name('events.lua')}",
        "--timeout=10s",
        f"http://127.0.0.1:{port}",
        "--",
        site.sdk_key,
        site.experiment_id,
        site.variant_id,
        str(kind.events_a_request),
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(output.splitlines()[-1])
    if found["errors"] or not found["requests"]:
        raise RuntimeError(f"wrk: {output}")
    return Measured(
        rate=found["requests"] * kind.events_a_request / found["seconds"],
        p50_ms=found["p50_ms"],
        p99_ms=found["p99_ms"],
        client=(_client_seconds() - before) / found["seconds"],
    )


def _client_seconds() -> float:
    """Processor time of the ended child processes; the services are not among them while they run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    for part in run_in_parts():
        for line in part:
            show(line)
