"""Lists of experiments: found by status, words, tag, owner and verdict, sorted, a page at a time."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    or_,
    select,
)

from engine.analysis.results.kept_verdict import KeptVerdict
from engine.analysis.results.verdict_words import VERDICTS, Verdict
from engine.design.experiment import Experiment
from engine.design.reviewing import waiting_review
from engine.vocabulary import Status
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.kept_verdicts import KEPT_DOCUMENT
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.schema import experiment_listings, experiments, kept_verdicts
from pipeline.store.documents import value_from

# Longer texts name nothing.
LONGEST_NAME: Final = 255
_listed, _kept = experiment_listings.c, kept_verdicts.c
# Those that need somebody come first; experiments without a verdict last.
_RANK: Final = case({verdict: rank for rank, verdict in enumerate(VERDICTS)}, value=_kept.verdict)
# By the word that callers sort by; `-` before it turns the order round.
SORTS: Final[Mapping[str, ColumnElement[Any]]] = {
    "updated_at": experiments.c.updated_at,
    "created_at": experiments.c.created_at,
    "started_at": _listed.started_at,
    "name": func.lower(_listed.name),
    "verdict": _RANK,
    "since": _kept.since,
    "improvement": _kept.improvement,
    "visitors": _kept.visitors,
    "progress": _kept.progress,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a list is to have: experiments of the projects, in the statuses, that fit all that is not None."""

    project_ids: Collection[str]
    statuses: Collection[Status]
    search: str | None = None
    tag: str | None = None
    owner: str | None = None
    verdict: Verdict | None = None
    rolled_out_before: datetime | None = None
    waits_for_review: bool | None = None
    sort: str = "-updated_at"


@dataclass(frozen=True, slots=True)
class NamedExperiment:
    """An experiment that was found by its name."""

    id: str
    project_id: str
    name: str


class GoalHead(msgspec.Struct):
    """A goal of a listed experiment."""

    name: str
    is_primary: bool = False


class VariantHead(msgspec.Struct):
    """A variant of a listed experiment."""

    id: str
    name: str
    is_control: bool = False
    weight: float = 1.0


class ListedExperiment(msgspec.Struct, kw_only=True):
    """What lists of verdicts say of an experiment, decoded without validating all of it."""

    id: str
    project_id: str
    name: str
    status: Status
    goals: tuple[GoalHead, ...] = ()
    variants: tuple[VariantHead, ...] = ()
    assigned_user_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    url: str = ""
    url_rules: tuple[dict[str, Any], ...] = ()
    traffic_allocation: int = 100
    targeting_rules: dict[str, Any] = {}
    started_at: datetime | None = None
    completed_at: datetime | None = None
    scheduled_start_at: datetime | None = None
    conclusion: dict[str, Any] | None = None
    rollout: dict[str, Any] | None = None
    reviews: tuple[dict[str, Any], ...] = ()
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ListedVerdict:
    """An experiment with the verdict that was kept; None before the first count."""

    experiment: ListedExperiment
    kept: KeptVerdict | None


_decode: Final = msgspec.json.Decoder(ListedExperiment).decode


class ExperimentListings:
    """Lists of experiments and of their kept verdicts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def experiments(self, wanted: Wanted, *, page: int = 1, per_page: int = 25) -> Page[Experiment]:
        """List a page of experiments."""
        with self._database.read() as connection:
            rows, total = _page(connection, wanted, page, per_page)
        return Page([value_from(row["document"], Experiment) for row in rows], page, per_page, total)

    def verdicts(self, wanted: Wanted, *, page: int = 1, per_page: int = 25) -> Page[ListedVerdict]:
        """List a page of experiments with their verdicts."""
        with self._database.read() as connection:
            rows, total = _page(connection, wanted, page, per_page)
        found = [
            ListedVerdict(
                _decode(row["document"]),
                None if row["kept"] is None else value_from(row["kept"], KeptVerdict),
            )
            for row in rows
        ]
        return Page(found, page, per_page, total)

    def named(self, project_ids: Collection[str], text: str) -> list[NamedExperiment]:
        """List the experiments of that id, name or test key; else those whose names have its words."""
        said = " ".join(text.casefold().split())
        if not 0 < len(said) <= LONGEST_NAME:
            return []
        has_words = and_(*(_listed.words.contains(word, autoescape=True) for word in said.split()))
        query = select(_listed.experiment_id, _listed.project_id, _listed.name, _listed.words).where(
            _listed.project_id.in_(project_ids), or_(_listed.experiment_id == text, has_words)
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_listed.experiment_id)).all()
        # The first lines are the name and the test key; goals and tags follow.
        names = {row[0]: [" ".join(line.split()) for line in row[3].split("\n")[:2]] for row in rows}
        found = (
            [row for row in rows if row[0] == text]
            or [row for row in rows if said in names[row[0]]]
            or [row for row in rows if all(word in " ".join(names[row[0]]) for word in said.split())]
        )
        return [NamedExperiment(*row[:3]) for row in found]

    def counts(self, project_id: str) -> Mapping[tuple[Status, Verdict | None], int]:
        """Count the experiments of a project by status and verdict."""
        query = (
            select(_listed.status, _kept.verdict, func.count())
            .select_from(_WITH_VERDICTS)
            .where(_listed.project_id == project_id)
            .group_by(_listed.status, _kept.verdict)
        )
        with self._database.read() as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def found_by(self, project_id: str) -> tuple[list[str], list[str]]:
        """List the owners of a project's experiments, and their tags."""
        query = select(_listed.owner, _listed.tags).where(_listed.project_id == project_id).distinct()
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        owners = {row[0] for row in rows if row[0]}
        return sorted(owners), sorted({tag for row in rows for tag in row[1].split("\n") if tag})


_WITH_VERDICTS: Final = experiment_listings.join(experiments, experiments.c.id == _listed.experiment_id).join(
    kept_verdicts, _kept.experiment_id == _listed.experiment_id, isouter=True
)


def write_listing(connection: Connection, experiment: Experiment) -> None:
    """Write what lists find an experiment by, in the transaction that writes it."""
    values = listing_of(experiment)
    is_this = _listed.experiment_id == experiment.id
    if not connection.execute(experiment_listings.update().where(is_this).values(values)).rowcount:
        connection.execute(experiment_listings.insert().values(experiment_id=experiment.id, **values))


def listing_of(experiment: Experiment) -> dict[str, Any]:
    """Return what lists find an experiment by."""
    words = (experiment.name, experiment.test_key, *(one.name for one in experiment.goals), *experiment.tags)
    return {
        "project_id": experiment.project_id,
        "status": experiment.status,
        "name": experiment.name,
        "words": "\n".join(words).casefold(),
        "tags": _lines(experiment.tags),
        "owner": experiment.owner,
        "started_at": experiment.started_at,
        "waits_for_review": waiting_review(experiment) is not None,
        "rolled_out_at": experiment.rollout.started_at if experiment.rollout and experiment.shipped else None,
    }


def _lines(tags: Collection[str]) -> str:
    return "".join(f"\n{tag}" for tag in tags) + "\n"


def _page(connection: Connection, wanted: Wanted, page: int, per_page: int) -> tuple[list[RowMapping], int]:
    """Fetch the documents of a page in the wanted order, found without reading any other."""
    query = select(_listed.experiment_id).select_from(_WITH_VERDICTS).where(*_conditions(wanted))
    rows, total = fetch_page(connection, query.order_by(*_order(wanted.sort)), page, per_page)
    ids = [row["experiment_id"] for row in rows]
    documents: Select[Any] = (
        select(
            experiments.c.id,
            cast(experiments.c.document, Text).label("document"),
            KEPT_DOCUMENT.label("kept"),
        )
        .select_from(experiments.join(kept_verdicts, _kept.experiment_id == experiments.c.id, isouter=True))
        .where(experiments.c.id.in_(ids))
    )
    by_id = {row["id"]: row for row in connection.execute(documents).mappings()}
    return [by_id[one] for one in ids], total


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    yield _listed.project_id.in_(wanted.project_ids)
    yield _listed.status.in_(wanted.statuses)
    for word in (wanted.search or "").casefold().split():
        yield _listed.words.contains(word, autoescape=True)
    if wanted.tag is not None:
        yield _listed.tags.icontains(_lines([wanted.tag]), autoescape=True)
    if wanted.owner is not None:
        yield _listed.owner == wanted.owner
    if wanted.verdict is not None:
        yield _kept.verdict == wanted.verdict
    if wanted.rolled_out_before is not None:
        yield _listed.rolled_out_at < wanted.rolled_out_before
    if wanted.waits_for_review is not None:
        yield _listed.waits_for_review == wanted.waits_for_review


def _order(sort: str) -> Iterator[ColumnElement[Any]]:
    """Sort by what is wanted, with absent values last, and by what makes the order unique."""
    column = SORTS[sort.removeprefix("-")]
    yield column.is_(None)
    yield column.desc() if sort.startswith("-") else column.asc()
    yield experiments.c.updated_at.desc()
    yield experiments.c.created_at.desc()
    yield experiments.c.id
