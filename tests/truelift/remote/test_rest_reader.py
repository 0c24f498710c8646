"""The reader of the API waits for limits, and says in the API's words what is wrong."""

from dataclasses import replace

import pytest

from tests.api.customers import a_customer
from tests.api.routes.test_results import Observed
from tests.truelift.remote.conftest import reader_of
from truelift.remote.rest_reader import MOST_ATTEMPTS, RemoteError


def test_a_rate_limit_is_waited_for_as_long_as_the_service_asks(observed: Observed) -> None:
    services = observed.customer.services
    customer = a_customer(observed.customer.client, services, "Limited")
    services.catalog.accounts.update(customer.account.id, rate_limit=1)
    waited: list[float] = []

    def lift_limit(seconds: float) -> None:
        waited.append(seconds)
        services.catalog.accounts.update(customer.account.id, rate_limit=10**6)

    reader = replace(reader_of(customer), sleep=lift_limit)
    assert [list(reader.read_pages("/projects")) for _ in range(3)] == [[]] * 3
    (seconds,) = waited
    # The rest of a minute, and no delay of the client's own.
    assert 1 <= seconds <= 60
    assert seconds.is_integer()


def test_a_limit_that_stays_ends_with_the_words_of_the_service(observed: Observed) -> None:
    services = observed.customer.services
    customer = a_customer(observed.customer.client, services, "Tight")
    services.catalog.accounts.update(customer.account.id, rate_limit=1)
    waited: list[float] = []
    reader = replace(reader_of(customer), sleep=waited.append)
    reader.read("/account")
    with pytest.raises(RemoteError, match="the service answered 429: ") as refused:
        reader.read("/account")
    assert refused.value.code == "rate_limited"
    assert len(waited) == MOST_ATTEMPTS - 1


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/nowhere", {}, "404: "),
        ("/projects", {"page": "0"}, "422: page "),
        ("/projects/prj_none", {}, "404: "),
    ],
)
def test_a_refusal_is_one_sentence_of_the_api(
    path: str, query: dict[str, str], said: str, observed: Observed
) -> None:
    with pytest.raises(RemoteError) as refused:
        reader_of(observed.customer).read(path, **query)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_key_that_is_refused_is_not_repeated(observed: Observed) -> None:
    with pytest.raises(RemoteError, match="401") as refused:
        reader_of(observed.customer, "sk_wrong").read("/projects")
    assert refused.value.code == "invalid_api_key"
    assert "sk_wrong" not in str(refused.value)


def test_a_page_of_something_else_is_no_answer(observed: Observed) -> None:
    reader = reader_of(observed.customer)
    with pytest.raises(RemoteError, match="address of a Truelift service"):
        reader.read("/../../openapi.json")
