"""Conflicts of rollouts: with others and with tests that change the same, and circles of redirects."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urljoin

from engine.design.experiment import Experiment, UrlRule
from engine.design.lifecycle import OPEN
from engine.design.pages import covers_page, redirect_url, url_matches
from engine.design.review import NO_REVIEW, ReviewFacts
from engine.design.variants import Variant
from engine.errors import Problem, TransitionError
from engine.vocabulary import Status

# Tests that change pages, now or at their scheduled start.
TESTS: tuple[Status, ...] = ("scheduled", *OPEN)


@dataclass(frozen=True, slots=True)
class Beside:
    """The tests and rollouts of the project beside an experiment, the address of the site, and reviews."""

    experiments: Sequence[Experiment]
    site: str
    review: ReviewFacts = NO_REVIEW


def started_beside(
    experiment: Experiment,
    beside: Beside,
    transition: Callable[..., Experiment],
    *,
    now: datetime,
) -> Experiment:
    """Start or resume an experiment, unless a rollout changes the same; TransitionError."""
    started = transition(experiment, now=now)
    _require_apart(started, [one for one in beside.experiments if one.shipped is not None], beside.site)
    return started


def shipped_beside(experiment: Experiment, beside: Beside) -> Experiment:
    """Return a shipped experiment, unless a test or a rollout changes the same; TransitionError."""
    if experiment.shipped is not None:
        _require_apart(experiment, beside.experiments, beside.site)
    return experiment


def _require_apart(experiment: Experiment, others: Iterable[Experiment], site: str) -> None:
    given = list(others)
    problems = [problem for other in given for problem in _conflicts(experiment, other, site)]
    problems += _circles(experiment, given, site)
    if problems:
        message = f"'{experiment.name}' changes what others change: end them first"
        raise TransitionError("rollout_conflict", message, problems)


def _conflicts(experiment: Experiment, other: Experiment, site: str) -> Iterator[Problem]:
    if not may_share_a_page(experiment, other, site):
        return
    what = "the rollout of" if other.shipped else f"the {other.status} test"
    if "redirect" in {experiment.type, other.type}:
        yield Problem("url", f"is a page of {what} '{other.name}' ({other.id}), too")
    elif shared := _selectors(experiment) & _selectors(other):
        named = ", ".join(sorted(shared))
        yield Problem("variants", f"{named} is changed by {what} '{other.name}' ({other.id}), too")


def _shown(experiment: Experiment) -> Sequence[Variant]:
    """List the variants that visitors may have."""
    return experiment.variants if experiment.shipped is None else (experiment.shipped,)


def _selectors(experiment: Experiment) -> set[str]:
    return {change.selector for variant in _shown(experiment) for change in variant.changes}


def may_share_a_page(one: Experiment, other: Experiment, site: str) -> bool:
    """Tell whether an address may be a page of both; patterns that cannot be compared may share one."""
    return any(
        _overlap(mine, experiment=one, its=its, other=other, site=site)
        for mine in _included(one)
        for its in _included(other)
    )


def _included(experiment: Experiment) -> list[UrlRule]:
    page = UrlRule(type="include", match_type=experiment.url_match_type, value=experiment.url)
    return [page, *(rule for rule in experiment.url_rules if rule.type == "include")]


def _overlap(mine: UrlRule, *, experiment: Experiment, its: UrlRule, other: Experiment, site: str) -> bool:
    for exact, pattern, owner, pages in ((mine, its, experiment, other), (its, mine, other, experiment)):
        if exact.match_type == "exact":
            address = urljoin(site, exact.value)
            matches = url_matches(pattern.match_type, pattern.value, address)
            return matches and covers_page(pages, address) and covers_page(owner, address)
    if mine.match_type == its.match_type == "starts_with":
        first, second = urljoin(site, mine.value), urljoin(site, its.value)
        return first.startswith(second) or second.startswith(first)
    return True


def _circles(experiment: Experiment, others: Iterable[Experiment], site: str) -> Iterator[Problem]:
    """Yield the redirects that lead back to a page of the experiment, which leads on again."""
    if experiment.type != "redirect":
        return
    leading = [one for one in others if one.type == "redirect"]
    start = urljoin(site, experiment.url)
    waiting: list[tuple[str, tuple[str, ...]]] = [(target, ()) for target in _targets(experiment, start)]
    seen: set[str] = set()
    while waiting:
        address, by = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        if by and covers_page(experiment, address) and _targets(experiment, address):
            yield Problem("url", f"a circle of redirects: the page comes back by {', '.join(by)}")
            return
        for other in leading:
            if covers_page(other, address):
                name = f"'{other.name}' ({other.id})"
                waiting += [(target, (*by, name)) for target in _targets(other, address)]


def _targets(experiment: Experiment, page: str) -> list[str]:
    """List the addresses that a page leads to, but for itself."""
    found = (redirect_url(experiment, variant, page) for variant in _shown(experiment))
    return [target for target in found if target is not None and target != page]
