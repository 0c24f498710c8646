"""Drafts and revisions of experiments, with ids that count up."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from engine.design.drafting import draft_experiment, revise_experiment
from engine.design.experiment import Experiment
from engine.errors import InvalidDesignError
from tests.builders import NOW, a_project

GOAL = {"name": "Signup", "goal_type": "custom_event", "config": {"event_name": "signup"}}


def numbered_ids(kind: str = "") -> Callable[[str], str]:
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}_{kind}{next(numbers)}"


def draft(fields: Any, *, test_key: str | None = None) -> Experiment:
    return draft_experiment(
        fields, id="exp_1", project=a_project(), now=NOW, new_id=numbered_ids(), test_key=test_key
    )


def revise(experiment: Experiment, fields: Any) -> Experiment:
    return revise_experiment(experiment, fields, now=NOW, new_id=numbered_ids("new"))


def problems_of(fields: Any, revised: Experiment | None = None) -> dict[str, str]:
    with pytest.raises(InvalidDesignError) as error:
        draft(fields) if revised is None else revise(revised, fields)
    return {problem.field: problem.message for problem in error.value.problems}
