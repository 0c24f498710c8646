"""The client of a server, in Node: decisions of many visitors, and events that arrive once."""

from typing import Any

import pytest

from tests.api.sdk.browser.site import Answer, Site, a_config, accepted, an_experiment, refusing
from tests.packages.js.installed import Installed, documented

CLIENT = """
import { createClient } from "@truelift/js/node";
const failures = [];
const [{ options }] = given;
const client = createClient({ onError: (failure) => failures.push(failure), ...options });
await client.ready;
const end = async (answer) =>
  console.log(JSON.stringify({ ...answer, failures, closed: await client.close(60_000) }));
"""


def run(package: Installed, site: Site, script: str, **options: object) -> dict[str, Any]:
    """Run a script with a client of the site's service."""
    given = {"baseUrl": site.service, "apiKey": "key", "projectId": "prj_1", "gatherMs": 20, **options}
    answer: dict[str, Any] = package.run(CLIENT + script, {"options": given})
    return answer


def test_the_documented_server_records_what_its_visitors_do(package: Installed, site: Site) -> None:
    experiment = an_experiment(test_key="checkout")
    experiment["variants"][1]["name"] = "One page"
    site.config = a_config(experiment)
    (script,) = (block for block in documented("ts") if "@truelift/js/node" in block)
    package.run(script.replace("https://ab.shop.example", site.service).replace('"…"', '"key"'))
    assert len(site.events("exposure")) == 1
    assert [event["event_name"] for event in site.events("custom_event")] == ["checkout_opened"]


def test_a_thousand_events_at_once_arrive_in_few_requests(package: Installed, site: Site) -> None:
    script = """
      for (let number = 0; number < 1000; number++) client.forVisitor(`v${number}`).track("signup");
      await end({ unsent: client.unsent });
    """
    assert run(package, site, script) == {"unsent": 1000, "failures": [], "closed": True}
    assert len(site.events("custom_event")) == 1000
    assert len({event["event_id"] for event in site.received}) == len(site.received)
    assert sum(path.startswith("/api/v1/sdk/track") for _, path, _ in site.requests) < 10


def test_a_fetch_of_the_server_asks_the_service_in_place_of_its_own(package: Installed, site: Site) -> None:
    site.config = a_config(an_experiment())
    script = """
      import { createClient } from "@truelift/js/node";
      const asked = [];
      const own = fetch;
      globalThis.fetch = () => Promise.reject(new Error("not this one"));
      const client = createClient({
        ...given[0].options,
        fetch: (address, init) => {
          asked.push([init.method ?? "GET", new URL(address).pathname, init.headers.Authorization]);
          return own(address, init);
        },
      });
      await client.ready;
      const { index } = client.forVisitor("v1").variant("test-1");
      console.log(JSON.stringify({ index, closed: await client.close(60_000), asked }));
    """
    options = {"baseUrl": site.service, "apiKey": "key", "projectId": "prj_1", "gatherMs": 20}
    asked = [
        [method, f"/api/v1/sdk/{name}", "Bearer key"]
        for method, name in (("GET", "config"), ("POST", "track"))
    ]
    assert package.run(script, {"options": options}) == {"index": 1, "closed": True, "asked": asked}
    assert len(site.events("exposure")) == 1


def test_without_a_service_visitors_see_the_original_and_the_process_ends(package: Installed) -> None:
    dead = Site("", "http://127.0.0.1:9")
    script = """
      const visitor = client.forVisitor("v1");
      visitor.track("signup");
      console.log(JSON.stringify({
        variant: visitor.variant("test-1"), value: visitor.value("test-1", 7),
        closed: await client.close(50), failures,
      }));
    """
    done = run(package, dead, script, timeoutMs=50)
    assert (done["variant"], done["value"], done["closed"]) == (None, 7, False)
    assert done["failures"][0]["message"].startswith("the experiments cannot be read")


def test_process_that_forgets_to_close_sends_what_it_gathered(package: Installed, site: Site) -> None:
    run(package, site, "client.forVisitor('v1').track('signup');")
    assert len(site.events("custom_event")) == 1


@pytest.mark.parametrize("status", [429, 503], ids=str)
def test_close_waits_as_long_as_the_service_asks(package: Installed, site: Site, status: int) -> None:
    site.answer = refusing(status, times=1, **{"Retry-After": "1"})
    done = run(package, site, "client.forVisitor('v1').track('signup'); await end({});")
    assert done["closed"] is True
    assert len(site.events("custom_event")) == len(site.bodies) - 1 == 1


def test_a_refused_key_keeps_the_events_and_a_full_client_tells_what_is_lost(
    package: Installed, site: Site
) -> None:
    site.answer = refusing(401, times=9)
    script = """
      const visitor = client.forVisitor("v1");
      visitor.track("one"); visitor.track("two"); visitor.track("three");
      await client.flush(200);
      visitor.track("x".repeat(40_000));
      const answer = { unsent: client.unsent, failures, closed: await client.close(50) };
      console.log(JSON.stringify(answer));
    """
    done = run(package, site, script, capacity=2)
    assert (done["unsent"], done["closed"]) == (2, False)
    assert [one["message"] for one in done["failures"]] == ["an event is lost: 2 wait already"] * 2


def test_an_exposure_that_found_no_room_is_recorded_the_next_time(package: Installed, site: Site) -> None:
    site.config = a_config(an_experiment())
    script = """
      client.forVisitor("v2").track("first");
      client.forVisitor("v1").variant("test-1");
      await client.flush(60_000);
      for (const _ of [1, 2]) client.forVisitor("v1").variant("test-1");
      await end({});
    """
    done = run(package, site, script, capacity=1)
    assert [one["message"] for one in done["failures"]] == ["an event is lost: 1 wait already"]
    assert [event["visitor_id"] for event in site.events("exposure")] == ["v1"]


def test_rejected_and_too_large_events_are_told_and_hold_nothing_up(package: Installed, site: Site) -> None:
    def reject(events: list[dict[str, Any]]) -> Answer:
        status, headers, text = accepted(events)
        return (
            status,
            headers,
            text.replace('"ok", "code": null', '"rejected", "code": "x", "message": "no"', 1),
        )

    site.answer = reject
    script = """
      const visitor = client.forVisitor("v1");
      visitor.track("x".repeat(40_000)); visitor.track("one"); visitor.track("two");
      await end({});
    """
    done = run(package, site, script)
    assert done["closed"] is True
    assert [one["message"] for one in done["failures"]] == ["an event may have 32768 bytes", "no"]
    assert done["failures"][1]["event_id"] == site.received[0]["event_id"]


def test_variants_stay_after_the_weights_change(package: Installed, site: Site) -> None:
    script = """
      const shown = () => [..."abcdefgh"].map((id) => client.forVisitor(id).variant("test-1")?.index);
      const before = shown();
      await fetch(`${options.baseUrl}/change`);
      while (client.forVisitor("new").peek("test-1").index !== 1)
        await new Promise((resolve) => setTimeout(resolve, 5));
      await end({ before, after: shown() });
    """
    site.config = a_config(an_experiment(thresholds=[2**32, 2**32]))
    changed = a_config(an_experiment(thresholds=[0, 2**32]))
    site.changes = {"/change": lambda: setattr(site, "config", changed)}
    done = run(package, site, script, refreshMs=10)
    assert done["before"] == done["after"] == [0] * 8
    exposures = site.events("exposure")
    assert len(exposures) == 8


def test_visitors_of_an_account_share_its_variant_and_their_exposures_name_it(
    package: Installed, site: Site
) -> None:
    site.config = a_config(an_experiment(unit={"attribute": "account"}, thresholds=[2**31, 2**32]))
    script = """
      const shown = [1, 2, 3].map((account) =>
        ["a", "b"].map((id) => client.forVisitor(`${id}${account}`, { account }).variant("test-1").index));
      await end({ shown, none: client.forVisitor("c").variant("test-1") });
    """
    done = run(package, site, script)
    assert all(one == other for one, other in done["shown"])
    assert done["none"] is None
    assert [event["attributes"] for event in site.events("exposure")] == [
        {"account": account} for account in (1, 1, 2, 2, 3, 3)
    ]


def test_names_of_the_definition_are_for_servers_alone(package: Installed, site: Site) -> None:
    experiment = an_experiment()
    named = [{"name": "Old", "payload": None}, {"name": "New", "payload": {"steps": 1}}]
    experiment["definition"] = {"variants": named}
    public = an_experiment(number=2)
    public["variants"][1] |= {"name": "Public", "payload": 5}
    site.config = a_config(experiment, public)
    script = """
      const visitor = client.forVisitor("v1");
      await end({ variant: visitor.peek("test-1"), bootstrap: visitor.bootstrap() });
    """
    done = run(package, site, script)
    assert (done["variant"]["name"], done["variant"]["payload"]) == ("New", {"steps": 1})
    variants = done["bootstrap"]["variants"]
    assert (variants["test-1"]["name"], variants["test-1"]["payload"]) == (None, None)
    assert (variants["test-2"]["name"], variants["test-2"]["payload"]) == ("Public", 5)
    assert done["bootstrap"]["visitorId"] == "v1"


@pytest.mark.parametrize("is_answered", [True, False])
def test_after_a_change_of_weights_the_service_tells_the_first_variant_or_nobody_is_counted(
    package: Installed, site: Site, *, is_answered: bool
) -> None:
    # By the present weights the visitor would get the second variant.
    site.config = a_config(an_experiment(unsettled=[[0, 2**32]]), an_experiment(number=2))
    first = {"experiment_id": "exp_000001", "variant_id": "var_000001a", "covers_page": True}
    site.init = lambda _: {"assignments": [first]} if is_answered else {}
    script = """
      const shown = [];
      for (const _ of [1, 2]) {
        const visitor = client.forVisitor("v1");
        await visitor.ready;
        shown.push(["test-1", "test-2"].map((key) => visitor.variant(key)?.index ?? null));
      }
      await end({ shown });
    """
    done = run(package, site, script)
    assert done["shown"] == [[0 if is_answered else None, 1]] * 2
    exposed = ["exp_000001", "exp_000002"] if is_answered else ["exp_000002"]
    assert [event["experiment_id"] for event in site.events("exposure")] == exposed
    # What is known is not asked for again.
    asked = sum(path.startswith("/api/v1/sdk/init") for _, path, _ in site.requests)
    assert asked == (1 if is_answered else 2)


def test_only_the_service_decides_patterns_that_are_too_large_and_is_asked_once(
    package: Installed, site: Site
) -> None:
    site.config = a_config(an_experiment(decided_by_server=True, pages=None))
    answer = {"experiment_id": "exp_000001", "variant_id": "var_000001b", "covers_page": True}
    site.init = lambda _: {"assignments": [answer]}
    script = """
      const visitor = client.forVisitor("v1");
      const before = visitor.variant("test-1");
      await visitor.ready;
      const shown = [1, 2].map(() => visitor.variant("test-1")?.index);
      await end({ before, shown });
    """
    done = run(package, site, script)
    assert (done["before"], done["shown"]) == (None, [1, 1])
    assert sum(path.startswith("/api/v1/sdk/init") for _, path, _ in site.requests) == 1
    assert len(site.events("exposure")) == 1
