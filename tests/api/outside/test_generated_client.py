"""A client generated from the OpenAPI document runs a test from its draft to its result."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from tests.api.customers import Customer
from tests.api.request_bodies import CONTROL, PURCHASE, TREATMENT

pytestmark = pytest.mark.slow
PACKAGE = "customers_client"
VISITORS = 6

Part = Callable[[str], Any]


@pytest.fixture(scope="module")
def part(client: httpx2.Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Part]:
    """Import a module of the client, which is generated from what the service serves."""
    folder = tmp_path_factory.mktemp("client")
    description = folder / "openapi.json"
    description.write_bytes(client.get("/openapi.json").content)
    generate_into(folder / PACKAGE, description)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")


def generate_into(package: Path, description: Path) -> None:
    """Generate a client without a complaint: a warning means that something is left out of it."""
    # The generator knows files as application/octet-stream only, and scripts as text only.
    files = dict.fromkeys(("text/csv", "application/vnd.apache.parquet"), "application/octet-stream")
    files["application/javascript"] = "text/plain"
    named = ConfigFile(package_name_override=PACKAGE, post_hooks=[], content_type_overrides=files)
    config = Config.from_sources(
        named, MetaType.NONE, description, "utf-8", overwrite=False, output_path=package
    )
    assert generate(config=config) == []


@pytest.fixture
def account(part: Part, customer: Customer) -> Iterator[Any]:
    """The generated client of a customer; an answer that is not described raises."""
    with part("client").AuthenticatedClient(
        base_url=str(customer.client.base_url), token=customer.token, raise_on_unexpected_status=True
    ) as opened:
        yield opened


@pytest.mark.long(seconds=6)
def test_generated_client_runs_a_test_from_draft_to_result(part: Part, account: Any) -> None:
    models = part("models")
    new_project = models.ProjectInput(name="Shop", url="https://shop.example")
    project = part("api.projects.create_project").sync(client=account, body=new_project).data
    draft = models.ExperimentInput.from_dict(
        {"name": "Checkout", "variants": [CONTROL, TREATMENT], "goals": [PURCHASE]}
    )
    created = part("api.experiments.create_experiment").sync(project.id, client=account, body=draft).data
    arguments = {"project_id": project.id, "id": created.id, "client": account}
    running = part("api.experiments.start_experiment").sync(**arguments).data
    assert running.status == "running"

    events = [event for number in range(VISITORS) for event in visit(number, running)]
    batch = models.TrackBatch.from_dict({"batch": events, "project_id": project.id})
    tracked = part("api.sdk.track_events").sync(client=account, body=batch)
    assert (tracked.accepted, tracked.rejected) == (len(events), 0)

    results = part("api.results.get_results").sync(**arguments).data
    control, treatment = results.variants[running.goals[0].id]
    assert (control.visitors, control.conversions) == (VISITORS // 2, 0)
    assert (treatment.visitors, treatment.conversions) == (VISITORS // 2, VISITORS // 2)
    assert results.decision_summary.recommendation == "insufficient_data"


def visit(number: int, running: Any) -> list[dict[str, Any]]:
    """What one visitor does: every other one sees the treatment, and buys."""
    variant = running.variants[number % 2]
    visitor = {"visitor_id": f"visitor-{number}"}
    shown = {"type": "exposure", "experiment_id": running.id, "variant_id": variant.id}
    bought = {"type": "custom_event", "event_name": "purchase"}
    return [
        {**visitor, **event, "event_id": f"{event['type']}-{number}"}
        for event in ([shown] if variant.is_control else [shown, bought])
    ]


def test_generated_client_tells_errors_by_their_code(part: Part, account: Any) -> None:
    get_project = part("api.projects.get_project")
    answer = get_project.sync_detailed("prj_nowhere", client=account)
    assert (answer.status_code, answer.parsed.error.code) == (404, "not_found")
