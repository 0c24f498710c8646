"""Form of a draft as a page: its steps, fields and plan, with the problems beside the fields."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypedDict

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.drafts.choice_words import CHOICE_WORDS
from api.dashboard.drafts.draft_form import Form
from api.dashboard.drafts.draft_plan import typed_plan
from api.dashboard.drafts.draft_steps import any_problem, statistics_sentence, steps_of
from api.dashboard.drafts.field_paths import pattern_of
from api.dashboard.drafts.form_fields import CHOICES, CONDITION, MEASURE_KEYS
from api.dashboard.drafts.form_rows import row_counts
from api.dashboard.drafts.opened_revision import OpenedRevision, SavedField
from api.dashboard.drafts.ramp_fields import HARM_SENTENCES, STEPS
from api.dashboard.drafts.usual_numbers import UsualNumbers
from api.dashboard.experiments import address_of
from api.dashboard.formats import words
from api.dashboard.operations import read
from api.dashboard.page_answers import render
from api.dashboard.page_threads import on_page_thread
from api.dashboard.sessions import SignedIn
from api.dashboard.starting import starting_of
from engine.design.lifecycle import UNSTARTED

_MOST_METRICS: Final = 100


class Shown(TypedDict, total=False):
    """The experiment that a form is of, and its revision when the form was opened."""

    experiment: Mapping[str, Any]
    opened: OpenedRevision


async def answer_form(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    form: Form,
    *,
    experiment: Mapping[str, Any] | None = None,
    opened: OpenedRevision | None = None,
    saved: Sequence[SavedField] | None = None,
    problems: Mapping[str, list[str]] | None = None,
    usual: UsualNumbers | None = None,
    is_typed: bool = False,
    status: int = 200,
) -> Response:
    """Answer with the form, and with what others saved, what is wrong, and what it plans."""
    problems = problems or {}
    may_start = experiment is None or experiment["status"] in UNSTARTED
    targeting = (await read(request, session, "/capabilities/targeting_fields"))["data"]
    counts = await on_page_thread(request, row_counts, form)
    plan, wrong = await on_page_thread(request, typed_plan, form)
    return await render(
        request,
        "draft.html",
        session=session,
        status=status,
        project=project_address(request),
        address=address_of(request) if experiment else f"{project_address(request)}/experiments/new",
        experiment=experiment,
        opened=opened,
        saved=saved,
        is_typed=is_typed,
        form=form,
        problems=problems,
        may_start=may_start,
        starting=await starting_of(request, session) if experiment and may_start else None,
        usual=usual,
        plan=plan,
        wrong=wrong,
        steps=await on_page_thread(request, steps_of, form, problems),
        sentence=await on_page_thread(request, statistics_sentence, form),
        has_problem=partial(any_problem, problems),
        targeting=targeting,
        keyed=[name for name, field in targeting.items() if field["requires_key"]],
        metrics=await read_metrics(request, session),
        groups=(await read(request, session, f"{project_address(request)}/groups"))["data"],
        measure_keys=MEASURE_KEYS,
        choices_of=lambda path: CHOICES[pattern_of(path)],
        said_as=lambda path, one: CHOICE_WORDS.get(pattern_of(path), {}).get(one) or words(one),
        rows_of=lambda rows: [f"{rows}[{index}]" for index in range(counts.get(rows, 0))],
        condition_rows=CONDITION,
        ramp_rows=STEPS,
        harm_sentences=HARM_SENTENCES,
    )


async def read_metrics(request: Request, session: SignedIn) -> list[dict[str, Any]]:
    """Read the metrics of the project that a goal can have."""
    listed = await read(request, session, f"{project_address(request)}/metrics", {"per_page": _MOST_METRICS})
    metrics: list[dict[str, Any]] = listed["data"]
    return metrics
