"""Scripts over HTTP: code and configuration in one answer, cached and compressed; refusals as comments."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import brotli
import httpx2
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.sdk.script_files import CORE, DEBUG, PREVIEW, parts_needed, read_script
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.shops import Shop

ROOT = Path(__file__).parents[3]
OPEN_HEADERS = {
    "content-type": "application/javascript; charset=utf-8",
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}


def script_of(shop: Shop, name: str = ".js", method: str = "GET", **headers: str) -> httpx2.Response:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    path = f"/sdk/v1/{shop.sdk_key}{name}"
    return shop.customer.client.request(method, path, headers={"Accept-Encoding": "identity", **named})


def config_in(answer: httpx2.Response) -> dict[str, Any]:
    text = answer.content.removeprefix(read_script(CORE)).decode()
    config, _ = json.JSONDecoder().raw_decode(text)
    return dict(config)


def change(shop: Shop, transition: str = "", **fields: Any) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"
    answer = shop.customer.post(f"{path}/{transition}") if transition else shop.customer.patch(path, fields)
    assert answer.status_code == 200, answer.text


def with_headers_for_every_page(answer: httpx2.Response) -> bool:
    return {name: answer.headers.get(name) for name in OPEN_HEADERS} == OPEN_HEADERS


def test_code_and_configuration_come_in_one_answer(shop: Shop) -> None:
    answer = script_of(shop)
    assert answer.status_code == 200, answer.text
    assert answer.content.startswith(read_script(CORE))
    assert answer.content.endswith(b");")
    assert [one["id"] for one in config_in(answer)["experiments"]] == [shop.experiment["id"]]
    assert with_headers_for_every_page(answer)
    assert answer.headers["cache-control"] == "public, max-age=60, stale-while-revalidate=60"
    assert answer.headers["vary"] == "Accept-Encoding"


def test_the_configuration_is_that_of_other_sdks(shop: Shop) -> None:
    other = shop.customer.client.get("/api/v1/sdk/config", params={"key": shop.sdk_key})
    assert config_in(script_of(shop)) == other.json()


def test_the_script_is_sound_with_every_part_that_it_needs(shop: Shop, tmp_path: Path) -> None:
    condition = {"field": "url", "operator": "regex", "values": ["(a+)+$"]}
    change(shop, "pause")
    change(shop, targeting_rules={"version": 2, "root": {"operator": "and", "children": [condition]}})
    ga4 = {"enabled": True, "measurement_id": "G-1</script>\u2028"}
    assert (
        shop.customer.patch(f"/projects/{shop.project_id}", {"integrations": {"ga4": ga4}}).status_code == 200
    )
    answer = script_of(shop)
    assert "integrations" in parts_needed(config_in(answer))
    file = tmp_path / "snippet.js"
    file.write_bytes(answer.content)
    subprocess.run([ROOT / ".venv" / "bin" / "node", "--check", file], check=True, timeout=30)


def changing(*actions: str) -> list[dict[str, Any]]:
    return [{"changes": []}, {"changes": [{"action": action} for action in actions]}]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ({}, []),
        ({"integrations": {"ga4": None, "gtm": True}}, ["integrations"]),
        ({"ga4_events": [{"event_name": "purchase"}]}, ["integrations"]),
        ({"experiments": [{}]}, []),
        ({"experiments": [{"decided_by_server": True}]}, ["server_decisions"]),
        ({"experiments": [{"unsettled": [[0, 9]]}]}, ["server_decisions"]),
        ({"experiments": [{"group": {}}]}, ["exclusion"]),
        ({"experiments": [{"group": {}, "unsettled": [[0, 9]]}]}, ["server_decisions", "exclusion"]),
        ({"experiments": [{"targeting": {"operator": "and"}}]}, ["targeting"]),
        ({"experiments": [{"trigger": "click"}]}, ["triggers"]),
        ({"experiments": [{"trigger": "element_visible"}]}, ["changes", "triggers"]),
        ({"experiments": [{"type": "redirect", "variants": changing("replace")}]}, ["redirects"]),
        ({"experiments": [{"variants": changing("modify_style", "remove")}]}, []),
        ({"experiments": [{"variants": changing("remove", "modify_text")}]}, ["changes"]),
        ({"rollouts": [{"variants": changing("modify_text")}]}, ["rollouts", "changes"]),
        ({"automata": [{}]}, ["targeting"]),
        ({"settings": {"consent_source": "tcf"}}, ["consent"]),
        ({"experiments": [{}], "holdout": {}}, []),
        (
            {"experiments": [{"unsettled": [[0, 9]]}], "holdout": {"id": "hld_1"}},
            ["server_decisions", "holdout"],
        ),
        ({"holdout": {"id": "hld_1"}}, []),
    ],
)
def test_only_parts_that_are_needed_are_sent(content: dict[str, Any], parts: list[str]) -> None:
    plain = {
        "settings": {"consent_source": None},
        "integrations": {"ga4": None, "gtm": False},
        "ga4_events": [],
        "automata": [],
        "experiments": [],
        "rollouts": [],
    }
    experiment = {
        "type": "visual",
        "decided_by_server": False,
        "targeting": None,
        "trigger": "direct",
        "variants": changing(),
    }
    shown = {
        name: [experiment | one for one in content.get(name, [])] for name in ("experiments", "rollouts")
    }
    assert parts_needed({**plain, **content, **shown}) == parts


def test_a_tag_is_answered_304_until_something_changes(shop: Shop) -> None:
    first = script_of(shop)
    again = script_of(shop, If_None_Match=first.headers["etag"], Accept_Encoding="gzip, br")
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["vary"] == "Accept-Encoding"
    change(shop, "pause")
    changed = script_of(shop, If_None_Match=first.headers["etag"])
    assert changed.status_code == 200
    assert config_in(changed)["experiments"][0]["status"] == "paused"


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_the_script_is_compressed(shop: Shop, coding: str) -> None:
    plain = script_of(shop).content
    path = f"/sdk/v1/{shop.sdk_key}.js"
    with shop.customer.client.stream("GET", path, headers={"Accept-Encoding": coding}) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == coding
    assert {"gzip": gzip.decompress, "br": brotli.decompress}[coding](content) == plain
    assert len(content) < len(plain) / 2


def test_head_is_answered_without_a_body(shop: Shop) -> None:
    whole, head = script_of(shop), script_of(shop, method="HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))


@pytest.mark.parametrize("name", [PREVIEW, DEBUG])
def test_the_script_of_a_tool_is_that_of_every_project(shop: Shop, stranger: Customer, name: str) -> None:
    answer = script_of(shop, f"/{name}")
    assert with_headers_for_every_page(answer)
    assert (answer.status_code, answer.content) == (200, read_script(name))
    assert stranger.client.get(f"/sdk/v1/pk_unknown/{name}").status_code == 404


def test_an_unknown_key_gets_a_comment_and_an_error_of_the_script_element(shop: Shop) -> None:
    for key in ("pk_unknown", "%00", "a%2Fb", "ä"):
        answer = shop.customer.client.get(f"/sdk/v1/{key}.js")
        assert (answer.status_code, answer.text) == (404, "/* Truelift: not_found */\n")
        assert with_headers_for_every_page(answer)
        assert answer.headers["cache-control"] == "no-store"


def test_pages_of_an_account_that_is_not_served_get_a_comment(shop: Shop) -> None:
    catalog = shop.customer.services.catalog
    catalog.accounts.update(shop.customer.account.id, subscription_status="canceled")
    answer = script_of(shop)
    assert (answer.status_code, answer.text) == (402, "/* Truelift: account_inactive */\n")


def test_a_replaced_key_works_within_its_grace(shop: Shop) -> None:
    assert shop.customer.post(f"/projects/{shop.project_id}/rotate_sdk_key").status_code == 200
    assert config_in(script_of(shop))["sdk_key"] == shop.sdk_key
    shop.customer.post(f"/projects/{shop.project_id}/expire_sdk_keys")
    assert script_of(shop).status_code == 404


def test_the_script_from_the_projects_own_page_verifies_the_snippet(shop: Shop) -> None:
    def is_verified() -> bool:
        return bool(shop.customer.data_of(f"/projects/{shop.project_id}")["snippet_verified"])

    script_of(shop)
    script_of(shop, Referer="https://elsewhere.example/")
    assert not is_verified()
    script_of(shop, Referer="https://shop.example/")
    assert is_verified()


def test_the_script_is_counted_and_never_refused(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(data_dir=tmp_path, sdk_rate_limit_per_minute=1))) as client:
        customer = a_customer_of(client)
        project = customer.a_project()
        shop = Shop.opened_by(customer, project, customer.an_experiment(project))
        first, second = script_of(shop), script_of(shop)
    assert [answer.headers["ratelimit-remaining"] for answer in (first, second)] == ["0", "0"]
    assert (second.status_code, second.content) == (200, first.content)


def test_custom_code_has_an_address_of_its_own_for_every_version(shop: Shop) -> None:
    change(shop, "pause")
    change(shop, custom_js="window.shown = 1; // the last line")
    (experiment,) = config_in(script_of(shop))["experiments"]
    assert "window.shown" not in script_of(shop).text
    answer = script_of(shop, f"/{experiment['custom_js']}")
    assert answer.text == "(function () {\nwindow.shown = 1; // the last line\n}).call(window);\n"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert with_headers_for_every_page(answer)
    change(shop, custom_js="window.shown = 2")
    older = script_of(shop, f"/{experiment['custom_js']}")
    assert "window.shown = 2" in older.text
    assert older.headers["cache-control"].startswith("public, max-age=60")


def test_custom_code_is_told_only_of_running_and_paused_experiments(shop: Shop, stranger: Customer) -> None:
    path = f"/projects/{shop.project_id}"
    draft = shop.customer.an_experiment(path, name="Draft", custom_js="draft()").rpartition("/")[2]
    theirs = stranger.an_experiment(stranger.a_project(), custom_js="theirs()").rpartition("/")[2]
    for experiment_id in (draft, theirs, shop.experiment["id"], "exp_nothing"):
        answer = script_of(shop, f"/{experiment_id}.js")
        assert (answer.status_code, answer.text) == (404, "/* Truelift: not_found */\n")


def test_targeting_rules_come_with_the_part_that_evaluates_them(shop: Shop) -> None:
    condition = {"field": "language", "operator": "in", "values": ["DE"]}
    part = read_script("parts/targeting.js").decode()
    assert part not in script_of(shop).text
    change(shop, "pause")
    change(shop, targeting_rules={"version": 2, "root": {"operator": "and", "children": [condition]}})
    script = script_of(shop)
    (experiment,) = config_in(script)["experiments"]
    assert experiment["decided_by_server"] is False
    assert experiment["targeting"]["children"] == [{**condition, "values": ["de"], "ignores_case": True}]
    assert part in script.text
