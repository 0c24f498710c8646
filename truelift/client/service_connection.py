"""Connection to the service: its addresses, the key, and what an HTTP library makes of them."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from truelift.client.exchanges import Answer


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the service is, which project is meant, and the secret key with the scope `sdk:write`."""

    url: str
    api_key: str = field(repr=False)
    project_id: str
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"url must be the address of the service such as https://ab.shop.example, not {self.url!r}"
            )
        if self.api_key.startswith("pk_"):
            raise ValueError("api_key must be a secret key with the scope sdk:write; pk_… is the public one")
        if not self.project_id:
            raise ValueError("project_id is missing")

    def sync_client(self) -> httpx2.Client:
        """Open a client that blocks."""
        return httpx2.Client(base_url=self._base, headers=self._headers, timeout=self.timeout_seconds)

    def async_client(self) -> httpx2.AsyncClient:
        """Open a client for asyncio."""
        return httpx2.AsyncClient(base_url=self._base, headers=self._headers, timeout=self.timeout_seconds)

    @property
    def config_path(self) -> str:
        """Path of the experiments."""
        return f"/config?project_id={self.project_id}"

    @property
    def events_path(self) -> str:
        """Path that takes events."""
        return f"/track?project_id={self.project_id}"

    @property
    def visits_path(self) -> str:
        """Path that assigns a visitor."""
        return f"/init?project_id={self.project_id}"

    @property
    def _base(self) -> str:
        return f"{self.url.rstrip('/')}/api/v1/sdk"

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}


def answer_of(response: httpx2.Response) -> Answer:
    """Take an HTTP answer apart; names of headers are in lower case."""
    return Answer(response.status_code, dict(response.headers), response.content)
