"""Metrics of the service in Prometheus' text format, for holders of a token of the settings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fastapi import Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool

from api.errors import ApiError
from api.middleware.request_counts import RequestCounts
from api.operator.operator_access import bearer_token, is_same_token
from api.services import Services
from pipeline.disk_space import free_bytes
from pipeline.settings import Settings
from pipeline.store.catalog.keys import Refusal
from pipeline.store.catalog.refused_keys import Way

_MICROSECONDS: Final = 1_000_000


async def get_metrics(request: Request) -> Response:
    """Answer with all metrics; without `TRUELIFT_METRICS_TOKEN` and that token there is no such path."""
    services: Services = request.app.state.services
    if not _is_allowed(services.settings, bearer_token(request)):
        raise ApiError("not_found", f"{request.method} {request.url.path}: Not Found")
    counts: RequestCounts = request.app.state.request_counts
    content = await run_in_threadpool(metrics_text, services, Counter(counts.by_route))
    return Response(content, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def metrics_text(services: Services, requests: Mapping[tuple[str, str, int], int]) -> bytes:
    """Write all metrics as text."""
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(services, requests))
    return generate_latest(registry)


def _is_allowed(settings: Settings, token: str) -> bool:
    expected = settings.metrics_token.get_secret_value() if settings.metrics_token else ""
    return bool(expected) and is_same_token(token, expected)


class _ServiceCollector(Collector):
    """Everything that is measured, read once for each answer."""

    def __init__(self, services: Services, requests: Mapping[tuple[str, str, int], int]) -> None:
        self._services = services
        self._requests = requests

    def collect(self) -> Iterable[Metric]:
        yield from _request_metrics(self._requests)
        yield from _key_metrics(self._services.key_refusals.counted())
        yield from _ingest_metrics(self._services)
        yield from _disk_metrics(self._services)
        yield from _work_metrics(self._services)


def _request_metrics(requests: Mapping[tuple[str, str, int], int]) -> Iterator[Metric]:
    answered = CounterMetricFamily(
        "truelift_requests",
        "Answered requests.",
        labels=["method", "route", "status"],
    )
    for (method, route, status), count in sorted(requests.items()):
        answered.add_metric([method, route, str(status)], count)
    yield answered


def _key_metrics(refusals: Mapping[tuple[Way, Refusal], int]) -> Iterator[Metric]:
    refused = CounterMetricFamily(
        "truelift_refused_keys", "Keys and sign-in links that were refused.", labels=["way", "reason"]
    )
    for labels, count in sorted(refusals.items()):
        refused.add_metric(labels, count)
    yield refused


def _ingest_metrics(services: Services) -> Iterator[Metric]:
    state = services.ingest.state()
    yield _counter("truelift_events_acknowledged", "Events on disk since the beginning.", state.acknowledged)
    yield _gauge("truelift_ingest_queue_bytes", "Memory of events waiting for the disk.", state.queued_bytes)
    yield _gauge(
        "truelift_loader_lag_events",
        "Acknowledged events that the warehouse lacks.",
        state.acknowledged - state.loaded,
    )
    yield _gauge("truelift_spool_bytes", "Bytes of these events in the spool.", state.spooled_bytes)
    yield from services.ingest.commit_seconds.collect()


def _disk_metrics(services: Services) -> Iterator[Metric]:
    settings = services.settings
    yield _gauge(
        "truelift_disk_free_bytes", "Free space of the data folder's disk.", free_bytes(settings.data_dir)
    )
    log = settings.warehouse_path.with_name(f"{settings.warehouse_path.name}.wal")
    sizes = {
        "truelift_warehouse_bytes": ("Size of the warehouse's file.", settings.warehouse_path),
        "truelift_warehouse_log_bytes": ("Size of the warehouse's log.", log),
    }
    for name, (meaning, path) in sizes.items():
        yield _gauge(name, meaning, path.stat().st_size if path.exists() else 0)


def _work_metrics(services: Services) -> Iterator[Metric]:
    last = GaugeMetricFamily(
        "truelift_job_last_run_timestamp_seconds", "End of a job's last run.", labels=["job"]
    )
    failures = GaugeMetricFamily("truelift_job_failures", "Failed runs of a job in a row.", labels=["job"])
    for name, run in sorted(services.scheduler.last_runs.items()):
        last.add_metric([name], run.ended_at.timestamp())
        failures.add_metric([name], run.failures)
    yield last
    yield failures
    runs = GaugeMetricFamily("truelift_runs", "Runs of projects that have not ended.", labels=["status"])
    counts = Counter(run.status for run in services.catalog.runs.all_unended())
    for status in ("queued", "running"):
        runs.add_metric([status], counts[status])
    yield runs
    yield _gauge(
        "truelift_webhook_deliveries_pending",
        "Messages to webhooks and notification channels that wait for an attempt.",
        services.catalog.deliveries.pending_count(),
    )
    yield _gauge(
        "truelift_webhooks_disabled",
        "Webhooks and notification channels that the service has disabled, since their endpoints fail.",
        services.catalog.webhooks.disabled_count(),
    )
    yield _gauge(
        "truelift_rollup_age_seconds",
        "Age of the oldest published results of a running experiment; 0 without any.",
        _rollup_age_seconds(services),
    )


def _rollup_age_seconds(services: Services) -> float:
    """Measure how long ago the results of running experiments were counted, at most."""
    found = (
        services.rollup.publications.find(experiment.id)
        for experiment in services.catalog.experiments.in_statuses(["running"])
    )
    now = services.clock().timestamp()
    return max((now - record.as_of / _MICROSECONDS for record in found if record), default=0.0)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(name, meaning, value=value)
