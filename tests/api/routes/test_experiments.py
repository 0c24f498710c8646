from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from api.services import Services
from engine.design import lifecycle
from tests.api.customers import Customer
from tests.api.request_bodies import CONTROL, PURCHASE, TREATMENT, error_of, fields_of
from tests.api.shapes import EXPERIMENT, EXPERIMENT_DETAIL


def test_smallest_experiment_is_a_draft_with_the_defaults(customer: Customer, project: str) -> None:
    answer = customer.post(f"{project}/experiments", {"name": "Checkout button"})
    data = answer.json()["data"]
    assert answer.status_code == 201
    assert set(data) == EXPERIMENT_DETAIL
    expected = {
        "test_key": "checkout-button",
        "type": "visual",
        "status": "draft",
        "url": "https://shop.example",
        "url_match_type": "exact",
        "url_rules": [],
        "traffic_allocation": 100,
        "unit": "visitor",
        "trigger": "direct",
        "relay_params": False,
        "stop_conditions": {"visitor_limit": None, "conversion_limit": None, "auto_stop_on_winner": False},
        "confidence_level": 95,
        "analysis_method": "frequentist",
        "score_label": "Significance (1-p)",
        "effective_confidence_threshold": 95.0,
        "targeting_rules": {"version": 2, "root": {"operator": "and", "children": []}},
        "variants": [],
        "goals": [],
        "assigned_user_ids": [],
        "hypothesis": None,
        "scheduled_start_at": None,
    }
    assert {name: data[name] for name in expected} == expected


def test_whole_draft_is_read_back_with_ids(customer: Customer, project: str, services: Services) -> None:
    member = services.catalog.members.accepted(customer.account.id)[0]
    fields = {
        "type": "redirect",
        "hypothesis": "A shorter page sells more.",
        "url": "https://shop.example/checkout",
        "url_match_type": "starts_with",
        "url_rules": [{"type": "exclude", "match_type": "contains", "value": "/admin"}],
        "traffic_allocation": 50,
        "unit": {"attribute": "account"},
        "trigger": "click",
        "trigger_selector": "#buy",
        "custom_css": "h1 { color: red }",
        "custom_js": "console.log(1)",
        "relay_params": True,
        "scheduled_start_at": "2030-01-01T00:00:00Z",
        "scheduled_end_at": "2030-02-01T00:00:00Z",
        "stop_conditions": {"visitor_limit": 1000, "conversion_limit": None, "auto_stop_on_winner": True},
        "confidence_level": 90,
        "analysis_method": "bayesian",
        "targeting_rules": {
            "version": 2,
            "root": {
                "operator": "and",
                "children": [{"field": "country", "operator": "in", "values": ["US", "CA"]}],
            },
        },
        "assigned_user_ids": [member.id],
    }
    path = customer.an_experiment(project, **fields, traffic_strategy="fixed")
    data = customer.data_of(path)
    assert {name: data[name] for name in fields} == fields
    assert "traffic_strategy" not in data
    assert data["score_label"] == "Chance to beat control"
    control, treatment = data["variants"]
    assert (control["is_control"], control["changes"]) == (True, [])
    assert treatment["changes"][0] == {
        **TREATMENT["changes"][0],  # type: ignore[index] # a literal of mixed values
        "id": treatment["changes"][0]["id"],
    }
    of_no_metric = {"metric_id": None, "metric_version": None}
    assert data["goals"] == [{**PURCHASE, **of_no_metric, "id": data["goals"][0]["id"]}]
    ids = [control["id"], treatment["id"], treatment["changes"][0]["id"], data["goals"][0]["id"]]
    assert [id_.partition("_")[0] for id_ in ids] == ["var", "var", "chg", "goal"]


def test_what_is_not_compared_by_unit_is_refused_by_field(customer: Customer, project: str) -> None:
    fields = {
        "name": "Accounts",
        "unit": {"attribute": "account"},
        "traffic_strategy": "bandit",
        "variants": [CONTROL, TREATMENT],
        "goals": [{"name": "Revenue", "goal_type": "revenue", "config": {"cap_percentile": 99}}],
        "statistics": {"cuped": True, "covariates": ["pre_period", "country"]},
    }
    answer = customer.post(f"{project}/experiments", fields)
    refused = {one["field"] for one in error_of(answer, 422, "validation_error")["details"]}
    wanted = {"traffic_strategy", "statistics.covariates", "goals[0].config.cap_percentile"}
    assert refused >= wanted


def test_weights_of_units_stay_once_the_experiment_has_started(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, unit="user")
    customer.post(f"{path}/start")
    customer.post(f"{path}/pause")
    variants = customer.data_of(path)["variants"]
    moved = [{**one, "weight": weight} for one, weight in zip(variants, (90, 10), strict=True)]
    answer = customer.patch(path, {"variants": moved})
    details = error_of(answer, 422, "validation_error")["details"]
    assert {one["field"] for one in details} == {"variants"}
    assert "keep their weights" in details[0]["message"]


def test_threshold_is_adjusted_for_the_number_of_variants(customer: Customer, project: str) -> None:
    # Bonferroni over the comparisons with the control: 1 - 0.05/2 is 97.5%, 1 - 0.05/3 is 98.33%.
    more = [{"name": "C"}, {"name": "D"}]
    for extra, threshold in ((0, 95.0), (1, 97.5), (2, 98.33)):
        path = customer.an_experiment(project, variants=[CONTROL, TREATMENT, *more[:extra]])
        assert customer.data_of(path)["effective_confidence_threshold"] == threshold


def test_test_keys_of_a_project_differ(customer: Customer, project: str) -> None:
    paths = [customer.an_experiment(project) for _ in range(3)]
    assert [customer.data_of(path)["test_key"] for path in paths] == [
        "checkout-button",
        "checkout-button-2",
        "checkout-button-3",
    ]


def test_experiments_are_listed_last_updated_first_without_their_parts(
    customer: Customer, project: str
) -> None:
    first, second, third = (customer.an_experiment(project, name=name) for name in "abc")
    customer.patch(first, {"hypothesis": "again"})
    listed = customer.get(f"{project}/experiments", per_page=2).json()
    assert [f"{project}/experiments/{found['id']}" for found in listed["data"]] == [first, third]
    assert listed["meta"] == {"page": 1, "per_page": 2, "total": 3}
    assert set(listed["data"][0]) == EXPERIMENT
    assert customer.get(f"{project}/experiments", page=2, per_page=2).json()["data"][0]["id"] in second


def test_listing_can_be_filtered_by_status(customer: Customer, project: str) -> None:
    draft, running = customer.an_experiment(project), customer.an_experiment(project)
    customer.post(f"{running}/start")

    def listed(status: str) -> list[str]:
        found = customer.get(f"{project}/experiments", status=status).json()["data"]
        return [f"{project}/experiments/{one['id']}" for one in found]

    assert listed("draft") == [draft]
    assert listed("running") == [running]
    assert [listed(status) for status in ("scheduled", "paused", "completed", "archived")] == [[]] * 4
    error = error_of(customer.get(f"{project}/experiments", status="lost"), 422, "validation_error")
    assert fields_of(error) == ["status"]


def test_archived_experiments_are_listed_on_request_only(
    customer: Customer, project: str, services: Services
) -> None:
    path = customer.an_experiment(project)
    for step in ("start", "complete"):
        customer.post(f"{path}/{step}")
    archive(services, path)
    assert customer.get(f"{project}/experiments").json()["meta"]["total"] == 0
    assert customer.get(f"{project}/experiments", status="archived").json()["meta"]["total"] == 1
    error_of(customer.patch(path, {"name": "x"}), 422, "experiment_locked")


def archive(services: Services, path: str) -> None:
    _, _, project_id, _, experiment_id = path.split("/")
    decide = partial(lifecycle.archive, now=datetime.now(UTC))
    services.catalog.experiments.change(project_id, experiment_id, decide, actor="test")


def test_experiment_goes_through_its_life(customer: Customer, experiment: str) -> None:
    for step, status in (
        ("start", "running"),
        ("pause", "paused"),
        ("resume", "running"),
        ("pause", "paused"),
        ("complete", "completed"),
    ):
        answer = customer.post(f"{experiment}/{step}")
        assert (answer.status_code, answer.json()["data"]["status"]) == (200, status)
        extra = {"open_visitors"} if step == "complete" else set()
        assert set(answer.json()["data"]) == EXPERIMENT_DETAIL | extra
    error_of(customer.post(f"{experiment}/resume"), 422, "invalid_transition")


def test_transition_takes_no_body_and_minds_none(customer: Customer, experiment: str) -> None:
    answer = customer.call(
        "POST", f"{experiment}/start", content=b"{", headers={"Content-Type": "text/plain"}
    )
    assert answer.json()["data"]["status"] == "running"


@pytest.mark.parametrize("step", ["pause", "resume", "complete"])
def test_draft_can_only_be_started(customer: Customer, experiment: str, step: str) -> None:
    error_of(customer.post(f"{experiment}/{step}"), 422, "invalid_transition")


def test_start_needs_two_variants_and_a_goal(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, variants=[CONTROL], goals=[])
    error = error_of(customer.post(f"{path}/start"), 422, "start_requirements_not_met")
    assert set(fields_of(error)) == {"variants", "goals"}


def test_start_ahead_of_its_time_schedules(customer: Customer, project: str) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    path = customer.an_experiment(project, scheduled_start_at=tomorrow)
    assert customer.post(f"{path}/start").json()["data"]["status"] == "scheduled"
    assert customer.patch(path, {"scheduled_start_at": None}).json()["data"]["status"] == "draft"
    customer.patch(path, {"scheduled_start_at": tomorrow})
    customer.post(f"{path}/start")
    assert customer.post(f"{path}/start").json()["data"]["status"] == "running"


def test_of_requests_racing_to_start_one_draft_one_wins(customer: Customer, experiment: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: customer.post(f"{experiment}/start"), range(8)))
    codes = sorted(answer.json().get("error", {}).get("code", "started") for answer in answers)
    assert codes == ["invalid_transition"] * 7 + ["started"]


def test_start_leaves_a_trail(customer: Customer, experiment: str, services: Services) -> None:
    customer.post(f"{experiment}/start")
    entry = services.catalog.audit.of(experiment.rpartition("/")[2])[-1]
    assert entry.changes["status"] == ["draft", "running"]
    assert entry.account_id == customer.account.id


def test_statistics_are_kept_and_changed_one_by_one(customer: Customer, project: str) -> None:
    path = customer.an_experiment(project, statistics={"sequential": "always_valid"})
    assert customer.data_of(path)["statistics"] == {
        "sequential": "always_valid",
        "alternative": "two_sided",
        "planned_sample": None,
        "minimum_effect_percent": 10.0,
        "correction": "bonferroni",
        "guardrails": "not_harmed",
        "cuped": False,
        "covariates": ["pre_period"],
        "pre_period_days": 14,
        "prior": "flat",
        "prior_lift_percent": 0.0,
        "prior_deviation_percent": 10.0,
    }
    changed = customer.patch(path, {"statistics": {"planned_sample": 20_000}}).json()["data"]
    assert (changed["statistics"]["sequential"], changed["statistics"]["planned_sample"]) == (
        "always_valid",
        20_000,
    )
    answer = customer.patch(path, {"statistics": {"correction": "tukey", "planned_sample": 1}})
    assert fields_of(error_of(answer, 422, "validation_error")) == [
        "statistics.planned_sample",
        "statistics.correction",
    ]
    unknown = {"cuped": True, "covariates": ["country", "shoe_size"]}
    answer = customer.patch(path, {"statistics": unknown})
    assert fields_of(error_of(answer, 422, "validation_error")) == ["statistics.covariates[1]"]


def test_a_ramp_begins_with_its_first_step(customer: Customer, experiment: str) -> None:
    steps = [{"percent": 5, "hours": 24}, {"percent": 100}]
    changed = customer.patch(experiment, {"ramp": {"steps": steps}}).json()["data"]
    assert changed["ramp"] == {
        "steps": [{"percent": 5, "hours": 24.0}, {"percent": 100, "hours": None}],
        "on_harm": "rollback",
    }
    assert (changed["traffic_allocation"], changed["ramp_steps"], changed["ramp_harm"]) == (100, [], [])
    started = customer.post(f"{experiment}/start").json()["data"]
    assert (started["traffic_allocation"], started["ramp_steps"][0]["percent"]) == (5, 5)
    error_of(customer.patch(experiment, {"ramp": None}), 422, "experiment_running")
    customer.post(f"{experiment}/pause")
    error_of(customer.patch(experiment, {"ramp": None}), 422, "field_locked")
    customer.post(f"{experiment}/complete")
    copied = customer.post(f"{experiment}/copy").json()["data"]
    assert (copied["ramp"], copied["ramp_steps"]) == (changed["ramp"], [])
