"""Events on the wire: schema, decoding and rejection."""
