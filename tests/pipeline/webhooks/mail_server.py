"""A mail server on this machine: what it received, and whom it refuses."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

PASSWORD = "geheim-4711"  # noqa: S105 - of the tests


@dataclass
class MailServer:
    """Refuses addresses with the codes in `refused`, and messages with the code `refuses_data`."""

    port: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    refuses_data: int | None = None
    received: list[tuple[list[str], EmailMessage]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a service that sends by it."""
        return {
            "smtp_host": "127.0.0.1",
            "smtp_port": self.port,
            "smtp_security": "none",
            "smtp_from": "truelift@shop.example",
        }

    async def handle_RCPT(  # noqa: N802 - the name that the server calls
        self, _server: Any, _session: Any, envelope: Any, address: str, _: Any
    ) -> str:
        if address in self.refused:
            return f"{self.refused[address]} no mailbox {address}"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Any, envelope: Any) -> str:  # noqa: N802 - see above
        if self.refuses_data is not None:
            return f"{self.refuses_data} not from {envelope.mail_from}"
        self.raw.append(envelope.original_content)
        mail = message_from_bytes(envelope.original_content, policy=default)
        self.received.append((envelope.rcpt_tos, mail))
        return "250 OK"


class _OnAnyPort(Controller):
    def _trigger_server(self) -> None:
        # The first request of the controller goes to the port that the system has chosen.
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # started
        super()._trigger_server()  # type: ignore[no-untyped-call] # theirs


@contextmanager
def a_mail_server(
    context: ssl.SSLContext | None = None, *, asks_password: bool = False
) -> Iterator[MailServer]:
    """Serve mail until the end of the block; with STARTTLS where there is a context."""
    server = MailServer()

    def authenticate(_: Any, __: Any, ___: Any, ____: Any, data: LoginPassword) -> AuthResult:
        is_right = (data.login, data.password) == (b"truelift", PASSWORD.encode())
        return AuthResult(success=is_right, handled=False)

    options: dict[str, Any] = {"tls_context": context} if context else {}
    if asks_password:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": False}
    controller = _OnAnyPort(server, hostname="127.0.0.1", port=0, **options)
    controller.start()
    try:
        server.port = controller.port
        yield server
    finally:
        controller.stop()
