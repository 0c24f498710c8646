"""Consent of a visitor to be measured, as the project's settings and the browser's signals say."""

from collections.abc import Callable, Mapping
from typing import Final

from engine.design.project import Project

# Of the query parameter `consent`, by which a browser says that its visitor has agreed.
GRANTED: Final = "granted"
# Setting → the header of the signal in lower case, and the name of the signal (both are of the W3C).
_SIGNALS: Final = {
    "respect_dnt": ("dnt", "Do Not Track"),
    "respect_gpc": ("sec-gpc", "Global Privacy Control"),
}


def missing_consent(
    project: Project, headers: Mapping[str, str], read_consent: Callable[[], str | None]
) -> str | None:
    """Return why nothing of a browser's visitor may be stored; None where it may.

    `headers` have lower-case names. `read_consent` reads the query, which takes a while, and is called only
    where it matters. A signal that is respected holds whatever it says.
    """
    for setting, (header, name) in _SIGNALS.items():
        if project.settings.get(setting) is True and headers.get(header, "").strip() == "1":
            return f"the visitor's browser sends {name}, which the project respects ({setting})"
    if project.requires_consent and read_consent() != GRANTED:
        setting = "consent_source" if project.consent_source else "require_consent"
        return f"the project requires consent ({setting}), and the request does not say consent=granted"
    return None
