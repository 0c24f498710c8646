"""Calls about a visitor: decisions, exposures and events."""

import logging
import math
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Unpack

from engine.design.experiment import Experiment
from engine.design.units import unit_attribute
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from pipeline.events.schema import MAX_URL_LENGTH
from truelift.client.assigned_variants import AssignedVariants
from truelift.client.decider import Assigned, Decider, Visit
from truelift.client.decisions import Decision
from truelift.client.exchanges import Delivery, Polling
from truelift.client.first_variants import FirstVariants
from truelift.client.outbox import CAPACITY, Outbox

logger: Final = logging.getLogger("truelift.client")

DEFAULT_REVENUE_EVENT: Final = "purchase"
# Variants that are no part of a test: of a preview, and of a rollout.
UNCOUNTED: Final = frozenset({"forced", "rollout"})


class VisitorCalls:
    """What the clients have in common; each of them carries out the exchanges in its own way."""

    def __init__(
        self,
        *,
        poll_seconds: float = 30.0,
        capacity: int = CAPACITY,
        on_rejected: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """Begin without a configuration and without events."""
        if not (math.isfinite(poll_seconds) and poll_seconds > 0):
            raise ValueError(f"poll_seconds must be above 0, not {poll_seconds}")
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._outbox = Outbox(capacity)
        self._polling = Polling(poll_seconds)
        self._delivery = Delivery(self._outbox, on_rejected)
        self._first_variants = FirstVariants(max(poll_seconds, 1.0))
        self._decider = Decider(self._polling, self._ask)

    @property
    def is_ready(self) -> bool:
        """Whether the experiments are known; until then every visitor sees the original."""
        return self._polling.configuration is not None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the project as the service gives them; empty until they are known."""
        configuration = self._polling.configuration
        return {} if configuration is None else configuration.settings

    @property
    def unsent(self) -> int:
        """Number of events that wait for the service's verdict."""
        return len(self._outbox)

    @property
    def refused(self) -> int:
        """Number of events that found the outbox full or closed, and are lost."""
        return self._outbox.refused

    def has_experiment(self, test_key: str) -> bool:
        """Return whether an experiment of this test key or id runs, is paused or shipped, as far as known."""
        configuration = self._polling.configuration
        return configuration is not None and test_key in configuration.experiments

    def decide(  # noqa: PLR0913  # what is known of the visitor, each with a default
        self,
        test_key: str,
        visitor_id: str,
        *,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        assigned: Assigned | None = None,
        forced: str | None = None,
    ) -> Decision:
        """Decide the variant of a visitor in an experiment, by its test key or id, and count nobody in it.

        `attributes` are those of targeting and segments, and `url` is the page; an experiment that is bound
        to pages takes part without one. `assigned` are the variants that the visitor was given before:
        `AssignedVariants` of the cookie, or variant ids by experiment id; what this process has decided is
        remembered. Where weights have changed and neither tells the variant, the service is asked once.
        `forced` is the id or name of a variant, for a preview. An experiment of users or accounts takes their
        ids from `user_id` or `attributes`. InvalidAttributesError for nested attributes.

        While a holdout is in force, the service is asked once about those who may be held out, and the first
        decision about what it covers counts the visitor in the holdout, whatever it says.
        """
        visitor = a_visitor(visitor_id, user_id, url, attributes)
        decision = self._decider.decide(test_key, visitor, assigned=assigned, forced=forced)
        exposures = () if forced is not None else self._decider.holdout_exposures(test_key, visitor)
        for holdout_id, variant_id in exposures:
            self._send(
                "exposure",
                visitor_id,
                experiment_id=holdout_id,
                variant_id=variant_id,
                user_id=user_id,
                url=url,
                attributes=attributes,
            )
        return decision

    def variant(self, test_key: str, visitor_id: str, **visit: Unpack[Visit]) -> str | None:
        """Return the name of the visitor's variant and record the exposure; None for the original.

        Takes what `decide` takes. Call it where the visitor gets to see the difference, not before.
        """
        return self._expose_decided(test_key, visitor_id, visit).variant

    def value(self, test_key: str, visitor_id: str, fallback: Any, **visit: Unpack[Visit]) -> Any:  # noqa: ANN401  # JSON
        """Return the payload of the visitor's variant and record the exposure; `fallback` where it has none.

        Takes what `decide` takes. A visitor who takes no part gets the fallback, too.
        """
        payload = self._expose_decided(test_key, visitor_id, visit).payload
        return fallback if payload is None else payload

    def _expose_decided(self, test_key: str, visitor_id: str, visit: Visit) -> Decision:
        decision = self.decide(test_key, visitor_id, **visit)
        self.expose(
            decision,
            user_id=visit.get("user_id"),
            url=visit.get("url"),
            attributes=visit.get("attributes"),
            assigned=visit.get("assigned"),
        )
        return decision

    def expose(
        self,
        decision: Decision,
        *,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        assigned: Assigned | None = None,
    ) -> None:
        """Record that a visitor saw the variant of a decision: once in this process, and no uncounted one.

        The id of the unit goes with it, also where the call does not name it. `AssignedVariants` keep it for
        the cookie.
        """
        if decision.experiment_id is None or decision.variant_id is None or decision.status in UNCOUNTED:
            return
        experiment = self._experiment(decision.experiment_id)
        if isinstance(assigned, AssignedVariants) and experiment is not None:
            assigned.keep(experiment, decision.unit_id, decision.variant_id)
        decided = self._decider.decided.of_decision(decision)
        if decided is not None and decided.is_exposed and decided.variant_id == decision.variant_id:
            return
        is_kept = self._send(
            "exposure",
            decision.visitor_id,
            experiment_id=decision.experiment_id,
            variant_id=decision.variant_id,
            url=url,
            **_with_unit(experiment, decision, user_id, attributes),
        )
        if decided is not None:
            decided.is_exposed = is_kept

    def track(  # noqa: PLR0913  # all but the visitor and the name have defaults
        self,
        visitor_id: str,
        event_name: str,
        *,
        value: float | None = None,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Record an event of a visitor, for goals of that name; `value` for goals that measure one."""
        self._send(
            "custom_event",
            visitor_id,
            user_id=user_id,
            event_name=event_name,
            value=value,
            url=url,
            attributes=attributes,
        )

    def pageview(self, visitor_id: str, url: str, *, user_id: str | None = None) -> None:
        """Record that a visitor saw a page, by its absolute URL."""
        self._send("pageview", visitor_id, user_id=user_id, url=url)

    def revenue(  # noqa: PLR0913  # all but the visitor and the amount have defaults
        self,
        visitor_id: str | None,
        revenue_cents: int,
        *,
        currency: str | None = None,
        transaction_id: str | None = None,
        event_name: str = DEFAULT_REVENUE_EVENT,
        user_id: str | None = None,
        is_refund: bool = False,
    ) -> None:
        """Record an order in minor units of its currency, by visitor or user.

        An order with the same `transaction_id` counts once. A refund is an amount above 0 too.
        """
        if visitor_id is None and user_id is None:
            raise ValueError("an order needs a visitor_id or a user_id")
        self._send(
            "conversion",
            visitor_id,
            user_id=user_id,
            event_name=event_name,
            revenue_cents=revenue_cents,
            currency=currency,
            transaction_id=transaction_id,
            kind="refund" if is_refund else "conversion",
        )

    def identify(self, visitor_id: str, user_id: str) -> None:
        """Record that a visitor is a user, so that all devices of the user count as one visitor."""
        self._send("identify", visitor_id, user_id=user_id)

    def _send(self, event_type: str, visitor_id: str | None, **fields: object) -> bool:
        """Put an event into the outbox, and return whether there was room."""
        url = fields.get("url")
        if isinstance(url, str):
            # Visitors can make addresses of any length.
            fields["url"] = url[:MAX_URL_LENGTH]
        event = {
            "event_id": uuid.uuid4().hex,
            "type": event_type,
            "visitor_id": visitor_id,
            "timestamp": timestamp_now(),
            **fields,
        }
        is_kept = self._outbox.add({name: value for name, value in event.items() if value is not None})
        if not is_kept and self._outbox.refused.bit_count() == 1:
            # At 1, 2, 4, 8 … lost events, so that a log does not drown in them.
            logger.error(
                "%d events are lost, as %s",
                self._outbox.refused,
                "the client is closed"
                if self._outbox.is_closed
                else f"{self._outbox.capacity} wait for the service",
            )
        self._wake()
        return is_kept

    def _experiment(self, experiment_id: str) -> Experiment | None:
        configuration = self._polling.configuration
        return None if configuration is None else configuration.experiments.get(experiment_id)

    def _ask(self, visitor: Visitor) -> Mapping[str, str] | None:
        """Ask the service for the variants of a visitor, by experiment id; None where it does not answer."""
        raise NotImplementedError

    def _wake(self) -> None:
        """Tell what sends that an event waits."""
        raise NotImplementedError


def timestamp_now() -> str:
    """Return the time as events state it, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def a_visitor(
    visitor_id: str, user_id: str | None, url: str | None, attributes: Mapping[str, Any] | None
) -> Visitor:
    """Describe a visitor of whom nothing but the arguments is known."""
    return Visitor(
        visitor_id=visitor_id,
        user_id=user_id,
        url=url,
        attributes=attributes or {},
        client=UNKNOWN_CLIENT,
    )


def _with_unit(
    experiment: Experiment | None,
    decision: Decision,
    user_id: str | None,
    attributes: Mapping[str, Any] | None,
) -> dict[str, object]:
    """Return the user and the attributes of an exposure, with the id of the decision's unit."""
    if experiment is None or decision.unit_id is None:
        return {"user_id": user_id, "attributes": attributes}
    if (key := unit_attribute(experiment.unit)) is None:
        return {"user_id": user_id or decision.unit_id, "attributes": attributes}
    return {"user_id": user_id, "attributes": {key: decision.unit_id, **(attributes or {})}}
