"""The official providers of the OpenFeature Remote Evaluation Protocol against the service."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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

# What a browser runs, in Node, which has `fetch`, too.
BROWSER = Path(__file__).parents[3] / "api" / "sdk" / "browser"
WEB = """
import { OpenFeature } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
const [baseUrl, key] = process.argv.slice(1);
const provider = new OFREPWebProvider({ baseUrl, headers: [["X-API-Key", key]], pollInterval: -1 });
const seen = [];
await OpenFeature.setContext({ targetingKey: "visitor-0", plan: "pro" });
await OpenFeature.setProviderAndWait(provider);
const client = OpenFeature.getClient();
for (let number = 0; number < 10; number += 1) {
  await OpenFeature.setContext({ targetingKey: `visitor-${number}`, plan: "pro" });
  const { value, variant, reason, errorCode } = client.getBooleanDetails("checkout-button", false);
  seen.push({ value, variant, reason, errorCode });
}
const { errorCode } = client.getBooleanDetails("unknown", true);
console.log(JSON.stringify({ seen, unknown: errorCode }));
process.exit(0);
"""


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"))
    app = create_app(settings)
    with served(app, settings) as client:
        yield a_customer(client, app.state.services)


@pytest.fixture(scope="module")
def sdk_key(customer: Customer) -> str:
    """The public key of a project with a running experiment."""
    project = customer.a_project()
    customer.post(f"{customer.an_experiment(project)}/start")
    key: str = customer.data_of(f"{project}/installation")["api_key"]
    return key


@pytest.fixture
def flags(customer: Customer, sdk_key: str) -> Iterator[OpenFeatureClient]:
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


def test_the_web_provider_shows_what_the_service_decides(
    customer: Customer, sdk_key: str, flags: OpenFeatureClient
) -> None:
    assert (BROWSER / "node_modules").is_dir(), "needs the packages of the script: make snippet-tools"
    command = [str(Path(sys.executable).with_name("node")), "--input-type=module", "--eval", WEB]
    ran = subprocess.run(
        [*command, str(customer.client.base_url).rstrip("/"), sdk_key],
        cwd=BROWSER,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shown = json.loads(ran.stdout)
    assert shown["unknown"] == "FLAG_NOT_FOUND"
    for number, seen in enumerate(shown["seen"]):
        decided = flags.get_boolean_details("checkout-button", False, EvaluationContext(f"visitor-{number}"))
        assert seen == {"value": decided.value, "variant": decided.variant, "reason": "SPLIT"}
