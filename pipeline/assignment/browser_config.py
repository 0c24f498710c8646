"""Configuration of a project for its browsers: what assigns visitors and changes pages.

Everybody can read it, so that it has no names but those of variants that are public.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import msgspec

from engine.design.assignment import traffic_threshold, variant_thresholds
from engine.design.conclusion import Rollout
from engine.design.epoch_thresholds import epoch_thresholds, unsettled_ranges
from engine.design.exclusion.group_slots import hash_ranges
from engine.design.experiment import Experiment, UrlRule
from engine.design.holdout import covers
from engine.design.patterns.numbered_automata import NumberedAutomata
from engine.design.project import Project
from engine.design.rolled_out import as_rolled_out
from engine.design.targeting.normalization import normalized_targeting
from engine.design.units import VISITOR
from engine.design.variants import Variant
from pipeline.assignment.decide import SERVED
from pipeline.events.attributes import Client
from pipeline.rollup.goals.counted_goals import counted_goals

SCHEMA: Final = 1
# Targeting fields that the server derives from a request, and a script cannot, or not alike.
FACTS: Final = ("country", "region", "city", "device_type", "browser", "os")


def browser_config(  # noqa: PLR0913  # the rest is said by name
    project: Project,
    experiments: Iterable[Experiment],
    *,
    sdk_key: str,
    with_definitions: bool = False,
    holdouts: Sequence[Experiment] = (),
    asks_for_place: bool = False,
) -> dict[str, Any]:
    """Build the configuration of a project's running and paused experiments, and of its rollouts, in order.

    `with_definitions` adds each experiment as it is stored, for servers, without what is of the team alone,
    and the thresholds of each weight epoch. Regular expressions are automata: the server decides on an
    experiment whose patterns are too large.
    It decides on all that one of the `holdouts` in force covers, as it knows the visitors from before, unless
    the browser `asks_for_place` of the visitor in that of the project before it decides itself.
    `facts` are None: they are of a request.
    """
    given = list(experiments)
    deciding = [one for one in holdouts if not (asks_for_place and one.held_group_id is None)]
    live = [experiment for experiment in given if experiment.status in SERVED]
    automata = NumberedAutomata()
    described = [
        _described(experiment, automata, by_server=_is_covered(experiment, deciding))
        | (_for_servers(experiment) if with_definitions else {})
        for experiment in live
    ]
    rollouts = [
        _rolled_out(one, one.rollout, automata, by_server=_is_covered(one, deciding))
        | ({"definition": _definition(one)} if with_definitions else {})
        for one in given
        if one.rollout is not None and one.shipped is not None
    ]
    return {
        "schema": SCHEMA,
        "project_id": project.id,
        "sdk_key": sdk_key,
        "hosts": sorted(project.hostnames),
        "time_zone": project.timezone,
        "settings": _settings_of(project),
        "integrations": _integrations_of(project),
        "facts": None,
        "clicks": sorted({goal["selector"] for goal in _tracked(live, "click")}),
        "ga4_events": _ga4_events_of(live),
        "rollouts": rollouts,
        "automata": [automaton.as_json() for automaton in automata.automata],
        "experiments": described,
    } | _held_by(holdouts, with_definitions=with_definitions)


def _is_covered(experiment: Experiment, holdouts: Iterable[Experiment]) -> bool:
    return any(covers(one, experiment.group) for one in holdouts)


def _held_by(holdouts: Iterable[Experiment], *, with_definitions: bool) -> dict[str, Any]:
    """Describe the holdouts in force, as experiments that show nothing; those of groups for servers alone."""
    found: dict[str, Any] = {}
    for one in holdouts:
        described = _holdout(one) | ({"definition": _definition(one)} if with_definitions else {})
        if one.held_group_id is None:
            found["holdout"] = described
        elif with_definitions:
            found.setdefault("group_holdouts", []).append(described | {"group_id": one.held_group_id})
    return found


def _holdout(holdout: Experiment) -> dict[str, Any]:
    return {
        "id": holdout.id,
        "salt": holdout.salt,
        "bucketing_version": holdout.bucketing_version,
        "thresholds": variant_thresholds(tuple(variant.weight for variant in holdout.variants)),
        "variants": [{"id": one.id, "is_control": one.is_control} for one in holdout.variants],
    }


def facts_of(client: Client, city: str | None) -> dict[str, Any]:
    """Collect what a request says about its visitor; None where unknown."""
    facts = {name: city if name == "city" else client.by_name.get(name) for name in FACTS}
    return {**facts, "is_bot": client.is_bot}


def needs_facts(config: Mapping[str, Any]) -> bool:
    """Return whether an experiment or a rollout is targeted by facts of a request."""
    rules = [shown["targeting"] for shown in (*config["experiments"], *config["rollouts"])]
    return any(condition["field"] in FACTS for root in rules if root for condition in _conditions_of(root))


def custom_script_path(experiment: Experiment) -> str | None:
    """Return the address of an experiment's own script, beside that of the project; None without one."""
    if not experiment.custom_js:
        return None
    return f"{experiment.id}.js?v={custom_script_version(experiment.custom_js)}"


def custom_script_version(code: str) -> str:
    """Return the version of a script: equal for equal code, so that a cache may keep it for ever."""
    return hashlib.blake2b(code.encode(), digest_size=8).hexdigest()


def _settings_of(project: Project) -> dict[str, Any]:
    return {
        "cookie_domain": project.settings.get("cookie_domain"),
        "respect_dnt": project.settings.get("respect_dnt") is True,
        "respect_gpc": project.settings.get("respect_gpc") is True,
        "require_consent": project.requires_consent,
        "consent_source": project.consent_source,
        "bot_filtering": project.bot_filtering,
        "anti_flicker_timeout_ms": project.anti_flicker_timeout_ms,
        "revenue_currency": project.revenue_currency,
    }


def _integrations_of(project: Project) -> dict[str, Any]:
    ga4, gtm = project.integrations["ga4"], project.integrations["gtm"]
    return {"ga4": ga4["measurement_id"] if ga4["enabled"] else None, "gtm": gtm["enabled"]}


def _tracked(experiments: Sequence[Experiment], goal_type: str) -> Iterator[Mapping[str, Any]]:
    """Yield what each goal of a type tracks, and each denominator of a ratio."""
    goals = (counted.goal for counted in counted_goals(experiments))
    return (goal.tracking for goal in goals if goal.goal_type == goal_type)


def _ga4_events_of(experiments: Sequence[Experiment]) -> list[dict[str, Any]]:
    events = {(goal["event_name"], goal.get("value_param")) for goal in _tracked(experiments, "ga4_event")}
    return [
        {"event_name": name, "value_param": parameter}
        for name, parameter in sorted(events, key=lambda event: (event[0], event[1] or ""))
    ]


def _described(experiment: Experiment, automata: NumberedAutomata, *, by_server: bool) -> dict[str, Any]:
    by_server = by_server or not automata.add(_patterns_of(experiment))
    return (
        {
            "id": experiment.id,
            "test_key": experiment.test_key,
            "type": experiment.type,
            "status": experiment.status,
            "unit": None if experiment.unit == VISITOR else msgspec.to_builtins(experiment.unit),
            "salt": experiment.salt,
            "bucketing_version": experiment.bucketing_version,
            "traffic": traffic_threshold(experiment.traffic_allocation),
            "thresholds": variant_thresholds(tuple(variant.weight for variant in experiment.variants)),
            "decided_by_server": by_server,
            "pages": None if by_server else _pages_of(experiment, automata),
            "targeting": None
            if by_server
            else normalized_targeting(experiment.targeting_rules, automata.number_of),
            "trigger": experiment.trigger,
            "trigger_selector": experiment.trigger_selector,
            "relay_params": experiment.relay_params,
            "page_url": experiment.url,
            "custom_css": experiment.custom_css or None,
            "custom_js": custom_script_path(experiment),
            "variants": [
                _variant(variant, is_public=experiment.public_variants) for variant in experiment.variants
            ],
        }
        | _unsettled(experiment)
        | _group_of(experiment)
    )


def _rolled_out(
    experiment: Experiment, rollout: Rollout, automata: NumberedAutomata, *, by_server: bool
) -> dict[str, Any]:
    """Describe a rollout as an experiment that assigns one variant, by an id under which nothing is kept."""
    described = _described(as_rolled_out(experiment), automata, by_server=by_server)
    return described | {"id": rollout.id, "experiment_id": experiment.id, "status": "rollout"}


def _unsettled(experiment: Experiment) -> dict[str, Any]:
    """Describe the hashes whose variant depends on when the visitor came first: where weights changed alone.

    A bandit may have a hundred epochs, of which these ranges are all that a browser needs.
    """
    ranges = unsettled_ranges(experiment)
    return {"unsettled": ranges} if ranges else {}


def _group_of(experiment: Experiment) -> dict[str, Any]:
    """Describe the units of a group that an experiment takes, by their hashes."""
    taken = experiment.group_slots
    if taken is None:
        return {}
    ranges = hash_ranges(taken.slots)
    return {"group": {"salt": taken.salt, "bucketing_version": taken.bucketing_version, "ranges": ranges}}


def _for_servers(experiment: Experiment) -> dict[str, Any]:
    epochs = [msgspec.to_builtins(epoch) for epoch in epoch_thresholds(experiment)]
    return {"definition": _definition(experiment)} | ({"epochs": epochs} if epochs else {})


def page_rules_of(experiment: Experiment) -> list[UrlRule]:
    """List the page of an experiment, as a rule, and its rules."""
    page = UrlRule(type="include", match_type=experiment.url_match_type, value=experiment.url)
    return [page, *experiment.url_rules]


def _patterns_of(experiment: Experiment) -> list[str]:
    """List the regular expressions of an experiment; no browser runs one of a user on its own engine."""
    conditions = _conditions_of(experiment.targeting_rules["root"])
    return [
        *(rule.value for rule in page_rules_of(experiment) if rule.match_type == "regex"),
        *chain.from_iterable(c["values"] for c in conditions if c["operator"] == "regex"),
    ]


def _pages_of(experiment: Experiment, automata: NumberedAutomata) -> dict[str, list[dict[str, Any]]]:
    pages: dict[str, list[dict[str, Any]]] = {"include": [], "exclude": []}
    for rule in page_rules_of(experiment):
        compared: dict[str, Any] = {"value": rule.value}
        if rule.match_type == "regex":
            compared = {"automaton": automata.number_of(rule.value)}
        pages[rule.type].append({"match_type": rule.match_type, **compared})
    return pages


def _conditions_of(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every condition of a group of targeting rules, at any depth."""
    if "children" not in node:
        yield node
        return
    for child in node["children"]:
        yield from _conditions_of(child)


def _variant(variant: Variant, *, is_public: bool) -> dict[str, Any]:
    changes = [
        {"selector": change.selector, "action": change.action, "value": change.value}
        for change in variant.changes
    ]
    public = {"name": variant.name, "payload": variant.payload} if is_public else {}
    return {"id": variant.id, "is_control": variant.is_control, "changes": changes, **public}


def _definition(experiment: Experiment) -> Any:  # noqa: ANN401 - JSON of any form
    """Return an experiment as plain data, of which `record_of` builds one that assigns alike."""
    own = replace(experiment, hypothesis=None, assigned_user_ids=(), tags=(), conclusion=None)
    return msgspec.to_builtins(own)
