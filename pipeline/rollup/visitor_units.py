"""Units of visitors, such as accounts, in experiments that compare these."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.units import is_clustered, unit_attribute
from engine.validation.sent_ids import id_text
from pipeline.events.custom_keys import members_of
from pipeline.events.hashing import hash64
from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, SEVERAL_UNITS, WITHOUT_UNIT
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from pipeline.store.warehouse.visitors import UNIT_KEY

# The units of a visitor's exposures: the same, where there is one.
UNITS_OF_EXPOSURES: Final = (
    pl.col(UNIT_KEY).min().alias("lowest_unit"),
    pl.col(UNIT_KEY).max().alias("highest_unit"),
)


def have_units(experiments: Sequence[Experiment]) -> bool:
    """Tell whether some experiment compares units, and not visitors."""
    return any(is_clustered(one.unit) for one in experiments)


def with_unit_keys(exposures: pl.DataFrame, experiments: Sequence[Experiment]) -> pl.DataFrame:
    """Add the `unit_key` of each exposure: its `user_key`, or the hash of the id in its attribute.

    Null without an id, and in experiments that compare visitors. Without any other there is no column.
    """
    if not have_units(experiments):
        return exposures
    return exposures.with_columns(_keys(exposures, experiments))


def with_units(exposed: pl.DataFrame, experiments: Sequence[Experiment]) -> pl.DataFrame:
    """Replace UNITS_OF_EXPOSURES by the visitor's unit: of the first exposure, with attributes of `init`.

    A visitor of several units is set aside, as what it did cannot be divided among them, and so is one
    without any; their `unit_key` is null.
    """
    if not have_units(experiments):
        return exposed
    clustered = [number for number, one in enumerate(experiments) if is_clustered(one.unit)]
    units = exposed.with_columns(_keys(exposed, experiments))
    own, lowest, variant = pl.col(UNIT_KEY), pl.col("lowest_unit"), pl.col("variant")
    is_several = (lowest != pl.col("highest_unit")) | (own != lowest) | (own != pl.col("highest_unit"))
    has_one = pl.coalesce(own, lowest).is_not_null()
    marked = (
        pl.when(~pl.col("experiment").is_in(clustered) | (variant == FLAGGED_AS_BOT))
        .then(variant)
        .when(is_several.fill_null(value=False))
        .then(pl.lit(SEVERAL_UNITS, pl.UInt8))
        .when(has_one)
        .then(variant)
        .otherwise(pl.lit(WITHOUT_UNIT, pl.UInt8))
    )
    is_of_one = ~pl.col("variant").is_in([SEVERAL_UNITS, WITHOUT_UNIT, FLAGGED_AS_BOT])
    return (
        units.with_columns(marked.alias("variant"))
        .with_columns(pl.when(is_of_one).then(pl.coalesce(own, lowest)).alias(UNIT_KEY))
        .drop("lowest_unit", "highest_unit", "user_key", strict=False)
    )


def _keys(rows: pl.DataFrame, experiments: Sequence[Experiment]) -> pl.Expr:
    """Build the expression of the unit's key in rows with the `user_key`, or with custom dimensions."""
    attributes: dict[str, list[int]] = {}
    users = []
    for number, one in enumerate(experiments):
        if (key := unit_attribute(one.unit)) is not None:
            attributes.setdefault(key, []).append(number)
        elif is_clustered(one.unit):
            users.append(number)
    found = pl.lit(None, pl.UInt64)
    if users and "user_key" in rows.columns:
        found = pl.when(pl.col("experiment").is_in(users)).then("user_key").otherwise(found)
    texts = rows[CUSTOM].drop_nulls().unique().cast(pl.String).to_list() if attributes else []
    members = {text: members_of(text) for text in texts}
    for key, numbers in attributes.items():
        known = _hashes(members, key)
        of_texts = pl.col(CUSTOM).cast(pl.String).replace_strict(known, default=None, return_dtype=pl.UInt64)
        found = pl.when(pl.col("experiment").is_in(numbers)).then(of_texts).otherwise(found)
    return found.alias(UNIT_KEY)


def _hashes(members: Mapping[str, Mapping[str, object]], key: str) -> dict[str, int]:
    """Map the texts of custom dimensions to the key of the id that an attribute has."""
    ids = {text: id_text(given.get(key)) for text, given in members.items()}
    return {text: hash64(one) for text, one in ids.items() if one is not None}
