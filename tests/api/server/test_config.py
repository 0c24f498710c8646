"""Configuration of the server."""

from pathlib import Path

import httpx2
import uvicorn

from api.app import create_app
from api.server.config import server_config
from pipeline.settings import Settings
from tests.api.serving import served


def test_uvicorn_reads_no_headers_of_proxies_itself(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    config = server_config(create_app(settings), settings, port=0)
    config.load()
    assert not config.proxy_headers
    assert not config.access_log
    assert config.ws_protocol_class is None
    assert isinstance(uvicorn.Server(config), uvicorn.Server)


def test_a_trusted_proxy_has_as_many_connections_as_it_needs(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, connections_per_address=1)
    with served(create_app(settings), settings) as client:
        # The client keeps its first connection open beside the second.
        assert client.get("/healthz").status_code == 200
        assert httpx2.get(f"{client.base_url}/healthz").status_code == 200
