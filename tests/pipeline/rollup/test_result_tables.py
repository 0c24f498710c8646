import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.rollup import result_tables
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure


def refresh(store: WorkingStore, project: Project, experiment: Experiment) -> None:
    visitors = [an_exposure(experiment, number % 2, f"v{number}") for number in range(40)]
    store.write(project, *visitors)
    store.rollup.refresh(project.id)


def stored(store: WorkingStore, kind: str, experiment: Experiment) -> list[tuple[int, ...]]:
    with store.warehouse.cursor() as cursor:
        return cursor.execute(f'SELECT rowid, * FROM "{kind}_{experiment.id}" ORDER BY rowid').fetchall()  # noqa: S608


def test_nothing_is_written_for_visitors_who_come_out_as_before(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    refresh(store, project, experiment)
    before = [stored(store, kind, experiment) for kind in ("visitors", "aggregates")]
    store.write(project, an_event("pageview", "v1", url="https://shop.example/", minute=1))
    assert store.rollup.refresh(project.id).updated == (experiment.id,)
    assert [stored(store, kind, experiment) for kind in ("visitors", "aggregates")] == before


def test_a_changed_visitor_adds_the_difference_to_the_sums(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    refresh(store, project, experiment)
    before = stored(store, "aggregates", experiment)
    store.write(project, a_purchase("v1", minute=1))
    store.rollup.refresh(project.id)
    after = stored(store, "aggregates", experiment)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert store.observe(experiment, project).conversions.tolist() == [[0, 1]]


def test_sums_of_many_rows_are_written_anew_with_one_row_a_cell(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh(store, project, experiment)
    monkeypatch.setattr(result_tables, "_MOST_ROWS", 0)
    store.write(project, a_purchase("v1", minute=1))
    store.rollup.refresh(project.id)
    cells = [row[1:6] for row in stored(store, "aggregates", experiment)]
    assert len(cells) == len(set(cells)) > 0
    assert store.observe(experiment, project).conversions.tolist() == [[0, 1]]
    assert store.rollup.rebuild(project.id).drifted == ()
