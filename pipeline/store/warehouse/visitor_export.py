"""Export of an experiment's visitors to a file, a row each, with segment values as text."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import polars as pl

from engine.design.units import VISITOR, Unit, is_clustered, unit_attribute
from engine.measures.sums import AMOUNT, DENOMINATOR
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.connection import Cursor, copy_to_file, registered
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, json_pointer
from pipeline.store.warehouse.segment_sums import VALUE_OF_BUCKET
from pipeline.store.warehouse.value_sums import SummedGoal, caps_of, counted_goals, value_before
from pipeline.store.warehouse.visitors import (
    UNIT_KEY,
    column_of,
    count_goals,
    has_units,
    read_columns,
    result_table,
    segment_condition,
    summed_columns,
)

Form = Literal["parquet", "csv", "ndjson"]

# Written into the existing file, so that its permissions stay.
TO_PARQUET: Final = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
_COPY: Final[Mapping[Form, str]] = {
    "parquet": TO_PARQUET,
    "csv": "FORMAT csv, HEADER",
    "ndjson": "FORMAT json",
}
_TEXT_MOMENT: Final = "strftime(make_timestamp({}), '%Y-%m-%dT%H:%M:%S.%fZ')"
# Text formats have no type for points in time; these are formatted as in the API.
_MOMENT: Final[Mapping[Form, str]] = {
    "parquet": "make_timestamptz({})",
    "csv": _TEXT_MOMENT,
    "ndjson": _TEXT_MOMENT,
}
# A spreadsheet computes a cell that begins like this, unless an apostrophe stands before it.
_FORMULA_START: Final = r"^[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001  # full-width signs are computed, too
_NO_FORMULA: Final = (
    f"CASE WHEN regexp_matches({{0}}, '{_FORMULA_START}') THEN chr(39) || {{0}} ELSE {{0}} END"
)
_TEXT: Final[Mapping[Form, str]] = {"parquet": "{0}", "csv": _NO_FORMULA, "ndjson": "{0}"}
_VISITOR_COLUMNS: Final = {
    "visitor_key": "UBIGINT",
    "variant": "UTINYINT",
    "first_exposed_at": "BIGINT",
    **dict.fromkeys((*DIMENSIONS, CUSTOM), "UINTEGER"),
}
# The column of the unit's id.
UNIT: Final = "unit"
_VALUE_COLUMNS: Final = {"dimension": "VARCHAR", "code": "UINTEGER", "value": "VARCHAR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorExport:
    """Selection of an experiment's visitors: those with every value of `segment`.

    `variants` are ids and names by position. Without `is_published` the file has only its columns.
    `with_keys` adds the key that a visitor's events and orders have. `units` are the integers that stand for
    an amount of 1, by the id of goals with amounts, and `units_of_denominators` those for 1 in denominators,
    by the id of ratios. `observed_until` are the microseconds since 1970 before which visitors were first
    exposed whose outcome is known, by the id of retained goals. `quantiles` are the ids of goals that are
    quantiles, whose amounts are null without a value; `with_keys` lists the values of their events, too, as
    their buckets have them, by the ids `of_events`. `funnels` are the ids of goals with steps,
    and `per_order` those of revenue goals measured per order. `with_past` are goals, by their position among
    `goal_ids`, with their values in the pre-period, capped like the goal's values. `custom_keys` are those of
    custom dimensions with columns of their own. `unit` is what is compared.
    """

    project_id: str
    experiment_id: str
    is_published: bool
    variants: Sequence[tuple[str, str]]
    goal_ids: Sequence[str]
    segment: Mapping[str, str]
    units: Mapping[str, int]
    units_of_denominators: Mapping[str, int]
    observed_until: Mapping[str, int]
    quantiles: Collection[str]
    of_events: Collection[str]
    funnels: Collection[str]
    per_order: Collection[str]
    with_past: Sequence[SummedGoal] = ()
    custom_keys: Sequence[str] = ()
    with_keys: bool = False
    unit: Unit = VISITOR


def write_visitors(cursor: Cursor, export: VisitorExport, form: Form, path: Path) -> int:
    """Write visitors to a new file, in the order of first exposure; return their number.

    `cursor` is in a transaction. Visitors counted in no variant are left out.
    """
    arms = pl.DataFrame(
        [(place, *variant) for place, variant in enumerate(export.variants)],
        schema={"variant": pl.UInt8, "variant_id": pl.String, "variant_name": pl.String},
        orient="row",
    )
    with registered(cursor, "arms", arms):
        query = f"""
            SELECT {", ".join(_columns(cursor, export, _TEXT[form], _MOMENT[form]))}
            FROM {_visitors(export)} v JOIN arms a ON a.variant = v.variant
            LEFT JOIN ({_visitor_ids(cursor, export)}) i ON i.visitor_key = v.visitor_key
            {" ".join(_decoded(export))}
            {_joined_units(export)}
            WHERE {_condition(cursor, export)}
            ORDER BY v.first_exposed_at, v.visitor_key
        """
        values: dict[str, object] = {"experiment": export.experiment_id} if "$experiment" in query else {}
        if (key := unit_attribute(export.unit)) is not None and "$unit" in query:
            values["unit"] = json_pointer(key)
        values |= {f"key_{place}": json_pointer(key) for place, key in enumerate(export.custom_keys)}
        return copy_to_file(cursor, query, path, _COPY[form], **values)


def _columns(cursor: Cursor, export: VisitorExport, text: str, moment: str) -> Iterable[str]:
    """Yield the columns; `text` and `moment` are SQL with a placeholder for a value."""
    if export.with_keys:
        yield "v.visitor_key"
    yield f"{text.format('i.visitor_id')} AS visitor_id"
    yield f"a.variant_id, {text.format('a.variant_name')} AS variant_name"
    yield f"{moment.format('v.first_exposed_at')} AS first_exposed_at"
    yield from _unit(export, text)
    yield from (f"{text.format(f'{name}_values.value')} AS {name}" for name in DIMENSIONS)
    yield f"{CUSTOM}_values.value::JSON AS custom_dimensions"
    for place, key in enumerate(export.custom_keys):
        value = f"json_extract_string({CUSTOM}_values.value, $key_{place})"
        yield f"{text.format(value)} AS {_quoted(CUSTOM_PREFIX + key)}"
    # A goal added since the last count has no columns yet.
    counted = count_goals(cursor, export.experiment_id) if export.is_published else 0
    columns = read_columns(cursor, export.experiment_id) if export.is_published else []
    past = {goal.place: goal for goal in export.with_past}
    caps = caps_of(
        cursor, export.experiment_id, counted_goals(export.with_past, columns), len(export.variants)
    )
    for place, goal_id in enumerate(export.goal_ids):
        at, cents = (f"v.g{place}_at", f"v.g{place}_cents") if place < counted else ("NULL::BIGINT", "0")
        yield f"{moment.format(at)} AS {_quoted(goal_id + '_converted_at')}"
        yield f"{cents}::BIGINT AS {_quoted(goal_id + '_revenue_cents')}"
        if goal_id in export.observed_until:
            is_observed = f"v.first_exposed_at < {export.observed_until[goal_id]:d}"
            yield f"({is_observed}) AS {_quoted(goal_id + '_observed')}"
        if goal_id in export.funnels:
            # Results of earlier versions do not have the steps.
            steps = column_of(place, "steps")
            yield f"{f'v.{steps}' if steps in columns else 'NULL'}::BIGINT AS {_quoted(goal_id + '_steps')}"
        if goal_id in export.per_order:
            orders = column_of(place, "orders")
            counted_orders = f"v.{orders}" if orders in columns else "NULL"
            yield f"{counted_orders}::BIGINT AS {_quoted(goal_id + '_orders')}"
        if place in past:
            before = value_before(past[place], caps.get(place), columns, table="v.")
            yield f"({before} / {export.units.get(goal_id, 1):d})::DOUBLE AS {_quoted(goal_id + '_before')}"
        yield from _amounts(export, place, goal_id, columns)


def _amounts(export: VisitorExport, place: int, goal_id: str, columns: Collection[str]) -> Iterable[str]:
    """Yield the columns of a goal's amounts and values, and of a ratio's denominator."""
    if goal_id in export.of_events and export.with_keys:
        yield f"{_values(export, place)} AS {_quoted(goal_id + '_values')}"
    for one, units in ((AMOUNT, export.units), (DENOMINATOR, export.units_of_denominators)):
        if goal_id not in units:
            continue
        (name,) = summed_columns(place, one.name)
        amount = f"v.{name} / {units[goal_id]:d}" if name in columns else "0"
        if goal_id in export.quantiles and export.is_published:
            amount = f"CASE WHEN v.visitor_key IN ({_keys_with_values(export, place)}) THEN {amount} END"
        yield f"({amount})::DOUBLE AS {_quoted(f'{goal_id}_{one.name}')}"


def _keys_with_values(export: VisitorExport, place: int) -> str:
    orders = result_table("orders", export.experiment_id)
    return f"SELECT visitor_key FROM {orders} WHERE goal = {place:d} AND bucket IS NOT NULL"


def _values(export: VisitorExport, place: int) -> str:
    """Build the list of the values of a visitor's events, as their buckets have them."""
    orders = result_table("orders", export.experiment_id)
    return f"""(
      SELECT list({VALUE_OF_BUCKET}::DOUBLE ORDER BY bucket) FROM {orders} o, range(o.cents)
      WHERE o.visitor_key = v.visitor_key AND o.goal = {place:d} AND o.bucket IS NOT NULL
    )"""


def _visitors(export: VisitorExport) -> str:
    if not export.is_published:
        return _no_rows(_VISITOR_COLUMNS)
    return result_table("visitors", export.experiment_id)


def _visitor_ids(cursor: Cursor, export: VisitorExport) -> str:
    """Build the query of visitor ids by key, which only events have.

    A user's key is that of its first visitor id, which may have an exposure or only the link to the user.
    """
    if not has_table(cursor, export.project_id):
        return "SELECT NULL::UBIGINT AS visitor_key, NULL::VARCHAR AS visitor_id WHERE false"
    return f"""
        SELECT visitor_key, min(visitor_id) AS visitor_id FROM "{table_name(export.project_id)}"
        WHERE (type = 'exposure' AND experiment_id = $experiment OR user_key IS NOT NULL)
          AND visitor_id IS NOT NULL
        GROUP BY visitor_key
    """


def _unit(export: VisitorExport, text: str) -> Iterable[str]:
    """Yield the column of the unit where units are compared."""
    if is_clustered(export.unit):
        # Where no text is left, as after an erasure, the key still tells units apart.
        unit = f"coalesce(units.unit, v.{UNIT_KEY}::VARCHAR)" if export.is_published else "NULL::VARCHAR"
        yield f"{text.format(unit)} AS {UNIT}"


def _joined_units(export: VisitorExport) -> str:
    """Build the join of the ids of units by their keys: of users in events, of others in attributes."""
    if not (is_clustered(export.unit) and export.is_published):
        return ""
    if unit_attribute(export.unit) is None:
        ids = f"""
            SELECT user_key AS key, min(user_id) AS unit FROM "{table_name(export.project_id)}"
            WHERE user_key IS NOT NULL GROUP BY user_key
        """
    else:
        visitors, values = (
            result_table(kind, export.experiment_id) for kind in ("visitors", "segment_values")
        )
        ids = f"""
            SELECT r.{UNIT_KEY} AS key, min(nullif(json_extract_string(s.value, $unit), '{ERASED}')) AS unit
            FROM {visitors} r JOIN {values} s ON s.dimension = '{CUSTOM}' AND s.code = r.{CUSTOM}
            GROUP BY r.{UNIT_KEY}
        """
    return f"LEFT JOIN ({ids}) units ON units.key = v.{UNIT_KEY}"


def _decoded(export: VisitorExport) -> Iterable[str]:
    values = _no_rows(_VALUE_COLUMNS)
    if export.is_published:
        values = result_table("segment_values", export.experiment_id)
    return (
        f"LEFT JOIN {values} {name}_values"
        f" ON {name}_values.dimension = '{name}' AND {name}_values.code = v.{name}"
        for name in (*DIMENSIONS, CUSTOM)
    )


def _condition(cursor: Cursor, export: VisitorExport) -> str:
    if not export.is_published:
        return "false"
    return segment_condition(
        cursor, export.experiment_id, export.segment, has_units=has_units(cursor, export.experiment_id)
    )


def _no_rows(columns: Mapping[str, str]) -> str:
    nulls = ", ".join(f"NULL::{kind} AS {name}" for name, kind in columns.items())
    return f"(SELECT {nulls} WHERE false)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
