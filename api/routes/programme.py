"""Programme: the past tests of a project together."""

from api.deps import CatalogDep, ProjectOfReadableResults
from api.errors import KEY_CODES, documented
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.programme import Programme
from engine.analysis.programme import programme_of

router = router_at(
    PREFIX + "/projects/{project_id}/programme",
    tags=["Results"],
    responses=documented(*KEY_CODES, "not_found"),
)


@router.get("")
def get_programme(project: ProjectOfReadableResults, catalog: CatalogDep) -> Single[Programme]:
    """Get ended tests together: win rate, lifts without the winner's curse, and all winners."""
    ended = catalog.experiments.of_project(project.id, ("completed", "archived"))
    looks = [catalog.recorded_looks.of(experiment.id) for experiment in ended]
    tests = zip(ended, (taken[-1] if taken else None for taken in looks), strict=True)
    return Single(data=Programme.of(programme_of(tests)))
