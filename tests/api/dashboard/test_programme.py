"""Page of the programme: past tests by name, with their winners; for keys that may read results."""

from fastapi.testclient import TestClient

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.local_days import epoch_microseconds
from pipeline.clock import utc_now
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import to_batch
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.engine.analysis.test_programme import PLAN, N, a_share
from tests.pipeline.working_store import an_event, an_exposure

HOSTILE = '</script><script>alert("1")</script>'


def with_winner(customer: Customer, project: str, conversions: int, name: str) -> str:
    """An ended test whose last look recommended to ship its variant; returns its path."""
    path = customer.an_experiment(project, name=name)
    for step in ("start", "complete"):
        assert customer.post(f"{path}/{step}").status_code == 200
    project_id, experiment_id = path.split("/")[2::2]
    catalog = customer.services.catalog
    experiment = catalog.experiments.get(project_id, experiment_id)
    control, variant = (one.id for one in experiment.variants)
    (goal,) = experiment.goals
    look = RecordedLook(
        taken_at=utc_now(),
        is_at_plan=True,
        running_days=14.0,
        visitors=2 * N,
        plan=PLAN,
        comparisons={goal.id: {control: a_share(1000), variant: a_share(conversions)}},
        recommendation="ship",
        variant_id=variant,
    )
    assert catalog.recorded_looks.add(experiment_id, look)
    return path


def with_orders(customer: Customer, path: str) -> None:
    """Visitors of a holdout: 12 of 40 that are held out, and 380 of 760 others, have an order."""
    project_id, holdout_id = path.split("/")[2::2]
    services = customer.services
    holdout = services.catalog.holdouts.get(project_id, holdout_id)
    at, rows = epoch_microseconds(utc_now()), list[EventRow]()
    fields = {"received_at": at, "occurred_at": at}
    for arm, visitors, orders in ((0, 40, 12), (1, 760, 380)):
        for number in range(visitors):
            rows.append(an_exposure(holdout, arm, f"v{arm}-{number}", **fields))
            if number < orders:
                rows.append(an_event("custom_event", f"v{arm}-{number}", event_name="order", **fields))
    services.ingest.write_now(project_id, to_batch(rows))


def test_ended_tests_are_listed_with_their_winners(
    customer: Customer, project: str, browser: TestClient, sign_in: SignIn
) -> None:
    first = with_winner(customer, project, 1100, HOSTILE)
    with_winner(customer, project, 1200, "A second test")
    page = browser.get(f"{project}/programme").text
    assert "2 recommended to ship, together <strong>+" in page
    # What was shipped is counted, and not guessed from the verdict.
    assert "<dt>Shipped</dt><dd>0</dd>" in page
    assert customer.post(f"{first}/ship", {"decision": "keep_control", "note": "Too dear."}).is_success
    assert "<dt>Control kept</dt><dd>1</dd>" in browser.get(f"{project}/programme").text
    assert f'href="{first}"' in page
    assert "A second test" in page
    assert "&lt;/script&gt;&lt;script&gt;alert" in page
    assert "<script>alert" not in page
    without_names = sign_in(customer.with_key("projects:read", "results:read").token)
    assert "A second test" not in without_names.get(f"{project}/programme").text


def test_decisions_are_found_by_what_was_decided_and_why(
    customer: Customer, project: str, browser: TestClient
) -> None:
    first = with_winner(customer, project, 1100, "One-page checkout")
    with_winner(customer, project, 1200, "Free shipping")
    assert customer.ship(first, note="It sells <b>much</b> more.", rollout=False).is_success
    every = browser.get(f"{project}/programme").text.partition("What was decided")[2]
    assert "It sells &lt;b&gt;much&lt;/b&gt; more." in every
    # Variants by name, and not by id.
    assert customer.data_of(first)["variants"][1]["name"] in every
    assert customer.data_of(first)["variants"][1]["id"] not in every
    for query, found in (
        ("search=SELLS+checkout", [True, False]),
        ("decision=ship", [True, False]),
        ("decision=none", [False, True]),
        ("search=shipping&decision=none", [False, True]),
        ("decision=nonsense", [True, True]),
    ):
        text = browser.get(f"{project}/programme?{query}").text
        text = text.partition("What was decided")[2].partition("</section>")[0]
        assert ["One-page checkout" in text, "Free shipping" in text] == found, query
    assert "No ended test fits" in browser.get(f"{project}/programme?search=nothing").text
    assert browser.get(f"{project}/programme?page=many").status_code == 422


def test_a_project_without_ended_tests_says_what_will_be_shown(project: str, browser: TestClient) -> None:
    assert f'href="{project}/programme"' in browser.get(project).text
    assert "No test has ended yet" in browser.get(f"{project}/programme").text


def test_a_key_that_may_not_read_results_gets_a_page_that_says_so(
    customer: Customer, project: str, sign_in: SignIn
) -> None:
    other = customer.a_project().rpartition("/")[2]
    for token, status in (
        (customer.with_key("projects:read").token, 403),
        (customer.with_key(project_ids=(other,)).token, 404),
    ):
        answer = sign_in(token).get(f"{project}/programme")
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("text/html")


def test_the_newest_holdout_tells_what_all_tests_were_worth(
    customer: Customer, project: str, browser: TestClient, sign_in: SignIn
) -> None:
    assert "Holdout:" not in browser.get(f"{project}/programme").text
    path = customer.a_holdout(project)
    assert "Too few visitors yet" in browser.get(f"{project}/programme").text
    with_orders(customer, path)
    page = browser.get(f"{project}/programme").text
    assert f'Holdout: <a href="{path}">Spring</a>' in page
    assert "12 of 40" in page
    assert "380 of 760" in page
    # 50% against 30%.
    assert "Orders by <strong>+66.7%</strong> (95% interval +9.3% to +177.9%)" in page
    assert "5% of new visitors are held out since" in page
    unable = sign_in(customer.with_key("projects:read", "results:read").token)
    assert "Holdout:" not in unable.get(f"{project}/programme").text
