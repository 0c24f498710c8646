"""E-mails by a mail server: accepted, refused, and errors in sentences that quote no answer of it."""

import socket
import ssl
from email.message import EmailMessage
from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.settings import Settings
from pipeline.webhooks.mail_sending import are_permanent, send_mail
from pipeline.webhooks.sending_error import SendingError
from tests.pipeline.webhooks.mail_server import PASSWORD, MailServer, a_mail_server
from tests.pipeline.webhooks.test_sending import a_server, self_signed

ADA, BO = "ada@shop.example", "bo@shop.example"


def a_mail() -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "truelift@shop.example", "undisclosed-recipients:;", "Hi"
    mail.set_content("Text")
    return mail


def test_addresses_that_are_refused_are_returned_and_the_others_reached() -> None:
    with a_mail_server() as server:
        settings = Settings(**server.settings)
        assert send_mail(settings, a_mail(), [ADA, BO]) == {}
        server.refused = {BO: 550}
        assert send_mail(settings, a_mail(), [ADA, BO]) == {BO: 550}
        assert send_mail(settings, a_mail(), [BO]) == {BO: 550}
    assert [addresses for addresses, _ in server.received] == [[ADA, BO], [ADA]]
    assert are_permanent([550, 553])
    assert not are_permanent([550, 451])


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
@pytest.mark.parametrize(
    ("password", "sentence"), [(PASSWORD, None), ("wrong", "refused the user or the password (535)")]
)
def test_a_password_is_sent_and_its_refusal_told(password: str, sentence: str | None) -> None:
    with a_mail_server(asks_password=True) as server:
        settings = Settings(**server.settings, smtp_user="truelift", smtp_password=password)
        if sentence is None:
            assert send_mail(settings, a_mail(), [ADA]) == {}
            return
        with pytest.raises(SendingError) as caught:
            send_mail(settings, a_mail(), [ADA])
    assert sentence in str(caught.value)
    assert password not in str(caught.value)
    assert password not in repr(settings)


def test_starttls_needs_a_valid_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, certificate = self_signed(tmp_path)
    with a_mail_server(context) as server:
        settings = Settings(**{**server.settings, "smtp_security": "starttls"})
        with pytest.raises(SendingError, match="certificate of the mail server is not valid"):
            send_mail(settings, a_mail(), [ADA])
        assert not server.received
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        trusting = ssl.create_default_context(cafile=str(certificate))
        trusting.check_hostname = False
        monkeypatch.setattr(ssl, "create_default_context", lambda: trusting)
        assert send_mail(settings, a_mail(), [ADA]) == {}
    assert len(server.received) == 1


def test_what_is_wrong_with_the_server_is_said_in_a_sentence() -> None:
    with a_mail_server() as server:
        given = server.settings
        for changed, sentence in (
            ({"smtp_security": "starttls"}, "offers no STARTTLS"),
            ({"smtp_security": "tls"}, "TLS could not be agreed on"),
            ({"smtp_user": "truelift", "smtp_password": PASSWORD}, "offers no STARTTLS or no login"),
        ):
            with pytest.raises(SendingError, match=sentence):
                send_mail(Settings(**{**given, **changed}), a_mail(), [ADA])
        server.refuses_data = 554
        with pytest.raises(SendingError) as caught:
            send_mail(Settings(**given), a_mail(), [ADA])
    assert str(caught.value) == "the mail server refused the message (554)"
    with pytest.raises(SendingError, match="could not be reached"):
        send_mail(Settings(**given), a_mail(), [ADA])
    with pytest.raises(SendingError, match="TRUELIFT_SMTP_HOST"):
        send_mail(Settings(), a_mail(), [ADA])


def test_a_server_that_is_silent_or_leaves_is_given_up() -> None:
    silent = MailServer()
    with a_server(_listen) as url:
        silent.port = int(url.rpartition(":")[2].strip("/"))
        with pytest.raises(SendingError, match="did not answer in time"):
            send_mail(Settings(**silent.settings), a_mail(), [ADA], timeout=0.05)
    with a_server(lambda connection: connection.close()) as url:
        silent.port = int(url.rpartition(":")[2].strip("/"))
        with pytest.raises(SendingError, match=r"the connection|be reached"):
            send_mail(Settings(**silent.settings), a_mail(), [ADA])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"smtp_host": "mail.example"}, "TRUELIFT_SMTP_FROM"),
        ({"smtp_user": "truelift"}, "need each other"),
        ({"smtp_from": "a@b.example\r\nBcc: eve@evil.example"}, "is not an e-mail address"),
        ({"smtp_security": "ssl"}, "starttls"),
        ({"smtp_port": 0}, "greater than 0"),
    ],
)
def test_settings_that_cannot_send_are_refused_at_the_start(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Settings(**given)  # type: ignore[arg-type] # which is refused


def _listen(connection: socket.socket) -> None:
    connection.recv(1)
