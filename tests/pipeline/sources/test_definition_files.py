"""A file describes a source, or is refused in one sentence."""

from pathlib import Path

import pytest

from pipeline.sources.definition_files import (
    FOLDER,
    FailedSource,
    InvalidSourceError,
    read_definition,
    read_definitions,
)
from tests.pipeline.imports.described_sources import EXPOSURES, ORDERS, describe


def test_a_source_says_what_its_columns_mean(tmp_path: Path) -> None:
    defined = read_definition(describe(tmp_path, "orders", ORDERS))
    assert (defined.name, defined.folder, defined.source.time_zone) == ("orders", tmp_path, "UTC")
    assert defined.source.columns.given["revenue"] == "paid"
    assert defined.source.has_money


def test_sources_of_the_data_folder_are_read_exposures_first(tmp_path: Path) -> None:
    with pytest.raises(InvalidSourceError, match="no source is described in"):
        read_definitions([], tmp_path)
    (tmp_path / FOLDER).mkdir()
    describe(tmp_path / FOLDER, "a_orders", ORDERS)
    describe(tmp_path / FOLDER, "exposures", EXPOSURES)
    describe(tmp_path / FOLDER, "wrong", "kind =")
    definitions, failed = read_definitions([], tmp_path)
    assert [one.name for one in definitions] == ["exposures", "a_orders"]
    assert [(one.name, "wrong.toml is no TOML" in one.error) for one in failed] == [("wrong", True)]
    twice = [tmp_path / FOLDER / "exposures.toml"] * 2
    with pytest.raises(InvalidSourceError, match="two of the sources have one name"):
        read_definitions(twice, tmp_path)


def test_only_a_refused_source_is_said_to_be_left_out_as_a_whole() -> None:
    refused = FailedSource(name="seen", error="no column")
    assert refused.sentence == "nothing of the source seen was imported: no column"
    early = FailedSource(name="seen", error="the disk is full", is_refused=False).sentence
    assert "the same command completes it: the disk is full" in early
    assert "nothing" not in early


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("kind =", "kind", "exposures.toml is no TOML"),
        (
            'kind = "exposures"',
            'kind = "clicks"',
            "kind: Input should be 'visitors', 'exposures', 'events' or 'warehouse'",
        ),
        ('kind = "exposures"\n', "", "kind is missing"),
        ('visitor = "who"\n', "", "columns.visitor is missing"),
        ('arm"', 'arm"\nvalue = "paid"', "columns.value has no meaning for exposures"),
        ("[columns]", "[colums]", "columns is missing; colums is no key of a source"),
        ('event_id = "id"', 'event_id = "who"', "one column has two meanings"),
        (
            "[columns]",
            'time_zone = "Europe/Berln"\n[columns]',
            "no IANA time zone; the nearest name is Europe/Berlin",
        ),
        ("[columns]", 'table = "a"\nsql = "b"\n[columns]', "table and sql exclude one another"),
        ("[columns]", 'event = "order"\n[columns]', "event is for kind = 'events'"),
        ('name = "Checkout"\n', "", "experiments.0.name is missing"),
        ("[columns]", 'table = "a"\nlookback_days = 2\n[columns]', "lookback_days needs sql or sql_file"),
        ("[columns]", 'sql = "a"\nlookback_days = 0\n[columns]', "lookback_days: Input should be greater"),
        ('arm"', 'arm"\nexperiment = "test"', None),
    ],
)
def test_a_wrong_description_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, why: str | None
) -> None:
    path = describe(tmp_path, "exposures", EXPOSURES, {old: new})
    if why is None:
        assert read_definition(path).source.experiment_of_all is None
        return
    with pytest.raises(InvalidSourceError) as raised:
        read_definition(path)
    assert why in str(raised.value)
    assert "\n" not in str(raised.value).removeprefix("exposures.toml")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('event = "order"\n', "", "name the events by event, or by columns.event"),
        ('visitor = "who"\n', "", "columns.visitor or columns.user is missing"),
        ('revenue = "paid"\n', 'value = "paid"\n', "columns.value has no meaning beside revenue"),
        (
            'revenue = "paid"\n',
            'currency = "paid"\n',
            "columns.currency and columns.refund need columns.revenue",
        ),
    ],
)
def test_a_wrong_description_of_events_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    with pytest.raises(InvalidSourceError, match=why):
        read_definition(describe(tmp_path, "orders", ORDERS, {old: new}))
