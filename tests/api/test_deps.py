"""Dependencies that routes share: page sizes, and requests that are counted once."""

import pytest

from api.deps import per_page
from tests.api.customers import Customer
from tests.api.rates import rate_limit_of
from tests.api.request_bodies import error_of


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (100, 100), (101, 100), (10**9, 100)])
def test_a_page_has_at_most_a_hundred_items(size: int, expected: int) -> None:
    assert per_page(size) == expected


def test_a_request_with_several_dependencies_is_counted_once(customer: Customer, project: str) -> None:
    before = rate_limit_of(customer.get(project))[1]
    assert rate_limit_of(customer.patch(project, {"name": "Renamed"}))[1] == before - 1


def test_a_project_and_an_experiment_out_of_reach_are_the_same_404(
    customer: Customer, project: str, experiment: str
) -> None:
    other = customer.a_project()
    restricted = customer.with_key(project_ids=(other.rpartition("/")[2],))
    error_of(restricted.get(project), 404, "not_found")
    error_of(restricted.get(experiment), 404, "not_found")
    moved = f"{other}/experiments/{experiment.rpartition('/')[2]}"
    error_of(restricted.get(moved), 404, "not_found")
