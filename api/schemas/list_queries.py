"""Queries of lists of experiments: what they are found by, and their order."""

from collections.abc import Collection
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.query_times import QueryTime
from engine.analysis.results.verdict_words import Verdict
from engine.vocabulary import Status
from pipeline.store.catalog.experiment_listings import SORTS, Wanted

# The statuses of a list without a `status` filter.
LISTED: Final[tuple[Status, ...]] = ("draft", "scheduled", "running", "paused", "completed")
_OF_RESULTS: Final = frozenset({"verdict", "since", "improvement", "visitors", "progress"})
_SORT: Final = Field(
    pattern=f"^-?({'|'.join(SORTS)})$",
    description=f"One of {', '.join(SORTS)}; `-` before it for the highest first.",
)


class ExperimentQuery(BaseModel):
    """Statuses and verdict of the wanted experiments, and the page of them."""

    model_config = ConfigDict(extra="ignore")

    status: Annotated[Status | None, Field(description="All but archived if absent.")] = None
    verdict: Annotated[Verdict | None, Field(description="With the scope `results:read`.")] = None
    page: Annotated[int, Field(ge=1, description="Number of the page, from 1.")] = 1

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that are asked for."""
        return (self.status,) if self.status else LISTED


class ListQuery(ExperimentQuery):
    """What experiments of a project are found by, and their order."""

    search: Annotated[
        str | None,
        Field(description="Words that the name, test key, goals or tags have.", max_length=255),
    ] = None
    tag: Annotated[str | None, Field(description="A tag as a whole.", max_length=50)] = None
    owner: Annotated[str | None, Field(description="Id of a member.", max_length=64)] = None
    sort: Annotated[str, _SORT] = "-updated_at"

    @property
    def asks_for_results(self) -> bool:
        """Whether the answer tells of verdicts."""
        return self.verdict is not None or self.sort.removeprefix("-") in _OF_RESULTS

    def wanted(self, project_id: str) -> Wanted:
        """Return what the list of a project is to have."""
        return Wanted(
            project_ids=[project_id],
            statuses=self.statuses,
            search=self.search,
            tag=self.tag,
            owner=self.owner,
            verdict=self.verdict,
            sort=self.sort,
        )


_SINCE: Final = Field(description="Changes since this time are told; the last 24 hours if absent.")


class VerdictsQuery(ListQuery):
    """What verdicts of a project are found by."""

    sort: Annotated[str, _SORT] = "verdict"
    since: Annotated[QueryTime | None, _SINCE] = None


class AccountVerdictsQuery(ExperimentQuery):
    """What verdicts of all projects are found by; those that need somebody come first."""

    since: Annotated[QueryTime | None, _SINCE] = None

    def wanted(self, project_ids: Collection[str]) -> Wanted:
        """Return what the list of those projects is to have."""
        return Wanted(project_ids=project_ids, statuses=self.statuses, verdict=self.verdict, sort="verdict")
