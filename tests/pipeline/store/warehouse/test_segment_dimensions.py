"""The table of segment dimensions, and the parts that follow it."""

from pathlib import Path

from engine.design.targeting.fields import TARGETING_FIELDS
from pipeline.events.attributes import READERS
from pipeline.store.event_columns import ADDED_COLUMNS, DIMENSIONS, EVENT_DIMENSIONS, HEADER_BITS, EventRow
from pipeline.store.warehouse.segment_dimensions import CUSTOM

DOCS = Path(__file__).parents[4] / "docs" / "segments.md"
SOURCES = {
    "attribute": "attributes alone",
    "address": "address of the page",
    "header": "request headers",
    "events": "the visitor's events ([below](#derived-values))",
    "time": "time of the first exposure",
}


def test_every_dimension_has_a_reader_and_one_of_headers_reads_those_too() -> None:
    assert READERS.keys() == EVENT_DIMENSIONS.keys()
    assert DIMENSIONS.keys() - EVENT_DIMENSIONS.keys() == {"day_of_week"}
    by_headers = {name for name, reader in READERS.items() if reader.header is not None}
    assert by_headers == {name for name, one in DIMENSIONS.items() if one.source == "header"}
    assert by_headers == HEADER_BITS.keys()


def test_bits_of_headers_are_told_apart() -> None:
    assert len(HEADER_BITS) == sum(HEADER_BITS.values()).bit_count()


def test_columns_of_dimensions_lie_together_as_rows_are_laid_out_by_place() -> None:
    first, end = EventRow._fields.index("is_bot") + 1, EventRow._fields.index(CUSTOM)
    assert EventRow._fields[first:end] == tuple(EVENT_DIMENSIONS)


def test_no_two_dimensions_have_the_same_name_in_answers() -> None:
    assert len({one.plural for one in DIMENSIONS.values()}) == len(DIMENSIONS)
    assert not {one.plural for one in DIMENSIONS.values()} & {*DIMENSIONS, "custom_dimensions"}


def test_targeting_and_segments_share_their_closed_values() -> None:
    closed = {name for name, one in DIMENSIONS.items() if one.values and name in TARGETING_FIELDS}
    assert closed == {"device_type", "visitor_type", "visitor_identity", "day_of_week"}
    for name in closed - {"day_of_week"}:
        assert TARGETING_FIELDS[name].enum_values == DIMENSIONS[name].values
    # Targeting is by the day itself, segments by weekday or weekend.
    assert len(TARGETING_FIELDS["day_of_week"].enum_values or ()) == 7


def test_the_table_of_the_documentation_has_a_row_for_each() -> None:
    rows = [
        f"| `{name}` | `{one.plural}` | {one.plural_label} | {SOURCES[one.source]} "
        f"| {', '.join(f'`{value}`' for value in one.values) or 'any'} | {ADDED_COLUMNS.get(name, '0.1')} |"
        for name, one in DIMENSIONS.items()
    ]
    text = DOCS.read_text()
    assert [line for line in text.splitlines() if line.startswith("| `") and "s` | " in line] == rows
