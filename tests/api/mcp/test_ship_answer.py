"""The tool that answers whether to ship: the verdict as text, and a picture of the changes."""

from base64 import b64decode
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from api.mcp.ship_answer import NAME
from tests.api.customers import Customer
from tests.api.dashboard.test_experiments import send_visitors
from tests.api.mcp.assistants import Assistant
from tests.api.mcp.test_calls import ids_of

pytestmark = pytest.mark.anyio


async def asked(assistant: Assistant, **arguments: Any) -> CallToolResult:
    async with assistant.connected() as client:
        found = await client.call_tool(NAME, arguments)
    assert not found.is_error
    return found


async def test_the_verdict_is_that_of_the_results(
    assistant: Assistant, customer: Customer, experiment: str
) -> None:
    customer.post(f"{experiment}/start")
    send_visitors(customer, experiment, {0: (400, 20), 1: (200, 20)})
    decision = customer.data_of(f"{experiment}/results")["decision_summary"]
    words, picture = (await asked(assistant, **ids_of(experiment), picture=True)).content
    assert isinstance(words, TextContent)
    for part in ("recommendation_label", "next_step"):
        assert decision[part] in words.text
    # The checks that need a look, and the numbers.
    assert "sample ratio" in words.text.lower()
    assert "| 400 |" in words.text
    assert isinstance(picture, ImageContent)
    assert b64decode(picture.data).startswith(b"\x89PNG")
    assert picture.mime_type == "image/png"


async def test_an_experiment_without_visitors_is_answered_in_words(
    assistant: Assistant, experiment: str
) -> None:
    (words,) = (await asked(assistant, **ids_of(experiment))).content
    assert isinstance(words, TextContent)
    assert "visitors" in words.text


async def test_what_the_key_does_not_reach_is_refused(
    assistant: Assistant, customer: Customer, stranger: Customer, experiment: str
) -> None:
    await Assistant(stranger).fail(NAME, "not_found", **ids_of(experiment))
    await Assistant(customer.with_key("experiments:read")).fail(NAME, "forbidden", **ids_of(experiment))
    error = await assistant.fail(NAME, "validation_error", device_type="mobile")
    assert {detail["field"] for detail in error["details"]} == {"experiment", "device_type"}
    # A name finds nothing of others, and tells a key without the scope nothing.
    name = customer.data_of(experiment)["name"]
    await Assistant(stranger).fail(NAME, "not_found", experiment=name)
    await Assistant(customer.with_key("experiments:read")).fail(NAME, "forbidden", experiment=name)
    elsewhere = customer.a_project().rpartition("/")[2]
    await Assistant(customer.with_key(project_ids=(elsewhere,))).fail(NAME, "not_found", experiment=name)


async def test_an_experiment_is_named_as_people_name_it(
    assistant: Assistant, customer: Customer, project: str
) -> None:
    made = customer.data_of(customer.an_experiment(project, name="One-page  checkout"))
    customer.an_experiment(project, name="Checkout in two steps")
    other = customer.data_of(customer.an_experiment(project, name="One-page checkout, again"))
    for name in (made["id"], made["test_key"], "one-page CHECKOUT", "again page", other["id"]):
        (words,) = (await asked(assistant, experiment=name)).content
        assert isinstance(words, TextContent)
        assert words.text.startswith("## One-page checkout")
        assert (", again" in words.text.splitlines()[0]) == (name in {"again page", other["id"]})
    error = await assistant.fail(NAME, "validation_error", experiment="checkout")
    assert "fits 3 experiments" in error["details"][0]["message"]
    assert other["id"] in error["details"][0]["message"]
    for name in ("nothing", " ", "x" * 10_000, "%", made["id"][:-1]):
        code = "not_found" if name.strip() else "validation_error"
        await assistant.fail(NAME, code, experiment=name)
    await assistant.fail(NAME, "not_found", experiment="one-page checkout", project_id="prj_other")
