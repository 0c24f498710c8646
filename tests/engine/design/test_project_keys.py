"""Rotation of a project's public key."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from engine.design.project import (
    MOST_PREVIOUS_KEYS,
    Project,
    expire_sdk_keys,
    revise_project,
    rotate_sdk_key,
)
from engine.errors import InvalidDesignError
from tests.builders import NOW, a_project

HOUR = timedelta(hours=1)


def rotate(project: Project, new_key: str, *, hours: int | None = None, now: datetime = NOW) -> Project:
    fields = {} if hours is None else {"grace_period_hours": hours}
    return rotate_sdk_key(project, fields, new_key=new_key, now=now)


def accepted(project: Project, now: datetime) -> list[str]:
    return [key for key in ("pk_shop", "pk_2", "pk_3") if project.accepts(key, now=now)]


def test_replaced_key_works_for_a_week() -> None:
    rotated = rotate(a_project(), "pk_2")
    assert (rotated.sdk_key, rotated.updated_at) == ("pk_2", NOW)
    end = NOW + timedelta(days=7)
    assert accepted(rotated, end - timedelta(microseconds=1)) == ["pk_shop", "pk_2"]
    assert accepted(rotated, end) == ["pk_2"]


def test_second_rotation_keeps_both_earlier_keys_for_what_is_left_of_their_time() -> None:
    rotated = rotate(rotate(a_project(), "pk_2", hours=3), "pk_3", hours=24, now=NOW + HOUR)
    assert accepted(rotated, NOW + 2 * HOUR) == ["pk_shop", "pk_2", "pk_3"]
    assert accepted(rotated, NOW + 3 * HOUR) == ["pk_2", "pk_3"]
    assert accepted(rotated, NOW + 25 * HOUR) == ["pk_3"]


def test_no_earlier_key_works_for_longer_than_the_newest_grace_period() -> None:
    rotated = rotate(rotate(a_project(), "pk_2"), "pk_3", hours=1)
    assert accepted(rotated, NOW + HOUR) == ["pk_3"]


def test_rotation_without_a_grace_period_ends_every_earlier_key() -> None:
    assert accepted(rotate(rotate(a_project(), "pk_2"), "pk_3", hours=0), NOW) == ["pk_3"]


def test_expiry_ends_replaced_keys_and_keeps_the_current_one() -> None:
    later = NOW + HOUR
    expired = expire_sdk_keys(rotate(a_project(), "pk_2"), now=later)
    assert (accepted(expired, later), expired.updated_at) == (["pk_2"], later)
    assert expire_sdk_keys(expired, now=NOW + 2 * HOUR) == expired


def test_keys_that_have_ended_are_forgotten() -> None:
    project = a_project()
    for number in range(MOST_PREVIOUS_KEYS + 10):
        project = rotate(project, f"pk_{number}", hours=24, now=NOW + number * HOUR)
    assert len(project.previous_sdk_keys) == 24


def test_more_keys_than_can_be_kept_are_refused() -> None:
    project = a_project()
    for number in range(MOST_PREVIOUS_KEYS):
        project = rotate(project, f"pk_{number}")
    with pytest.raises(InvalidDesignError, match="50 earlier keys still work"):
        rotate(project, "pk_new")
    assert rotate(project, "pk_new", hours=0).previous_sdk_keys == ()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"grace_period_hours": -1}, "grace_period_hours"),
        ({"grace_period_hours": 721}, "grace_period_hours"),
        ({"grace_period_hours": None}, "grace_period_hours"),
        ({"grace_period_hours": "1"}, "grace_period_hours"),
        ({"grace": 1}, "grace"),
        ([], "body"),
    ],
)
def test_wrong_grace_period_is_refused(fields: Any, field: str) -> None:
    with pytest.raises(InvalidDesignError) as error:
        rotate_sdk_key(a_project(), fields, new_key="pk_2", now=NOW)
    assert [problem.field for problem in error.value.problems] == [field]


def test_replaced_keys_survive_json_and_updates() -> None:
    rotated = rotate(a_project(), "pk_2")
    assert msgspec.json.decode(msgspec.json.encode(rotated), type=Project) == rotated
    renamed = revise_project(rotated, {"name": "New"}, now=NOW)
    assert renamed.previous_sdk_keys == rotated.previous_sdk_keys
    with pytest.raises(InvalidDesignError):
        revise_project(rotated, {"previous_sdk_keys": []}, now=NOW)
