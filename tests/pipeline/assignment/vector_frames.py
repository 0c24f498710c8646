"""Published assignment vectors as frames: those that a table of visits can express."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import polars as pl

from api.sdk.assignment_vectors import ASK, FILE

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OBJECTS: Final = ("cookies", "query_params", "custom_dimensions")


@dataclass(frozen=True, slots=True)
class VectorFrame:
    """Visits to one experiment, and the names of the variants that they are expected to have."""

    group: str
    experiment: dict[str, Any]
    rows: pl.DataFrame
    expected: list[str | None]
    arguments: dict[str, Any]


@cache
def vector_frames() -> list[VectorFrame]:
    """Return a frame of each experiment of the file, without visitors of a stored variant."""
    vectors = msgspec.json.decode(FILE.read_bytes())
    return [
        frame
        for number, config in enumerate(vectors["configs"])
        for experiment in (*config["experiments"], *config["rollouts"])
        for frame in _frames(
            experiment,
            config["time_zone"],
            [
                case
                for case in vectors["cases"]
                if (case["config"], case["experiment"])
                == (number, experiment.get("experiment_id", experiment["id"]))
            ],
        )
    ]


def _frames(experiment: dict[str, Any], zone: str, cases: list[dict[str, Any]]) -> Iterator[VectorFrame]:
    unit = "visitor" if "experiment_id" in experiment else experiment["definition"]["unit"]
    used = [case for case in cases if _is_expressed(case, experiment)]
    if not used:
        return
    rows = [_row(case, zone, unit) for case in used]
    names = dict.fromkeys(name for row in rows for name in row)
    frame = pl.DataFrame(
        [{name: row.get(name) for name in (*names, *_targeted(experiment))} for row in rows],
        infer_schema_length=None,
    ).cast({pl.Null: pl.String})
    variants = experiment["definition"]["variants"]
    expected = [None if case["expected"] is None else variants[case["expected"]]["name"] for case in used]
    arguments = {"url": "page", "visitor": "unit"}
    if "epochs" in experiment:
        arguments["first_seen"] = "first_seen"
    yield VectorFrame(used[0]["group"], experiment, frame, expected, arguments)


def _is_expressed(case: dict[str, Any], experiment: dict[str, Any]) -> bool:
    account = case.get("attributes", {}).get("account", "")
    nested = case.get("attributes", {}).get("custom_dimensions", {})
    return (
        "stored" not in case
        and experiment["status"] != "paused"
        and case["expected"] != ASK
        # A column has one type, and weights that changed need the time.
        and (account is None or isinstance(account, str))
        and "account" not in nested
        and ("first_seen" in case or "epochs" not in experiment)
    )


def _row(case: dict[str, Any], zone: str, unit: Any) -> dict[str, Any]:
    given = dict(case.get("attributes", {}))
    for name in _OBJECTS:
        given.update(given.pop(name, {}))
    ids = {"visitor": case["visitor_id"], "user": case.get("user_id")}
    row: dict[str, Any] = {name: value if value is None else str(value) for name, value in given.items()}
    row |= {"page": case["url"], "unit": ids[unit] if isinstance(unit, str) else given.get(unit["attribute"])}
    if case.get("user_id") is not None:
        row.setdefault("visitor_identity", "identified")
    if "first_seen" in case:
        row["first_seen"] = datetime.fromisoformat(case["first_seen"])
    if "now" in case:
        local = datetime.fromisoformat(case["now"]).astimezone(ZoneInfo(zone))
        row |= {"day_of_week": _DAYS[local.weekday()], "hour_of_day": local.hour}
    return row


def _targeted(experiment: dict[str, Any]) -> list[str]:
    """List the columns of what an experiment targets: one that no visit has is null."""

    def of(node: dict[str, Any]) -> Iterator[str]:
        is_told_by_url = node.get("field", "").startswith(("url", "utm_", "query_param", "traffic_source"))
        if "children" not in node and not is_told_by_url:
            yield node.get("key") or node["field"]
        for child in node.get("children", ()):
            yield from of(child)

    return list(of(experiment["definition"]["targeting_rules"]["root"]))
