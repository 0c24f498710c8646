"""Two persons of a store, of whom one is erased."""

import asyncio

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.erasure.person_erasure import Receipt, erase
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

GONE, STAYS = "ann-7d1f", "bob-52aa"
GONE_USER = "ann@x.example"


def fill(store: WorkingStore, project: Project, experiment: Experiment) -> None:
    """Acknowledge events of two people, each on two devices, through the spool."""
    rows = [
        event
        for name, user in ((GONE, GONE_USER), (STAYS, "bob@x.example"))
        for event in (
            an_exposure(experiment, 0, name, user_id=user, region=f"town of {name}"),
            an_exposure(experiment, 0, f"{name}-phone", user_id=user),
            a_purchase(name, transaction_id=f"order of {name}"),
            a_purchase(None, user_id=user),
        )
    ]
    asyncio.run(store.ingest.submit(project.id, rows))


def erase_visitor(store: WorkingStore, project: Project, name: str = GONE) -> Receipt:
    return erase(store, project, name, id_type="visitor", actor="test")
