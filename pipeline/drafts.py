"""How a draft gets its ids and a test key that nobody in its project has."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from engine.design.drafting import draft_experiment, wanted_test_key
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.catalog import Catalog
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.names import free_name


def create_draft(
    catalog: Catalog, project: Project, fields: Mapping[str, Any], *, now: datetime, actor: str
) -> Experiment:
    """Draft an experiment from JSON-like input and save it; InvalidDesignError with every problem."""

    def build(taken: Collection[str]) -> Experiment:
        test_key = free_name(wanted_test_key(fields), taken)
        return draft_experiment(
            fields, id=new_id("exp"), project=project, now=now, new_id=new_id, test_key=test_key
        )

    return catalog.experiments.create(project.id, build, actor=actor)
