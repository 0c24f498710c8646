"""The page of a share link: the results and no more, and one answer for every link that does not work."""

import logging
import re
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.dashboard.sharing.shared_page import HEADERS
from api.dashboard.sharing.shared_report import FIX_FIRST
from api.services import SHARED_PAGES_A_MINUTE
from pipeline.clock import utc_now
from tests.api.customers import Customer
from tests.api.dashboard.test_experiments import send_visitors

_addresses = count(1)
AMOUNT = re.compile(r"\d (?:USD|EUR)")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A browser without a session, at a network address of its own."""

    browser: TestClient
    address: str

    def open(self, path: str, method: str = "GET") -> httpx2.Response:
        return self.browser.request(method, path, headers={"X-Forwarded-For": self.address})


@pytest.fixture
def stranger(service: TestClient) -> Stranger:
    # The proxy that tells the address is trusted.
    browser = TestClient(service.app, client=("127.0.0.1", 50_000), follow_redirects=False)
    browser.portal = service.portal
    return Stranger(browser, f"192.0.2.{next(_addresses)}")


def share(customer: Customer, experiment: str, **fields: Any) -> str:
    """Create a link; returns the path of its page."""
    created = customer.post(f"{experiment}/share_links", fields)
    assert created.status_code == 201, created.text
    address: str = created.json()["data"]["url"]
    return urlsplit(address).path


PRIVATE = {
    "hypothesis": "private-hypothesis",
    "custom_js": "console.log('private-script')",
    "custom_css": ".private-style{}",
    "tags": ["private-tag"],
    "url": "https://shop.example/private-page",
}


def visitors_with_segments(customer: Customer, experiment: str) -> None:
    """Expose a few visitors of segments that would tell who they are, with orders."""
    data = customer.data_of(experiment)
    batch: list[dict[str, Any]] = []
    for number in range(120):
        visitor = {"visitor_id": f"private-visitor-{number}", "user_id": f"private-user-{number}"}
        exposure = {"experiment_id": data["id"], "variant_id": data["variants"][number % 2]["id"]}
        attributes = {"country": "IS", "plan": f"private-segment-{number % 3}"}
        batch.append(
            {
                "event_id": f"x{number}",
                "type": "exposure",
                **visitor,
                **exposure,
                "attributes": attributes,
            }
        )
        if number % 3 == 0:
            order = {"type": "conversion", "event_name": "purchase", "revenue_cents": 5000 + number}
            batch.append({"event_id": f"c{number}", **order, **visitor})
    body = {"project_id": experiment.split("/")[2], "batch": batch}
    answer = customer.post("/sdk/track", body).json()
    assert answer["rejected"] == 0, answer


def test_a_link_shows_the_results_and_nothing_that_is_not_to_be_shared(
    customer: Customer, project: str, stranger: Stranger, browser: TestClient
) -> None:
    member = customer.services.catalog.members.accepted(customer.account.id)[0]
    goals = [
        {"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "purchase"}},
        {"name": "Revenue", "goal_type": "revenue", "config": {"event_name": "purchase"}},
    ]
    experiment = customer.an_experiment(
        project, assigned_user_ids=[member.id], goals=goals, name="Shared test", **PRIVATE
    )
    customer.post(f"{experiment}/start")
    visitors_with_segments(customer, experiment)
    data = customer.data_of(experiment)
    note = "private-note"
    decided = customer.post(f"{experiment}/ship", {"decision": "keep_control", "note": note})
    assert decided.status_code == 200, decided.text
    private = [
        *(
            str(text)
            for value in PRIVATE.values()
            for text in (value if isinstance(value, list) else [value])
        ),
        *("private-script", "private-style", note, "private-segment", "private-visitor", "private-user"),
        *(member.name, member.email_address, member.id, experiment, customer.account.id, "Iceland", '"IS"'),
    ]
    known = (
        browser.get(experiment).text
        + customer.get(experiment).text
        + customer.get(f"{experiment}/results").text
        + customer.get("/account/members").text
    )
    assert note in known
    assert "private-segment-1" in known

    without, with_money = (share(customer, experiment, shows_money=shown) for shown in (False, True))
    for path in (without, with_money):
        answer = stranger.open(path)
        assert answer.status_code == 200
        assert [text for text in private if text in answer.text] == []
        assert "private" not in answer.text
        assert "Shared test" in answer.text
        assert "Not shipped" in answer.text
        assert {"verdict", "goals", "time"} <= set(re.findall(r' id="(\w+)"', answer.text))
        assert not re.findall(r"<(?:form|script|iframe|button|input)\b", answer.text)
        links = set(re.findall(r'(?:href|src)="([^"#]*)', answer.text))
        assert {link for link in links if not link.startswith((f"{path}?", "/static/"))} == {"data:,", ""}
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.headers["Cache-Control"] == "no-store"
        assert "set-cookie" not in answer.headers
    revenue = customer.data_of(f"{experiment}/results")["variants"][data["goals"][1]["id"]]
    amounts = [f"{one['revenue_per_visitor_cents'] / 100:,.2f}" for one in revenue]
    plain, money = (stranger.open(path).text for path in (without, with_money))
    assert AMOUNT.search(money)
    assert all(amount in money for amount in amounts)
    # Every view of the page, and none by a filter, which a small segment could be seen by.
    of_revenue = f"?chart=rate&goal={data['goals'][1]['id']}"
    assert ">Rate so far</a>" in stranger.open(with_money + of_revenue).text
    for query in ("", "?goals=all", "?show=absolute", f"?values={data['goals'][1]['id']}", of_revenue):
        page = stranger.open(without + query).text
        assert not AMOUNT.search(page)
        assert not [amount for amount in amounts if amount in page]
        assert (">Rate so far</a>" in page) is (query != of_revenue)
    assert visitors_shown(stranger.open(f"{without}?country=DE").text) == visitors_shown(plain) != []


def visitors_shown(page: str) -> list[str]:
    return re.findall(r'data-label="Visitors">([\d,]+)', page)


def test_a_broken_check_is_said_without_its_figures(
    customer: Customer, experiment: str, stranger: Stranger, browser: TestClient
) -> None:
    send_visitors(customer, experiment, {0: (200, 9), 1: (100, 9)})
    assert "Sample ratio mismatch" in browser.get(experiment).text
    page = stranger.open(share(customer, experiment)).text
    assert "Sample ratio mismatch" not in page
    assert "This does not hold: visitors are split as the weights say." in page
    assert FIX_FIRST in page


def test_a_draft_has_a_page_that_says_so(customer: Customer, project: str, stranger: Stranger) -> None:
    page = stranger.open(share(customer, customer.an_experiment(project)))
    assert (page.status_code, "Not started yet" in page.text) == (200, True)


def test_every_link_that_does_not_work_has_one_answer(
    customer: Customer, experiment: str, stranger: Stranger
) -> None:
    links = customer.services.catalog.share_links
    revoked = share(customer, experiment)
    (found,) = customer.get(f"{experiment}/share_links").json()["data"]
    assert customer.call("DELETE", f"{experiment}/share_links/{found['id']}").status_code == 204
    key = customer.services.catalog.keys.of_account(customer.account.id)[0]
    project = customer.services.catalog.projects.get(customer.account.id, experiment.split("/")[2])
    _, token = links.create(
        project,
        experiment.rpartition("/")[2],
        key.id,
        lifetime=timedelta(days=30),
        shows_money=False,
        now=utc_now() - timedelta(days=30),
    )
    works = share(customer, experiment)
    paths = [
        *(revoked, f"/shared/{token}", f"{works}x", works[:-1], f"{works}/", f"{works}/export"),
        *(
            f"/shared/{'x' * 20_000}",
            "/shared/%00",
            "/shared/%2F..%2F",
            "/shared/\N{LATIN SMALL LETTER E WITH ACUTE}",
        ),
    ]
    answers = [stranger.open(path) for path in paths]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    assert {answer.headers["Referrer-Policy"] for answer in answers} == {"no-referrer"}
    assert [href for href in re.findall(r'href="([^"]*)', answers[0].text) if "/static/" not in href] == [
        *("data:,", "#content")
    ]
    assert stranger.open(works).status_code == 200
    assert stranger.open(works, "HEAD").status_code == 200
    assert stranger.open(works, "POST").status_code == 405


def test_an_address_that_asks_for_many_pages_waits_and_others_do_not(
    customer: Customer, experiment: str, stranger: Stranger, service: TestClient
) -> None:
    path = share(customer, experiment)
    statuses = [stranger.open("/shared/guess").status_code for _ in range(SHARED_PAGES_A_MINUTE + 1)]
    assert statuses == [404] * SHARED_PAGES_A_MINUTE + [429]
    refused = stranger.open(path)
    assert (refused.status_code, refused.headers["Referrer-Policy"]) == (429, "no-referrer")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert Stranger(stranger.browser, "192.0.2.254").open(path).status_code == 200


def test_no_log_has_a_token(
    customer: Customer,
    experiment: str,
    stranger: Stranger,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = share(customer, experiment)
    token = path.rpartition("/")[2]
    catalog = customer.services.catalog
    with caplog.at_level(logging.DEBUG), monkeypatch.context() as broken:
        broken.setattr(type(catalog.recorded_looks), "times", lambda *_: 1 / 0)
        answer = stranger.open(path)
    assert answer.status_code == 500
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    # But for the line of the client that has asked.
    logged = [caplog.handler.format(one) for one in caplog.records if one.name != "httpx2"]
    assert any("page /shared/*** failed" in one for one in logged)
    assert not any(token in one for one in logged)
