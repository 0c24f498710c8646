"""Drafts created, copied and revised: ids, a unique test key, members of the account, and covariates."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, ParamSpec

from engine.design.analysis_settings import PRE_PERIOD
from engine.design.copying import copy_experiment, name_of_copy
from engine.design.drafting import draft_experiment, revise_experiment, slug_of, wanted_test_key
from engine.design.experiment import Experiment
from engine.design.metrics.metric import Metric
from engine.design.project import Project
from engine.errors import InvalidDesignError, Problem
from engine.validation.values import shown
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiments import ProjectContent
from pipeline.store.catalog.ids import free_name, new_id
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX, is_dimension

Given = ParamSpec("Given")


def create_draft(
    catalog: Catalog, project: Project, fields: Mapping[str, Any], *, now: datetime, actor: str
) -> Experiment:
    """Draft an experiment from JSON-like input and save it; InvalidDesignError with every problem."""
    problems = [
        *_member_problems(catalog, project.account_id, fields),
        *_group_problems(catalog, project.id, fields),
        *_covariate_problems(fields.get("statistics")),
    ]

    def draft(content: ProjectContent) -> Experiment:
        return draft_experiment(
            fields,
            id=new_id("exp"),
            project=project,
            now=now,
            new_id=new_id,
            test_key=free_name(wanted_test_key(fields), content.test_keys),
            metrics=content.metrics,
        )

    return catalog.experiments.create(project.id, _with_problems(problems, draft), actor=actor)


def copy_as_draft(  # noqa: PLR0913 - each is a fact of the request
    catalog: Catalog,
    project: Project,
    experiment_id: str,
    fields: Mapping[str, Any],
    *,
    now: datetime,
    actor: str,
) -> Experiment:
    """Save a copy of an experiment as a draft; NotFoundError, InvalidDesignError."""
    original = catalog.experiments.get(project.id, experiment_id)
    name = name_of_copy(original, fields)

    def draft(content: ProjectContent) -> Experiment:
        return copy_experiment(
            original,
            id=new_id("exp"),
            name=name,
            test_key=free_name(slug_of(name), content.test_keys),
            now=now,
            new_id=new_id,
            metrics=content.metrics,
        )

    return catalog.experiments.create(project.id, draft, actor=actor)


def revise_draft(  # noqa: PLR0913 - each is a fact of the request
    catalog: Catalog,
    project: Project,
    experiment_id: str,
    fields: Mapping[str, Any],
    *,
    now: datetime,
    actor: str,
    require: Callable[[Experiment], None] | None = None,
    uncounted: Experiment | None = None,
) -> Experiment:
    """Change the fields given of an experiment; TransitionError, or InvalidDesignError with every problem.

    `require` is called with the experiment before anything else, and may raise. `uncounted` is the state in
    which no visitor was counted, where that is known.
    """
    problems = [
        *_member_problems(catalog, project.account_id, fields),
        *_group_problems(catalog, project.id, fields),
        *_covariate_problems(fields.get("statistics")),
    ]

    def revise(experiment: Experiment, metrics: Mapping[str, Metric]) -> Experiment:
        return revise_experiment(
            experiment,
            fields,
            now=now,
            new_id=new_id,
            metrics=metrics,
            is_counted=experiment != uncounted,
        )

    decide = _with_problems(problems, revise)

    def decide_if_allowed(experiment: Experiment, metrics: Mapping[str, Metric]) -> Experiment:
        if require is not None:
            require(experiment)
        return decide(experiment, metrics)

    return catalog.experiments.revise(project.id, experiment_id, decide_if_allowed, actor=actor)


def _member_problems(catalog: Catalog, account_id: str, fields: Mapping[str, Any]) -> list[Problem]:
    assigned = fields.get("assigned_user_ids")
    if not isinstance(assigned, list) or not assigned:
        return []
    accepted = {member.id for member in catalog.members.accepted(account_id)}
    return [
        Problem(f"assigned_user_ids[{index}]", f"{user_id!r} is no accepted member of the account")
        for index, user_id in enumerate(assigned)
        if isinstance(user_id, str) and user_id not in accepted
    ]


def _group_problems(catalog: Catalog, project_id: str, fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield that a group is none of the project's; its slots are looked for at the start."""
    share = fields.get("group")
    group_id = share.get("id") if isinstance(share, Mapping) else None
    if isinstance(group_id, str) and group_id not in catalog.exclusion_groups.ids(project_id):
        yield Problem("group.id", f"no group of the project has the id {shown(group_id)}")


def _covariate_problems(statistics: object) -> Iterator[Problem]:
    """Yield the covariates that are no attributes of visitors, nor the goals' own history."""
    covariates = statistics.get("covariates") if isinstance(statistics, Mapping) else None
    for index, name in enumerate(covariates if isinstance(covariates, list) else ()):
        if not isinstance(name, str) or name == PRE_PERIOD or is_dimension(name):
            continue
        known = ", ".join((PRE_PERIOD, *DIMENSIONS))
        yield Problem(
            f"statistics.covariates[{index}]",
            f"{shown(name)} is none of {known}, nor a custom dimension such as {CUSTOM_PREFIX}plan",
        )


def _with_problems(
    problems: list[Problem], decide: Callable[Given, Experiment]
) -> Callable[Given, Experiment]:
    """Wrap `decide` to raise those problems too, together with any that it raises."""

    def decide_or_raise(*given: Given.args, **named: Given.kwargs) -> Experiment:
        try:
            experiment = decide(*given, **named)
        except InvalidDesignError as error:
            raise InvalidDesignError([*error.problems, *problems]) from None
        if problems:
            raise InvalidDesignError(problems)
        return experiment

    return decide_or_raise
