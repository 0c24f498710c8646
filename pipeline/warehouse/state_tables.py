"""State of an experiment in a schema of the team: visitors and events that count, replaced as rows come."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlglot import exp

from pipeline.rollup.counting_rules import DAY_US, fingerprint, period_of
from pipeline.store.source_databases import state_rows
from pipeline.store.source_databases.queries import RunStatement
from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.expressions import NULL, col, num, relation_name, table
from pipeline.warehouse.read_relations import event_relations, is_one_of, keys_of, visitor_relations
from pipeline.warehouse.shared_relations import Relations
from pipeline.warehouse.statement import Count, Statement, statement_of_counts
from pipeline.warehouse.team_tables import events_of, exposure_rows, exposures_of
from pipeline.warehouse.visitor_outcomes import VisitorOutcomes

# A row may be seen so long after the time that its column has, as loads take time.
OVERLAP_US: Final = DAY_US // 4
WHOLE_EVERY_US: Final = 7 * DAY_US
# Counts up whenever the tables of one version are not those of the next.
_VERSION: Final = 1
_TOUCHED: Final = "touched"
_MARKS: Final = "truelift_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Times of a state: of its last event, its last arrival, and its last count of everything (epoch µs)."""

    until_us: int
    arrived_us: int
    whole_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTables:
    """The state of an experiment with these `outcomes`, in a schema; `owner` is a project and a source."""

    outcomes: VisitorOutcomes
    schema: str
    owner: tuple[str, str]

    def count(self, run: RunStatement, *, now_us: int) -> tuple[Statement, list[tuple[Any, ...]], bool]:
        """Bring the state up to date, and answer its sums; whether everything anew had others.

        Everything is counted anew where there is no state by the same rules, and once a week. `run` runs a
        statement of one transaction.
        """
        state_rows.make_marks(run, self._name(_MARKS))
        mark, newest = self._mark(run), int(run(self._sql(self._newest()))[0][0] or 0)
        # Rows of the newest arrival may have been deleted since.
        arrived_us = newest if mark is None else max(newest, mark.arrived_us)
        statement = self.statement()
        rows: list[tuple[Any, ...]] | None = None
        if mark is not None:
            self._update(run, mark)
            rows = run(statement.sql())
        whole_us = now_us if mark is None else mark.whole_us
        has_drifted = False
        if rows is None or now_us - whole_us >= WHOLE_EVERY_US:
            self._make_anew(run)
            anew, whole_us = run(statement.sql()), now_us
            has_drifted = rows is not None and {*rows} != {*anew}
            rows = anew
        self._write(run, Mark(until_us=self.outcomes.until, arrived_us=arrived_us, whole_us=whole_us))
        return statement, rows, has_drifted

    def statement(self) -> Statement:
        """Build the statement of the sums of the state."""
        outcomes, (visitors, events) = self.outcomes, self._tables
        keys = (col(name, "v").as_(name, quoted=True) for name in outcomes.keys)
        others = (
            col(name, "e").as_(name, quoted=True) for name in self._event_columns() if name != "visitor"
        )
        own = col("visitor", "v").eq(col("visitor", "e"))
        relations: Relations = {"visitors_read": _all_of(visitors, outcomes.read_columns)}
        relations |= dict(outcomes.visitors())
        joined = exp.select(*keys, *others).from_(table("visitors").as_("v"), copy=False)
        relations["state_events"] = joined.join(events.as_("e"), on=own)
        return statement_of_counts([Count.of(outcomes, relations, "state_events")])

    @property
    def digest(self) -> str:
        """Hash of all that the rows of the state depend on."""
        experiment, tables = self.outcomes.experiment, self.outcomes.tables
        parts = (
            _VERSION,
            fingerprint(experiment, self.outcomes.rules),
            experiment.name,
            [one.name for one in experiment.variants],
            [one.model_dump_json() for one in (tables.exposures, *tables.events)],
            tables.arrived,
        )
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()

    @property
    def _tables(self) -> tuple[exp.Table, exp.Table]:
        visitors, events = (self._table(name) for name in _tables_of(self.outcomes.experiment.id))
        return visitors, events

    def _mark(self, run: RunStatement) -> Mark | None:
        """Read how far the state counts; None where there is none by the same rules."""
        experiment, marks = self.outcomes.experiment.id, self._name(_MARKS)
        names = _tables_of(experiment)
        found = state_rows.find_marks(run, marks, experiment, self.digest)
        if len(found) != 1 or state_rows.count_tables(run, self.schema, names) != len(names):
            return None
        times = zip(state_rows.MARK_TIMES, found[0], strict=True)
        return Mark(**{name: int(value) for name, value in times})

    def _write(self, run: RunStatement, mark: Mark) -> None:
        ids = (self.outcomes.experiment.id, *self.owner, self.digest)
        times = (getattr(mark, name) for name in state_rows.MARK_TIMES)
        state_rows.write_mark(run, self._name(_MARKS), ids, times)

    def _make_anew(self, run: RunStatement) -> None:
        queries = (self._visitors(None), self._events(None))
        for name, query in zip(_tables_of(self.outcomes.experiment.id), queries, strict=True):
            state_rows.drop_table(run, self._name(name))
            state_rows.make_table(run, self._name(name), self._sql(query))

    def _update(self, run: RunStatement, mark: Mark) -> None:
        """Replace the rows of visitors of whom rows came, or whose time has come, since the mark."""
        touched = self._sql(table(_TOUCHED))
        state_rows.make_table(run, touched, self._sql(self._touched(mark)), is_temporary=True)
        queries = (self._visitors(_TOUCHED), self._events(_TOUCHED))
        for name, query in zip(_tables_of(self.outcomes.experiment.id), queries, strict=True):
            state_rows.replace_visitors(run, self._name(name), touched, self._sql(query))
        state_rows.drop_table(run, touched)

    def _visitors(self, touched: str | None) -> exp.Select:
        rows = exp.select(*map(col, self.outcomes.read_columns)).from_(table("visitors_read"))
        return _with(rows, visitor_relations(self.outcomes, touched))

    def _events(self, touched: str | None) -> exp.Select:
        visitors = _all_of(self._tables[0], self.outcomes.read_columns)
        if touched is not None:
            visitors = visitors.where(is_one_of("visitor", _all_of(table(touched), ["visitor"])))
        relations, last = event_relations(
            self.outcomes, visitors="visitors_read", keys=("visitor",), touched=touched
        )
        rows = exp.select(*map(col, _columns(relations))).from_(table(last))
        return _with(rows, {"visitors_read": visitors, **relations})

    def _event_columns(self) -> Sequence[str]:
        return _columns(event_relations(self.outcomes, visitors="visitors_read", keys=("visitor",))[0])

    def _read(self) -> Relations:
        """Build all rows of the experiment, with the times when they came."""
        tables, dialect = self.outcomes.tables, self.outcomes.dialect
        return {
            "exposure_rows": exposure_rows(tables, dialect),
            "all_exposures": exposures_of(tables, self.outcomes.experiment),
            "all_events": events_of(tables, self.outcomes.rules.currency, dialect),
        }

    def _newest(self) -> exp.Select:
        parts = [_all_of(table(name), ["arrived"]) for name in ("all_exposures", "all_events")]
        newest = exp.Max(this=col("arrived")).as_("newest", quoted=True)
        rows = exp.select(newest).from_(exp.union(*parts, distinct=False).subquery("arrivals"))
        return _with(rows, self._read())

    def _touched(self, mark: Mark) -> exp.Select:
        """Select the visitors of new rows, and of rows with the event id or transaction of a new one."""
        first, _ = period_of(self.outcomes.experiment)
        is_new = exp.paren(
            exp.or_(
                col("arrived").is_(NULL.copy()),
                col("arrived") > num(mark.arrived_us - OVERLAP_US),
                col("at") > num(max(mark.until_us, first)),
            )
        )
        parts = []
        for relation, has_transactions in (
            ("all_exposures", False),
            ("all_events", self.outcomes.tables.has_transactions),
        ):
            same_id = exp.or_(is_new.copy(), is_one_of("event_id", keys_of(relation, "event_id", is_new)))
            orders = keys_of(relation, "transaction_id", exp.paren(same_id.copy()))
            own = exp.or_(same_id, is_one_of("transaction_id", orders)) if has_transactions else same_id
            parts.append(_all_of(table(relation), ["visitor"]).where(own))
        rows = exp.union(*parts, distinct=False).subquery("new_rows")
        return _with(exp.select(col("visitor")).distinct().from_(rows), self._read())

    def _table(self, name: str) -> exp.Table:
        return _table(self.schema, name)

    def _name(self, name: str) -> str:
        return self._sql(self._table(name))

    def _sql(self, query: exp.Expression) -> str:
        return query.sql(self.outcomes.dialect.name)


def remove_other_states(
    run: RunStatement, dialect: Dialect, schema: str, owner: tuple[str, str], experiments: Sequence[str]
) -> None:
    """Remove the states of an owner whose experiments are none of these, as those that are over."""
    marks = _table(schema, _MARKS).sql(dialect.name)
    state_rows.make_marks(run, marks)
    for experiment in state_rows.marked_experiments(run, marks, *owner):
        if experiment not in experiments:
            for name in _tables_of(experiment):
                state_rows.drop_table(run, _table(schema, name).sql(dialect.name))
            state_rows.remove_mark(run, marks, experiment)


def _table(schema: str, name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(schema, quoted=True))


def _tables_of(experiment_id: str) -> tuple[str, str]:
    return (f"truelift_visitors_{experiment_id}", f"truelift_events_{experiment_id}")


def _columns(relations: Relations) -> list[str]:
    """Name the columns of the last of relations that each add some to those of `joined`."""
    names = list(relations)
    selects = (relations[name] for name in names[names.index("joined") :])
    return [
        one for rows in selects if isinstance(rows, exp.Select) for one in rows.named_selects if one != "*"
    ]


def _all_of(rows: exp.Table, columns: Sequence[str]) -> exp.Select:
    return exp.select(*map(col, columns)).from_(rows, copy=False)


def _with(rows: exp.Select, relations: Relations) -> exp.Select:
    for name, relation in relations.items():
        rows = rows.with_(relation_name(name), as_=relation, copy=False)
    return rows
