"""Exclusion groups: built from input, and renamed."""

import pytest

from engine.design.exclusion.exclusion_group import draft_group, rename_group
from engine.errors import InvalidDesignError
from tests.builders import NOW, STARTED, a_group


def test_another_name_leaves_the_salt() -> None:
    group = a_group()
    renamed = rename_group(group, {"name": "Cart", "id": "grp_2", "free_percent": 100}, now=NOW)
    assert (renamed.name, renamed.id, renamed.updated_at) == ("Cart", "grp_1", NOW)
    assert (renamed.salt, renamed.bucketing_version) == (group.salt, 1) == ("grp_1", 1)


@pytest.mark.parametrize("fields", [{}, {"name": ""}, {"name": "Checkout", "salt": "mine"}, {"name": 7}])
def test_wrong_fields_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidDesignError):
        draft_group(fields, id="grp_1", project_id="prj_1", now=STARTED)
