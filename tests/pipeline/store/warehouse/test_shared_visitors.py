"""Visitors of two tests of a group, found in the stored results."""

from datetime import timedelta

from engine.analysis.results.report import HealthCheck
from engine.design.exclusion.group_slots import GroupShare
from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.builders import NOW, STARTED, some_slots
from tests.pipeline.working_store import WorkingStore, an_exposure


def check_of(store: WorkingStore, experiment: Experiment, project: Project) -> HealthCheck:
    report = store.results.report(experiment, project, now=NOW)
    return next(check for check in report.health if check.check == "group_overlap")


def test_visitors_of_tests_that_had_slots_at_once_are_counted(store: WorkingStore) -> None:
    project = store.add_project()
    ended = STARTED + timedelta(minutes=1)
    halves = some_slots(0, 5000), some_slots(5000, 10_000)
    before = some_slots(5000, 10_000, released_at=ended)
    after = some_slots(0, 5000, taken_at=ended)
    share = GroupShare(id="grp_1", percent=50)
    first, second, earlier, later = (
        store.add_experiment(project, group=share, group_slots=slots) for slots in (*halves, before, after)
    )
    alone = store.add_experiment(project, group=GroupShare(id="grp_2", percent=50), group_slots=halves[0])
    store.write(
        project,
        *(an_exposure(first, number % 2, f"v{number}") for number in range(40)),
        *(an_exposure(second, number % 2, f"v{number}") for number in range(37, 80)),
        # Seen in both variants, and so counted in none.
        an_exposure(second, 0, "v37", minute=1),
        *(an_exposure(earlier, 0, f"v{number}") for number in range(4)),
        *(an_exposure(later, 0, f"v{number}") for number in range(4)),
        *(an_exposure(alone, 0, f"v{number}") for number in range(9)),
    )
    found = {one.id: check_of(store, one, project) for one in (first, second, earlier, later, alone)}
    numbers = {one: check.details["visitors"] for one, check in found.items()}
    # The first two and the earlier one, or the later one, had slots at once; these two did not.
    assert numbers == {first.id: 6, second.id: 2, earlier.id: 4, later.id: 4, alone.id: 0}
