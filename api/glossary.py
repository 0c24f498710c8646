"""Descriptions of fields that several schemas have, and of results; others stand beside their fields."""

from collections.abc import Mapping
from typing import Any, Final

from pipeline.store.event_columns import DIMENSIONS

_FILTER: Final = "Only visitors of this {}; all if absent."
_VALUES: Final = "Values to filter results by: {}."
# By the name of a field or parameter.
MEANINGS: Final[Mapping[str, str]] = {
    # Objects.
    "id": "Id, which never changes and is never used again.",
    "name": "Name, as people see it.",
    "description": "What it is for, in words.",
    "created_at": "Time of the creation, in UTC.",
    "updated_at": "Time of the last change, in UTC.",
    "started_at": "Time of the start, in UTC; null before it.",
    "ended_at": "Time of the end, in UTC; null before it.",
    "data": "What was asked for.",
    "meta": "Which part of the whole list this is.",
    "page": "Number of the page, from 1.",
    "per_page": "Items a page.",
    "project_id": "Id of the project.",
    "experiment_id": "Id of the experiment.",
    "variant_id": "Id of the variant; null where the visitor takes no part.",
    "goal_id": "Id of the goal.",
    "user_id": "Your own id of a signed-in user, on all of the user's devices; null or absent for none.",
    "visitor_id": "Your id of the visitor, or the one that the script made.",
    "variant_name": "Name of the variant.",
    "goal_name": "Name of the goal.",
    "status": "State that it is in.",
    "reason": "Why, in words.",
    "values": "The values there are.",
    "key": "Name in lower case that other fields refer to it by.",
    "label": "Name, as people see it.",
    "version": "Version of the form.",
    "error": "What is wrong: `code` for programs, `message` in words, `details` by field, and `request_id`.",
    # The account.
    "plan_name": "Name of the plan, as people see it.",
    "environment": "`live` or `test`; both reach the same data.",
    "scopes": "What the key may do.",
    # Projects.
    "platform": "What the site is built with.",
    "installation_guide": "The guide that the installation follows.",
    "integrations": "Other services that learn of assignments, such as GA4 and GTM.",
    "environments": "Further sites of the project, such as staging, with their hostnames.",
    "hostnames": "Hostnames; `*.` stands for all subdomains.",
    "settings": "Settings of the project that browsers and counting follow.",
    "cookie_domain": "Domain of the visitor's cookie; null for the widest that the browser allows.",
    "running_experiments_count": "Experiments that run now.",
    "ga4": "Google Analytics 4: an event for each exposure.",
    "gtm": "Google Tag Manager: an entry of the data layer for each exposure.",
    "enabled": "Whether it is on.",
    "sdk_key": "Public key of the project, for pages.",
    # Experiments.
    "url": "Address of the site, or of the page that the experiment is on.",
    "url_match_type": "How `url` is compared with a page's URL.",
    "url_rules": "Further pages to include or exclude.",
    "match_type": "How the URL is compared.",
    "test_key": "Name for programs, unique in the project.",
    "hypothesis": "What is expected of the change, and why; null where nobody wrote it.",
    "variants": "The variants, or their number; one of them is the control.",
    "goals": "The goals; one of them is the primary one, which decides.",
    "goal_type": "What visitors do to convert.",
    "is_primary": "Whether the goal decides.",
    "is_control": "Whether it is the control, which others are compared with.",
    "changes": "What the variant changes on the page.",
    "selector": "CSS selector of the element.",
    "action": "What is done.",
    "trigger_selector": "CSS selector for the triggers `element_visible` and `click`; null for others.",
    "custom_css": "CSS for every variant but the control; null for none.",
    "custom_js": "JavaScript for every variant but the control; null for none.",
    "relay_params": "Whether a redirect keeps the query parameters of the page.",
    "scheduled_start_at": "Time at which it starts by itself; null for at once.",
    "scheduled_end_at": "Time at which it completes by itself; null for never.",
    "stop_conditions": "What completes the experiment by itself.",
    "targeting_rules": "Who takes part: groups of conditions on the visitor and the visit.",
    "root": "The outermost group.",
    "operator": "How the children are combined, or the values compared.",
    "children": "Conditions and groups.",
    "analysis_method": "`frequentist` or `bayesian`.",
    "confidence_level": "Percent that the score is compared with, before it is adjusted for the variants.",
    "statistics": "Statistics settings beyond method and level.",
    # Results: counts and rates.
    "visitors": "Visitors counted.",
    "conversions": "Visitors who converted at least once.",
    "conversion_rate": "Percent of the visitors who converted.",
    "revenue_cents": "Revenue without refunds, in minor units of `currency`.",
    "revenue_per_visitor_cents": "Revenue over all visitors, in minor units of `currency`.",
    "revenue_per_order_cents": "Revenue over all orders, in cents; null without an order.",
    "currency": "Currency of the goal's money, an ISO 4217 code: its own, or the project's.",
    "revenue_currency": "Currency of the goal's money, an ISO 4217 code.",
    "improvement": "Percent over the control; null without enough data.",
    "improvement_interval": "Interval of `improvement`, in percent.",
    "rpv_lift": "Percent over the control in revenue per visitor; null for goals without revenue.",
    "projected_annual_revenue_impact_cents": "Revenue more or less a year at the traffic so far, in cents, "
    "shrunk as the variant was chosen for its result; null without enough data.",
    "incremental_revenue_impact_cents": "Revenue more or less so far, in cents; null without enough data.",
    "confidence": "Percent: 100 · (1 - p); null without enough data. Not the number to decide by.",
    "p_value": "P-value; null without enough data.",
    "chance_to_beat": "Probability to be better than the control, in percent; null without enough data.",
    "score_value": "Percent to compare with `effective_confidence_threshold`; `score_label` says what it is.",
    "score_label": "What the score is, in words.",
    "score_description": "What the score means, in a sentence.",
    "score_progress_percentage": "Percent of the threshold that the score has reached, at most 100.",
    "effective_confidence_threshold": "Percent that `score_value` must reach, adjusted for the variants.",
    "low": "Lower end; null where it is infinite.",
    "high": "Upper end; null where it is infinite.",
    "level": "Percent that the interval covers.",
    "cap_cents": "The cap, in cents: larger amounts count as this.",
    # Results: the verdict.
    "recommendation": "What to do, for programs.",
    "recommendation_label": "What to do, in words.",
    "tone": "How the verdict may be coloured.",
    "headline": "The verdict, in a sentence.",
    "explanation": "What the verdict rests on, in sentences.",
    "next_step": "What to do next, in a sentence.",
    "estimated_uplift": "Percent over the control; null without enough data.",
    "confidence_assessment": "How sure the result is, in sentences.",
    "control_variant_name": "Name of the control; null without one.",
    "best_variant_name": "Name of the variant that is ahead, which need not have won; null without data.",
    "winner_variant_name": "Name of the winner; null while there is none.",
    "is_reached": "Whether the plan is reached.",
    "experiment": "The experiment, in short.",
    "primary_goal": "The primary goal; null without one.",
    "primary_goal_summary": "Summary of the primary goal; null without one.",
    "decision_summary": "Recommendation for the primary goal; null without one.",
    "available_segments": "Values to filter results by.",
    "health": "Checks of whether the data can be trusted.",
    "check": "Name of the check.",
    "details": "Facts of the check, or problems by field.",
    "epochs": "Periods in which the weights did not change.",
    # Segments.
    "segments": "Segments, with their variants.",
    "dimension": "Dimension of the segment, such as `country`.",
    "control": "The control in the segment; null without its visitors.",
    "exploratory": "Always true: ideas for further tests, and no basis of a decision.",
    "left_out": "Dimensions that are not analyzed, and why.",
    "adjusted_always_valid_p_value": "P-value that is valid at every look, adjusted for all segments.",
    "custom_dimensions": _VALUES.format("your own dimensions"),
    **{one.plural: _VALUES.format(one.plural_label) for one in DIMENSIONS.values()},
    **{name: _FILTER.format(one.label) for name, one in DIMENSIONS.items()},
    # Ended tests together.
    "metric": "What the goals measure.",
    "metrics": "Ended tests by what their primary goal measures.",
    "lifts": "Lift of each variant in the tests that have ended.",
    # Runs.
    "from": "First day.",
    "to": "Last day.",
    # Planning.
    # Events and visits.
    "attributes": "Facts of the visitor for targeting and segments, by name.",
    "batch": "The events; each is judged on its own.",
    "event_name": "Name of the event, which goals refer to.",
    "v": "Version of the script, which caches keep for ever.",
}
# Where a field means something else than in most schemas: by schema and field.
EXCEPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("Results", "plan"): "The sample plan that the experiment is judged by.",
    ("Summary", "plan"): "The sample plan that the experiment is judged by.",
    ("ErrorDetail", "message"): "What is wrong with the field.",
    ("HealthCheck", "status"): "`alarm` where results are not reliable, `warning` where one should look.",
    ("HealthCheck", "message"): "What was found, and what to do.",
    ("GoalSummary", "status"): "Whether the leading variant won, lost, or nothing is decided.",
    ("VariantResult", "status"): "Whether the variant won, lost, or nothing is decided.",
    ("Unadjusted", "status"): "What the status would be without CUPED.",
    ("WebhookInput", "description"): "What it is for, in words.",
    ("ExperimentDetail", "trigger"): "When a visitor on the page is exposed: at once, or after an action.",
    ("ExperimentInput", "trigger"): "When a visitor on the page is exposed: at once, or after an action.",
    ("ExperimentChanges", "trigger"): "When a visitor on the page is exposed: at once, or after an action.",
    (
        "ExperimentDetail",
        "type",
    ): "`visual` changes, `redirect`, or `personalization` for all who are eligible.",
    (
        "ExperimentInput",
        "type",
    ): "`visual` changes, `redirect`, or `personalization` for all who are eligible.",
    (
        "ExperimentChanges",
        "type",
    ): "`visual` changes, `redirect`, or `personalization` for all who are eligible.",
    (
        "TrackedEvent",
        "late",
    ): "Whether the page was seen before the script came; not counted then.",
    ("TrackedEvent", "type"): "Kind of event.",
    ("TrackedEvent", "value"): "Amount of the event, for goals that measure values.",
    ("UrlRule", "type"): "`include` or `exclude`.",
    ("SegmentResult", "value"): "The value that visitors of the segment have.",
    ("SegmentSplit", "value"): "The value that visitors of the segment have.",
    ("Results", "goals"): "The goals, in short.",
    ("Segments", "goals"): "Results of every segment, by goal.",
    ("WinnersTogether", "variants"): "Number of variants that were recommended to ship.",
    ("Summary", "variants"): "Results of each variant on the primary goal.",
    ("Conversion", "kind"): "Conversion, order or refund.",
    ("CustomDimension", "key"): "Key of the dimension in `attributes`.",
}

# Every text of this module, for what has no room for them.
TEXTS: Final = frozenset({*MEANINGS.values(), *EXCEPTIONS.values()})


def explain_fields(document: dict[str, Any]) -> None:
    """Describe the fields and parameters of an OpenAPI document that say nothing of themselves."""
    for schema_name, schema in document["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            if "description" not in field and (found := _meaning(schema_name, name)):
                field["description"] = found
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if "description" not in parameter and (found := MEANINGS.get(parameter["name"])):
                    parameter["description"] = found


def _meaning(schema: str, name: str) -> str | None:
    return EXCEPTIONS.get((schema, name)) or MEANINGS.get(name)
