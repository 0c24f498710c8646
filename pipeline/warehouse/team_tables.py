"""Tables of a team as rows that count: their columns by what these mean, and each event id once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.currencies import UNUSUAL_MINOR_UNITS, minor_units
from engine.design.experiment import Experiment
from engine.validation.sent_ids import JUNK_IDS
from pipeline.sources.cell_values import TRUE_WORDS
from pipeline.sources.definition import Source
from pipeline.warehouse.dialects.dialect import Dialect, Expr
from pipeline.warehouse.expressions import NULL, big, choose, col, half_even, num, numbered, table, text

# Simultaneous rows are told apart by their content, so that each engine takes the same one.
EVENT_ORDER: Final = ("at", "event_id", "visitor", "name", "transaction_id", "cents", "value")


class UnreadableQueryError(Exception):
    """A query of a team that is no single SELECT of the dialect; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamTables:
    """The exposures and events of a project in the team's warehouse, as sources describe them.

    `arrived` names the column of each table, exposures first, with the time when a row came, where they have
    such columns.
    """

    exposures: Source
    events: tuple[Source, ...]
    arrived: tuple[str, ...] = ()

    @property
    def segments(self) -> tuple[str, ...]:
        """Columns of exposures by which results are split."""
        return self.exposures.columns.segments

    @property
    def fields(self) -> tuple[str, ...]:
        """Further columns of events, of which distinct values are counted."""
        return tuple(dict.fromkeys(name for source in self.events for name in source.columns.segments))

    @property
    def has_transactions(self) -> bool:
        """Tell whether orders are told apart by a transaction."""
        return any(source.columns.transaction is not None for source in self.events)


def exposure_rows(tables: TeamTables, dialect: Dialect) -> exp.Select:
    """Select the exposures to all experiments, by the names of their columns' meanings."""
    source = tables.exposures
    columns = source.columns
    experiment = [] if columns.experiment is None else [text(col(columns.experiment))]
    return (
        exp.select(
            text(col(columns.visitor or "")).as_("visitor", quoted=True),
            *(one.as_("experiment", quoted=True) for one in experiment),
            text(col(columns.variant or "")).as_("variant_name", quoted=True),
            _at(source, dialect).as_("at", quoted=True),
            _id(source).as_("event_id", quoted=True),
            *(_filled(name).as_(f"d{place}", quoted=True) for place, name in enumerate(tables.segments)),
            *_arrived(tables.arrived[:1], dialect),
        )
        .from_(_relation(source, dialect), copy=False)
        .where(_is_visitor(source))
    )


def _arrived(names: Sequence[str], dialect: Dialect) -> Iterator[Expr]:
    return (big(dialect.microseconds(col(name))).as_("arrived", quoted=True) for name in names)


def exposures_of(tables: TeamTables, experiment: Experiment) -> exp.Select:
    """Select the exposures to an experiment, the number of the variant null where it has no such one."""
    variants = {one.name: place for place, one in enumerate(experiment.variants)}
    variants |= {one.id: place for place, one in enumerate(experiment.variants)}
    named = col("variant_name")
    variant = choose(
        *((named.copy().eq(exp.convert(name)), big(place)) for name, place in variants.items()),
        otherwise=exp.cast(NULL.copy(), "BIGINT"),
    )
    segments = (col(f"d{place}") for place, _ in enumerate(tables.segments))
    arrived = [col("arrived")] if tables.arrived else []
    kept = (named.copy(), col("at"), col("event_id"), *segments, *arrived)
    rows = exp.select(col("visitor"), variant.as_("variant", quoted=True), *kept)
    rows = rows.from_(table("exposure_rows"), copy=False)
    if tables.exposures.columns.experiment is not None:
        rows = rows.where(col("experiment").isin(experiment.id, experiment.name))
    return rows


def events_of(tables: TeamTables, currency: str, dialect: Dialect) -> exp.Expression:
    """Select the events of all tables; amounts without a currency are of the project's."""
    parts = [
        _events(source, tables, currency, dialect).select(
            *_arrived(tables.arrived[place : place + 1], dialect), copy=False
        )
        for place, source in enumerate(tables.events, start=1)
    ]
    return parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False)


def seen_exposures(tables: TeamTables, dialect: Dialect) -> exp.Select:
    """Select each experiment and variant of the exposures, with the first and the last time (epoch µs)."""
    source = tables.exposures
    columns = source.columns
    named = text(col(columns.experiment) if columns.experiment else source.experiment_of_all or "")
    rows = exp.select(
        named.as_("experiment", quoted=True),
        _filled(columns.variant).as_("variant", quoted=True),
        _at(source, dialect).as_("at", quoted=True),
    ).from_(_relation(source, dialect), copy=False)
    counted = rows.where(_is_visitor(source)).subquery("exposures")
    ends = (
        of(this=col("at")).as_(name, quoted=True) for name, of in {"first": exp.Min, "last": exp.Max}.items()
    )
    keys = (col("experiment"), col("variant"))
    found = exp.select(*keys, *ends).from_(counted, copy=False)
    return found.where(exp.Not(this=col("variant").is_(NULL.copy()))).group_by(*keys)


def row_count(tables: TeamTables, dialect: Dialect) -> exp.Query:
    """Count the rows of each table."""
    parts = [
        exp.select(exp.Count(this=exp.Star()).as_("rows", quoted=True)).from_(_relation(one, dialect))
        for one in (tables.exposures, *tables.events)
    ]
    return exp.union(*parts, distinct=False)


def firsts_of_ids(relation: str, order: Sequence[str], kept: Sequence[str]) -> tuple[exp.Select, exp.Select]:
    """Number the rows of each event id, and keep the first of each; rows without an id all count."""
    place = numbered([col("event_id")], [col(name) for name in order])
    ranked = exp.select(*map(col, kept), place.as_("copy", quoted=True)).from_(table(relation), copy=False)
    is_first = exp.or_(col("copy").eq(num(1)), col("event_id").is_(NULL.copy()))
    chosen = exp.select(*map(col, kept)).from_(table(f"{relation}_ranked"), copy=False).where(is_first)
    return ranked, chosen


def event_columns(tables: TeamTables) -> tuple[str, ...]:
    """Name the columns of `events_of`."""
    fields = (f"f{place}" for place, _ in enumerate(tables.fields))
    return (*EVENT_ORDER, "currency", "is_refund", "is_plain", "url", *fields)


def _events(source: Source, tables: TeamTables, currency: str, dialect: Dialect) -> exp.Select:
    columns = source.columns
    cells: Mapping[str, Expr] = {
        "at": _at(source, dialect),
        "event_id": _id(source),
        "visitor": text(col(columns.visitor or "")),
        "name": text(col(columns.event)) if columns.event else text(source.event or ""),
        "transaction_id": _filled(columns.transaction),
        "cents": _cents(source, currency),
        "value": exp.cast(_given(columns.value), "DOUBLE"),
        "currency": exp.Upper(this=_filled(columns.currency)),
        "is_refund": _is_refund(source),
        "is_plain": big(0 if source.has_money else 1),
        "url": _filled(columns.url),
        **{
            f"f{place}": _filled(name if name in columns.segments else None)
            for place, name in enumerate(tables.fields)
        },
    }
    ordered = (cells[name].as_(name, quoted=True) for name in event_columns(tables))
    return exp.select(*ordered).from_(_relation(source, dialect), copy=False).where(_is_visitor(source))


def _relation(source: Source, dialect: Dialect) -> Expr:
    if source.table is not None:
        *path, name = (exp.to_identifier(part, quoted=True) for part in source.table.split("."))
        keys = dict(zip(("db", "catalog"), reversed(path), strict=False))
        return exp.Table(this=name, **keys)
    return _parsed(source.sql or "", dialect.name).copy()


@lru_cache(maxsize=64)
def _parsed(query: str, dialect: str) -> Expr:
    """Read a query of a team, which each of its statements has; UnreadableQueryError."""
    try:
        found = sqlglot.parse(query, read=dialect)
    except SqlglotError as error:
        raise UnreadableQueryError(f"the query is no {dialect}: {str(error).splitlines()[0]}") from error
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise UnreadableQueryError("sql is one SELECT, and nothing else")
    return found[0].subquery("team_rows")


def _at(source: Source, dialect: Dialect) -> Expr:
    return big(dialect.microseconds(col(source.columns.timestamp or "")))


def _id(source: Source) -> Expr:
    return _filled(source.columns.event_id)


def _is_visitor(source: Source) -> Expr:
    """Tell whether a row has an id of a visitor, and no placeholder for one."""
    own = text(col(source.columns.visitor or ""))
    return exp.and_(
        exp.Not(this=own.is_(NULL)), exp.Not(this=exp.Trim(this=own.copy()).isin(*sorted(JUNK_IDS)))
    )


def _given(name: str | None) -> Expr:
    return NULL.copy() if name is None else col(name)


def _filled(name: str | None) -> Expr:
    """Take a text, null where it is empty or there is no such column."""
    if name is None:
        return exp.cast(NULL.copy(), "TEXT")
    return exp.Nullif(this=text(col(name)), expression=exp.convert(""))


def _cents(source: Source, currency: str) -> Expr:
    """Take the amount of an order in minor units of its currency, without its sign."""
    columns = source.columns
    if columns.revenue is None:
        return exp.cast(NULL.copy(), "BIGINT")
    units: Expr = num(float(minor_units(currency)))
    if columns.currency is not None:
        code = exp.Upper(this=_filled(columns.currency))
        units = choose(
            (code.copy().is_(NULL.copy()), units),
            *(
                (code.copy().isin(*codes), num(float(number)))
                for number, codes in sorted(_unusual_currencies().items())
            ),
            otherwise=num(float(minor_units("USD"))),
        )
    amount = exp.paren(exp.cast(col(columns.revenue), "DOUBLE") * units)
    return big(exp.Abs(this=big(half_even(amount))))


def _unusual_currencies() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code, number in sorted(UNUSUAL_MINOR_UNITS.items()):
        found.setdefault(number, []).append(code)
    return found


def _is_refund(source: Source) -> Expr:
    columns = source.columns
    tests: Iterator[Expr] = iter(())
    if columns.revenue is not None:
        tests = iter((col(columns.revenue) < num(0),))
    if columns.refund is not None:
        word = exp.Lower(this=exp.Trim(this=text(col(columns.refund))))
        tests = iter((*tests, word.isin(*TRUE_WORDS)))
    return choose(*((test, big(1)) for test in tests), otherwise=big(0))
