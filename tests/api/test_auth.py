import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import an_experiment_body, error_of


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Bearer svc_live_0123456789abcdef_" + "0" * 64,
        "Basic dXNlcjpwYXNz",
        "Bearer \xe9\xff",
    ],
)
def test_request_without_a_valid_key_is_refused(customer: Customer, header: str | None) -> None:
    headers = {} if header is None else {b"Authorization": header.encode("latin-1")}
    answer = customer.client.get("/api/v1/projects", headers=headers)
    error_of(answer, 401, "invalid_api_key")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_every_useless_key_gets_the_same_answer(customer: Customer) -> None:
    messages = set()
    for token in ("x", customer.token[:-1], customer.token + "0", customer.token.replace("live", "test")):
        answer = customer.client.get("/api/v1/projects", headers={"Authorization": f"Bearer {token}"})
        messages.add(error_of(answer, 401, "invalid_api_key")["message"])
    assert len(messages) == 1


def test_revoked_key_stops_at_once(customer: Customer, services: Services) -> None:
    assert customer.get("/projects").status_code == 200
    key = services.catalog.keys.of_account(customer.account.id)[0]
    services.catalog.keys.revoke(customer.account.id, key.id, now=key.created_at)
    error_of(customer.get("/projects"), 401, "invalid_api_key")


def test_account_that_is_not_served_is_refused(customer: Customer, services: Services, project: str) -> None:
    services.catalog.accounts.update(customer.account.id, subscription_status="canceled")
    error_of(customer.get(project), 402, "account_inactive")
    services.catalog.accounts.update(customer.account.id, subscription_status="past_due")
    assert customer.get(project).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/projects", "projects:read"),
        ("POST", "/projects", "projects:write"),
        ("GET", "{project}", "projects:read"),
        ("PATCH", "{project}", "projects:write"),
        ("GET", "{project}/experiments", "experiments:read"),
        ("POST", "{project}/experiments", "experiments:write"),
        ("GET", "{experiment}", "experiments:read"),
        ("PATCH", "{experiment}", "experiments:write"),
        ("POST", "{experiment}/start", "experiments:write"),
        ("POST", "{experiment}/pause", "experiments:write"),
        ("POST", "{experiment}/resume", "experiments:write"),
        ("POST", "{experiment}/complete", "experiments:write"),
        ("GET", "{experiment}/results", "results:read"),
        ("GET", "{experiment}/results/summary", "results:read"),
        ("GET", "{experiment}/results/timeseries", "results:read"),
    ],
)
def test_operation_needs_its_scope_and_no_other(
    customer: Customer, experiment: str, method: str, path: str, scope: str
) -> None:
    path = path.format(project=experiment.partition("/experiments")[0], experiment=experiment)
    every = {"projects:read", "projects:write", "experiments:read", "experiments:write", "results:read"}
    without = customer.with_key(*(every - {scope}))
    assert scope in error_of(without.call(method, path), 403, "forbidden")["message"]
    assert customer.with_key(scope).call(method, path).status_code != 403


def test_objects_of_another_account_do_not_exist(stranger: Customer, project: str, experiment: str) -> None:
    mine = stranger.a_project()
    foreign = experiment.rpartition("/")[2]
    for method, path in (
        ("GET", project),
        ("PATCH", project),
        ("GET", f"{project}/experiments"),
        ("POST", f"{project}/experiments"),
        ("GET", experiment),
        ("PATCH", experiment),
        ("POST", f"{experiment}/start"),
        ("GET", f"{experiment}/results"),
        # In a project of one's own, too, an experiment of another is unknown.
        ("GET", f"{mine}/experiments/{foreign}"),
        ("POST", f"{mine}/experiments/{foreign}/start"),
        ("GET", f"{mine}/experiments/{foreign}/results/timeseries"),
    ):
        error_of(stranger.call(method, path), 404, "not_found")
    assert stranger.get("/projects").json()["meta"]["total"] == 1


def test_restricted_key_reaches_its_projects_only(customer: Customer) -> None:
    reached, other = customer.a_project(), customer.a_project()
    restricted = customer.with_key(project_ids=(reached.rpartition("/")[2],))
    listed = restricted.get("/projects").json()
    assert ([f"/projects/{found['id']}" for found in listed["data"]], listed["meta"]["total"]) == (
        [reached],
        1,
    )
    assert restricted.get(reached).status_code == 200
    error_of(restricted.get(other), 404, "not_found")
    error_of(restricted.post(f"{other}/experiments", an_experiment_body()), 404, "not_found")


def test_restricted_key_creates_no_project(customer: Customer, project: str) -> None:
    restricted = customer.with_key(project_ids=(project.rpartition("/")[2],))
    error_of(restricted.post("/projects", {}), 403, "forbidden")


def test_checks_come_in_their_order(customer: Customer, services: Services, project: str) -> None:
    unreadable = {"content": b"{", "headers": {"Content-Type": "text/plain"}}
    reader = customer.with_key("projects:read")
    error_of(customer.call("PATCH", "/projects/prj_x", **unreadable), 404, "not_found")
    error_of(reader.call("PATCH", "/projects/prj_x", **unreadable), 403, "forbidden")
    error_of(customer.call("PATCH", project, **unreadable), 415, "unsupported_media_type")
    error_of(customer.call("PATCH", f"{project}/experiments/exp_x", **unreadable), 404, "not_found")
    services.catalog.accounts.update(customer.account.id, subscription_status="unpaid")
    error_of(reader.call("PATCH", "/projects/prj_x", **unreadable), 402, "account_inactive")
