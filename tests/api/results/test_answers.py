"""Answers about results over HTTP: kept while nothing changes, with entity tags and 304."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from api.results.answers import CACHE_CONTROL, Read
from api.results.kept_answers import EncodedAnswer
from api.schemas.segment_filters import ResultsQuery
from tests.api.request_bodies import error_of
from tests.api.results.reads import Reader
from tests.api.shops import Shop
from tests.pipeline.working_store import an_exposure

VIEWS = ("", "/summary", "/timeseries", "/segments")


@pytest.fixture
def results(shop: Shop) -> str:
    """The path of the results of an experiment with a visitor, who was counted."""
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e1", visitor_id="v1", country="DE")]})
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results"
    assert shop.customer.get(path).status_code == 200
    return path


def read(shop: Shop, path: str, if_none_match: str | None = None, **query: Any) -> Any:
    headers = {} if if_none_match is None else {"If-None-Match": if_none_match}
    return shop.customer.call("GET", path, headers=headers, params=query)


def test_an_answer_that_the_client_has_is_not_sent_again(shop: Shop, results: str) -> None:
    for view in VIEWS:
        first = read(shop, results + view)
        again = read(shop, results + view, first.headers["ETag"])
        assert (first.status_code, again.status_code, again.content) == (200, 304, b""), view
        assert again.headers["ETag"] == first.headers["ETag"]
        assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == CACHE_CONTROL
        assert "Content-Type" not in again.headers
        assert {"X-Request-Id", "RateLimit-Limit"} <= {name.title() for name in again.headers} | {
            "RateLimit-Limit"
        }
        assert read(shop, results + view, '"another"').content == read(shop, results + view).content


def test_tags_tell_views_filters_and_contents_apart(shop: Shop, results: str) -> None:
    queries = [*((view, {}) for view in VIEWS), ("", {"country": "DE"}), ("", {"country": "FR"})]
    tags = [read(shop, results + view, **query).headers["ETag"] for view, query in queries]
    assert len(set(tags)) == len(queries)
    assert tags == [read(shop, results + view, **query).headers["ETag"] for view, query in queries]


def test_a_new_event_gives_a_new_answer(shop: Shop, results: str) -> None:
    tag = read(shop, results).headers["ETag"]
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e2", visitor_id="v2")]})
    answer = read(shop, results, tag)
    assert answer.status_code == 200
    assert answer.headers["ETag"] != tag


def test_a_kept_answer_is_for_callers_that_may_read_it(shop: Shop, results: str) -> None:
    tag = read(shop, results).headers["ETag"]
    customer, headers = shop.customer, {"If-None-Match": tag}
    unknown = customer.client.get(f"/api/v1{results}", headers=headers)
    error_of(unknown, 401, "invalid_api_key")
    narrow = customer.with_key("projects:read").call("GET", results, headers=headers)
    error_of(narrow, 403, "forbidden")
    elsewhere = customer.with_key(project_ids=(customer.a_project().rpartition("/")[2],))
    error_of(elsewhere.call("GET", results, headers=headers), 404, "not_found")
    assert unknown.headers["Cache-Control"] == narrow.headers["Cache-Control"] == "no-store"


def test_a_deleted_experiment_is_not_found_whatever_is_kept(shop: Shop, results: str) -> None:
    tag = read(shop, results).headers["ETag"]
    project = results.partition("/experiments")[0]
    assert shop.customer.call("DELETE", project).status_code == 204
    error_of(read(shop, results, tag), 404, "not_found")


def test_invalid_parameters_are_refused_before_tags_are_compared(shop: Shop, results: str) -> None:
    error_of(read(shop, results, "*", device_type="fridge"), 422, "validation_error")
    error_of(read(shop, f"{results}/timeseries", "*", goal_id="goal_x"), 404, "not_found")


def test_equal_questions_at_once_are_computed_once_also_where_a_client_leaves(tmp_path: Path) -> None:
    reader, release, computed = Reader(tmp_path), threading.Event(), []

    def compute() -> EncodedAnswer:
        computed.append(release.wait(60))
        return reader.compute(at=reader.now)

    async def ask(clients: int) -> list[EncodedAnswer]:
        asked = Read.of("get_results", reader.arguments(ResultsQuery(), reader.now))
        asking = [asyncio.create_task(reader.answers.get(asked, compute)) for _ in range(clients)]
        await asyncio.sleep(0)
        asking[0].cancel()
        await asyncio.wait(asking[:1])
        release.set()
        return await asyncio.gather(*asking[1:])

    with reader.opened():
        reader.add()
        reader.store.write(reader.project, an_exposure(reader.experiment))
        answers = asyncio.run(ask(5))
    assert computed == [True]
    assert len({answer.content for answer in answers}) == 1
    assert len(answers) == 4
