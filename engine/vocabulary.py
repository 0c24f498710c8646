"""Closed vocabularies of experiments, projects and segments."""

from typing import Literal, get_args

ExperimentType = Literal["redirect", "visual", "personalization"]
Status = Literal["draft", "scheduled", "running", "paused", "completed", "archived"]
LifecycleTrigger = Literal["start", "pause", "resume", "complete", "archive"]
# What is decided about an experiment that is over.
ConclusionDecision = Literal["ship", "keep_control", "inconclusive"]
# What a second member approves of.
ReviewPurpose = Literal["start", "ship"]
ReviewState = Literal["waiting", "approved", "changed", "withdrawn", "closed"]
# Whether a project requires reviews.
ReviewRule = Literal["required", "none"]
# What a ramp does where a variant harms a goal.
HarmAction = Literal["rollback", "pause", "tell"]
UrlMatchType = Literal["exact", "starts_with", "ends_with", "contains", "wildcard", "regex"]
UrlRuleType = Literal["include", "exclude"]
Trigger = Literal["direct", "manual", "element_visible", "click", "url_change", "callback"]
TrafficStrategy = Literal["fixed", "bandit"]
# Units of assignment besides the attributes that name one.
UnitWord = Literal["visitor", "user"]
AnalysisMethod = Literal["frequentist", "bayesian"]
GoalType = Literal["pageview", "click", "custom_event", "revenue", "ga4_event"]
SequentialMethod = Literal["none", "always_valid", "group_sequential"]
Correction = Literal["bonferroni", "holm", "dunnett"]
Alternative = Literal["two_sided", "one_sided"]
GuardrailRule = Literal["not_harmed", "non_inferior"]
Prior = Literal["flat", "pre_period", "lift"]
RevenuePer = Literal["visitor", "order"]
# What a ratio takes of the events of its numerator and denominator.
Summed = Literal["count", "value"]
# Whose values a quantile is of.
QuantileOf = Literal["visitor", "event"]
MetricUnit = Literal["share", "cents", "number"]
Direction = Literal["increase", "decrease"]
ChangeAction = Literal[
    "modify_text",
    "modify_html",
    "modify_attribute",
    "modify_style",
    "modify_class",
    "remove",
    "insert_before",
    "insert_after",
    "insert_inside",
    "replace",
]
Platform = Literal[
    "custom_js",
    "shopify",
    "woocommerce",
    "wordpress",
    "webflow",
    "wix",
    "squarespace",
    "framer",
    "gtm",
    "react",
    "nextjs",
]
# Who is asked what a visitor agrees to, in place of the page itself.
ConsentSource = Literal["google_consent_mode", "tcf"]
DeviceType = Literal["desktop", "mobile", "tablet"]
VisitorType = Literal["new", "returning"]
VisitorIdentity = Literal["identified", "anonymous"]
DayType = Literal["weekday", "weekend"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def words(vocabulary: object) -> tuple[str, ...]:
    """List the words of one of the literals above, in order."""
    return tuple(str(word) for word in get_args(vocabulary))
