"""Descriptions of fields that several schemas have, and of results; others stand beside their fields."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pipeline.store.event_columns import DIMENSIONS

_FILTER: Final = "Only visitors of this {}; all if absent."
_VALUES: Final = "Values to filter results by: {}."


class Meaning(NamedTuple):
    """The description of a field, and an example where its type gives none."""

    text: str
    example: Any = None


# By the name of a field or parameter.
MEANINGS: Final[Mapping[str, Meaning]] = {
    # Objects.
    "id": Meaning("Id, which never changes and is never used again.", "exp_k3vq7xm2c5tzhn6d4wrp"),
    "name": Meaning("Name, as people see it.", "One-page checkout"),
    "description": Meaning("What it is for, in words.", "Orders of the shop, without refunds."),
    "created_at": Meaning("Time of the creation, in UTC."),
    "updated_at": Meaning("Time of the last change, in UTC."),
    "started_at": Meaning("Time of the start, in UTC; null before it."),
    "ended_at": Meaning("Time of the end, in UTC; null before it."),
    "data": Meaning("What was asked for.", ["equals"]),
    "meta": Meaning("Which part of the whole list this is."),
    "page": Meaning("Number of the page, from 1.", 1),
    "per_page": Meaning("Items a page.", 25),
    "project_id": Meaning("Id of the project.", "prj_x7km3qv2c5tzhn6d4wrp"),
    "experiment_id": Meaning("Id of the experiment.", "exp_k3vq7xm2c5tzhn6d4wrp"),
    "variant_id": Meaning(
        "Id of the variant; null where the visitor takes no part.", "var_f3kq7xm2w5c4hn6d2tzp"
    ),
    "goal_id": Meaning("Id of the goal.", "goal_d4wr3chn6zp2v7xk5qmt"),
    "link_id": Meaning("Id of the share link.", "shr_w5c4hn6d2tzpf3kq7xm2"),
    "user_id": Meaning(
        "Your own id of a signed-in user, on all of the user's devices; null or absent for none.", "u_4711"
    ),
    "visitor_id": Meaning("Your id of the visitor, or the one that the script made.", "v_81f3"),
    "variant_name": Meaning("Name of the variant.", "One page"),
    "goal_name": Meaning("Name of the goal.", "Order placed"),
    "status": Meaning("State that it is in."),
    "reason": Meaning("Why, in words.", "The bucket of the visitor."),
    "values": Meaning("The values there are.", ["pro"]),
    "key": Meaning("Name in lower case that other fields refer to it by.", "plan"),
    "label": Meaning("Name, as people see it.", "Plan"),
    "version": Meaning("Version of the form."),
    "error": Meaning(
        "What is wrong: `code` for programs, `message` in words, `details` by field, and `request_id`."
    ),
    # The account.
    "plan_name": Meaning("Name of the plan, as people see it.", "Starter"),
    "environment": Meaning("`live` or `test`; both reach the same data."),
    "scopes": Meaning("What the key may do."),
    # Projects.
    "platform": Meaning("What the site is built with."),
    "installation_guide": Meaning("The guide that the installation follows."),
    "integrations": Meaning(
        "Other services that learn of assignments, such as GA4 and GTM.",
        {"ga4": {"enabled": True, "measurement_id": "G-1A2B3C4D5E"}},
    ),
    "environments": Meaning(
        "Further sites of the project, such as staging, with their hostnames.",
        [{"key": "staging", "name": "Staging", "hostnames": ["staging.shop.example"]}],
    ),
    "hostnames": Meaning("Hostnames; `*.` stands for all subdomains.", ["staging.shop.example"]),
    "settings": Meaning(
        "Settings of the project that browsers and counting follow.", {"revenue_currency": "EUR"}
    ),
    "cookie_domain": Meaning(
        "Domain of the visitor's cookie; null for the widest that the browser allows.", ".shop.example"
    ),
    "running_experiments_count": Meaning("Experiments that run now.", 2),
    "ga4": Meaning("Google Analytics 4: an event for each exposure."),
    "gtm": Meaning("Google Tag Manager: an entry of the data layer for each exposure."),
    "enabled": Meaning("Whether it is on."),
    "sdk_key": Meaning("Public key of the project, for pages.", "pk_w5c4hn6d2tzpf3kq7xm2"),
    # Experiments.
    "url": Meaning(
        "Address of the site, or of the page that the experiment is on.", "https://shop.example/checkout"
    ),
    "url_match_type": Meaning("How `url` is compared with a page's URL."),
    "url_rules": Meaning("Further pages to include or exclude."),
    "match_type": Meaning("How the URL is compared."),
    "test_key": Meaning("Name for programs, unique in the project.", "one-page-checkout"),
    "hypothesis": Meaning(
        "What is expected of the change, and why; null where nobody wrote it.",
        "Fewer steps make more visitors order.",
    ),
    "variants": Meaning("The variants, or their number; one of them is the control.", 3),
    "goals": Meaning("The goals; one of them is the primary one, which decides."),
    "goal_type": Meaning("What visitors do to convert.", "custom_event"),
    "is_primary": Meaning("Whether the goal decides."),
    "is_control": Meaning("Whether it is the control, which others are compared with."),
    "changes": Meaning("What the variant changes on the page."),
    "selector": Meaning("CSS selector of the element.", "#buy"),
    "action": Meaning("What is done.", "set_text"),
    "trigger_selector": Meaning(
        "CSS selector for the triggers `element_visible` and `click`; null for others.", "#checkout"
    ),
    "custom_css": Meaning(
        "CSS for every variant but the control; null for none.", ".steps { display: none; }"
    ),
    "custom_js": Meaning(
        "JavaScript for every variant but the control; null for none.",
        "document.body.dataset.checkout = 'one-page';",
    ),
    "relay_params": Meaning("Whether a redirect keeps the query parameters of the page."),
    "scheduled_start_at": Meaning("Time at which it starts by itself; null for at once."),
    "scheduled_end_at": Meaning("Time at which it completes by itself; null for never."),
    "stop_conditions": Meaning("What completes the experiment by itself."),
    "targeting_rules": Meaning("Who takes part: groups of conditions on the visitor and the visit."),
    "root": Meaning("The outermost group."),
    "operator": Meaning("How the children are combined, or the values compared."),
    "children": Meaning("Conditions and groups."),
    "analysis_method": Meaning("`frequentist` or `bayesian`."),
    "confidence_level": Meaning(
        "Percent that the score is compared with, before it is adjusted for the variants.", 95
    ),
    "statistics": Meaning("Statistics settings beyond method and level."),
    # Results: counts and rates.
    "visitors": Meaning("Visitors counted.", 12360),
    "conversions": Meaning("Visitors who converted at least once.", 692),
    "conversion_rate": Meaning("Percent of the visitors who converted.", 5.6),
    "revenue_cents": Meaning("Revenue without refunds, in minor units of `currency`.", 2950400),
    "revenue_per_visitor_cents": Meaning("Revenue over all visitors, in minor units of `currency`.", 238.7),
    "revenue_per_order_cents": Meaning("Revenue over all orders, in cents; null without an order.", 4263.6),
    "currency": Meaning("Currency of the goal's money, an ISO 4217 code: its own, or the project's.", "EUR"),
    "revenue_currency": Meaning("Currency of the goal's money, an ISO 4217 code.", "EUR"),
    "improvement": Meaning("Percent over the control; null without enough data.", 15.8),
    "improvement_interval": Meaning("Interval of `improvement`, in percent."),
    "rpv_lift": Meaning(
        "Percent over the control in revenue per visitor; null for goals without revenue.", 12.4
    ),
    "projected_annual_revenue_impact_cents": Meaning(
        "Revenue more or less a year at the traffic so far, in cents, "
        "shrunk as the variant was chosen for its result; null without enough data.",
        18250000,
    ),
    "incremental_revenue_impact_cents": Meaning(
        "Revenue more or less so far, in cents; null without enough data.", 402100
    ),
    "confidence": Meaning(
        "Percent: 100 · (1 - p); null without enough data. Not the number to decide by.", 99.99
    ),
    "p_value": Meaning("P-value; null without enough data.", 0.0001),
    "chance_to_beat": Meaning(
        "Probability to be better than the control, in percent; null without enough data.", 99.99
    ),
    "score_value": Meaning(
        "Percent to compare with `effective_confidence_threshold`; `score_label` says what it is.", 99.99
    ),
    "score_label": Meaning("What the score is, in words.", "Significance (1-p)"),
    "score_description": Meaning(
        "What the score means, in a sentence.",
        "1 minus the p-value: how rarely a difference this large would occur without a true difference.",
    ),
    "score_progress_percentage": Meaning(
        "Percent of the threshold that the score has reached, at most 100.", 100.0
    ),
    "effective_confidence_threshold": Meaning(
        "Percent that `score_value` must reach, adjusted for the variants.", 95.0
    ),
    "low": Meaning("Lower end; null where it is infinite.", 9.2),
    "high": Meaning("Upper end; null where it is infinite.", 22.7),
    "level": Meaning("Percent that the interval covers.", 95.0),
    "cap_cents": Meaning("The cap, in cents: larger amounts count as this.", 25000.0),
    # Results: the verdict.
    "recommendation": Meaning("What to do, for programs."),
    "recommendation_label": Meaning("What to do, in words.", "Ship it"),
    "tone": Meaning("How the verdict may be coloured."),
    "headline": Meaning("The verdict, in a sentence.", "'One page' wins on Order placed (+15.8%)"),
    "explanation": Meaning(
        "What the verdict rests on, in sentences.",
        "'One page' converts 15.8% more visitors than 'Three steps'.",
    ),
    "next_step": Meaning("What to do next, in a sentence.", "Ship 'One page' to everybody."),
    "estimated_uplift": Meaning("Percent over the control; null without enough data.", 15.8),
    "confidence_assessment": Meaning(
        "How sure the result is, in sentences.",
        "The significance of 99.99% is above the threshold of 95.00%.",
    ),
    "control_variant_name": Meaning("Name of the control; null without one.", "Three steps"),
    "best_variant_name": Meaning(
        "Name of the variant that is ahead, which need not have won; null without data.", "One page"
    ),
    "winner_variant_name": Meaning("Name of the winner; null while there is none.", "One page"),
    "is_reached": Meaning("Whether the plan is reached."),
    "experiment": Meaning("The experiment, in short."),
    "primary_goal": Meaning("The primary goal; null without one."),
    "primary_goal_summary": Meaning("Summary of the primary goal; null without one."),
    "decision_summary": Meaning("Recommendation for the primary goal; null without one."),
    "available_segments": Meaning("Values to filter results by."),
    "health": Meaning("Checks of whether the data can be trusted."),
    "check": Meaning("Name of the check.", "sample_ratio"),
    "details": Meaning("Facts of the check, or problems by field.", {"p_value": 0.41}),
    "epochs": Meaning("Periods in which the weights did not change."),
    # Segments.
    "segments": Meaning("Segments, with their variants."),
    "dimension": Meaning("Dimension of the segment, such as `country`.", "country"),
    "control": Meaning("The control in the segment; null without its visitors."),
    "exploratory": Meaning("Always true: ideas for further tests, and no basis of a decision."),
    "left_out": Meaning("Dimensions that are not analyzed, and why."),
    "adjusted_always_valid_p_value": Meaning(
        "P-value that is valid at every look, adjusted for all segments.", 0.62
    ),
    "custom_dimensions": Meaning(_VALUES.format("your own dimensions")),
    **{one.plural: Meaning(_VALUES.format(one.plural_label), [one.example]) for one in DIMENSIONS.values()},
    **{name: Meaning(_FILTER.format(one.label), one.example) for name, one in DIMENSIONS.items()},
    # Ended tests together.
    "metric": Meaning("What the goals measure."),
    "metrics": Meaning("Ended tests by what their primary goal measures."),
    "lifts": Meaning("Lift of each variant in the tests that have ended."),
    # Runs.
    "from": Meaning("First day.", "2026-03-01"),
    "to": Meaning("Last day.", "2026-03-07"),
    # Planning.
    # Events and visits.
    "attributes": Meaning(
        "Facts of the visitor for targeting and segments, by name.", {"country": "AT", "plan": "pro"}
    ),
    "batch": Meaning("The events; each is judged on its own."),
    "event_name": Meaning("Name of the event, which goals refer to.", "purchase"),
    "v": Meaning("Version of the script, which caches keep for ever."),
}
# Where a field means something else than in most schemas: by schema and field.
EXCEPTIONS: Final[Mapping[tuple[str, str], Meaning]] = {
    ("Results", "plan"): Meaning("The sample plan that the experiment is judged by."),
    ("Summary", "plan"): Meaning("The sample plan that the experiment is judged by."),
    ("ErrorDetail", "message"): Meaning("What is wrong with the field.", "must be at most 100"),
    ("HealthCheck", "status"): Meaning(
        "`alarm` where results are not reliable, `warning` where one should look."
    ),
    ("HealthCheck", "message"): Meaning(
        "What was found, and what to do.", "12,360 and 12,360 visitors are as planned."
    ),
    ("GoalSummary", "status"): Meaning("Whether the leading variant won, lost, or nothing is decided."),
    ("VariantResult", "status"): Meaning("Whether the variant won, lost, or nothing is decided."),
    ("Unadjusted", "status"): Meaning("What the status would be without CUPED."),
    ("WebhookInput", "description"): Meaning("What it is for, in words."),
    ("ExperimentDetail", "trigger"): Meaning(
        "When a visitor on the page is exposed: at once, or after an action."
    ),
    ("ExperimentInput", "trigger"): Meaning(
        "When a visitor on the page is exposed: at once, or after an action."
    ),
    ("ExperimentChanges", "trigger"): Meaning(
        "When a visitor on the page is exposed: at once, or after an action."
    ),
    (
        "ExperimentDetail",
        "type",
    ): Meaning("`visual` changes, `redirect`, or `personalization` for all who are eligible."),
    (
        "ExperimentInput",
        "type",
    ): Meaning("`visual` changes, `redirect`, or `personalization` for all who are eligible."),
    (
        "ExperimentChanges",
        "type",
    ): Meaning("`visual` changes, `redirect`, or `personalization` for all who are eligible."),
    (
        "TrackedEvent",
        "late",
    ): Meaning("Whether the page was seen before the script came; not counted then."),
    ("TrackedEvent", "type"): Meaning("Kind of event."),
    ("TrackedEvent", "value"): Meaning("Amount of the event, for goals that measure values.", 49.9),
    ("UrlRule", "type"): Meaning("`include` or `exclude`."),
    ("SegmentResult", "value"): Meaning("The value that visitors of the segment have.", "AT"),
    ("SegmentSplit", "value"): Meaning("The value that visitors of the segment have.", "AT"),
    ("Results", "goals"): Meaning("The goals, in short."),
    ("Segments", "goals"): Meaning("Results of every segment, by goal."),
    ("WinnersTogether", "variants"): Meaning("Number of variants that were recommended to ship.", 3),
    ("Summary", "variants"): Meaning("Results of each variant on the primary goal."),
    ("Conversion", "kind"): Meaning("Conversion, order or refund."),
    ("CustomDimension", "key"): Meaning("Key of the dimension in `attributes`."),
}

# Every text of this module, for what has no room for them.
TEXTS: Final = frozenset(one.text for one in (*MEANINGS.values(), *EXCEPTIONS.values()))


def explain_fields(document: dict[str, Any]) -> None:
    """Describe the fields and parameters of an OpenAPI document that say nothing of themselves.

    A field with a description of its own may have the example of its name.
    """
    for schema_name, schema in document["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            for found in (EXCEPTIONS.get((schema_name, name)), MEANINGS.get(name)):
                if found:
                    field.setdefault("description", found.text)
                if found and found.example is not None and not _is_open(field):
                    field.setdefault("examples", [found.example])
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if found := MEANINGS.get(parameter["name"]):
                    parameter.setdefault("description", found.text)


def _is_open(field: dict[str, Any]) -> bool:
    """Tell whether the field is of another kind than its name: a component, or a choice."""
    return any(f'"{word}"' in json.dumps(field) for word in ("$ref", "enum", "const"))
