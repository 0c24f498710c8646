"""Usual numbers of a project: the rate and the visitors a day of its newest test, for the plan of a draft."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.dashboard.drafts.draft_form import Form
from api.dashboard.drafts.draft_plan import has_baseline
from api.dashboard.form_permissions import caller_of, refusals_as_pages
from api.dashboard.sessions import SignedIn
from api.deps import project_in_path
from api.services import Services
from engine.analysis.results.kept_verdict import KeptVerdict
from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED
from engine.design.traffic_pace import eligible_percent
from pipeline.clock import utc_now
from pipeline.store.catalog.experiment_listings import Wanted

# Tests that are looked at, the newest first.
_MOST: Final = 10
# Of fewer visitors or days the numbers are those of chance, or of the hour.
_LEAST_VISITORS: Final = 100
_LEAST_DAYS: Final = 1.0


@dataclass(frozen=True, slots=True)
class UsualNumbers:
    """The numbers of a test: its name, its goal with the rate in percent, and eligible visitors a day."""

    name: str
    goal: str
    rate: str
    daily_visitors: str

    def fill_in(self, form: Mapping[str, str]) -> Form:
        """Fill in the plan's fields."""
        return {**form, "plan.baseline_rate": self.rate, "plan.daily_visitors": self.daily_visitors}


async def usual_numbers(request: Request, session: SignedIn, form: Mapping[str, str]) -> UsualNumbers | None:
    """Find the numbers of the newest test that has some; None for a form that has its own.

    Also None for a key that reads no results.
    """
    if has_baseline(form) or form.get("plan.daily_visitors"):
        return None
    with refusals_as_pages(request):
        return await run_in_threadpool(_find, request, session)


def _find(request: Request, session: SignedIn) -> UsualNumbers | None:
    services: Services = request.app.state.services
    caller, catalog = caller_of(request, session, "experiments:write"), services.catalog
    if "results:read" not in caller.key.scopes:
        return None
    project = project_in_path(request.path_params["project_id"], caller, catalog)
    wanted = Wanted(project_ids=[project.id], statuses=STARTED, sort="-started_at")
    found = catalog.experiment_listings.verdicts(wanted, per_page=_MOST).items
    chosen = next(((one.experiment.id, one.kept) for one in found if one.kept and _is_enough(one.kept)), None)
    if chosen is None:
        return None
    experiment_id, kept = chosen
    return _numbers(catalog.experiments.get(project.id, experiment_id), kept)


def _is_enough(kept: KeptVerdict) -> bool:
    days = kept.plan.running_days or 0.0
    is_large = kept.visitors >= _LEAST_VISITORS and days >= _LEAST_DAYS
    return is_large and 0 < kept.conversions < kept.visitors


def _numbers(experiment: Experiment, kept: KeptVerdict) -> UsualNumbers:
    """Take the rate, and the eligible visitors a day, of whom the test may have had a part."""
    share = eligible_percent(experiment, now=experiment.completed_at or utc_now()) / 100
    daily = kept.visitors / (kept.plan.running_days or _LEAST_DAYS)
    rate = 100 * kept.conversions / kept.visitors
    return UsualNumbers(experiment.name, kept.goal_name, f"{rate:.3g}", f"{daily / (share or 1.0):.0f}")
