"""Annotations of tools: read-only, destructive and idempotent hints."""

from mcp_types import Tool

from api.mcp.annotations import BY_OPERATION


def test_annotations_tell_reading_from_adding_and_destroying(tools: dict[str, Tool]) -> None:
    def hints(name: str) -> tuple[bool | None, bool | None, bool | None]:
        annotations = tools[name].annotations
        assert annotations is not None
        return annotations.read_only_hint, annotations.destructive_hint, annotations.idempotent_hint

    # A hint that is left out is the default of the protocol: writes, destructive, not idempotent.
    assert hints("get_results") == (True, None, None)
    assert hints("create_experiment") == (None, False, None)
    assert hints("update_experiment") == (None, True, True)
    assert hints("complete_experiment") == (None, True, True)
    assert hints("delete_project") == (None, True, True)
    assert hints("revoke_api_key") == (None, True, True)


def test_annotations_are_of_operations_that_exist(tools: dict[str, Tool]) -> None:
    assert set(BY_OPERATION) <= set(tools)
