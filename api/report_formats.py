"""Formats of a report's file; apart from what writes them, which takes long to import."""

from typing import Literal

Format = Literal["html", "md", "json", "png"]
