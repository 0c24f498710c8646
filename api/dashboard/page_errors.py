"""Errors that become a page in plain words."""


class PageError(Exception):
    """A page that cannot be shown, with its HTTP status and a sentence for a person."""

    def __init__(self, status: int, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status
        self.message = message


class OldFormError(PageError):
    """A form of a session that is not the browser's any more."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__(403, "This form is too old. Go back, load the page again and send it once more.")


class NotSignedInError(Exception):
    """A page that needs a session; the browser is led to the form that begins one."""
