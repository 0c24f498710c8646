"""Preconditions: a write with If-Match is carried out for the revision that it names, and for no other."""

from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import error_of

OTHER = '"0123456789abcdef"'


@pytest.fixture
def path(customer: Customer, project: str) -> str:
    """The path of a draft that could start."""
    return customer.an_experiment(project)


def write(customer: Customer, method: str, path: str, *tags: str, **arguments: object) -> httpx2.Response:
    headers = [("Authorization", f"Bearer {customer.token}"), *(("If-Match", tag) for tag in tags)]
    return customer.client.request(method, f"/api/v1{path}", headers=headers, **arguments)  # type: ignore[arg-type]  # as given


def rename(customer: Customer, path: str, *tags: str, name: str = "Other") -> httpx2.Response:
    return write(customer, "PATCH", path, *tags, json={"name": name})


def tag_of(customer: Customer, path: str) -> str:
    return customer.get(path).headers["ETag"]


def test_a_revision_is_strong_and_follows_every_change(customer: Customer, path: str) -> None:
    tags = [tag_of(customer, path), rename(customer, path).headers["ETag"]]
    assert tags[1] == tag_of(customer, path)
    # The same name again: it was saved later.
    tags.append(rename(customer, path).headers["ETag"])
    for step in ("start", "pause", "resume", "complete", "archive"):
        tags.append(customer.post(f"{path}/{step}").headers["ETag"])
        assert tags[-1] == tag_of(customer, path)
    assert len(set(tags)) == len(tags) == 8
    assert all(tag.startswith('"') and tag.endswith('"') and len(tag) > 20 for tag in tags)


def test_a_new_draft_tells_its_revision(customer: Customer, project: str) -> None:
    created = customer.post(f"{project}/experiments", {"name": "New"})
    path = f"{project}/experiments/{created.json()['data']['id']}"
    assert created.headers["ETag"] == tag_of(customer, path)


def test_the_second_of_two_writes_from_one_read_changes_nothing(customer: Customer, path: str) -> None:
    read = tag_of(customer, path)
    first = rename(customer, path, read, name="First")
    assert first.status_code == 200
    second = rename(customer, path, read, name="Second")
    error_of(second, 412, "precondition_failed")
    assert second.headers["ETag"] == first.headers["ETag"]
    assert customer.data_of(path)["name"] == "First"
    assert rename(customer, path, second.headers["ETag"], name="Second").status_code == 200


@pytest.mark.parametrize("kind", ["project", "metric", "webhook", "channel"])
def test_other_records_have_revisions_too(customer: Customer, project: str, kind: str) -> None:
    path, field = project, "description" if kind in {"webhook", "channel"} else "name"
    if kind != "project":
        path = getattr(customer, f"a_{kind}")(project)
    read = tag_of(customer, path)
    first = write(customer, "PATCH", path, read, json={field: "First"})
    assert (first.status_code, first.headers["ETag"]) == (200, tag_of(customer, path))
    # A start changes the number of running experiments in the answer, and not the project.
    assert customer.post(f"{customer.an_experiment(project)}/start").status_code == 200
    assert tag_of(customer, path) == first.headers["ETag"] != read
    error_of(write(customer, "PATCH", path, read, json={field: "Second"}), 412, "precondition_failed")
    assert customer.data_of(path)[field] == "First"


def test_another_address_that_looks_the_same_is_another_revision(customer: Customer, project: str) -> None:
    path = customer.a_channel(project)
    read = tag_of(customer, path)
    other = {"url": "https://hooks.slack.example/services/2"}
    assert write(customer, "PATCH", path, read, json=other).status_code == 200
    error_of(write(customer, "PATCH", path, read, json=other), 412, "precondition_failed")


def test_of_many_writes_at_once_from_one_read_one_is_carried_out(customer: Customer, path: str) -> None:
    read = tag_of(customer, path)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: rename(customer, path, read, name=f"N{number}"), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 7]


@pytest.mark.parametrize(
    ("method", "step"),
    [("DELETE", ""), *[("POST", f"/{step}") for step in ("start", "pause", "resume", "complete", "archive")]],
)
def test_a_delete_and_every_step_have_preconditions(
    customer: Customer, path: str, method: str, step: str
) -> None:
    for needed in {"/pause": ["start"], "/resume": ["start", "pause"], "/complete": ["start"]}.get(step, ()):
        assert customer.post(f"{path}/{needed}").status_code == 200
    if step == "/archive":
        assert [customer.post(f"{path}/{one}").status_code for one in ("start", "complete")] == [200, 200]
    before = customer.get(path)
    error_of(write(customer, method, path + step, OTHER), 412, "precondition_failed")
    assert customer.get(path).content == before.content
    assert write(customer, method, path + step, before.headers["ETag"]).is_success


def test_any_revision_lists_and_lines_of_tags_match_and_weak_tags_do_not(
    customer: Customer, path: str
) -> None:
    for tags in (("*",), (f"{OTHER}, {{}}",), (OTHER, "{}"), ("{}",)):
        given = [tag.format(tag_of(customer, path)) for tag in tags]
        assert rename(customer, path, *given).status_code == 200, tags
    for refused in ("W/{}", "x", f"W/{{}}, {OTHER}", ""):
        answer = rename(customer, path, refused.format(tag_of(customer, path)), name="Never")
        error_of(answer, 412, "precondition_failed")


def test_a_replay_needs_no_precondition_and_a_refusal_uses_up_no_key(customer: Customer, path: str) -> None:
    read = tag_of(customer, path)

    def send(tag: str, key: str) -> httpx2.Response:
        headers = {"If-Match": tag, "Idempotency-Key": key}
        return customer.call("PATCH", path, json={"name": "Once"}, headers=headers)

    error_of(send(OTHER, "a"), 412, "precondition_failed")
    first = send(read, "a")
    assert first.status_code == 200
    again = send(read, "a")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.headers["ETag"] == first.headers["ETag"] == tag_of(customer, path)
    error_of(send(read, "b"), 412, "precondition_failed")


def test_a_client_that_has_the_experiment_gets_304(customer: Customer, path: str) -> None:
    read = customer.get(path)

    def again(tag: str) -> httpx2.Response:
        return customer.call("GET", path, headers={"If-None-Match": tag})

    unchanged = again(read.headers["ETag"])
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert rename(customer, path).status_code == 200
    assert again(read.headers["ETag"]).status_code == 200
