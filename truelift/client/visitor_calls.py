"""Calls about a visitor: decisions, exposures and events. None of them waits for a request."""

import logging
import math
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from engine.design.units import unit_attribute, unit_id
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from pipeline.events.schema import MAX_URL_LENGTH
from truelift.client.decisions import DecidedVariants, Decision, decision_of
from truelift.client.exchanges import Delivery, Polling
from truelift.client.outbox import CAPACITY, Outbox

logger: Final = logging.getLogger("truelift.client")

DEFAULT_REVENUE_EVENT: Final = "purchase"


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
        self._decided = DecidedVariants()

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
        """Return whether an experiment of this test key or id is running or paused, as far as is known."""
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
        assigned: Mapping[str, str] | None = None,
        forced: str | None = None,
    ) -> Decision:
        """Decide the variant of a visitor in an experiment, by its test key or id, and count nobody.

        `attributes` are those of targeting and segments, and `url` is the page; an experiment that is bound
        to pages takes part without one. `assigned` maps experiment ids to the variant ids that the visitor
        was given before, as a cookie of yours may tell; what this process has decided is remembered. `forced`
        is the id or name of a variant, for a preview. An experiment of users or accounts takes their ids from
        `user_id` or `attributes`. InvalidAttributesError for nested attributes.
        """
        configuration = self._polling.configuration
        if configuration is None:
            reason = "the experiments are not known yet"
            return Decision(test_key=test_key, visitor_id=visitor_id, status="excluded", reason=reason)
        experiment = configuration.experiments.get(test_key)
        if experiment is None:
            reason = f"the project has no running or paused experiment {test_key!r}"
            return Decision(test_key=test_key, visitor_id=visitor_id, status="excluded", reason=reason)
        visitor = Visitor(
            visitor_id=visitor_id,
            user_id=user_id,
            url=url,
            attributes=attributes or {},
            client=UNKNOWN_CLIENT,
        )
        unit = unit_id(experiment.unit, visitor_id=visitor_id, user_id=user_id, attributes=visitor.attributes)
        own = self._decided.of_visitor(experiment.id, unit, visitor_id)
        remembered = own or self._decided.of_unit(experiment.id, unit)
        stored = dict(assigned or {})
        if remembered is not None:
            stored.setdefault(experiment.id, remembered.variant_id)
        decided = configuration.decide(
            experiment,
            visitor,
            now=datetime.now(UTC),
            stored=stored,
            inherited=() if own or remembered is None else (experiment.id,),
            forced={} if forced is None else {experiment.id: forced},
        )
        if decided is None:
            reason = f"the experiment is {experiment.status}"
            return Decision(test_key=test_key, visitor_id=visitor_id, status="excluded", reason=reason)
        decision = decision_of(decided, visitor_id, unit)
        self._decided.remember(decision)
        return decision

    def variant(  # noqa: PLR0913  # as `decide`
        self,
        test_key: str,
        visitor_id: str,
        *,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        assigned: Mapping[str, str] | None = None,
        forced: str | None = None,
    ) -> str | None:
        """Return the name of the visitor's variant and record the exposure; None for the original.

        Takes what `decide` takes. Call it where the visitor gets to see the difference, not before.
        """
        decision = self.decide(
            test_key,
            visitor_id,
            user_id=user_id,
            url=url,
            attributes=attributes,
            assigned=assigned,
            forced=forced,
        )
        self.expose(decision, user_id=user_id, url=url, attributes=attributes)
        return decision.variant

    def expose(
        self,
        decision: Decision,
        *,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that a visitor saw the variant of a decision: once in this process, and no forced one.

        The id of the unit goes with it, also where the call does not name it.
        """
        if decision.experiment_id is None or decision.variant_id is None or decision.status == "forced":
            return
        decided = self._decided.of_decision(decision)
        if decided is not None and decided.is_exposed and decided.variant_id == decision.variant_id:
            return
        is_kept = self._send(
            "exposure",
            decision.visitor_id,
            experiment_id=decision.experiment_id,
            variant_id=decision.variant_id,
            url=url,
            **self._with_unit(decision, user_id, attributes),
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

    def _with_unit(
        self, decision: Decision, user_id: str | None, attributes: Mapping[str, Any] | None
    ) -> dict[str, object]:
        """Return the user and the attributes of an exposure, with the id of the decision's unit."""
        configuration = self._polling.configuration
        known = {} if configuration is None else configuration.experiments
        experiment = known.get(decision.experiment_id or "")
        if experiment is None or decision.unit_id is None:
            return {"user_id": user_id, "attributes": attributes}
        if (key := unit_attribute(experiment.unit)) is None:
            return {"user_id": user_id or decision.unit_id, "attributes": attributes}
        return {"user_id": user_id, "attributes": {key: decision.unit_id, **(attributes or {})}}

    def _wake(self) -> None:
        """Tell what sends that an event waits."""
        raise NotImplementedError


def timestamp_now() -> str:
    """Return the time as events state it, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
