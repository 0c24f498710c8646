"""Addresses that show a variant: in one tab, not counted, of drafts too."""

from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from engine.design.experiment import Experiment
from engine.design.variants import Variant

# As `PARAMETER` of the snippet's forced_variants.js.
PARAMETER: Final = "truelift_preview"
# Patterns that are an address themselves; a preview shows its variant on any page that it opens.
_ADDRESSES: Final = frozenset({"exact", "starts_with"})


def preview_address(experiment: Experiment, variant: Variant, site: str) -> str:
    """Return the address of the experiment's page, or of the site, that shows a variant."""
    page = urljoin(site, experiment.url) if experiment.url_match_type in _ADDRESSES else site
    parts = urlsplit(page)
    if parts.scheme not in {"http", "https"}:
        parts = urlsplit(site)
    shown = urlencode({PARAMETER: f"{experiment.id}:{variant.id}"}, safe=":")
    return urlunsplit(parts._replace(query=f"{parts.query}&{shown}" if parts.query else shown))
