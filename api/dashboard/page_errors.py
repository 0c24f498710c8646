"""Errors that become a page in plain words."""


class PageError(Exception):
    """A page that cannot be shown, with its HTTP status and a sentence for a person."""

    def __init__(self, status: int, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status
        self.message = message


class NotSignedInError(Exception):
    """A page that needs a session; the browser is led to the form that begins one."""
