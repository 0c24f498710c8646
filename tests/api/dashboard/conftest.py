"""A customer with a running experiment, and a browser without scripts that is signed in."""

from collections.abc import Callable, Iterator

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_browser, a_customer_of

SignIn = Callable[[str], TestClient]


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    with TestClient(create_app(settings)) as client:
        yield client


@pytest.fixture
def customer(service: TestClient) -> Customer:
    """An account of each test, as an account has so many projects and requests."""
    return a_customer_of(service)


@pytest.fixture
def project(customer: Customer) -> str:
    """The path of a new project, which is that of its page too."""
    return customer.a_project()


@pytest.fixture
def experiment(customer: Customer, project: str) -> str:
    """The path of a running experiment."""
    return a_running_experiment(customer, project)


def a_running_experiment(customer: Customer, project: str) -> str:
    """Start an experiment; returns its path."""
    path = customer.an_experiment(project)
    assert customer.post(f"{path}/start").status_code == 200
    return path


@pytest.fixture
def sign_in(customer: Customer) -> SignIn:
    """Sign in with a token; each browser has cookies of its own."""

    def browser_of(token: str) -> TestClient:
        assert isinstance(customer.client, TestClient)
        browser = a_browser(customer.client)
        answer = browser.post("/sign-in", data={"key": token})
        assert answer.status_code == 303, answer.text
        return browser

    return browser_of


@pytest.fixture
def browser(customer: Customer, sign_in: SignIn) -> TestClient:
    """A browser that is signed in with a key of all scopes."""
    return sign_in(customer.token)


def form_token(page: httpx2.Response) -> str:
    """The token of a page's forms."""
    return hidden_field(page, "form_token")


def hidden_field(page: httpx2.Response, name: str) -> str:
    """The value of the first hidden field of a name."""
    return page.text.partition(f'name="{name}" value="')[2].partition('"')[0]
