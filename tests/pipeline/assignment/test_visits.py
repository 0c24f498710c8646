from collections.abc import Mapping
from typing import Any

from pipeline.assignment import visits
from pipeline.assignment.decide import AssignmentRequest, decide
from pipeline.assignment.first_assignments import KnownAssignments
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.assignment.visits import StoredVisits, assignment_rows, has_news, visit_row
from pipeline.events.attributes import UNKNOWN_CLIENT, Client
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from tests.builders import an_experiment, targeting_of

BROWSER = Client.of_headers({"user-agent": "Mozilla/5.0 (Macintosh) Firefox/140.0", "cf-ipcountry": "DE"})
BOT = Client.of_headers({"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"})


def a_visit(client: Client = UNKNOWN_CLIENT, received: int = 7, **visitor: Any) -> EventRow:
    fields = {"visitor_id": "v1", "user_id": None, "url": None, "attributes": {}, **visitor}
    row = visit_row(Visitor(client=client, **fields), received, "browser")
    assert row is not None
    return row


def rows_of(visit: EventRow, stored: Mapping[str, str], *inherited: str) -> list[EventRow]:
    visitor = Visitor(visitor_id="v1", user_id=None, url=None, attributes={}, client=UNKNOWN_CLIENT)
    request = AssignmentRequest(visitor=visitor, attributes={}, forced={})
    known = KnownAssignments(variant_ids=stored, inherited=frozenset(inherited), is_linked=True)
    return assignment_rows(
        visit, decide(request, [an_experiment(status="running")], targeting_of, stored), known
    )


def test_new_assignments_become_rows_and_others_do_not() -> None:
    visit = a_visit(attributes={"plan": "pro"})
    (row,) = rows_of(visit, {})
    assert (row.type, row.experiment_id, row.custom) == ("assignment", "exp_1", '{"plan":"pro"}')
    assert (row.visitor_key, row.received_at, row.event_id) == (hash64("v1"), 7, "assignment:exp_1:v1")
    assert rows_of(visit, {"exp_1": "var_0"}) == []


def test_an_assignment_from_another_device_is_stored_for_the_visitor() -> None:
    (row,) = rows_of(a_visit(), {"exp_1": "var_0"}, "exp_1")
    assert (row.type, row.experiment_id, row.variant_id) == ("assignment", "exp_1", "var_0")


def test_a_bot_is_not_stored() -> None:
    visitor = Visitor(visitor_id="v1", user_id="u1", url=None, attributes={}, client=BOT)
    assert visit_row(visitor, 7, "browser") is None


def test_attributes_a_tagged_address_and_a_user_are_news_and_headers_are_none() -> None:
    assert not has_news(a_visit())
    assert not has_news(a_visit(BROWSER))
    assert not has_news(a_visit(BROWSER, url="https://shop.example/cart"))
    assert has_news(a_visit(url="https://shop.example/?utm_source=news"))
    assert has_news(a_visit(BROWSER, attributes={"country": "de"}))
    assert has_news(a_visit(attributes={"plan": "pro"}))
    assert has_news(a_visit(attributes={"visitor_identity": "identified"}))
    assert has_news(a_visit(user_id="u1"))


def test_only_changed_attributes_are_stored_again() -> None:
    stored, pro = StoredVisits(), a_visit(attributes={"plan": "pro"})
    assert not stored.holds("prj_1", pro)
    stored.add("prj_1", pro)
    assert stored.holds("prj_1", a_visit(attributes={"plan": "pro"}, received=99))
    assert not stored.holds("prj_2", pro)
    assert not stored.holds("prj_1", a_visit(attributes={"plan": "pro"}, user_id="u1"))
    stored.add("prj_1", a_visit(attributes={"plan": "free"}))
    assert not stored.holds("prj_1", pro)


def test_the_visitors_longest_ago_are_forgotten() -> None:
    stored = StoredVisits()
    for number in range(visits.MAX_VISITORS + 1):
        stored.add("prj_1", a_visit()._replace(visitor_key=number))
    assert not stored.holds("prj_1", a_visit()._replace(visitor_key=0))
    assert stored.holds("prj_1", a_visit()._replace(visitor_key=1))
