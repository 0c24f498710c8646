import pytest

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.job_records import JobRecord
from tests.builders import NOW


def test_tries_count_until_the_job_is_done(catalog: Catalog, project_id: str) -> None:
    records = catalog.job_records
    assert records.of("recount") == {}
    for tries in (1, 2):
        records.note_try("recount", project_id, now=NOW)
        assert records.of("recount") == {project_id: JobRecord(tries=tries, tried_at=NOW)}
    records.note_done("recount", project_id, "2026-03-02")
    assert records.of("recount") == {project_id: JobRecord(period="2026-03-02")}
    records.note_try("recount", project_id, now=NOW)
    assert records.of("recount") == {project_id: JobRecord(period="2026-03-02", tries=1, tried_at=NOW)}
    records.note_done("copy", project_id, "2026-03-02T12:00:00+00:00")
    assert records.of("copy")[project_id].period == "2026-03-02T12:00:00+00:00"


def test_records_go_with_their_project_and_there_are_none_of_another(
    catalog: Catalog, project_id: str
) -> None:
    catalog.job_records.note_done("recount", project_id, "2026-03-02")
    account_id = catalog.projects.find(project_id).account_id
    catalog.projects.delete(account_id, project_id, actor="test")
    assert catalog.job_records.of("recount") == {}
    with pytest.raises(NotFoundError):
        catalog.job_records.note_try("recount", project_id, now=NOW)
    with pytest.raises(NotFoundError):
        catalog.job_records.note_done("recount", project_id, "2026-03-02")
