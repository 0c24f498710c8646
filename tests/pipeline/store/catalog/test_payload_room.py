"""Room for payloads in a project: 64 kB over the experiments that have not ended."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from alembic import command
from sqlalchemy import select

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.errors import InvalidDesignError
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.migrate import revisions_of
from pipeline.store.catalog.payload_room import payload_bytes
from pipeline.store.catalog.schema import experiments
from tests.builders import NOW, an_experiment, variants_of

# With its quotes, one of the largest payloads.
LARGEST = "x" * 4_094


def saved(catalog: Catalog, project_id: str, number: int, payloads: int, **fields: Any) -> Experiment:
    """Save an experiment with so many of the largest payloads."""
    variants = tuple(replace(one, payload=LARGEST) for one in variants_of([1] * payloads))
    experiment = an_experiment(
        id=f"exp_{number}",
        project_id=project_id,
        test_key=f"test-{number}",
        variants=variants,
        public_variants=True,
        **fields,
    )
    return catalog.experiments.create(project_id, lambda _: experiment, actor="test")


def grown(experiment: Experiment) -> Experiment:
    (first, *others) = experiment.variants
    return replace(experiment, variants=(replace(first, payload="y"), *others))


def test_payloads_fill_the_room_of_a_project_to_the_last_byte(catalog: Catalog, project_id: str) -> None:
    first = saved(catalog, project_id, 1, 8)
    saved(catalog, project_id, 2, 8, status="running")
    assert payload_bytes(first) == 32_768
    with pytest.raises(InvalidDesignError, match="65,536 bytes together"):
        catalog.experiments.create(
            project_id,
            lambda _: grown(an_experiment(id="exp_3", project_id=project_id, public_variants=True)),
            actor="test",
        )
    # What needs no more room is saved, and so is an experiment without payloads.
    catalog.experiments.change(project_id, first.id, grown, actor="test")
    catalog.experiments.create(
        project_id, lambda _: an_experiment(id="exp_4", project_id=project_id, test_key="four"), actor="test"
    )
    catalog.experiments.change(project_id, "exp_2", partial(lifecycle.complete, now=NOW), actor="test")
    saved(catalog, project_id, 5, 8)


def test_of_two_that_take_the_last_room_at_once_one_does(catalog: Catalog, project_id: str) -> None:
    for number in range(3):
        saved(catalog, project_id, number, 5)
    together = Barrier(2)

    def take(number: int) -> str:
        together.wait()
        try:
            saved(catalog, project_id, number, 1, goals=())
        except InvalidDesignError:
            return "refused"
        return "saved"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(take, (8, 9))) == ["refused", "saved"]


def test_catalog_of_before_payloads_is_upgraded_with_its_experiments(
    catalog: Catalog, settings: Settings, project_id: str
) -> None:
    experiment = an_experiment(id="exp_1", project_id=project_id, status="paused")
    catalog.experiments.create(project_id, lambda _: experiment, actor="test")
    document = select(experiments.c.document)
    with catalog.database.write() as connection:
        stored = connection.execute(document).scalar_one()
        del stored["public_variants"]
        for variant in stored["variants"]:
            del variant["payload"]
        connection.execute(experiments.update().values(document=stored))
        command.downgrade(revisions_of(connection), "0015")
    upgraded = Catalog.open(settings)
    assert upgraded.experiments.get(project_id, "exp_1") == experiment
    with_payload = upgraded.experiments.change(
        project_id, "exp_1", lambda one: grown(replace(one, public_variants=True)), actor="test"
    )
    assert upgraded.experiments.get(project_id, "exp_1") == with_payload
    with upgraded.database.read() as connection:
        assert connection.scalar(select(experiments.c.payload_bytes)) == len(b'"y"')
    upgraded.close()
