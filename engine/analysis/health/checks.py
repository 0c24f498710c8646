"""Health checks of an experiment's data, in the order of its report."""

import logging
from collections.abc import Callable
from datetime import datetime

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.influence import Influence
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.health.events import bots, freshness, goals_fire, sources_imported
from engine.analysis.health.group_overlap import group_overlap
from engine.analysis.health.identity_conflicts import identity_conflicts
from engine.analysis.health.implausible_lift import implausible_lift
from engine.analysis.health.interacting_tests import interacting_tests
from engine.analysis.health.late_visits import late_visits
from engine.analysis.health.measured_visitors import measured_visitors
from engine.analysis.health.novelty import novelty
from engine.analysis.health.one_visitor import one_visitor
from engine.analysis.health.other_currencies import other_currencies
from engine.analysis.health.power import underpowered
from engine.analysis.health.pre_period_balance import alike_before
from engine.analysis.health.revenue_concentration import revenue_concentration
from engine.analysis.health.sample_ratio import sample_ratio
from engine.analysis.health.segment_sample_ratio import sample_ratio_by_segment
from engine.analysis.health.senders import (
    bursts,
    custom_dimension_keys,
    refunds_above_orders,
    visitors_by_address,
)
from engine.analysis.health.several_units import several_units
from engine.analysis.health.several_variants import several_variants
from engine.analysis.health.unweighted_arms import unweighted_arms
from engine.analysis.health.weekdays import day_of_week_cover
from engine.analysis.results.report import HealthCheck
from engine.analysis.results.verdict_words import section_of
from engine.stats.arrays import BoolArray

logger = logging.getLogger(__name__)

CHECKS: tuple[Callable[[CheckInput], CheckResult], ...] = (
    sample_ratio,
    sample_ratio_by_segment,
    unweighted_arms,
    several_variants,
    several_units,
    identity_conflicts,
    group_overlap,
    measured_visitors,
    alike_before,
    bots,
    freshness,
    late_visits,
    goals_fire,
    underpowered,
    day_of_week_cover,
    novelty,
    implausible_lift,
    revenue_concentration,
    one_visitor,
    other_currencies,
    refunds_above_orders,
    bursts,
    visitors_by_address,
    custom_dimension_keys,
    sources_imported,
    interacting_tests,
)


def check_health(
    data: AnalysisData,
    now: datetime,
    *,
    is_decided: bool = False,
    influence: Influence | None = None,
    turns: BoolArray | None = None,
) -> tuple[HealthCheck, ...]:
    """Run every check, in the order of `CHECKS`; each is named as its function.

    `is_decided`, `influence` and `turns` are those of `CheckInput`. A check that raises is a warning, and
    hides no other.
    """
    check_input = CheckInput.of(data, now, is_decided=is_decided, influence=influence, turns=turns)
    results = [(check.__name__, _run(check, check_input)) for check in CHECKS]
    return tuple(
        [
            HealthCheck(
                check=name,
                status=result.status,
                message=result.message,
                details=dict(result.details),
                docs=section_of(name),
            )
            for name, result in results
        ]
    )


def _run(check: Callable[[CheckInput], CheckResult], check_input: CheckInput) -> CheckResult:
    try:
        return check(check_input)
    except Exception:
        logger.exception(
            "the health check %s of experiment %s failed", check.__name__, check_input.experiment.id
        )
        return CheckResult("warning", "This could not be checked. The error is in the log.", {})
