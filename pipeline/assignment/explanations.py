"""Explanations of experiments on a page: each rule, and whether it holds for a visitor."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.design.assignment import exclusion_by
from engine.design.experiment import Experiment
from engine.design.pages import covers_page, url_matches
from engine.design.targeting.evaluation import compile_targeting
from engine.vocabulary import Status
from pipeline.assignment.browser_config import page_rules_of
from pipeline.assignment.decide import VariantDecision

# Of drafts and ended experiments: a page that has seen many tests is still read.
OTHERS: Final[tuple[Status, ...]] = ("draft", "scheduled", "completed")
MOST_OTHERS: Final = 20


def explain(
    served: Iterable[Experiment],
    others: Iterable[Experiment],
    decisions: Iterable[VariantDecision],
    attributes: Mapping[str, Any],
    url: str,
) -> list[dict[str, Any]]:
    """Explain the served experiments of a project, then the newest of the others that cover the page."""
    decided = {decision.experiment.id: decision for decision in decisions}
    here = [one for one in others if covers_page(one, url)]
    return [_explained(one, decided.get(one.id), attributes, url) for one in (*served, *here[-MOST_OTHERS:])]


def _explained(
    experiment: Experiment, decision: VariantDecision | None, attributes: Mapping[str, Any], url: str
) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "test_key": experiment.test_key,
        "name": experiment.name,
        "status": experiment.status,
        "traffic_allocation": experiment.traffic_allocation,
        "variants": [
            {"id": variant.id, "name": variant.name, "is_control": variant.is_control}
            for variant in experiment.variants
        ],
        "pages": [
            {
                "type": rule.type,
                "match_type": rule.match_type,
                "value": rule.value,
                "holds": url_matches(rule.match_type, rule.value, url),
            }
            for rule in page_rules_of(experiment)
        ],
        "targeting": _with_results(experiment.targeting_rules["root"], attributes),
        "reason": decision.reason if decision else exclusion_by(experiment.status).reason,
    }


def _with_results(node: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Add to each condition whether it holds, and why where it does not."""
    if "children" in node:
        children = [_with_results(child, attributes) for child in node["children"]]
        return {"operator": node["operator"], "children": children}
    alone = {"root": {"operator": "and", "children": [node]}}
    eligibility = compile_targeting(alone)(attributes)
    return {**node, "holds": eligibility.eligible, "reason": eligibility.reason}
