"""The OpenFeature provider, through the official SDK."""

from collections.abc import Iterator
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, ProviderNotReadyError
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from tests.api.customers import Customer
from tests.truelift.client.conftest import RunningExperiment, running_experiment
from truelift.client.client import Client
from truelift.client.openfeature import TrueliftProvider


@pytest.fixture
def client(experiment: RunningExperiment) -> Iterator[Client]:
    client = Client(experiment.url, **experiment.connection)
    api.set_provider_and_wait(TrueliftProvider(client, start_seconds=60))
    yield client
    api.clear_providers()


@pytest.fixture
def flags(client: Client) -> OpenFeatureClient:
    assert client.is_ready
    return api.get_client()


def of(visitor_id: str, **attributes: str) -> EvaluationContext:
    return EvaluationContext(visitor_id, attributes)


def test_a_flag_is_the_variant_in_each_type(
    flags: OpenFeatureClient, client: Client, experiment: RunningExperiment
) -> None:
    names = set()
    for number in range(20):
        visitor = of(f"visitor-{number}")
        decision = client.decide(experiment.test_key, f"visitor-{number}")
        name = flags.get_string_value(experiment.test_key, "none", visitor)
        assert name == decision.variant
        assert flags.get_boolean_value(experiment.test_key, False, visitor) is (name == "Treatment")
        shown = flags.get_object_value(experiment.test_key, {}, visitor)
        assert isinstance(shown, dict)
        assert shown["variant"] == name
        assert bool(shown["changes"]) is (name == "Treatment")
        names.add(name)
    assert names == {"Control", "Treatment"}


@pytest.mark.parametrize(
    ("payload", "kind", "default"),
    [
        (True, "boolean", False),
        ("Buy", "string", "none"),
        (3, "integer", 7),
        (3, "float", 0.5),
        (9.5, "float", 0.5),
        ({"columns": 3}, "object", {}),
        (["a"], "object", []),
    ],
)
def test_a_payload_is_the_value_of_its_type_and_no_other(
    client: Client, experiment: RunningExperiment, payload: object, kind: str, default: Any
) -> None:
    variants = [{"name": "Control"}, {"name": "Treatment", "payload": payload}]
    served = running_experiment(experiment.customer, public_variants=True, variants=variants)
    own = Client(served.url, **served.connection)
    api.set_provider_and_wait(TrueliftProvider(own, start_seconds=60))
    flags = api.get_client()
    seen = {}
    for number in range(12):
        visitor = of(f"visitor-{number}")
        details = getattr(flags, f"get_{kind}_details")(served.test_key, default, visitor)
        assert (details.error_code, details.reason) == (None, Reason.SPLIT)
        seen[details.variant] = details.value
        other = flags.get_string_details(served.test_key, "none", visitor)
        if kind != "string":
            is_mismatch = details.variant == "Treatment"
            assert (other.error_code == ErrorCode.TYPE_MISMATCH) is is_mismatch
            assert other.value == "none"
    assert seen == {"Control": default, "Treatment": payload}
    # An exposure of each visitor, whatever was evaluated.
    assert own.unsent == 12


def test_an_evaluation_is_one_exposure_and_track_is_an_event(
    flags: OpenFeatureClient, client: Client, experiment: RunningExperiment
) -> None:
    for _ in range(3):
        flags.get_boolean_value(experiment.test_key, False, of("v1"))
    flags.track("purchase", of("v1"), TrackingEventDetails(value=3.5, attributes={"plan": "pro"}))
    flags.track("purchase", EvaluationContext())
    assert client.flush(60)
    assert sum(experiment.counted().values()) == 1
    assert sum(experiment.counted("conversions").values()) == 1


def test_a_user_by_text_or_number_is_one_user_with_one_exposure(customer: Customer) -> None:
    experiment = running_experiment(customer, unit="user")
    client = Client(experiment.url, **experiment.connection)
    api.set_provider_and_wait(TrueliftProvider(client, start_seconds=60))
    flags = api.get_client()
    named = [
        flags.get_string_value(experiment.test_key, "none", EvaluationContext("v1", {"user_id": user}))
        for user in ("12", 12, 12)
    ]
    assert len(set(named)) == 1
    assert named[0] != "none"
    assert client.unsent == 1
    without = flags.get_string_details(experiment.test_key, "none", of("v1"))
    assert (without.value, without.flag_metadata["explanation"]) == ("none", "no_unit")
    api.clear_providers()


def test_reasons_say_why(flags: OpenFeatureClient, client: Client, experiment: RunningExperiment) -> None:
    first = flags.get_string_details(experiment.test_key, "none", of("v1"))
    again = flags.get_string_details(experiment.test_key, "none", of("v1"))
    elsewhere = of("v2", url="https://shop.example/other")
    outside = flags.get_string_details(experiment.test_key, "none", elsewhere)
    assert first.reason == again.reason == Reason.SPLIT
    assert (outside.reason, outside.value, outside.error_code) == (Reason.DEFAULT, "none", None)
    assert outside.flag_metadata["explanation"] == "the experiment is not on this page"
    assert client.unsent <= 1


def test_errors_are_those_of_the_standard(flags: OpenFeatureClient, experiment: RunningExperiment) -> None:
    key = experiment.test_key
    nested = EvaluationContext("v1", {"cart": {"items": 3}})
    for details, code in (
        (flags.get_boolean_details("unknown", True, of("v1")), ErrorCode.FLAG_NOT_FOUND),
        (flags.get_boolean_details(key, True), ErrorCode.TARGETING_KEY_MISSING),
        (flags.get_boolean_details(key, True, nested), ErrorCode.INVALID_CONTEXT),
    ):
        assert (details.error_code, details.value, details.reason) == (code, True, Reason.ERROR)
    assert flags.get_integer_details(key, 7, of("v1")).error_code == ErrorCode.TYPE_MISMATCH
    assert flags.get_float_details(key, 0.5, of("v1")).value == 0.5


def test_a_provider_without_a_service_is_not_ready(experiment: RunningExperiment) -> None:
    provider = TrueliftProvider(Client("http://127.0.0.1:9", **experiment.connection), start_seconds=0.01)
    try:
        with pytest.raises(ProviderNotReadyError, match="no experiments within"):
            api.set_provider_and_wait(provider)
        details = api.get_client().get_boolean_details(experiment.test_key, True, of("v1"))
        assert (details.error_code, details.value) == (ErrorCode.PROVIDER_NOT_READY, True)
    finally:
        api.clear_providers()
