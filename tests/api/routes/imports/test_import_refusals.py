"""Refused imports over the API: nothing is imported, no file stays, and the answer says why."""

import json
from typing import Any

import polars as pl
import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.described_sources import describe_source
from tests.api.mcp.assistants import HEADERS
from tests.api.request_bodies import error_of
from tests.api.routes.imports.import_files import VISITORS, content_of, rows_of, send, uploads, wrong_fields


def test_a_file_that_is_refused_imports_nothing_and_says_why(
    customer: Customer, project: str, services: Services
) -> None:
    for content, sentence in (
        (b"id,page\nv1,A\n", "file has no column 'bought', 'spend'; it has id, page"),
        (b"id,page,bought,spend\nv1,A,1,1\nv2,B", "breaks off"),
        (content_of(rows_of(4).with_columns(page=pl.lit("A"))), "all rows of 'page' are the control"),
    ):
        run = send(customer, project, content)
        assert (run["status"], run["events"]) == ("failed", None)
        assert sentence in run["error"]
        assert str(services.settings.data_dir) not in run["error"]
    broken = send(customer, project, b"PAR1 this is none", "parquet")
    assert broken["status"] == "failed"
    assert str(services.settings.data_dir) not in broken["error"]
    assert customer.get(f"{project}/experiments").json()["data"] == []
    assert uploads(services, project) == []
    few = send(customer, project, b"id,page,bought,spend\n1,A,1,1\n2,B,x,1\n3,B,1,1\n", max_bad_share=0.1)
    assert (few["status"], "max_bad_share is 10.00%" in few["error"]) == ("failed", True)


def test_a_source_that_a_project_may_not_import_is_as_one_that_does_not_exist(
    customer: Customer,
    stranger: Customer,
    project: str,
    services: Services,
    caplog: pytest.LogCaptureFixture,
) -> None:
    theirs = stranger.a_project()
    their_id = theirs.rpartition("/")[2]
    describe_source(services, "granted", project.rpartition("/")[2])
    # Without a project it is of nobody where the service has several.
    describe_source(services, "common", None)
    for name, text in (
        ("broken", "kind ="),
        ("unusable", f'project = "{their_id}"'),
        ("of-others", f'project = "{project.rpartition("/")[2]}"'),
    ):
        (services.settings.data_dir / "sources" / f"{name}.toml").write_text(text)
    names = ["missing", "granted", "common", "broken", "unusable", "of-others"]

    def answer_to(name: str, answer: dict[str, Any]) -> str:
        error = {**answer["error"], "request_id": "…"}
        return json.dumps(error).replace(f"'{name}'", "'NAME'")

    def over_rest(name: str) -> str:
        return answer_to(name, stranger.post(f"{theirs}/imports", {"source": name}).json())

    def over_mcp(name: str) -> str:
        arguments = {"project_id": their_id, "source": name}
        params = {"name": "start_import", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        sent = stranger.client.post(f"/mcp/{stranger.token}/v2/mcp", json=message, headers=HEADERS)
        return answer_to(name, sent.json()["result"]["structuredContent"])

    answers = {over(name) for over in (over_rest, over_mcp) for name in names}
    assert len(answers) == 1, answers
    assert "there is no source 'NAME' that this project may import" in answers.pop()
    assert stranger.get(f"{theirs}/runs").json()["data"] == []
    # The operator is told.
    for name, reason in (("missing", "no such file"), ("common", "names no project"), ("broken", "no TOML")):
        assert f"project {their_id} asked for the source {name}: " in caplog.text
        assert reason in caplog.text


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"source"}),
        ({"source": "../catalog"}, {"source"}),
        ({"source": "/etc/passwd"}, {"source"}),
        ({"source": "missing"}, {"source"}),
        ({"command_file": "missing"}, {"command_file"}),
        ({"source": "a", "command_file": "b"}, {"source"}),
        ({"location": "/etc/passwd"}, {"source", "location"}),
    ],
)
def test_no_path_or_address_of_a_caller_is_read(
    customer: Customer, project: str, body: dict[str, Any], fields: set[str]
) -> None:
    assert wrong_fields(customer.post(f"{project}/imports", body)) == fields


@pytest.mark.parametrize("content", [b"{}", b'{"project_id": "prj_', b"\xff"])
def test_a_file_that_no_command_left_whole_is_refused_by_field(
    customer: Customer, project: str, services: Services, content: bytes
) -> None:
    folder = services.settings.command_imports_path
    folder.mkdir(exist_ok=True)
    (folder / "import_torn").write_bytes(content)
    assert wrong_fields(customer.post(f"{project}/imports", {"command_file": "import_torn"})) == {
        "command_file"
    }


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ({"variant": None, "goals": None, "visitor": None}, {"control"}),
        ({"control": None}, {"control"}),
        ({"goals": None}, {"goals"}),
        ({"visitor": "page"}, {"variant"}),
        ({"goals": "a\nb"}, {"goals"}),
        ({"goals": "\n"}, {"goals"}),
        ({"goals": "bought,,spend"}, {"goals"}),
        ({"segments": "a\r\nb"}, {"segments"}),
        ({"segments": "a,"}, {"segments"}),
        ({"max_bad_share": 2}, {"max_bad_share"}),
        ({"varaint": "page"}, {"varaint"}),
    ],
)
def test_a_meaning_that_makes_no_sense_is_refused_by_field(
    customer: Customer, project: str, services: Services, query: dict[str, Any], fields: set[str]
) -> None:
    params = {name: value for name, value in {**VISITORS, **query}.items() if value is not None}
    answer = customer.call(
        "POST", f"{project}/imports", content=b"id", params=params, headers={"Content-Type": "text/csv"}
    )
    assert wrong_fields(answer) == fields
    assert uploads(services, project) == []


def test_a_file_that_is_too_large_or_of_another_type_leaves_nothing(
    customer: Customer, project: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(content: Any, media_type: str = "text/csv", **headers: str) -> Any:
        return customer.call(
            "POST",
            f"{project}/imports",
            content=content,
            params=VISITORS,
            headers={"Content-Type": media_type, **headers},
        )

    error_of(ask(b"x", "application/zip"), 415, "unsupported_media_type")
    error_of(ask(b"x", **{"Content-Encoding": "gzip"}), 415, "unsupported_media_type")
    monkeypatch.setitem(services.settings.__dict__, "import_bytes", 3 * 2**20)
    error_of(ask(b"x" * (3 * 2**20 + 1)), 413, "payload_too_large")
    error_of(ask(iter([b"x" * 2**20] * 4)), 413, "payload_too_large")
    assert uploads(services, project) == []
