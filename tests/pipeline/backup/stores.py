"""Stores with random traffic, and all that is answered about their experiments."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from tests.builders import NOW, variants_of
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


def random_events(experiment: Experiment, seed: int, visitors: int = 60) -> list[EventRow]:
    """Build exposures of visitors, and purchases by a third of them."""
    draw = random.Random(seed)  # noqa: S311 (content of events)
    rows = []
    for number in range(visitors):
        visitor = f"v{seed}-{number}"
        rows.append(an_exposure(experiment, draw.randrange(2), visitor, minute=draw.random() * 600))
        if draw.random() < 0.3:
            rows.append(a_purchase(visitor, cents=draw.randrange(100, 9000), minute=600 + draw.random() * 60))
    draw.shuffle(rows)
    return rows


def fill(store: WorkingStore) -> list[tuple[Project, Experiment]]:
    """Add projects with experiments and events, of which the last are not counted yet."""
    made = []
    for seed in range(2):
        project = store.add_project()
        (control, treatment) = variants_of((1, 1))
        variants = (control, replace(treatment, payload={"columns": [3, None], "text": "é"}))
        experiment = store.add_experiment(project, variants=variants, public_variants=True)
        store.write(project, *random_events(experiment, seed))
        store.rollup.refresh(project.id)
        store.write(project, *random_events(experiment, 10 + seed))
        made.append((project, experiment))
    return made


def all_results(store: WorkingStore) -> dict[str, Any]:
    """Describe and report on every experiment, and list the events of every project."""
    found: dict[str, Any] = {}
    for project in store.catalog.projects.all():
        found[project.id] = seqs_of(store, project)
        for experiment in store.catalog.experiments.of_project(project.id):
            found[experiment.id] = (experiment, store.results.report(experiment, project, now=NOW))
    return found


def seqs_of(store: WorkingStore, project: Project) -> list[int]:
    query = f'SELECT seq FROM "events_{project.id}" ORDER BY seq'  # noqa: S608 (an id of our own)
    with store.warehouse.cursor() as cursor:
        return [seq for (seq,) in cursor.execute(query).fetchall()]


def results_in(folder: Path, catalog_url: str | None = None) -> dict[str, Any]:
    with a_working_store(folder, catalog_url=catalog_url) as store:
        return all_results(store)


def settings_of(folder: Path, **settings: Any) -> Settings:
    """Settings of a restored store, whose catalog is on SQLite unless another is given."""
    return Settings(data_dir=folder, **{"catalog_url": None, **settings})
