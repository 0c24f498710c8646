"""How input becomes a project, or every reason why not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.project import WRITABLE_FIELDS, Project, draft_project, revise_project
from engine.errors import InvalidDesignError
from tests.builders import NOW, a_project


def draft(fields: Any) -> Project:
    return draft_project(fields, id="prj_1", account_id="acc_1", sdk_key="pk_1", now=NOW)


def problems_of(fields: Any) -> set[str]:
    with pytest.raises(InvalidDesignError) as error:
        draft(fields)
    return {problem.field for problem in error.value.problems}


def test_a_name_and_an_address_are_enough() -> None:
    project = draft({"name": "Shop", "url": "https://shop.example"})
    assert (project.platform, project.installation_guide) == ("custom_js", "custom_js")
    assert (project.settings, project.environments) == ({}, ())
    assert project.integrations == {"ga4": {"enabled": False}, "gtm": {"enabled": False}}
    assert (project.reporting_timezone, project.snippet_verified, project.sdk_key) == (None, False, "pk_1")


def test_everything_missing_and_wrong_is_reported_at_once() -> None:
    assert problems_of({}) == {"name", "url"}
    assert problems_of({"nmae": "x", "url": 3, "settings": {"x": 1}}) == {"nmae", "name", "url", "settings.x"}
    assert problems_of(None) == {"body"}


def test_only_what_is_given_changes() -> None:
    before = a_project(settings={"revenue_currency": "EUR", "respect_dnt": True}, reporting_timezone="UTC")
    after = revise_project(before, {"name": "New", "settings": {"respect_dnt": None}}, now=NOW)
    assert (after.name, after.settings, after.updated_at) == ("New", {"revenue_currency": "EUR"}, NOW)
    assert (after.reporting_timezone, after.created_at, after.sdk_key) == (
        "UTC",
        before.created_at,
        before.sdk_key,
    )


def test_a_change_of_one_integration_keeps_the_other() -> None:
    ga4 = {"enabled": True, "measurement_id": "G-1"}
    project = draft({"name": "Shop", "url": "https://shop.example", "integrations": {"ga4": ga4}})
    assert project.integrations == {"ga4": ga4, "gtm": {"enabled": False}}
    both = revise_project(project, {"integrations": {"gtm": {"enabled": True}}}, now=NOW)
    assert both.integrations == {"ga4": ga4, "gtm": {"enabled": True}}
    assert revise_project(both, {"integrations": {}}, now=NOW).integrations == both.integrations


def test_null_disables_an_integration() -> None:
    gtm = {"gtm": {"enabled": True}}
    project = draft({"name": "Shop", "url": "https://shop.example", "integrations": {**gtm, "ga4": None}})
    assert project.integrations == {"ga4": {"enabled": False}, **gtm}
    disabled = revise_project(project, {"integrations": {"gtm": None}}, now=NOW)
    assert disabled.integrations == {"ga4": {"enabled": False}, "gtm": {"enabled": False}}


def test_the_time_zone_can_be_taken_back() -> None:
    assert (
        revise_project(a_project(reporting_timezone="UTC"), {"reporting_timezone": None}, now=NOW).timezone
        == "UTC"
    )


def test_a_project_can_be_sent_back_as_it_was() -> None:
    before = a_project(updated_at=NOW)
    sent = {"id": before.id, "name": before.name, "snippet_verified": True, "running_experiments_count": 3}
    assert revise_project(before, sent, now=NOW) == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ga4", "enabled", "key", "hostnames", "domains", "excluded_ips"]), children
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(WRITABLE_FIELDS), json_values))
def test_no_input_at_all_ends_in_another_error(fields: dict[str, Any]) -> None:
    def is_decided() -> bool:
        try:
            return isinstance(revise_project(a_project(), fields, now=NOW), Project)
        except InvalidDesignError as error:
            return bool(error.problems)

    assert is_decided()
