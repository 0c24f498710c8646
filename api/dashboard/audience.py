"""Audience of an experiment in words: the visitors who take part, and the pages that they see it on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.analysis.results.formatting import listed

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


def audience_of(
    *,
    url: str,
    url_rules: Sequence[Mapping[str, Any]],
    traffic_allocation: int,
    targeting_rules: Mapping[str, Any],
) -> str:
    """Say of whom an experiment is: "20% of visitors of shop.example whose country is DE"."""
    rules, page = _rules(targeting_rules), _page(url, url_rules)
    visitors = "visitors" if rules else "all visitors"
    if traffic_allocation < 100:
        visitors = f"{traffic_allocation}% of {visitors}"
    return f"{visitors}{f' of {page}' if page else ''}{f' whose {rules}' if rules else ''}"


def audience_in(answer: Mapping[str, Any]) -> str:
    """Say of whom the experiment of an answer of the API is."""
    names = ("url", "url_rules", "traffic_allocation", "targeting_rules")
    return audience_of(**{name: answer[name] for name in names})


def _page(url: str, rules: Sequence[Mapping[str, Any]]) -> str:
    """Return the page without its scheme, and say where there are more."""
    page = url.removeprefix("https://").removeprefix("http://").rstrip("/")
    if len(page) > _LONGEST_PAGE:
        page = page[: _LONGEST_PAGE - 1] + "…"
    has_more = any(rule.get("type") == "include" for rule in rules)
    return f"{page} and other pages" if page and has_more else page


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
