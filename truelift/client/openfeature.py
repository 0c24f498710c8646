"""OpenFeature provider: experiments as feature flags, evaluated on the machine itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, ProviderNotReadyError
from openfeature.flag_evaluation import FlagEvaluationDetails, FlagResolutionDetails, FlagValueType, Reason
from openfeature.hook import Hook, HookContext, HookHints
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from engine.design.payloads import payload_type
from engine.validation.sent_ids import id_text
from pipeline.events.attributes import InvalidAttributesError
from truelift.client.client import Client
from truelift.client.decisions import Decision
from truelift.client.visitor_calls import UNCOUNTED

START_SECONDS: Final = 5.0
# Attributes of the evaluation context that are no attributes of the visitor.
_USER_ID: Final = "user_id"
_URL: Final = "url"
_REASONS: Final[Mapping[str, Reason]] = {
    "new": Reason.SPLIT,
    "existing": Reason.SPLIT,
    "forced": Reason.TARGETING_MATCH,
    "excluded": Reason.DEFAULT,
    "rollout": Reason.TARGETING_MATCH,
}
Value = TypeVar("Value")


class TrueliftProvider(AbstractProvider):
    """Flags by test key: the payload of the variant, by its type.

    Without payloads a boolean is whether the variant is no control, a string its name, and an object has
    `variant`, `changes` and `redirect_url`. The targeting key is the visitor id; `user_id` and `url` of the
    context are those of the visitor, every other attribute is one of targeting and segments. A visitor who
    takes no part, or whose variant alone has no payload, gets the default value. Evaluation records the
    exposure, once.
    """

    def __init__(self, client: Client, *, start_seconds: float = START_SECONDS) -> None:
        """Take a client, which `shutdown` closes; `initialize` waits `start_seconds` for the experiments."""
        super().__init__()
        self._client = client
        self._start_seconds = start_seconds

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="truelift")

    def initialize(self, evaluation_context: EvaluationContext) -> None:  # noqa: ARG002 - the interface's
        """Wait until the experiments are known; ProviderNotReadyError."""
        if not self._client.wait_until_ready(self._start_seconds):
            raise ProviderNotReadyError(f"no experiments within {self._start_seconds:g} seconds")

    def shutdown(self) -> None:
        """Send what waits, and close the client."""
        self._client.close()

    def get_provider_hooks(self) -> list[Hook]:
        """Return the hook that records exposures."""
        return [_Exposures(self._client)]

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Record an event of the visitor of the context; without a targeting key there is none."""
        if evaluation_context is None or not evaluation_context.targeting_key:
            return
        details = tracking_event_details or TrackingEventDetails()
        arguments = _visitor_of(evaluation_context)
        attributes = {**arguments.pop("attributes"), **details.attributes}
        self._client.track(
            evaluation_context.targeting_key,
            tracking_event_name,
            value=details.value,
            attributes=_plain(attributes),
            **arguments,
        )

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,  # noqa: FBT001 - the interface's
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Return the payload, or whether the visitor has another variant than the control."""
        return self._resolve("boolean", flag_key, default_value, evaluation_context)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Return the payload, or the name of the variant."""
        return self._resolve("string", flag_key, default_value, evaluation_context)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """Return the payload, an object or a list; or the variant's name, changes and redirect."""
        return self._resolve("object", flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Return the payload, a whole number."""
        return self._resolve("integer", flag_key, default_value, evaluation_context)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Return the payload, a number."""
        return self._resolve("number", flag_key, default_value, evaluation_context)

    def _resolve(
        self,
        kind: str,
        flag_key: str,
        default: Any,  # noqa: ANN401 - of that kind
        context: EvaluationContext | None,
    ) -> FlagResolutionDetails[Any]:
        """Evaluate a flag as a value of a kind of `_VALUES`."""
        decision = self._decide(flag_key, context)
        if not isinstance(decision, Decision):
            return FlagResolutionDetails(default, *decision)
        if decision.has_payloads and decision.payload is None:
            return _details(decision, default, default)
        value = _VALUES[kind](decision)
        if value is None:
            message = f"the value of {flag_key!r} is no {kind}"
            return FlagResolutionDetails(default, ErrorCode.TYPE_MISMATCH, message, Reason.ERROR)
        return _details(decision, default, value)

    def _decide(
        self, flag_key: str, context: EvaluationContext | None
    ) -> Decision | tuple[ErrorCode, str, Reason]:
        """Decide on a flag; or else the error as OpenFeature says it."""
        if not self._client.is_ready:
            return ErrorCode.PROVIDER_NOT_READY, "the experiments are not known yet", Reason.ERROR
        if not self._client.has_experiment(flag_key):
            return (
                ErrorCode.FLAG_NOT_FOUND,
                f"no running, paused or shipped experiment {flag_key!r}",
                Reason.ERROR,
            )
        if context is None or not context.targeting_key:
            return ErrorCode.TARGETING_KEY_MISSING, "the targeting key is the visitor id", Reason.ERROR
        try:
            return self._client.decide(flag_key, context.targeting_key, **_visitor_of(context))
        except InvalidAttributesError as error:
            return ErrorCode.INVALID_CONTEXT, str(error), Reason.ERROR


class _Exposures(Hook):
    """Records that the visitor saw the variant that the evaluation gave."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def after(
        self,
        hook_context: HookContext,
        details: FlagEvaluationDetails[FlagValueType],
        hints: HookHints,  # noqa: ARG002 - the interface's
    ) -> None:
        experiment_id = details.flag_metadata.get("experiment_id")
        context = hook_context.evaluation_context
        if not isinstance(experiment_id, str) or not context.targeting_key:
            return
        variant_id, unit = details.flag_metadata["variant_id"], details.flag_metadata.get("unit_id")
        self._client.expose(
            Decision(
                test_key=hook_context.flag_key,
                visitor_id=context.targeting_key,
                status="new",
                reason=str(details.reason),
                experiment_id=experiment_id,
                variant_id=str(variant_id),
                unit_id=None if unit is None else str(unit),
            ),
            **_visitor_of(context),
        )


def _details(decision: Decision, default: Value, value: Value) -> FlagResolutionDetails[Value]:
    reason = _REASONS[decision.status]
    if decision.variant is None:
        return FlagResolutionDetails(default, reason=reason, flag_metadata={"explanation": decision.reason})
    metadata = {"variant_id": decision.variant_id or ""}
    if decision.status not in UNCOUNTED:
        # By which the exposure is recorded.
        metadata["experiment_id"] = decision.experiment_id or ""
    if decision.unit_id is not None:
        metadata["unit_id"] = decision.unit_id
    return FlagResolutionDetails(value, reason=reason, variant=decision.variant, flag_metadata=metadata)


def _boolean_of(decision: Decision) -> bool | None:
    if not decision.has_payloads:
        return not decision.is_control
    return decision.payload if isinstance(decision.payload, bool) else None


def _string_of(decision: Decision) -> str | None:
    if not decision.has_payloads:
        return decision.variant or ""
    return decision.payload if isinstance(decision.payload, str) else None


def _number_of(decision: Decision) -> float | None:
    return float(decision.payload) if payload_type(decision.payload) == "number" else None


def _integer_of(decision: Decision) -> int | None:
    number = _number_of(decision)
    return int(number) if number is not None and number.is_integer() else None


def _object_of(decision: Decision) -> Sequence[FlagValueType] | Mapping[str, FlagValueType] | None:
    if decision.has_payloads:
        return decision.payload if isinstance(decision.payload, dict | list) else None
    changes = [
        {"selector": one.selector, "action": one.action, "value": one.value} for one in decision.changes
    ]
    return {
        "variant": decision.variant or "",
        "changes": changes,
        "redirect_url": decision.redirect_url or "",
    }


# None where the flag has no value of that kind.
_VALUES: Final[Mapping[str, Callable[[Decision], Any]]] = {
    "boolean": _boolean_of,
    "string": _string_of,
    "object": _object_of,
    "integer": _integer_of,
    "number": _number_of,
}


def _visitor_of(context: EvaluationContext) -> dict[str, Any]:
    """Return the arguments of a call about the visitor of a context, besides the visitor id."""
    attributes = dict(context.attributes)
    user_id, url = attributes.pop(_USER_ID, None), attributes.pop(_URL, None)
    return {
        "user_id": user_id if isinstance(user_id, str) else id_text(user_id),
        "url": url if isinstance(url, str) else None,
        "attributes": _plain(attributes),
    }


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON can say of the attributes of a context, which may hold times."""
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in attributes.items()
    }
