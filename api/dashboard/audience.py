"""Audience of an experiment in words: the visitors who take part, and the pages that they see it on."""

from collections.abc import Mapping
from typing import Any, Final

from engine.analysis.results.formatting import listed
from pipeline.store.catalog.experiment_listings import ListedExperiment

_OPERATORS: Final[Mapping[str, str]] = {
    "equals": "is",
    "in": "is",
    "not_equals": "is not",
    "not_in": "is not",
    "exists": "is known",
    "not_exists": "is not known",
    "gt": "is above",
    "gte": "is at least",
    "lt": "is below",
    "lte": "is at most",
}
_MOST_RULES: Final = 2
_MOST_VALUES: Final = 3
_LONGEST_PAGE: Final = 48


def audience_of(experiment: ListedExperiment) -> str:
    """Say of whom an experiment is: "20% of visitors of shop.example whose country is DE"."""
    rules = _rules(experiment.targeting_rules)
    share = experiment.traffic_allocation
    visitors = "visitors" if rules else "all visitors"
    if share < 100:
        visitors = f"{share}% of {visitors}"
    page = _page(experiment)
    return f"{visitors}{f' of {page}' if page else ''}{f' whose {rules}' if rules else ''}"


def _page(experiment: ListedExperiment) -> str:
    """Return the page without its scheme, and say where there are more."""
    page = experiment.url.removeprefix("https://").removeprefix("http://").rstrip("/")
    if len(page) > _LONGEST_PAGE:
        page = page[: _LONGEST_PAGE - 1] + "…"
    return f"{page} and other pages" if page and experiment.has_more_pages else page


def _rules(targeting: Mapping[str, Any]) -> str:
    """Say the conditions that all have to hold; empty without any."""
    root = targeting.get("root", {})
    children = root.get("children", [])
    if not children:
        return ""
    if root.get("operator") != "and" or any("children" in one for one in children):
        return "attributes fit the targeting rules"
    said = [_condition(one) for one in children[:_MOST_RULES]]
    left = len(children) - len(said)
    return listed([*said, *([f"{left} more {'rules hold' if left > 1 else 'rule holds'}"] if left else [])])


def _condition(condition: Mapping[str, Any]) -> str:
    """Say one condition: "country is DE, AT or CH"."""
    field = (condition.get("key") or condition["field"]).replace("_", " ")
    operator = condition["operator"]
    verb = _OPERATORS.get(operator, operator.replace("_", " "))
    values = [str(one) for one in condition.get("values", ())]
    if len(values) > _MOST_VALUES:
        values = [*values[:_MOST_VALUES], f"{len(values) - _MOST_VALUES} more"]
    *first, last = values or [""]
    return f"{field} {verb} {' or '.join([', '.join(first), last]) if first else last}".rstrip()
