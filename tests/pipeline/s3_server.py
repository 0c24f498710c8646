"""An S3 server of moto, with its address in the environment."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow.fs
import pytest
from moto.server import ThreadedMotoServer


@contextmanager
def an_s3_server(bucket: str) -> Iterator[str]:
    """Serve an empty bucket until the end; return the host and port."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        environment.setenv("AWS_REGION", "eu-central-1")
        environment.setenv("AWS_ACCESS_KEY_ID", "key")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        options = {"endpoint_override": f"{host}:{port}", "scheme": "http", "region": "eu-central-1"}
        pyarrow.fs.S3FileSystem(**options, allow_bucket_creation=True).create_dir(bucket)
        yield f"{host}:{port}"
    server.stop()
