"""Flat form of results: their numbers side by side under the names of the API, and the tree again from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from engine.analysis.results.answer_fields import NOT_ANSWERED, PROGRESS, AnswerField, AnswerUnit
from engine.analysis.results.variant_result import Comparison, Unadjusted, VariantResult
from engine.design.goal import Goal

_DIFFERENCE: Final = (
    "Percentage points for conversion, cents per visitor for revenue, for other measures the unit of `mean`."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a flat field in the tree, attributes from the record on; a record there may have a view."""

    name: str
    path: str
    field: AnswerField
    view: "View | None" = None

    def value(self, record: object) -> Any:  # noqa: ANN401 - of any field
        """Read the value; None where something on the way is."""
        for name in self.path.split("."):
            if record is None:
                return None
            record = getattr(record, name)
        return record


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Flat view of a record, under the name that its answer has in the OpenAPI document."""

    name: str
    record: type
    description: str
    places: tuple[Place, ...]

    def flat(self, record: object) -> dict[str, Any]:
        """Return the fields of a record by name; those of records with a view in the same way."""
        found = ((place.name, place.view, place.value(record)) for place in self.places)
        return {
            name: value if view is None or value is None else view.flat(value) for name, view, value in found
        }


def _at(  # noqa: PLR0913 - the parts of a place
    path: str,
    unit: AnswerUnit | None = None,
    text: str | None = None,
    *,
    name: str | None = None,
    view: View | None = None,
    example: Any = None,  # noqa: ANN401 - of any field
) -> Place:
    """Name a place like its last attribute, unless it has another name."""
    return Place(name or path.rpartition(".")[2], path, AnswerField(unit, text, example=example), view)


_REVENUE_PART: Final = View(
    "RevenuePart",
    Comparison,
    "A factor of revenue per visitor compared with the control: percents, with a flat prior.",
    (_at("improvement", "percent"), _at("chance_to_beat", "percent")),
)
_UNADJUSTED: Final = View(
    "Unadjusted",
    Unadjusted,
    "The comparison with the control without CUPED.",
    (
        _at("comparison.improvement", "percent", "Percent over the control.", example=14.9),
        _at("comparison.improvement_interval", "percent"),
        _at("comparison.p_value"),
        _at("comparison.score_value", "score", "Percent.", example=99.98),
        _at("status"),
        _at("variance_reduction", "percent", "Percent of the variance that CUPED removes.", example=18.4),
        _at("covariates", None, "What CUPED adjusted by.", example=["converted"]),
    ),
)
_VARIANT: Final = View(
    "VariantResult",
    VariantResult,
    "Results of a variant on a goal; comparisons are null for the control and without enough data.",
    (
        *map(_at, ("variant_id", "variant_name", "is_control", "metric.currency", "visitors", "conversions")),
        _at("conversion_rate", "percent", "Percent of visitors."),
        *map(_at, ("revenue_cents", "revenue_per_visitor_cents")),
        _at(
            "mean",
            "mean",
            "Mean per visitor of the goal's `measure`, which `improvement` and `score_value` are of: "
            "for `count` of the events; for `retained` the percent of `observed_visitors`, and for "
            "other shares while a window is open. Null for other `converted` goals and for revenue.",
            example=1.4,
        ),
        _at(
            "observed_visitors",
            None,
            "Visitors whose outcome is known, which comparisons are of; null where all have one.",
            example=24310,
        ),
        _at(
            "details.steps",
            None,
            "Visitors at each step, for goals with the measure `funnel`; null for others.",
        ),
        _at("comparison.improvement", "percent", "Percent over the control.", example=14.9),
        _at("comparison.confidence", "score", "Percent: 100 · (1 - p)."),
        _at(
            "comparison.score_value",
            "score",
            "Percent to compare with effective_confidence_threshold; score_label says what it is.",
        ),
        Place("score_progress", "comparison.score_progress", PROGRESS),
        _at("comparison.chance_to_beat", "score", "Percent.", example=99.98),
        _at(
            "comparison.adjusted_chance_to_beat",
            "score",
            "Percent: chance_to_beat with Holm's adjustment for several variants; null without "
            "`statistics.correction` `holm` and several comparisons.",
            example=99.98,
        ),
        _at("status"),
        _at(
            "details.revenue.improvement",
            "percent",
            "Lift of revenue per visitor over the control, in percent.",
            name="rpv_lift",
        ),
        _at("details.revenue.projected_annual_revenue_impact_cents"),
        _at(
            "comparison.p_value",
            None,
            "Of the wanted direction where statistics.alternative is one_sided; else two-sided.",
        ),
        _at(
            "comparison.log_p_value",
            None,
            "Natural logarithm of p_value: finite where p_value is too small for a float and 0.",
            example=-9.21,
        ),
        _at("comparison.improvement_interval", "percent", "Percents, as improvement."),
        _at("comparison.absolute_difference", "difference", _DIFFERENCE, example=0.76),
        _at(
            "comparison.absolute_difference_interval",
            "difference",
            "Interval of absolute_difference, at the level of improvement_interval: of conversion rates "
            f"by Miettinen and Nurminen, of revenue by Welch. {_DIFFERENCE}",
        ),
        _at(
            "rate_interval",
            "difference",
            "Confidence interval of this variant alone, at the experiment's confidence level: of "
            "conversion_rate (Wilson), in percent; for revenue goals of revenue_per_visitor_cents, in "
            "cents; for other measures of mean.",
        ),
        _at(
            "comparison.sequential_interval",
            "percent",
            "Like improvement_interval, but valid at every look (confidence sequence). Null for Bayesian "
            "experiments and bandits, and below 25 conversions per variant.",
        ),
        _at(
            "comparison.expected_loss",
            "difference",
            f"Expected loss of choosing the variant. {_DIFFERENCE}",
            example=0.01,
        ),
        _at("sample_ratio_expected", None, "Expected share of the visitors.", example=0.5),
        _at(
            "chance_to_be_best",
            "percent",
            "Probability to be the best of all variants, in percent.",
            example=99.99,
        ),
        _at(
            "details.per_order.n",
            None,
            "Number of orders; for goals with `per` `order`.",
            name="orders",
            example=692,
        ),
        _at("details.per_order.value", name="revenue_per_order_cents"),
        _at(
            "details.unadjusted",
            None,
            "Comparison without CUPED, where `statistics.cuped` adjusts this goal.",
            view=_UNADJUSTED,
        ),
        _at("details.capped", None, "Cap of amounts, for goals with a `cap_percentile`."),
        _at(
            "details.conversion_part",
            None,
            "For revenue goals: the change in the share of paying visitors.",
            view=_REVENUE_PART,
        ),
        _at(
            "details.spending_part",
            None,
            "For revenue goals: the change in revenue per paying visitor.",
            view=_REVENUE_PART,
        ),
        Place("revenue_difference_cents", "details.revenue.absolute_difference", NOT_ANSWERED),
        Place(
            "clusters",
            "clusters",
            AnswerField(
                None,
                "Units with a known outcome, such as accounts, where the experiment's `unit` is not the "
                "visitor: comparisons are of these. Null elsewhere.",
                "units",
                example=1840,
            ),
        ),
        Place("reason", "reason", NOT_ANSWERED),
    ),
)
# By the record that is shown in this form.
VIEWS: Final[Mapping[type, View]] = MappingProxyType({VariantResult: _VARIANT, Unadjusted: _UNADJUSTED})


def flatten(record: VariantResult) -> dict[str, Any]:
    """Return the numbers of a result side by side."""
    return _VARIANT.flat(record)


def nest_variant(flat: Mapping[str, Any], goal: Goal) -> dict[str, Any]:
    """Build the plain data of a VariantResult from its flat form, as reports are kept."""
    tree = _nested(_VARIANT, flat)
    observed, orders = flat.get("observed_visitors"), flat.get("orders")
    money = {"unit": "cents", "currency": flat["currency"]}
    tree["revenue"] = {
        "name": "revenue_per_visitor",
        "value": flat["revenue_per_visitor_cents"],
        "n": flat["visitors"],
        **money,
    }
    tree["metric"] |= {
        **_metric(flat, goal),
        "unit": goal.unit,
        "n": flat["visitors"] if observed is None else observed,
        "is_partial": observed is not None,
    }
    tree["revenue" if goal.unit == "cents" else "metric"]["interval"] = flat.get("rate_interval")
    per_order = {**tree["details"]["per_order"], "name": "revenue_per_order", **money}
    tree["details"]["per_order"] = None if orders is None else per_order
    return tree


def _metric(flat: Mapping[str, Any], goal: Goal) -> dict[str, Any]:
    if flat.get("mean") is not None or (goal.unit != "cents" and goal.measure.has_mean):
        return {"name": "mean", "value": flat.get("mean")}
    if goal.unit == "share":
        return {"name": "conversion_rate", "value": flat["conversion_rate"]}
    name = "revenue_per_visitor" if flat.get("orders") is None else "revenue_per_order"
    capped = flat.get("capped")
    return {"name": name, "value": flat.get(f"{name}_cents") if capped is None else capped["mean"]}


def _nested(view: View, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Put the fields of a view in their places; a comparison without any number is none."""
    tree: dict[str, Any] = {}
    for place in view.places:
        value, (*way, last) = flat.get(place.name), place.path.split(".")
        here = tree
        for step in way:
            here = here.setdefault(step, {})
        here[last] = value if place.view is None or value is None else _nested(place.view, value)
    compared = tree.get("comparison")
    if compared is not None and all(value is None for value in compared.values()):
        tree["comparison"] = None
    return tree
