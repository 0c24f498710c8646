"""Writer of the published assignment vectors, by the service's own decisions."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from api.sdk.assignment_vectors import ASK, FILE, FORMAT, GROUPS
from engine.design.assignment import unit_hash
from engine.design.epoch_thresholds import unsettled_ranges, variant_first_seen
from engine.design.experiment import Experiment
from engine.design.pages import covers_page
from engine.design.project import Project
from pipeline.assignment.browser_config import browser_config
from pipeline.assignment.decide import AssignmentRequest, VariantDecision, decide
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import UNKNOWN_CLIENT
from tests import contract
from tests.builders import a_project, targeting_of
from tests.data.vector_groups import Visit, members

# Groups with the hashes themselves, to find a difference by.
_HASHED: Final = frozenset({"split", "letters"})
# Of visits whose experiments do not target the time.
USUAL_TIME: Final = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
# The parts of a configuration that assignment reads: the file stays as it is where others are added.
_OF_PROJECT: Final = (
    "schema",
    "project_id",
    "sdk_key",
    "hosts",
    "time_zone",
    "settings",
    "facts",
    "automata",
)
_VARIANT: Final = dict.fromkeys(("id", "is_control", "changes"), None)
# A running experiment has one.
_GOAL: Final = dict.fromkeys(("id", "name", "goal_type", "is_primary", "config"), None)
_DEFINITION: Final = dict.fromkeys(
    (
        *("id", "project_id", "name", "test_key", "salt", "bucketing_version", "status", "unit"),
        *("url", "url_match_type", "url_rules", "traffic_allocation", "targeting_rules"),
        *("weight_epochs", "created_at", "updated_at", "started_at"),
    ),
    None,
)
_ASSIGNED_BY: Final[dict[str, Any]] = {
    **dict.fromkeys(
        (
            *(
                "id",
                "test_key",
                "type",
                "status",
                "unit",
                "salt",
                "bucketing_version",
                "traffic",
                "thresholds",
            ),
            *("epochs", "unsettled", "group", "decided_by_server", "pages", "targeting"),
        ),
        None,
    ),
    "variants": _VARIANT,
    "definition": {**_DEFINITION, "variants": {**_VARIANT, "name": None, "weight": None}, "goals": _GOAL},
}
_IN_GROUP: Final[dict[str, Any]] = {
    **_ASSIGNED_BY,
    "definition": {**_ASSIGNED_BY["definition"], "group_slots": None},
}
_ROLLED_OUT: Final[dict[str, Any]] = {
    **_ASSIGNED_BY,
    "experiment_id": None,
    "definition": {**_ASSIGNED_BY["definition"], "completed_at": None, "rollout": None},
}
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def build() -> str:
    """Build the file: one experiment or case a line."""
    projects: dict[str, tuple[Project, list[Experiment]]] = {}
    cases: list[dict[str, Any]] = []
    for group, zone, experiment, visits in members():
        project, experiments = projects.setdefault(zone, (a_project(reporting_timezone=zone), []))
        experiments.append(experiment)
        place = {"group": group, "config": list(projects).index(zone), "experiment": experiment.id}
        cases.extend([{**place, **_case(group, project, experiment, visit)} for visit in visits])
    configs = [_config(*of_zone) for of_zone in projects.values()]
    head = {"format": FORMAT, "groups": GROUPS, "contract": contract.assignment_vectors()}
    numbered = [{"case": number, **case} for number, case in enumerate(cases)]
    parts = (_text(head)[:-1], f'"configs":{_lines(configs)}', f'"cases":{_lines(map(_text, numbered))}}}')
    return ",\n".join(parts) + "\n"


def _lines(items: Iterable[str]) -> str:
    joined = ",\n".join(items)
    return f"[\n{joined}\n]"


def _text(value: object) -> str:
    return _encode(value).decode()


def _config(project: Project, experiments: list[Experiment]) -> str:
    config = browser_config(project, experiments, sdk_key=project.sdk_key, with_definitions=True)
    described = [
        _kept(msgspec.to_builtins(one), _IN_GROUP if "group" in one else _ASSIGNED_BY)
        for one in config["experiments"]
    ]
    rollouts = [_kept(msgspec.to_builtins(one), _ROLLED_OUT) for one in config["rollouts"]]
    of_project = {name: config[name] for name in _OF_PROJECT}
    shown = f'"experiments":{_lines(map(_text, described))},"rollouts":{_lines(map(_text, rollouts))}'
    return f"{_text(of_project)[:-1]},{shown}}}"


def _kept(record: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Keep the fields of these names, and of the records in them those that are named there."""
    kept: dict[str, Any] = {}
    for name in names.keys() & record.keys():
        value, within = record[name], names[name]
        if within and isinstance(value, list | tuple):
            value = [_kept(one, within) for one in value]
        elif within:
            value = _kept(value, within)
        kept[name] = value
    return kept


def _case(group: str, project: Project, experiment: Experiment, visit: Visit) -> dict[str, Any]:
    """Describe a visit, and what is decided on it."""
    decision, unit = _decided(project, experiment, visit)
    expected, why = _expected(experiment, visit, decision, unit)
    given = {
        **(_hashes(experiment, unit) if group in _HASHED and unit is not None else {}),
        "visitor_id": visit.visitor_id,
        "user_id": visit.user_id,
        "url": visit.url,
        "attributes": visit.attributes or None,
        "now": visit.now,
        "first_seen": visit.first_seen,
        "stored": None if visit.stored is None else experiment.variants[visit.stored].id,
        "why": why,
    }
    return {name: one for name, one in given.items() if one is not None} | {"expected": expected}


def _hashes(experiment: Experiment, unit: str) -> dict[str, int]:
    return {
        "h_traffic": unit_hash(experiment, "t", unit),
        "h_variant": unit_hash(experiment, "v", unit),
    }


def _decided(project: Project, experiment: Experiment, visit: Visit) -> tuple[VariantDecision, str | None]:
    visitor = Visitor(
        visitor_id=visit.visitor_id,
        user_id=visit.user_id,
        url=visit.url,
        attributes=visit.attributes,
        client=UNKNOWN_CLIENT,
    )
    now = visit.now or USUAL_TIME
    attributes = targeting_attributes(visitor, timezone=project.timezone, now=now)
    request = AssignmentRequest(visitor=visitor, attributes=attributes, forced={})
    stored = {} if visit.stored is None else {experiment.id: experiment.variants[visit.stored].id}
    (decision,) = decide(request, [experiment], targeting_of, stored)
    return decision, request.unit_id(experiment)


def _expected(
    experiment: Experiment, visit: Visit, decision: VariantDecision, unit: str | None
) -> tuple[int | str | None, str | None]:
    """Return the index of the variant that is shown, ASK or None; and without a variant, why."""
    is_rollout = decision.status == "rollout"
    if decision.variant is None or (unit is None and not is_rollout):
        return None, decision.reason
    if not covers_page(experiment, visit.url):
        return None, "the experiment is not on this page"
    if unit is None or is_rollout:
        return experiment.variants.index(decision.variant), None
    if decision.status == "new" and visit.first_seen is not None:
        return variant_first_seen(experiment, unit, visit.first_seen), None
    own = unit_hash(experiment, "v", unit)
    if decision.status == "new" and any(a <= own < b for a, b in unsettled_ranges(experiment)):
        return ASK, "the weights have changed; the service knows the first assignment"
    return experiment.variants.index(decision.variant), None


if __name__ == "__main__":
    FILE.write_text(build(), encoding="utf-8")
