"""Every page: its headers, and the same permissions as those of the API."""

import pytest
from fastapi.testclient import TestClient

from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer, a_customer_of
from tests.api.dashboard.conftest import SignIn, a_running_experiment, form_token

# By page: the scopes without one of which it is refused.
PAGES = {
    "/projects": {"projects:read"},
    "{project}": {"projects:read", "experiments:read"},
    "/account": {"account:read"},
    "/projects/new": {"projects:write"},
    "{project}/installation": {"projects:read"},
    "{project}/installation/state.json": {"projects:read"},
    "{project}/experiments/new": {"projects:read", "experiments:read", "experiments:write"},
    "{experiment}": {"experiments:read", "results:read"},
    "{experiment}/edit": {"experiments:read", "experiments:write"},
    "{experiment}/charts/improvements/dark.json": {"results:read"},
    "{experiment}/export": {"results:read"},
    "{experiment}/pause": {"experiments:read"},
}
FILES = {"{experiment}/export"}
ENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
HOSTILE = """<script>alert(1)</script>"'&{{7*7}}</title>"""


# What is refused or only read leaves them as they are.
@pytest.fixture(scope="module")
def customer(service: TestClient) -> Customer:
    return a_customer_of(service)


@pytest.fixture(scope="module")
def project(customer: Customer) -> str:
    return customer.a_project()


@pytest.fixture(scope="module")
def experiment(customer: Customer, project: str) -> str:
    return a_running_experiment(customer, project)


def address(page: str, project: str, experiment: str) -> str:
    return page.format(project=project, experiment=experiment)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_needs_the_scopes_of_the_operations_that_it_shows(
    page: str, customer: Customer, project: str, experiment: str, sign_in: SignIn
) -> None:
    path = address(page, project, experiment)
    assert sign_in(customer.with_key(*PAGES[page]).token).get(path).status_code == 200
    for scope in PAGES[page]:
        others = [one for one in SCOPES if one != scope]
        refused = sign_in(customer.with_key(*others).token).get(path)
        assert refused.status_code == 403
        assert "<h1>Not allowed</h1>" in refused.text


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("{")])
def test_a_restricted_key_and_another_account_find_nothing(
    page: str, customer: Customer, project: str, experiment: str, sign_in: SignIn
) -> None:
    path = address(page, project, experiment)
    other_project = customer.a_project(name="Other").rpartition("/")[2]
    assert isinstance(customer.client, TestClient)
    for stranger in (
        customer.with_key(project_ids=(other_project,)),
        a_customer_of(customer.client, "Stranger"),
    ):
        answer = sign_in(stranger.token).get(path)
        assert answer.status_code == 404
        assert "Shop" not in answer.text


def test_a_restricted_key_lists_its_projects_alone(customer: Customer, project: str, sign_in: SignIn) -> None:
    other = customer.a_project(name="Unreached").rpartition("/")[2]
    page = sign_in(customer.with_key(project_ids=(project.rpartition("/")[2],)).token).get("/")
    assert project in page.text
    assert other not in page.text


@pytest.mark.parametrize("page", [*sorted(PAGES.keys() - FILES), "/sign-in", "/projects/none"])
def test_pages_load_nothing_from_elsewhere_and_are_kept_nowhere(
    page: str, project: str, experiment: str, browser: TestClient
) -> None:
    answer = browser.get(address(page, project, experiment))
    policy = answer.headers.get("content-security-policy", "")
    if answer.status_code == 303:
        return
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "style=" not in answer.text
    assert "onclick" not in answer.text


def test_hostile_texts_are_shown_as_texts(customer: Customer, sign_in: SignIn) -> None:
    project = customer.a_project(name=HOSTILE)
    variants = [{"name": HOSTILE, "is_control": True}, {"name": "B" + HOSTILE}]
    path = customer.an_experiment(project, name=HOSTILE, hypothesis=HOSTILE, variants=variants)
    assert customer.post(f"{path}/start").status_code == 200
    browser = sign_in(customer.token)
    for page in (
        "/",
        project,
        path,
        f"{path}/pause",
        f"{project}?search=%3Cscript%3E%22",
        "/sign-in?next=%22%3E%3Cscript%3E",
    ):
        text = browser.get(page).text
        assert "<script>alert" not in text
        assert "49" not in text.partition("&lt;script&gt;alert(1)")[2][:60]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in browser.get(path).text


@pytest.mark.parametrize("path", ["/projects/none", "/projects/none/experiments/none", "/projects/a%2Fb"])
def test_what_does_not_exist_is_said_in_plain_words(path: str, browser: TestClient) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    if "json" not in answer.headers["content-type"]:
        assert "<h1>Not found</h1>" in answer.text


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_a_form_without_the_token_of_its_session_changes_nothing(
    token: str, customer: Customer, experiment: str, browser: TestClient
) -> None:
    assert browser.post(f"{experiment}/pause", data={"form_token": token}).status_code == 403
    assert customer.data_of(experiment)["status"] == "running"


def test_the_token_of_another_session_changes_nothing(
    customer: Customer, experiment: str, browser: TestClient, sign_in: SignIn
) -> None:
    other = form_token(sign_in(customer.token).get(f"{experiment}/pause"))
    assert browser.post(f"{experiment}/pause", data={"form_token": other}).status_code == 403
    assert customer.data_of(experiment)["status"] == "running"


def test_a_form_of_any_size_or_kind_is_refused_in_words(experiment: str, browser: TestClient) -> None:
    token = form_token(browser.get(f"{experiment}/pause"))
    large = browser.post(f"{experiment}/pause", data={"form_token": token, "x": "x" * 2**20})
    many = browser.post(f"{experiment}/pause", content="x=&" * 200, headers=ENCODED)
    parts = browser.post(f"{experiment}/pause", data={"form_token": token}, files={"x": b"x"})
    elsewhere = browser.post(
        f"{experiment}/pause", data={"form_token": token}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert [one.status_code for one in (large, many, parts, elsewhere)] == [413, 422, 415, 403]
    assert all("<h1>" in one.text for one in (large, many, parts, elsewhere))


def test_what_fails_by_mistake_or_for_a_while_is_a_page(
    service: TestClient, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = service.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
    for error, status in ((RuntimeError("a secret"), 500), (CatalogBusyError("busy for a moment"), 503)):

        def fail(*_: object, raised: Exception = error, **__: object) -> None:
            raise raised

        with monkeypatch.context() as patched:
            patched.setattr(type(services.catalog.sessions), "find", fail)
            answer = browser.get("/")
        assert answer.status_code == status
        assert "<h1>" in answer.text
        assert "a secret" not in answer.text
    assert browser.get("/").status_code == 200
