"""Request bodies: size limits, media types and strict JSON."""
