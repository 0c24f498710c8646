"""First variants that the service alone knows: questions and the meaning of answers, without any network."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from pipeline.assignment.targeting_attributes import Visitor
from truelift.client.back_off import BackOff
from truelift.client.exchanges import OK, UNUSABLE, Answer
from truelift.client.holdout_places import told_place

logger: Final = logging.getLogger("truelift.client")


class _Assignment(msgspec.Struct):
    experiment_id: str
    variant_id: str | None


class _Holdout(msgspec.Struct):
    holdout_id: str
    variant_id: str | None


class _Assignments(msgspec.Struct):
    assignments: list[_Assignment]
    holdout: _Holdout | None = None
    group_holdouts: list[_Holdout] = []


_decode: Final = msgspec.json.Decoder(_Assignments).decode
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class FirstVariants:
    """Questions about visitors, none of which is asked while the service has just failed to answer one."""

    longest_pause: float
    # Why the last question failed; None after one that did not.
    failure: str | None = None
    _not_before: float = 0.0
    _back_off: BackOff = field(default_factory=BackOff)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_ask(self, now: float) -> bool:
        """Return whether to ask at a time of a monotonic clock; after a failure, one caller at a time may."""
        with self._lock:
            if now < self._not_before:
                return False
            if self.failure is not None:
                self._not_before = now + self.longest_pause
            return True

    def body(self, visitor: Visitor) -> bytes:
        """Return the body that asks for the variants of a visitor."""
        names = ("visitor_id", "user_id", "url", "attributes")
        return _encode({name: getattr(visitor, name) for name in names})

    def take(self, answer: Answer, now: float) -> Mapping[str, str] | None:
        """Return the variant's id by experiment id, where there is one; None for an answer of no use.

        The place in each holdout is by its id.
        """
        if answer.status != OK:
            if answer.status not in UNUSABLE:
                # What is wrong with one visitor says nothing about the others.
                self.fail(str(answer), now, answer.headers)
            return None
        try:
            found = _decode(answer.content)
        except msgspec.MsgspecError as error:
            self.fail(f"the answer cannot be read: {error}", now)
            return None
        with self._lock:
            self.failure, self._not_before = None, 0.0
            self._back_off.after_success()
        variants = {
            one.experiment_id: one.variant_id for one in found.assignments if one.variant_id is not None
        }
        of_project = [] if found.holdout is None else [found.holdout]
        places = [*of_project, *found.group_holdouts]
        return {**variants, **{one.holdout_id: told_place(one.variant_id) for one in places}}

    def fail(self, reason: str, now: float, headers: Mapping[str, str] | None = None) -> None:
        """Take a failure: nothing is asked for a while."""
        with self._lock:
            if self.failure != reason:
                logger.warning(
                    "visitors whose variant depends on earlier weights, or on a holdout, take no part: the "
                    "service does not tell their first variants: %s",
                    reason,
                )
            self.failure = reason
            self._not_before = now + min(self._back_off.after_failure(headers), self.longest_pause)
