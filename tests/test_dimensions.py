"""Every dimension at every door: a value that comes in by any way is seen everywhere."""

from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.store.event_columns import DIMENSIONS, EVENT_DIMENSIONS
from tests.dimension_doors import ADDRESS, HEADERS, OF_REQUESTS, Doors, value_of
from tests.examples import mostly_in_shares

# The store of these tests is one folder, whose catalog is the SQLite file in it.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with Doors.opened(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture(scope="module")
def imported(doors: Doors) -> str:
    path = doors.bring_in(EVENT_DIMENSIONS)
    doors.track(
        doors.exposure("a browser", url=ADDRESS, attributes={"referrer": ""}),
        **{name.replace("-", "_"): value for name, value in HEADERS.items()},
    )
    return path


# One of each source in every run.
OF_SOURCES = {one.source: name for name, one in EVENT_DIMENSIONS.items()}.values()


@pytest.mark.parametrize("name", mostly_in_shares(EVENT_DIMENSIONS, *OF_SOURCES, seconds=0.5))
def test_what_a_sender_or_a_file_says_is_seen_by_every_door(name: str, doors: Doors, imported: str) -> None:
    value = value_of(name)
    assert doors.visitors(doors.experiment, **{name: value}) == {2}
    assert doors.visitors(imported, **{name: value}) == {1}
    shown = doors.shown(name)
    assert value in shown["available"]
    assert value in shown["form"]
    assert {shown[door][value] for door in ("segments", "export", "snapshot")} == {2}


@pytest.mark.parametrize("name", OF_REQUESTS)
def test_what_a_request_says_is_seen_by_every_door(name: str, doors: Doors, imported: str) -> None:
    assert imported
    assert doors.visitors(doors.experiment, **{name: OF_REQUESTS[name]}) == {1}
    assert OF_REQUESTS[name] in doors.shown(name)["form"]


def test_every_dimension_of_headers_and_addresses_is_among_these() -> None:
    assert OF_REQUESTS.keys() == {
        name for name, one in DIMENSIONS.items() if one.source in {"header", "address"}
    }


def test_the_day_is_seen_by_every_door(doors: Doors, imported: str) -> None:
    everyone = 2 * len(EVENT_DIMENSIONS) + 1
    shown = doors.shown("day_of_week")
    counted: dict[str, int] = shown["export"]
    # Two, where the test goes on past midnight.
    assert sum(counted.values()) == everyone
    assert shown["segments"] == shown["snapshot"] == counted
    assert shown["available"] == shown["form"] == list(counted)
    for value, visitors in counted.items():
        assert doors.visitors(doors.experiment, day_of_week=value) == {visitors}
    assert imported


def test_every_dimension_is_a_parameter_of_each_filtered_read_with_its_values(doors: Doors) -> None:
    paths: dict[str, Any] = doors.customer.client.get("/openapi.json").json()["paths"]
    filtered = [
        parameters
        for methods in paths.values()
        for operation in methods.values()
        if "device_type" in (parameters := {one["name"]: one for one in operation.get("parameters", ())})
    ]
    # Results, their summary and time series, those of a holdout, and exports.
    assert len(filtered) == 5
    for parameters in filtered:
        for name, dimension in DIMENSIONS.items():
            closed = dimension.values or ()
            assert tuple(parameters[name]["schema"].get("enum", ())) == closed
            assert dimension.label in parameters[name]["description"]
