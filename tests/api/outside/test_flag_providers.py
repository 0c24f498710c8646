"""The official providers of the OpenFeature Remote Evaluation Protocol against the service."""

from collections.abc import Iterator

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.serving import served


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"))
    app = create_app(settings)
    with served(app, settings) as client:
        yield a_customer(client, app.state.services)


@pytest.fixture
def flags(customer: Customer) -> Iterator[OpenFeatureClient]:
    project = customer.a_project()
    customer.post(f"{customer.an_experiment(project)}/start")
    sdk_key = customer.data_of(f"{project}/installation")["api_key"]
    address = str(customer.client.base_url)
    api.set_provider_and_wait(OFREPProvider(address, headers_factory=lambda: {"X-API-Key": sdk_key}))
    yield api.get_client()
    api.clear_providers()


def test_a_visitor_gets_one_variant_of_each_flag(flags: OpenFeatureClient) -> None:
    shown = set()
    for number in range(20):
        visitor = EvaluationContext(f"visitor-{number}", {"plan": "pro"})
        details = flags.get_boolean_details("checkout-button", False, visitor)
        assert details.error_code is None
        assert details.value is (details.variant == "Treatment")
        assert flags.get_boolean_details("checkout-button", False, visitor).variant == details.variant
        shown.add(details.variant)
    assert shown == {"Control", "Treatment"}


def test_errors_arrive_as_the_standard_names_them(flags: OpenFeatureClient) -> None:
    unknown = flags.get_boolean_details("unknown", True, EvaluationContext("v1"))
    assert (unknown.error_code, unknown.value) == (ErrorCode.FLAG_NOT_FOUND, True)
    nobody = flags.get_boolean_details("checkout-button", True)
    assert (nobody.error_code, nobody.value) == (ErrorCode.TARGETING_KEY_MISSING, True)
    text = flags.get_string_details("checkout-button", "none", EvaluationContext("v1"))
    assert (text.error_code, text.value) == (ErrorCode.TYPE_MISMATCH, "none")
