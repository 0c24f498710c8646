from api.mcp.tool_schemas import Schema, bare, resolved, self_contained, trimmed

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


def test_arguments_keep_what_a_call_needs() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title", "maxLength": 9, "description": "One. Two."},
            "kind": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "default": None},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "maxItems": 3},
            "on": {"type": "boolean", "default": False},
            "most": {"type": "integer", "maximum": 10**12, "default": 0},
        },
        "$defs": {
            "Part": {"type": "object", "properties": {"n": {"type": "integer", "description": "One. Two."}}}
        },
    }
    assert trimmed(schema) == {
        "type": "object",
        "properties": {
            # The name of an argument, and not a word of the schema.
            "title": {"type": "string", "description": "One. Two."},
            "kind": {"type": ["string", "null"], "enum": ["a", None]},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "on": {"type": "boolean"},
            "most": {"type": "integer", "default": 0},
        },
        "$defs": {
            "Part": {"type": "object", "properties": {"n": {"type": "integer", "description": "One."}}}
        },
    }
    assert bare(schema["properties"]["kind"]) == {"type": ["string", "null"], "enum": ["a", None]}


def test_a_default_of_settings_stands_with_each_of_them_alone() -> None:
    settings = {"$ref": "#/$defs/Settings", "default": {"cuped": False, "covariates": ["pre_period"]}}
    rules = {"$ref": "#/$defs/Rules", "default": {"root": {"operator": "and"}}}
    assert trimmed({"properties": {"settings": settings, "rules": rules}}) == {
        "properties": {"settings": {"$ref": "#/$defs/Settings"}, "rules": rules}
    }
