"""Reports of past nights: a person's texts go from segments and from messages that name one."""

import zlib
from typing import Any

import msgspec

from pipeline.erasure.night_texts import blank_nights, count_nights
from pipeline.store.warehouse import published
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore

ERASURE = ErasedPerson(
    project_id="prj_1",
    until=9,
    visitor_keys=(1,),
    user_keys=(),
    experiments=("exp_1", "exp_2"),
    segments={"exp_1": (("region", "Faraway"), ("custom:mail", "ann@x.example"))},
)


def a_night() -> dict[str, Any]:
    checks = [
        {
            "check": "segment_sample_ratio",
            "message": "in region 'Faraway' and in os 'Faraway'",
            "details": {"dimension": "region", "value": "Faraway"},
        },
        {
            "check": "custom_dimension_keys",
            "message": "3 attributes such as 'ann' were dropped",
            "details": {"dropped_attributes": 3, "key": "ann"},
        },
    ]
    choices = {
        "regions": ["Faraway", "Near"],
        "operating_systems": ["Faraway"],
        "custom_dimensions": [{"key": "mail", "label": "Mail", "values": [ERASED, "ann@x.example"]}],
    }
    report = {"health": checks, "goals": [1.25]}
    return {"report": report, "reached": report, "available_segments": choices}


def test_texts_go_where_they_are_of_their_dimension_and_once_only(store: WorkingStore) -> None:
    with store.warehouse.transaction() as cursor:
        published.keep_night(cursor, "exp_1", NOW.date(), zlib.compress(msgspec.json.encode(a_night())))
        for other in ("exp_2", "exp_3"):
            published.keep_night(cursor, other, NOW.date(), zlib.compress(msgspec.json.encode(a_night())))
        assert count_nights(cursor, ERASURE) == 2
        blank_nights(cursor, ERASURE)
        assert count_nights(cursor, ERASURE) == 0
        first, second, of_another_project = (
            msgspec.json.decode(zlib.decompress(published.find_kept(cursor, one, NOW.date()) or b""))
            for one in ("exp_1", "exp_2", "exp_3")
        )
    assert of_another_project == a_night()
    # The person had no row there, and the key of an attribute all the same.
    assert second["report"]["health"] == [a_night()["report"]["health"][0], first["report"]["health"][1]]
    assert second["available_segments"] == a_night()["available_segments"]
    checks = first["report"]["health"]
    assert checks[0]["message"] == f"in region '{ERASED}' and in os 'Faraway'"
    assert checks[0]["details"]["value"] == ERASED
    assert checks[1]["message"] == f"3 attributes such as '{ERASED}' were dropped"
    assert first["available_segments"]["regions"] == [ERASED, "Near"]
    assert first["available_segments"]["operating_systems"] == ["Faraway"]
    assert first["available_segments"]["custom_dimensions"][0]["values"] == [ERASED]
    assert first["report"]["goals"] == [1.25]
    assert first["reached"] == first["report"]
