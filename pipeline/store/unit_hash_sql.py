"""Hashes of units as SQL expressions: what assignment compares with its thresholds."""

from collections.abc import Mapping
from typing import Any, Final

from engine.design.assignment import Role, hash_prefix
from engine.design.experiment import Experiment
from engine.design.units import is_clustered
from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH
from pipeline.store.murmur_sql import Dialect, murmur_sql

# Around an id, as Python's `strip` takes it away; all are below this number.
_SPACE: Final = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
_TYPES: Final[dict[Dialect, str]] = {"duckdb": "VARCHAR", "spark": "STRING"}
_QUOTES: Final[dict[Dialect, str]] = {"duckdb": '"', "spark": "`"}
_TRIMMED: Final[dict[Dialect, str]] = {"duckdb": "trim({0}, {1})", "spark": "trim(BOTH {1} FROM {0})"}


def with_unit_hashes(
    frame: Any,  # noqa: ANN401  # a relation of DuckDB, or a DataFrame of Spark
    experiment: Experiment,
    column: str,
    hashes: Mapping[Role, str],
    dialect: Dialect,
) -> Any:  # noqa: ANN401
    """Add the hashes of the unit whose id is in a column, by the names of the new columns."""
    added = [f"{unit_hash_sql(experiment, role, column, dialect)} AS {name}" for role, name in hashes.items()]
    if dialect == "spark":
        return frame.selectExpr("*", *added)
    return frame.project(", ".join(["*", *added]))


def unit_hash_sql(experiment: Experiment, role: Role, column: str, dialect: Dialect) -> str:
    """Return the hash of the unit whose id is in a column; null where the row has no id."""
    prefix = hash_prefix(experiment, role)
    text = f"CAST({_name(column, dialect)} AS {_TYPES[dialect]})"
    if is_clustered(experiment.unit):
        text = _id_text(text, dialect)
    return murmur_sql(f"({_literal(prefix, dialect)} || {text})", dialect)


def _id_text(text: str, dialect: Dialect) -> str:
    """Return an id without space around it; null for placeholders and for ids that are too long."""
    trimmed = _TRIMMED[dialect].format(text, _literal(_SPACE, dialect))
    junk = ", ".join(_literal(one, dialect) for one in sorted(JUNK_IDS))
    return (
        f"CASE WHEN {trimmed} IN ({junk}) OR length({trimmed}) > {MAX_ID_LENGTH} THEN NULL ELSE {trimmed} END"
    )


def _name(column: str, dialect: Dialect) -> str:
    quote = _QUOTES[dialect]
    return quote + column.replace(quote, quote * 2) + quote


def _literal(text: str, dialect: Dialect) -> str:
    if dialect == "spark":
        # Where a backslash begins an escape.
        text = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + (text if dialect == "spark" else text.replace("'", "''")) + "'"
