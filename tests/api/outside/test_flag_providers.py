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
from tests.pasted_lines import ROOT, blocks

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
const typed = {
  price: client.getNumberDetails("price", 1),
  label: client.getStringDetails("label", "none"),
  layout: client.getObjectDetails("layout", {}),
  missing: client.getStringDetails("missing", "mine"),
};
console.log(JSON.stringify({ seen, unknown: errorCode, typed }));
process.exit(0);
"""

PAYLOADS = {"price": 10, "label": "Buy", "layout": {"columns": [3, 4]}, "missing": None, "count": 4}
# The other variant of a price has a fraction, and that of the flag without a value has one for nobody.
OTHER = {"price": 10.0, "missing": "never"}


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
    for name, payload in PAYLOADS.items():
        other = {"payload": OTHER.get(name, payload), "weight": 0 if name == "missing" else 1}
        variants = [{"name": "V0", "payload": payload}, {"name": "V1", **other}]
        path = customer.an_experiment(project, name=name, public_variants=True, variants=variants)
        customer.post(f"{path}/start")
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


def test_a_payload_is_the_value_of_its_type(flags: OpenFeatureClient) -> None:
    visitor = EvaluationContext("visitor-1")
    assert flags.get_float_value("price", 1.0, visitor) == 10.0
    assert flags.get_integer_value("count", 1, visitor) == 4
    assert flags.get_string_value("label", "none", visitor) == "Buy"
    assert flags.get_object_value("layout", {}, visitor) == {"columns": [3, 4]}
    left = flags.get_string_details("missing", "mine", visitor)
    assert (left.value, left.error_code, left.variant) == ("mine", None, "V0")
    wrong = flags.get_boolean_details("label", False, visitor)
    assert (wrong.value, wrong.error_code) == (False, ErrorCode.TYPE_MISMATCH)


def test_the_example_of_the_documents_runs(customer: Customer, capsys: pytest.CaptureFixture[str]) -> None:
    (_, provider), (_, body), (_, evaluation), *_ = blocks(ROOT / "docs" / "openfeature.md")
    project = customer.a_project()
    created = customer.post(f"{project}/experiments", json.loads(body)).json()["data"]
    customer.post(f"{project}/experiments/{created['id']}/start")
    key = customer.data_of(f"{project}/installation")["api_key"]
    pasted = provider.replace("https://ab.shop.example", str(customer.client.base_url)).replace("pk_…", key)
    exec(pasted + evaluation, {})  # noqa: S102 - the lines of the document
    api.clear_providers()
    assert capsys.readouterr().out in {"Two columns 2 SPLIT\n", "Three columns 3 SPLIT\n"}


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
    assert {name: one["value"] for name, one in shown["typed"].items()} == {
        **{name: PAYLOADS[name] for name in ("price", "label", "layout")},
        "missing": "mine",
    }
    assert not any("errorCode" in one for one in shown["typed"].values())
    for number, seen in enumerate(shown["seen"]):
        decided = flags.get_boolean_details("checkout-button", False, EvaluationContext(f"visitor-{number}"))
        assert seen == {"value": decided.value, "variant": decided.variant, "reason": "SPLIT"}
