"""Jobs of webhooks: messages sent and tried again, and results that changed announced."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.project import Project
from pipeline.run_each import run_each
from pipeline.services import PipelineServices
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.webhooks.announced_results import ObservedResults
from pipeline.store.catalog.webhooks.webhook_records import Delivery, DisabledReason, Webhook
from pipeline.webhooks.channel_news import EVENTS_OF_RESULTS, message_about, states_of
from pipeline.webhooks.destinations import Destinations, Letter, Outcome

# The wait after each failed attempt; a message that is older than a day is given up.
WAITS: Final = (
    *(timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15)),
    *(timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2), timedelta(hours=4), timedelta(hours=6)),
    timedelta(hours=10),
)
TRIED_FOR: Final = timedelta(hours=24)
# Results of a completed experiment still change while late events come.
WATCHED_AFTER_END: Final = timedelta(days=7)
# Of one webhook, at once.
_MOST_DUE: Final = 200
# The next pass begins within five seconds, and finds what came meanwhile.
_WAIT_SECONDS: Final = 2.0
# The next message is begun by a later pass then, which reads the webhook again.
_LANE_SECONDS: Final = 5.0
# What a message says of a decision.
_ANNOUNCED: Final = (
    *("goal_id", "goal_name", "recommendation", "recommendation_label", "reason", "variant_name"),
    *("headline", "next_step"),
)

logger = logging.getLogger(__name__)


def deliver_messages(services: PipelineServices) -> None:
    """Send the messages that are due: to each webhook in their order, and to several of each account at once.

    Those to slow endpoints are still being sent at the end, and hold up no other account. ExceptionGroup of
    the failures that are none of the endpoints'.
    """
    if services.settings.held_webhooks_path.exists():
        return
    lanes, courier = services.lanes, _Courier(services)
    for account_id, webhook, due in services.catalog.deliveries.due(now=services.clock(), most=_MOST_DUE):
        work = partial(courier.deliver_all, account_id, webhook, due)
        lanes.begin(account_id, f"webhook {webhook.id}", work)
    run_each(lanes.ended(within=_WAIT_SECONDS))


def forget_old_deliveries(services: PipelineServices) -> None:
    """Delete the records of deliveries that ended long ago."""
    services.catalog.deliveries.delete_old(now=services.clock())


def announce_changed_results(services: PipelineServices) -> None:
    """Announce decisions that changed and alarms that began; ExceptionGroup of the failures."""
    catalog, now = services.catalog, services.clock()
    told = {
        *catalog.webhooks.projects_told_of(("experiment.decision", "experiment.health_alarm")),
        *catalog.notification_channels.projects_told_of(EVENTS_OF_RESULTS),
    }
    run_each(
        {
            f"experiment {one.id}": partial(_announce, services, one, project, now)
            for project in catalog.projects.all()
            if project.id in told
            for one in catalog.experiments.of_project(project.id, [*OPEN, "completed"])
            if one.completed_at is None or now - one.completed_at < WATCHED_AFTER_END
        }
    )


def next_attempt(delivery: Delivery, *, now: datetime) -> datetime | None:
    """Return when to try a message again whose attempt has just failed; None to give it up."""
    wait = WAITS[min(delivery.attempts, len(WAITS) - 1)]
    return now + wait if now + wait <= delivery.created_at + TRIED_FOR else None


class _Courier:
    """Deliveries of one pass."""

    def __init__(self, services: PipelineServices) -> None:
        self._clock = services.clock
        self._deliveries = services.catalog.deliveries
        self._destinations = Destinations(services)
        self._is_closing = services.lanes.is_closing

    def deliver_all(self, account_id: str, webhook: Webhook, deliveries: Sequence[Delivery]) -> None:
        """Send messages to one webhook until one fails, for a few seconds."""
        ends_at = monotonic() + _LANE_SECONDS
        for delivery in deliveries:
            is_delivered = self._deliver(Letter(account_id, webhook, delivery, self._clock()))
            if not is_delivered or self._is_closing.is_set() or monotonic() >= ends_at:
                return

    def _deliver(self, letter: Letter) -> bool:
        outcome = self._destinations.send(letter)
        if outcome.is_delivered:
            self._deliveries.note_success(
                letter.delivery, outcome.status, now=self._clock(), error=outcome.error
            )
        else:
            self._fail(letter.delivery, outcome)
        return outcome.is_delivered

    def _fail(self, delivery: Delivery, outcome: Outcome) -> None:
        now, error = self._clock(), outcome.error or ""
        again = None if outcome.is_gone else next_attempt(delivery, now=now)
        reason: DisabledReason | None = None
        if again is None:
            reason = "gone" if outcome.is_gone else "failing"
            logger.warning(
                "message %s of webhook %s is given up: %s", delivery.id, delivery.webhook_id, error
            )
        self._deliveries.note_failure(
            delivery,
            error=error,
            response_status=outcome.status,
            now=now,
            next_attempt_at=again,
            disable_as=reason,
            reached=outcome.reached,
        )


def _announce(services: PipelineServices, experiment: Experiment, project: Project, now: datetime) -> None:
    observed = observed_results(services.results.report(experiment, project, now=now), project)
    # One deleted meanwhile is no news.
    with suppress(NotFoundError):
        if observed is not None:
            services.catalog.announced_results.note(experiment, observed, now=now)


def observed_results(report: Report, project: Project) -> ObservedResults | None:
    """Return what is announced of a report; None without a goal."""
    goal = report.primary
    if goal is None:
        return None
    decision = goal.decision
    return ObservedResults(
        recommendation=decision.recommendation,
        decision={name: getattr(decision, name) for name in _ANNOUNCED},
        alarms={check.check: check.message for check in report.health if check.status == "alarm"},
        states=states_of(report),
        counted_at=report.as_of,
        message_of=partial(message_about, report, project),
    )
