import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline.ingest import spooled_events
from pipeline.ingest.spooled_events import EventGroup, decode_groups, encode_groups, encode_rows, to_tables
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import number_events, to_batch
from tests.pipeline.ingest.event_rows import a_row

keys = st.integers(0, 2**64 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
rows = st.builds(
    lambda **values: a_row()._replace(**values),
    received_at=st.integers(0, 2**62),
    occurred_at=st.integers(-(2**62), 2**62),
    event_id=texts,
    event_key=keys,
    type=texts,
    visitor_id=st.none() | texts,
    visitor_key=keys,
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    revenue_cents=st.none() | st.integers(-(2**62), 2**62),
    is_refund=st.booleans(),
    custom=st.none() | texts,
    sender=st.sampled_from([None, "browser", "server", "import"]),
    address_key=st.none() | keys,
)


@given(st.lists(rows, max_size=5))
def test_events_are_decoded_as_they_were(events: list[EventRow]) -> None:
    payload = encode_groups([("prj_1", 7, encode_rows(events))])
    assert decode_groups(payload) == [EventGroup("prj_1", 7, events)]


def test_a_record_of_another_version_has_the_values_that_both_know() -> None:
    row = a_row("e1")
    columns = (*EventRow._fields[:7], "of_tomorrow", "value")
    encoded = encode_rows([(*row[:7], "unknown", 1.5)])  # type: ignore[list-item]  # of another version
    payload = encode_groups([("prj_1", 7, encoded)])
    (group,) = decode_groups(payload, columns)
    assert group == EventGroup("prj_1", 7, [row._replace(value=1.5)])


def test_groups_become_a_table_of_each_project_in_the_order_of_their_numbers() -> None:
    many = [a_row(f"m{number}") for number in range(700)]
    groups = [
        EventGroup("prj_1", 1, [a_row("a"), a_row("b")]),
        EventGroup("prj_2", 3, [a_row("x")]),
        EventGroup("prj_1", 4, many).laid_out_if_many(),
        EventGroup("prj_1", 704, [a_row("c")]),
        *(EventGroup("prj_1", 800 + number, [a_row(f"s{number}")]) for number in range(600)),
    ]
    tables = to_tables(groups)
    assert tables["prj_2"].select("seq", "event_id").rows() == [(3, "x")]
    singles = [(800 + number, f"s{number}") for number in range(600)]
    numbered = [(1, "a"), (2, "b"), *((4 + n, f"m{n}") for n in range(700)), (704, "c"), *singles]
    assert tables["prj_1"].select("seq", "event_id").rows() == numbered


def test_a_table_is_the_same_whether_its_rows_were_laid_out_before(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [a_row(f"e{number}") for number in range(300)]
    group = EventGroup("prj_1", 5, events)
    expected = number_events(to_batch(events), 5)
    for size in (10, 1000):
        monkeypatch.setattr(spooled_events, "SLICE_ROWS", size)
        laid_out = group.laid_out_if_many()
        assert laid_out.last_seq == group.last_seq == 304
        for one in (group, laid_out):
            assert_frame_equal(to_tables([one])["prj_1"], expected)


def test_rows_that_are_none_of_a_table_stay_as_they_are() -> None:
    poison = [a_row(), a_row(visitor_key=2**64)] * 300
    assert EventGroup("prj_1", 1, poison).laid_out_if_many().rows is poison
