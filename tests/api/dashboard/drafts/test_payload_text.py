"""Payloads in the form of a draft: typed as JSON, kept as typed, and what is wrong is said by its line."""

import json

import pytest
from fastapi.testclient import TestClient

from api.dashboard.drafts.payload_text import payload_problems, payload_text, read_payload
from tests.api.customers import Customer
from tests.api.dashboard.drafts.test_draft_pages import fields_of, send

FIELD = "variants[1].payload"


@pytest.mark.parametrize(
    "payload",
    [False, 0, 10.0, "", "null", [], {}, ["a", "b"], [{"a": 1}], {"[0]": {"variants": None}, "é": "🎉"}],
)
def test_a_payload_is_edited_as_it_is_stored(
    customer: Customer, project: str, browser: TestClient, payload: object
) -> None:
    variants = [{"name": "Control"}, {"name": "Wide", "payload": payload}]
    draft = customer.an_experiment(project, public_variants=True, variants=variants)
    page = browser.get(f"{draft}/edit")
    assert fields_of(page)["public_variants"] == "on"
    assert fields_of(page)[FIELD] == payload_text(payload)
    assert send(browser, page, name="Renamed").status_code == 303
    kept = customer.data_of(draft)["variants"]
    assert [one["payload"] for one in kept] == [None, payload]
    assert type(kept[1]["payload"]) is type(payload)
    assert json.dumps(payload, ensure_ascii=False).replace('"', "&#34;") in browser.get(draft).text


def test_a_payload_is_typed_changed_and_emptied(
    customer: Customer, project: str, browser: TestClient
) -> None:
    typed = {"name": "Grid", "goals[0].name": "Order", "goals[0].config.event_name": "order"}
    new = browser.get(f"{project}/experiments/new")
    created = send(browser, new, **typed, public_variants="on", **{FIELD: '{\r\n "columns": 3\r\n}'})
    assert created.status_code == 303
    draft = created.headers["location"]
    # 1 and true are equal in Python, and no more than that.
    for text, payload in (("1", 1), ("true", True), ("1.0", 1.0), (" ", None)):
        assert send(browser, browser.get(f"{draft}/edit"), **{FIELD: text}).status_code == 303
        stored = customer.data_of(draft)["variants"][1]["payload"]
        assert (stored, type(stored)) == (payload, type(payload))
    trail = customer.services.catalog.audit.of(draft.rpartition("/")[2])
    told = [one.changes["variants"][1][1]["payload"] for one in trail]
    assert list(map(repr, told)) == ["{'columns': 3}", "1", "True", "1.0", "None"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "a": 1,\n  "b" 2\n}', "is no JSON in line 3: expected ':'"),
        ('{"é🎉": [\n1,\n\n2,,3]}', "is no JSON in line 4: invalid character"),
        ("columns", "is no JSON in line 1: invalid character"),
        ('{\n"a": {"b": NaN}}', "is no JSON in line 2: invalid character"),
        ('{"a": 1,\n\n', "is no JSON in line 3: it ends too early"),
        ('{"a": 1,\n"b": 2,\n"a" : 3}', "is no JSON in line 3: an object names 'a' more than once"),
        ("1e999", "is no JSON: Number out of range"),
        ("[" * 300, "nested more than 100 levels deep"),
    ],
)
def test_what_is_no_json_is_said_with_its_line(text: str, said: str) -> None:
    ((field, (message,)),) = payload_problems({FIELD: text, "name": "{", "variants[0].payload": ""}).items()
    assert field == FIELD
    assert said in message
    with pytest.raises(ValueError, match=r"."):
        read_payload(text)


def test_nothing_is_saved_and_what_was_typed_is_kept(
    customer: Customer, project: str, browser: TestClient
) -> None:
    draft = customer.an_experiment(project, public_variants=True)
    for address in (f"{project}/experiments/new", f"{draft}/edit"):
        page = browser.get(address)
        for text, said in (
            ("{'a': 1}", "in line 1: object keys must be strings"),
            ("<b>&amp;", "in line 1: invalid character"),
            (f'"{"x" * 4_095}"', "has 4,097 bytes as JSON"),
        ):
            answer = send(browser, page, name="Typed", public_variants="on", **{FIELD: text})
            assert answer.status_code == 422
            assert said in answer.text
            assert f'id="problem-{FIELD}"' in answer.text
            sent = fields_of(answer)
            assert (sent[FIELD], sent["name"], sent["public_variants"]) == (text, "Typed", "on")
    assert customer.data_of(draft)["name"] == "Checkout button"
    private = send(browser, browser.get(f"{draft}/edit"), public_variants="", **{FIELD: "1"})
    assert 'id="problem-public_variants"' in private.text
