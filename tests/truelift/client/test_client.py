"""The client of a server against a real service: it decides as the service does, and loses nothing."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipeline.store.warehouse.events import table_name
from tests.api.customers import Customer
from tests.truelift.client.conftest import PAGE, RunningExperiment, running_experiment
from tests.truelift.client.relay import relayed
from tests.waiting import wait_until
from truelift.client.client import Client

ROOT = Path(__file__).parents[3]


@pytest.fixture
def client(experiment: RunningExperiment) -> Iterator[Client]:
    with Client(experiment.url, **experiment.connection, poll_seconds=0.05) as opened:
        assert opened.wait_until_ready(60)
        yield opened


def test_decisions_are_those_of_the_service(client: Client, experiment: RunningExperiment) -> None:
    seen = set()
    for number in range(40):
        visitor_id = f"visitor-{number}"
        body = {"visitor_id": visitor_id, "url": PAGE, "project_id": experiment.project_id}
        asked = experiment.customer.with_key("sdk:write").post("/sdk/init", body).json()["assignments"][0]
        decision = client.decide(experiment.test_key, visitor_id, url=PAGE)
        seen.add(asked["variant_name"])
        assert decision.variant == asked["variant_name"]
        assert decision.variant_id == asked["variant_id"]
        assert [one.value for one in decision.changes] == [one["value"] for one in asked["changes"]]
    assert len(seen - {None}) == 2


def test_a_value_is_the_payload_or_the_fallback_and_one_exposure(customer: Customer) -> None:
    variants = [{"name": "Control"}, {"name": "Wide", "payload": {"columns": 3}}]
    experiment = running_experiment(customer, public_variants=True, variants=variants)
    with Client(experiment.url, **experiment.connection) as client:
        assert client.value(experiment.test_key, "v1", "not known yet") in ({"columns": 3}, "not known yet")
        assert client.wait_until_ready(60)
        for number in range(20):
            visitor_id = f"visitor-{number}"
            value = client.value(experiment.test_key, visitor_id, None)
            decision = client.decide(experiment.test_key, visitor_id)
            assert value == decision.payload == (None if decision.is_control else {"columns": 3})
            if value is not None:
                # It is the caller's own.
                value["columns"] = 9
        elsewhere = client.value(experiment.test_key, "v2", "default", url="https://shop.example/other")
        assert elsewhere == "default"
        assert client.value("unknown", "v1", 5) == 5
        assert client.flush(60)
        assert sum(experiment.counted().values()) in {20, 21}


@pytest.mark.parametrize("unit", ["user", {"attribute": "account"}])
def test_visitors_of_a_unit_have_the_variant_that_the_service_gives_it(
    customer: Customer, unit: str | dict[str, str]
) -> None:
    experiment = running_experiment(customer, unit=unit)
    server = customer.with_key("sdk:write")

    def about(unit_id: object) -> dict[str, Any]:
        return {"user_id": unit_id} if unit == "user" else {"attributes": {"account": unit_id}}

    with Client(experiment.url, **experiment.connection) as client:
        assert client.wait_until_ready(60)
        for number in range(20):
            body = {"visitor_id": f"a{number}", "project_id": experiment.project_id, **about(str(number))}
            (asked,) = server.post("/sdk/init", body).json()["assignments"]
            given = number if unit != "user" else str(number)
            decisions = [client.decide(experiment.test_key, f"{one}{number}", **about(given)) for one in "bc"]
            assert {one.variant_id for one in decisions} == {asked["variant_id"]}
            assert {one.unit_id for one in decisions} == {str(number)}
            # The exposure has the unit, though the call does not name it; and it is there once.
            for decision in (*decisions, *decisions):
                client.expose(decision)
        assert client.decide(experiment.test_key, "v").reason == "no_unit"
        assert client.variant(experiment.test_key, "v") is None
        assert client.flush(60)
    assert customer.services.ingest.load()
    table, column = table_name(experiment.project_id), "user_id" if unit == "user" else "custom"
    query = f"SELECT {column} FROM \"{table}\" WHERE type = 'exposure'"  # noqa: S608 (named here)
    with customer.services.warehouse.cursor() as cursor:
        found = Counter(text for (text,) in cursor.execute(query).fetchall())
    shown = str if unit == "user" else '{{"account":"{}"}}'.format
    assert found == {shown(number): 2 for number in range(20)}


def test_a_browser_with_two_users_has_the_variant_of_each(customer: Customer) -> None:
    experiment = running_experiment(customer, unit="user")
    with Client(experiment.url, **experiment.connection) as client:
        assert client.wait_until_ready(60)
        alone = {user: client.variant(experiment.test_key, f"of {user}", user_id=user) for user in "abcdefgh"}
        assert len(set(alone.values())) == 2
        for user, variant in alone.items():
            assert client.variant(experiment.test_key, "shared", user_id=user) == variant
        assert client.flush(60)
    services = customer.services
    assert services.ingest.load()
    query = f'SELECT count(*) FROM "{table_name(experiment.project_id)}"'  # noqa: S608 (named here)
    with services.warehouse.cursor() as cursor:
        assert cursor.execute(query).fetchall() == [(16,)]


def test_exposures_and_conversions_are_counted_once(client: Client, experiment: RunningExperiment) -> None:
    shown: Counter[str | None] = Counter()
    for number in range(60):
        visitor_id = f"visitor-{number}"
        shown[client.variant(experiment.test_key, visitor_id)] += 1
        client.variant(experiment.test_key, visitor_id)
        if number % 3 == 0:
            client.track(visitor_id, "purchase")
    assert client.unsent <= 60 + 20
    assert client.flush(60)
    assert experiment.counted() == dict(shown)
    assert sum(experiment.counted("conversions").values()) == 20


def test_orders_are_money_and_one_that_is_repeated_counts_once(
    client: Client, experiment: RunningExperiment
) -> None:
    for _ in range(2):
        client.variant(experiment.test_key, "v1")
        client.revenue("v1", 4999, currency="USD", transaction_id="1001")
    client.revenue("v1", 1000, transaction_id="1001-back", is_refund=True)
    with pytest.raises(ValueError, match="a visitor_id or a user_id"):
        client.revenue(None, 100)
    assert client.flush(60)
    assert sum(experiment.counted("conversions").values()) == 1


def test_a_change_of_the_experiment_arrives(client: Client, experiment: RunningExperiment) -> None:
    assert client.decide(experiment.test_key, "v1").variant is not None
    experiment.customer.post(f"{experiment.path}/pause")
    # Each time another one, since who was assigned before the pause stays.
    visitors = map(str, count())
    wait_until(lambda: client.decide(experiment.test_key, next(visitors)).status == "excluded")
    assert client.decide(experiment.test_key, "v1").status == "existing"
    experiment.customer.post(f"{experiment.path}/complete")
    wait_until(lambda: not client.has_experiment(experiment.test_key))
    assert "no running, paused or shipped experiment" in client.decide(experiment.test_key, "v1").reason


def test_a_preview_counts_nobody(client: Client, experiment: RunningExperiment) -> None:
    for name in ("Control", "Treatment"):
        assert client.variant(experiment.test_key, "v1", forced=name) == name
    assert client.unsent == 0


def test_the_variant_that_a_visitor_was_given_before_stays(
    client: Client, experiment: RunningExperiment
) -> None:
    first = client.decide(experiment.test_key, "v1")
    other = client.decide(
        experiment.test_key, "v1", forced="Control" if not first.is_control else "Treatment"
    )
    assert first.experiment_id is not None
    assert other.variant_id is not None
    given = {first.experiment_id: other.variant_id}
    assert client.decide(experiment.test_key, "v1", assigned=given).variant == other.variant


def test_events_survive_a_service_that_fails(experiment: RunningExperiment) -> None:
    with relayed(experiment.url) as relay, Client(relay.url, **experiment.connection) as client:
        assert client.wait_until_ready(60)
        relay.status = 503
        client.variant(experiment.test_key, "v1")
        client.track("v1", "purchase")
        wait_until(lambda: relay.requests["POST"] > 0)
        assert client.unsent == 2
        relay.status = None
        assert client.flush(60)
        assert sum(experiment.counted().values()) == 1
        assert sum(experiment.counted("conversions").values()) == 1


def test_decisions_go_on_while_the_service_fails(experiment: RunningExperiment) -> None:
    with relayed(experiment.url) as relay:
        client = Client(relay.url, **experiment.connection, poll_seconds=0.05)
        assert client.wait_until_ready(60)
        relay.status = 500
        before = relay.requests["GET"]
        wait_until(lambda: relay.requests["GET"] > before)
        assert client.decide(experiment.test_key, "v1").variant is not None
        assert client.close()


def test_without_a_service_visitors_see_the_original_and_nothing_waits_for_it(
    experiment: RunningExperiment,
) -> None:
    with Client("http://127.0.0.1:9", **experiment.connection) as client:
        decision = client.decide(experiment.test_key, "v1")
        assert (decision.variant, decision.status, decision.is_control) == (None, "excluded", True)
        assert not client.wait_until_ready(0.01)
        client.track("v1", "purchase")
        assert not client.close(0.01)


def test_a_key_that_is_refused_is_told_and_keeps_the_events(
    experiment: RunningExperiment, caplog: pytest.LogCaptureFixture
) -> None:
    connection = {**experiment.connection, "api_key": "tl_wrong"}
    with Client(experiment.url, **connection) as client:
        client.track("v1", "purchase")
        wait_until(lambda: "the service refuses the client: 401" in caplog.text)
        assert client.unsent == 1
        client.close(0.01)


def test_a_closed_client_decides_but_takes_no_events_and_closes_twice(
    experiment: RunningExperiment, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(experiment.url, **experiment.connection)
    assert client.wait_until_ready(60)
    assert client.close()
    assert client.close()
    # Requests that a server still answers as it ends must not fail.
    assert client.variant(experiment.test_key, "v1") is not None
    client.track("v1", "purchase")
    assert (client.unsent, client.refused) == (0, 2)
    assert "2 events are lost, as the client is closed" in caplog.text


def test_visitors_who_make_long_ids_and_addresses_cost_neither_memory_nor_an_error(
    client: Client, experiment: RunningExperiment
) -> None:
    client.pageview("v1", f"{PAGE}?{'x' * 100_000}")
    assert client.flush(60)
    long_id = "v" * 100_000
    first = client.decide(experiment.test_key, long_id)
    again = client.decide(experiment.test_key, long_id)
    assert (first.variant, first.status) == (again.variant, again.status)
    assert first.status == "new"


def test_a_full_outbox_loses_nothing_that_it_holds(experiment: RunningExperiment) -> None:
    with relayed(experiment.url) as relay:
        relay.status = 503
        client = Client(relay.url, **experiment.connection, capacity=2)
        for number in range(4):
            client.track(f"v{number}", "purchase")
        assert (client.unsent, client.refused) == (2, 2)
        relay.status = None
        assert client.close(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "ab.shop.example"}, "url must be the address"),
        ({"api_key": "pk_1"}, "must be a secret key"),
        ({"project_id": ""}, "project_id is missing"),
        ({"poll_seconds": 0}, "poll_seconds must be above 0"),
        ({"capacity": 0}, "capacity must be at least 1"),
    ],
)
def test_arguments_that_cannot_be_right_are_errors(arguments: dict[str, object], message: str) -> None:
    correct = {"url": "http://127.0.0.1:9", "api_key": "tl_1", "project_id": "prj_1"}
    with pytest.raises(ValueError, match=message):
        Client(**{**correct, **arguments})  # type: ignore[arg-type] # wrong on purpose


END = """
import os, sys, truelift
url, key, project, test_key = sys.argv[1:]
client = truelift.Client(url, api_key=key, project_id=project)
assert client.wait_until_ready(60)
client.variant(test_key, "parent")
if {forks}:
    child = os.fork()
    if child == 0:
        assert client.unsent == 0
        client.variant(test_key, "child")
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("forks", [pytest.param(False, marks=pytest.mark.long(seconds=1)), True])
def test_what_waits_at_the_end_of_a_process_is_sent(experiment: RunningExperiment, *, forks: bool) -> None:
    arguments = (experiment.url, experiment.key, experiment.project_id, experiment.test_key)
    script = END.format(forks=forks)
    subprocess.run([sys.executable, "-c", script, *arguments], check=True, cwd=ROOT, timeout=120)
    assert sum(experiment.counted().values()) == 1 + forks
