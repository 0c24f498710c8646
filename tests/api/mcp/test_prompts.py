import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from mcp import MCPError
from mcp_types import TextContent

from api.mcp.prompts import PROMPTS, fill
from api.mcp.tools import operations_of
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant


def text_of(name: str, **arguments: str) -> str:
    (message,) = fill(name, arguments).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


def test_prompts_name_the_tools_that_they_need_and_no_others(app: FastAPI) -> None:
    tools = set(operations_of(app))
    for guide in PROMPTS.values():
        assert guide.tools == set(re.findall(r"[a-z]+(?:_[a-z]+)+", guide.text)) & tools


def test_arguments_are_those_that_the_text_takes() -> None:
    for guide in PROMPTS.values():
        described = {argument.name for argument in guide.prompt.arguments or ()}
        assert described == set(re.findall(r"{(\w+)}", guide.text))


def test_arguments_are_filled_in_as_they_are() -> None:
    text = text_of("plan_test", project_id="prj_1", idea="{a} shorter form, 100% of it")
    assert "project prj_1" in text
    assert "{a} shorter form, 100% of it" in text


def test_an_argument_may_be_left_out_where_it_has_a_default() -> None:
    named = {"project_id": "prj_1", "experiment_id": "exp_1"}
    assert "a product manager" in text_of("explain_result", **named)
    assert "the board" in text_of("explain_result", **named, audience="the board")


def test_an_unknown_prompt_and_a_missing_argument_are_told() -> None:
    with pytest.raises(MCPError, match="no prompt 'sing'"):
        fill("sing", {})
    with pytest.raises(MCPError, match="also needs idea"):
        fill("plan_test", {"project_id": "prj_1"})


@pytest.mark.anyio
async def test_a_key_is_offered_the_prompts_whose_tools_it_may_use(customer: Customer) -> None:
    async def offered(*scopes: str) -> set[str]:
        async with Assistant(customer.with_key(*scopes)).connected() as client:
            return {prompt.name for prompt in (await client.list_prompts()).prompts}

    assert await offered() == {"explain_result", "plan_test"}
    assert await offered("experiments:read", "results:read") == {"explain_result"}
    assert await offered("projects:read") == set()


def test_every_prompt_and_argument_is_documented() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    for name, guide in PROMPTS.items():
        (row,) = (line for line in docs.splitlines() if line.startswith(f"| `{name}` |"))
        assert set(re.findall(r"`(\w+)`", row)) == {name} | {
            argument.name for argument in guide.prompt.arguments or ()
        }
