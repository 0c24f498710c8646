import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.store.event_columns import DIMENSIONS
from tests.api.customers import Customer, a_customer_of
from tests.api.request_bodies import CONTROL, PURCHASE, TREATMENT, error_of, fields_of
from tests.api.shops import Shop

REVENUE = {"name": "Orders", "goal_type": "revenue", "config": {"event_name": "order"}}
MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
}


@pytest.fixture(scope="module")
def shop(client: TestClient) -> Shop:
    """Three visitors who count, one of both variants, one bot; two purchases and two orders."""
    customer = a_customer_of(client)
    project = customer.a_project()
    named = {**TREATMENT, "name": 'Blue, "big"'}
    path = customer.an_experiment(project, variants=[CONTROL, named], goals=[PURCHASE, REVENUE])
    shop = Shop.opened_by(customer, project, path)
    control, treatment = (variant["id"] for variant in shop.experiment["variants"])
    seen = [
        ("v1", control, {"device_type": "mobile", "country": "US", "plan": "pro", "seats": "5"}),
        ("v2", treatment, {"device_type": "desktop", "country": "DE"}),
        ("v3", treatment, {"device_type": "mobile", "country": "DE", "plan": "pro"}),
        ("both", control, {}),
        ("both", treatment, {}),
    ]
    exposures = [
        shop.exposure(f"x{number}", visitor_id=visitor, variant_id=variant, attributes=attributes)
        for number, (visitor, variant, attributes) in enumerate(seen)
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": exposures}).json()["rejected"] == 0
    bot = {"batch": [shop.exposure("bot", visitor_id="bot")]}
    shop.post("/api/v1/sdk/track", bot, User_Agent="Googlebot/2.1")
    done = [
        {"event_id": "c1", "visitor_id": "v1", "event_name": "purchase"},
        {"event_id": "c2", "visitor_id": "v3", "event_name": "purchase"},
        {"event_id": "c3", "visitor_id": "v3", "event_name": "order", "revenue_cents": 2500},
        {"event_id": "c4", "visitor_id": "v3", "event_name": "order", "revenue_cents": 500},
    ]
    assert shop.post("/api/v1/sdk/convert", {"batch": done}).json()["rejected"] == 0
    return shop


def export(shop: Shop, **query: str) -> Any:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results/export"
    return shop.customer.get(path, **query)


def rows(shop: Shop, **query: str) -> list[dict[str, Any]]:
    answer = export(shop, format="ndjson", **query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_row_says_what_a_visitor_saw_was_and_did(shop: Shop) -> None:
    purchase, order = (goal["id"] for goal in shop.experiment["goals"])
    found = {row["visitor_id"]: row for row in rows(shop)}
    assert set(found) == {"v1", "v2", "v3"}
    assert list(found["v1"]) == [
        "visitor_id",
        "variant_id",
        "variant_name",
        "first_exposed_at",
        *DIMENSIONS,
        "custom_dimensions",
        f"{purchase}_converted_at",
        f"{purchase}_revenue_cents",
        f"{order}_converted_at",
        f"{order}_revenue_cents",
    ]
    assert found["v3"]["variant_id"] == shop.experiment["variants"][1]["id"]
    assert (found["v1"]["variant_name"], found["v3"]["variant_name"]) == ("Control", 'Blue, "big"')
    assert (found["v1"]["device_type"], found["v1"]["country"]) == ("mobile", "US")
    assert found["v1"]["custom_dimensions"] == {"plan": "pro", "seats": "5"}
    assert found["v2"]["custom_dimensions"] is None
    assert found["v2"][f"{purchase}_converted_at"] is None
    first, then = (found["v3"][name] for name in ("first_exposed_at", f"{purchase}_converted_at"))
    assert first.endswith("Z")
    assert datetime.fromisoformat(first) <= datetime.fromisoformat(then) <= datetime.now(UTC)
    assert [found[one][f"{order}_revenue_cents"] for one in ("v1", "v2", "v3")] == [0, 0, 3000]


def test_every_kind_of_file_holds_the_same(shop: Shop) -> None:
    exported = rows(shop)
    assert exported
    table = pl.read_parquet(io.BytesIO(export(shop, format="parquet").content))
    assert table["visitor_id"].to_list() == [row["visitor_id"] for row in exported]
    assert table.schema["first_exposed_at"] == pl.Datetime("us", "UTC")
    assert table["first_exposed_at"].to_list() == [
        datetime.fromisoformat(row["first_exposed_at"]) for row in exported
    ]
    lines = list(csv.DictReader(io.StringIO(export(shop, format="csv").text)))
    plain = [{**row, "custom_dimensions": row["custom_dimensions"] or ""} for row in exported]
    for line, row in zip(lines, plain, strict=True):
        custom = line.pop("custom_dimensions")
        assert (json.loads(custom) if custom else "") == row.pop("custom_dimensions")
        assert line == {name: "" if value is None else str(value) for name, value in row.items()}
    assert export(shop).content[:4] == b"PAR1"


# With which a spreadsheet begins a formula.
STARTS = (*"=+-@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def test_spreadsheet_computes_no_text_of_a_csv_file(customer: Customer, project: str) -> None:
    texts = [f"{start}2+3" for start in STARTS]
    # A name holds no control characters.
    named = [{**TREATMENT, "name": f"{text} blue"} for text in texts if text.isprintable()]
    path = customer.an_experiment(project, variants=[CONTROL, *named], goals=[PURCHASE, REVENUE])
    shop = Shop.opened_by(customer, project, path)
    variants = {variant["name"]: variant["id"] for variant in shop.experiment["variants"]}
    exposures = [
        shop.exposure(
            f"x {text}",
            visitor_id=f"{text} v",
            variant_id=variants.get(f"{text} blue", variants["Control"]),
            attributes={"utm_source": text, text: text},
        )
        for text in texts
    ]
    assert shop.post("/api/v1/sdk/track", {"batch": exposures}).json()["rejected"] == 0
    refunds = [
        {
            "event_id": f"c {text}",
            "visitor_id": f"{text} v",
            "event_name": "order",
            "kind": "refund",
            "revenue_cents": 500,
        }
        for text in texts
    ]
    assert shop.post("/api/v1/sdk/convert", {"batch": refunds}).json()["rejected"] == 0
    lines = list(csv.DictReader(io.StringIO(export(shop, format="csv").text, newline="")))
    found = {row["visitor_id"]: row for row in rows(shop)}
    assert sorted(line["visitor_id"] for line in lines) == sorted(f"'{text} v" for text in texts)
    order = shop.experiment["goals"][1]["id"]
    for line in lines:
        row = found[line["visitor_id"].removeprefix("'")]
        assert row[f"{order}_revenue_cents"] == -500
        assert line[f"{order}_revenue_cents"] == "-500"
        cells = {name: cell for name, cell in line.items() if cell and not name.endswith("_revenue_cents")}
        assert {"visitor_id", "variant_name", "utm_source"} <= set(cells)
        assert not [name for name, cell in cells.items() if cell.startswith(STARTS)]
        assert cells["variant_name"].removeprefix("'") == row["variant_name"]


def test_file_comes_with_its_type_length_and_name(shop: Shop) -> None:
    for form, media_type in MEDIA_TYPES.items():
        answer = export(shop, format=form)
        assert answer.headers["Content-Type"] == media_type
        assert int(answer.headers["Content-Length"]) == len(answer.content)
        assert answer.headers["Content-Disposition"] == f'attachment; filename="checkout-button.{form}"'


def test_rows_add_up_to_the_results(shop: Shop) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results"
    for query in ({}, {"country": "DE"}, {"custom_dimension_key": "plan", "custom_dimension_value": "pro"}):
        exported = rows(shop, **query)
        variants = shop.customer.get(path, **query).json()["data"]["variants"]
        assert len(variants) > 1
        for goal_id, results in variants.items():
            assert len(results) == 2
            for variant in results:
                mine = [row for row in exported if row["variant_id"] == variant["variant_id"]]
                assert variant["visitors"] == len(mine)
                converted = [row for row in mine if row[f"{goal_id}_converted_at"]]
                assert variant["conversions"] == len(converted)
                assert variant["revenue_cents"] == sum(row[f"{goal_id}_revenue_cents"] for row in mine)


def test_filters_choose_rows(shop: Shop) -> None:
    def visitors(**query: str) -> list[str]:
        return sorted(row["visitor_id"] for row in rows(shop, **query))

    assert visitors(country="DE") == ["v2", "v3"]
    assert visitors(country="DE", device_type="mobile") == ["v3"]
    assert visitors(custom_dimension_key="plan", custom_dimension_value="pro") == ["v1", "v3"]
    assert visitors(country="ZZ") == []


def test_question_that_makes_no_sense_is_refused(shop: Shop) -> None:
    error = error_of(export(shop, format="xlsx"), 422, "validation_error")
    assert fields_of(error) == ["format"]
    error = error_of(export(shop, device_type="toaster", custom_dimension_key="x"), 422, "validation_error")
    assert fields_of(error) == ["device_type", "custom_dimension_value"]


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_draft_has_columns_and_no_rows(customer: Customer, experiment: str, form: str) -> None:
    answer = customer.get(f"{experiment}/results/export", format=form)
    assert answer.status_code == 200, answer.text
    if form == "parquet":
        assert pl.read_parquet(io.BytesIO(answer.content)).height == 0
    if form == "csv":
        assert answer.text.startswith("visitor_id,variant_id,variant_name,first_exposed_at,")
        assert len(answer.text.splitlines()) == 1
    if form == "ndjson":
        assert answer.text == ""


def test_results_are_exported_to_their_readers_only(shop: Shop, stranger: Customer) -> None:
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results/export"
    error_of(shop.customer.with_key("experiments:read").get(path), 403, "forbidden")
    error_of(stranger.get(path), 404, "not_found")
    assert shop.customer.with_key("results:read").get(path).status_code == 200


def test_no_file_stays_behind(shop: Shop, services: Services) -> None:
    export(shop)
    assert list((services.settings.data_dir / "exports").iterdir()) == []


def test_names_that_look_like_queries_are_names(customer: Customer, project: str, tmp_path: Path) -> None:
    hostile = "'); DROP TABLE published_rollups; --"
    variants = [{"name": hostile, "is_control": True}, {"name": '"quoted"\n'.strip()}]
    path = customer.an_experiment(project, variants=variants)
    shop = Shop.opened_by(customer, project, path)
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure()]})
    assert [row["variant_name"] for row in rows(shop)] == [hostile]
