import pytest

from engine.errors import InvalidDesignError
from pipeline.requests.runs import read_run
from tests.builders import NOW


def test_a_request_becomes_a_queued_run() -> None:
    days = {"from": "2026-11-01", "to": "2026-11-20"}
    run = read_run("prj_1", {"kind": "rebuild", "days": days, "run_key": "night"}, now=NOW)
    assert (run.project_id, run.kind, run.status, run.trigger) == ("prj_1", "rebuild", "queued", "api")
    assert (run.parameters, run.run_key, run.created_at) == ({"days": days}, "night", NOW)
    assert read_run("prj_1", {"kind": "rollup", "days": None}, now=NOW).parameters == {}
    assert read_run("prj_1", {"kind": "rebuild", "night": True}, now=NOW).parameters == {"night": True}


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "rollup", "night": True},
        {"kind": "rebuild", "night": True, "days": {"from": "2026-11-01", "to": "2026-11-20"}},
    ],
)
def test_a_night_is_a_rebuild_of_all_days(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidDesignError, match="night"):
        read_run("prj_1", fields, now=NOW)


@pytest.mark.parametrize("day", ["2026-11-31", "2026-W01-1", "", 20261101])
def test_a_day_that_is_none_is_refused(day: object) -> None:
    with pytest.raises(InvalidDesignError, match=r"days\.from"):
        read_run("prj_1", {"kind": "rebuild", "days": {"from": day, "to": "2026-11-30"}}, now=NOW)
