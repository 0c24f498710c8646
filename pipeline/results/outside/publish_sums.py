"""Publication of sums that were counted outside: one transaction replaces those of an experiment."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Final, Protocol

import polars as pl

from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED
from engine.design.project import Project
from engine.errors import TransitionError
from engine.local_days import epoch_microseconds, from_epoch_microseconds, local_day
from pipeline.results.nights import Nights
from pipeline.results.outside.consistency import require_consistent
from pipeline.results.outside.needed_products import require_products
from pipeline.results.outside.outside_sums import MARKS, OutsideSums
from pipeline.results.outside.visitor_needs import needs_of_visitors
from pipeline.rollup import kept_totals
from pipeline.rollup.counting_rules import CountingRules, extra_columns, fingerprint
from pipeline.rollup.due import GRACE, rules_of
from pipeline.rollup.run import Rollup
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import aggregates, extremes, product_sums, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.visitors import has_rows

# Clocks of other machines may be ahead by this much.
_AHEAD: Final = timedelta(minutes=5)


class SumStores(Protocol):
    """The stores that a publication reads and writes; the services of a process have them."""

    @property
    def catalog(self) -> Catalog:
        """Experiments."""

    @property
    def warehouse(self) -> Warehouse:
        """Published sums."""

    @property
    def rollup(self) -> Rollup:
        """The counts of this service, which wait meanwhile."""

    @property
    def nights(self) -> Nights:
        """Reports of past nights, to which the first sums that count one belong."""

    @property
    def erasing(self) -> Lock:
        """Held while a person is erased, and while reports are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSums:
    """What is published of an experiment; `is_changed` where that was something else before."""

    record: Published
    is_changed: bool


def fingerprint_to_count_by(experiment: Experiment, project: Project, record: Published | None) -> str:
    """Return the fingerprint of the rules that sums are to be counted by, given what is published."""
    return fingerprint(experiment, _rules_to_count_by(project, record))


def _rules_to_count_by(project: Project, record: Published | None) -> CountingRules:
    current = CountingRules.of(project)
    return current if record is None else rules_of(record, current)


def publish_sums(  # noqa: PLR0913 # what is published, of what, and when
    stores: SumStores,
    project: Project,
    experiment_id: str,
    sums: OutsideSums,
    *,
    actor: str,
    now: datetime,
    takes_over: bool = False,
) -> PublishedSums:
    """Replace the sums of an experiment, all at once, tell the audit trail, and keep the night's report.

    `takes_over` where this service has counted visitors of the experiment from its own events: from now on
    the sums come from outside alone. The same content again changes nothing but the time up to which it
    counts.

    Raises:
        InvalidDesignError: sums that no visitors can have, or that lack what the experiment needs.
        TransitionError: `rules_changed`, `older_sums`, `counted_here`, `needs_visitors`,
            `experiment_locked` or `invalid_transition`.
    """
    with stores.rollup.pause(), stores.rollup.publications.replacing([experiment_id]) as only_records:
        experiment = stores.catalog.experiments.get(project.id, experiment_id)
        with stores.warehouse.transaction() as cursor:
            before = published_rollups.find(cursor, experiment.id)
            rules = _rules_to_count_by(project, before)
            _require_open(experiment, before)
            _require_outside(cursor, experiment, before, takes_over=takes_over)
            _require_current(experiment, before, sums, rules, now=now)
            record = _record(experiment, rules, sums)
            if is_same := before is not None and before.sums_digest == record.sums_digest:
                published_rollups.cover(cursor, [record])
                only_records[experiment.id] = record
            else:
                require_consistent(experiment, sums, local_day(sums.watermark, project.timezone))
                require_products(experiment, sums)
                _write(cursor, project, experiment, sums)
                published_rollups.publish(cursor, [record])
    if before != record:
        names = ("sums_from", "sums_digest", "as_of")
        changes = {name: [getattr(before, name, None), getattr(record, name)] for name in names}
        stores.catalog.audit.add(project.account_id, actor, experiment.id, changes)
    night = local_day(sums.watermark, project.timezone)
    with stores.erasing:
        stores.nights.keep([experiment], project, [night], run_id=None, now=now)
    return PublishedSums(record=record, is_changed=not is_same)


def _require_open(experiment: Experiment, before: Published | None) -> None:
    if experiment.status not in STARTED:
        raise TransitionError(
            "invalid_transition", f"'{experiment.name}' has not started, so nobody can be counted yet"
        )
    if before is not None and before.is_final:
        raise TransitionError(
            "experiment_locked", f"'{experiment.name}' is {experiment.status}: its results are final"
        )


def _require_outside(
    cursor: Cursor, experiment: Experiment, before: Published | None, *, takes_over: bool
) -> None:
    """Refuse what cannot be counted outside, and a mix with what was counted here."""
    if needs := needs_of_visitors(experiment):
        raise TransitionError(
            "needs_visitors", f"sums are not enough for '{experiment.name}': {'; '.join(needs)}"
        )
    is_counted_here = before is not None and before.sums_from is None and has_rows(cursor, experiment.id)
    if is_counted_here and not takes_over:
        raise TransitionError(
            "counted_here",
            f"visitors of '{experiment.name}' are counted here, from events that this service stores; sums "
            "from outside do not add to them: let them take over (take_over), or leave it to the service",
        )


def _require_current(
    experiment: Experiment,
    before: Published | None,
    sums: OutsideSums,
    rules: CountingRules,
    *,
    now: datetime,
) -> None:
    """Refuse sums by other rules, from before those that are published, or from the future."""
    if sums.fingerprint != (current := fingerprint(experiment, rules)):
        raise TransitionError(
            "rules_changed",
            f"'{experiment.name}' is counted by the rules {current}, and the sums by others: its goals, "
            "variants or period, or the project's rules, changed since; count anew",
        )
    if sums.watermark > now + _AHEAD:
        raise TransitionError("older_sums", f"{sums.watermark.isoformat()} is still to come")
    is_outside = before is not None and before.sums_from is not None
    if before is not None and is_outside and epoch_microseconds(sums.watermark) < before.as_of:
        counted = from_epoch_microseconds(before.as_of).isoformat()
        raise TransitionError(
            "older_sums",
            f"events are counted up to {counted} already, and these sums only up to "
            f"{sums.watermark.isoformat()}",
        )


def _record(experiment: Experiment, rules: CountingRules, sums: OutsideSums) -> Published:
    plain = {aggregates.EVERYONE, aggregates.SINCE_EXPOSURE}
    ended = experiment.completed_at
    last = sums.last_exposed_at
    return Published(
        experiment_id=experiment.id,
        fingerprint=sums.fingerprint,
        rules=rules.to_json(),
        # No event of this service is counted.
        covered_seq=0,
        as_of=epoch_microseconds(sums.watermark),
        last_exposed_at=None if last is None else epoch_microseconds(last),
        variants=tuple(variant.id for variant in experiment.variants),
        goals=tuple(goal.id for goal in experiment.goals),
        dimensions=tuple(sorted({*sums.cells["dimension"].unique().to_list()} - plain)),
        is_final=ended is not None and sums.watermark >= ended + GRACE,
        sums_from=sums.source,
        sums_digest=sums.digest,
    )


def _write(cursor: Cursor, project: Project, experiment: Experiment, sums: OutsideSums) -> None:
    """Replace the tables: those of visitors are empty."""
    numbers = _numbers(experiment)
    kept_totals.recount(cursor, project.id, [experiment])
    visitors.recreate(
        cursor, experiment.id, goals=len(experiment.goals), extra_columns=extra_columns(experiment)
    )
    day = pl.col("day").cast(pl.Int32)
    cells = sums.cells.with_columns(*numbers, day, pl.col(*aggregates.SUMS).fill_null(0))
    aggregates.replace(cursor, experiment.id, cells)
    product_sums.replace(cursor, experiment.id, sums.products.with_columns(*numbers, day))
    number = pl.coalesce("steps", day).alias("number")
    largest = sums.extremes.with_columns(*numbers, number, pl.lit(0, pl.UInt8).alias("senders"))
    extremes.replace(cursor, experiment.id, largest.drop("day", "steps").rename({"amount": "value"}))


def _numbers(experiment: Experiment) -> tuple[pl.Expr, pl.Expr]:
    """Replace ids of variants and goals by their positions, and names of MARKS by theirs."""
    variants = {**MARKS, **{one.id: place for place, one in enumerate(experiment.variants)}}
    goals = {one.id: place for place, one in enumerate(experiment.goals)}
    return (
        pl.col("variant").replace_strict(variants, default=None, return_dtype=pl.UInt8),
        pl.col("goal").replace_strict(goals, default=None, return_dtype=pl.UInt8),
    )
