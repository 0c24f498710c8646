from api.mcp.tools import Schema, resolved, self_contained

COMPONENTS: dict[str, Schema] = {
    "Tree": {"type": "object", "properties": {"leaf": {"$ref": "#/components/schemas/Leaf"}}},
    "Leaf": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Tree"}]},
    "Other": {"type": "string"},
}


def test_every_definition_in_need_comes_along_and_no_other() -> None:
    alone = self_contained({"$ref": "#/components/schemas/Tree"}, COMPONENTS)
    assert alone["$ref"] == "#/$defs/Tree"
    assert set(alone["$defs"]) == {"Tree", "Leaf"}
    assert alone["$defs"]["Leaf"]["anyOf"][1] == {"$ref": "#/$defs/Tree"}


def test_a_schema_without_references_stays_as_it_is() -> None:
    assert self_contained({"type": "string"}, COMPONENTS) == {"type": "string"}


def test_a_reference_is_resolved_to_what_it_names() -> None:
    assert resolved({"$ref": "#/components/schemas/Other"}, COMPONENTS) == {"type": "string"}
    assert resolved({"type": "null"}, COMPONENTS) == {"type": "null"}
