"""Files of visitors that tests import over the API, and what comes of them."""

import io
from pathlib import Path
from typing import Any

import httpx2
import polars as pl

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import error_of

VISITORS = {"variant": "page", "control": "A", "goals": "bought,spend:revenue", "visitor": "id"}


def rows_of(number: int, first: int = 0) -> pl.DataFrame:
    ids = range(first, first + number)
    return pl.DataFrame(
        {
            "id": [f"v{one}" for one in ids],
            "page": ["AB"[one % 2] for one in ids],
            "bought": [one % 3 // 2 for one in ids],
            "spend": [one % 3 // 2 * 9.5 for one in ids],
        }
    )


def content_of(rows: pl.DataFrame, kind: str = "csv") -> bytes:
    file = io.BytesIO()
    (rows.write_csv if kind == "csv" else rows.write_parquet)(file)
    return file.getvalue()


def send(customer: Customer, project: str, content: bytes, kind: str = "csv", **query: Any) -> dict[str, Any]:
    """Send a file that is accepted, and return its run at the end."""
    media_type = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}[kind]
    answer = customer.call(
        "POST",
        f"{project}/imports",
        content=content,
        params={**VISITORS, **query},
        headers={"Content-Type": media_type},
    )
    assert answer.status_code == 202, answer.text
    return customer.ended_run(project, answer.json()["data"])


def uploads(services: Services, project: str) -> list[Path]:
    return list((services.settings.uploads_path / project.rpartition("/")[2]).glob("*"))


def wrong_fields(answer: httpx2.Response) -> set[str]:
    return {one["field"] for one in error_of(answer, 422, "validation_error")["details"]}
