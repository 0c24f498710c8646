"""Dockerfile, compose file and systemd unit: what they name exists, and their parts run together here.

No image is built: a machine without Docker runs the same command with the same settings beside a PostgreSQL
and a Redis server of its own.
"""

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
from mkdocs.utils.yaml import yaml_load
from prometheus_client.parser import text_string_to_metric_families

from api.cli.app import app
from pipeline.settings import Settings
from tests.forked import start_command
from tests.redis_server import Redis
from tests.resilience.services import a_service

ROOT = Path(__file__).parents[2]
DATA_DIR = "/var/lib/truelift"
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")


def dockerfile() -> list[tuple[str, str]]:
    """Instructions with their arguments, a continued line as one."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    return [
        (name, rest) for line in lines if line and line[0] != "#" for name, _, rest in (line.partition(" "),)
    ]


def last_of(instruction: str) -> Any:
    return json.loads([rest for name, rest in dockerfile() if name == instruction][-1])


def compose() -> dict[str, Any]:
    return dict(yaml_load((ROOT / "compose.yaml").read_text()))


def environment(**given: str) -> dict[str, str]:
    """Settings of the service in the compose file, with the variables that are given."""

    def value_of(found: re.Match[str]) -> str:
        return given.get(found[1], found[2] or "")

    declared = compose()["services"]["truelift"]["environment"]
    return {name: VARIABLE.sub(value_of, value) for name, value in declared.items()}


def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment]  # names keep their case
    parser.read(ROOT / "recipes" / "systemd" / "truelift.service")
    return parser


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_image_has_the_package_and_extras_that_exist() -> None:
    let_in = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    packages = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {*packages, "pyproject.toml", "uv.lock", project()["project"]["readme"]} <= let_in
    assert all((ROOT / name).exists() for name in let_in)
    extras = re.findall(r"--extra (\w+)", " ".join(rest for name, rest in dockerfile() if name == "RUN"))
    assert set(extras) == {"postgres", "redis", "lakes"}
    assert set(extras) <= set(project()["project"]["optional-dependencies"])


def test_the_process_is_not_root_and_owns_its_volume() -> None:
    users = [rest for name, rest in dockerfile() if name == "USER"]
    assert users == ["10001"]
    assert last_of("VOLUME") == [DATA_DIR]
    assert compose()["services"]["truelift"]["volumes"] == [f"store:{DATA_DIR}"]


@pytest.mark.parametrize("where", ["image", "unit"])
def test_the_command_is_one_that_the_command_line_takes(where: str) -> None:
    command = {
        "image": [*last_of("ENTRYPOINT"), *last_of("CMD")],
        "unit": shlex.split(unit()["Service"]["ExecStart"]),
    }[where]
    assert command[:1] in (["truelift"], ["/opt/truelift/bin/truelift"])
    serve = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    context = serve.make_context("serve", command[2:])
    assert str(context.params["data_dir"]) == DATA_DIR
    assert context.params["port"] == 8000


def test_settings_of_the_compose_file_exist() -> None:
    names = {name.removeprefix("TRUELIFT_").lower() for name in environment() if name.startswith("TRUELIFT_")}
    assert names <= set(Settings.model_fields)
    assert set(environment()) - {f"TRUELIFT_{name.upper()}" for name in names} == {"PGPASSWORD"}


def test_what_a_service_waits_for_has_a_health_check() -> None:
    services = compose()["services"]
    waited_for = services["truelift"]["depends_on"]
    assert set(waited_for) == {"postgres", "redis"}
    assert all("healthcheck" in services[name] for name in waited_for)
    assert "@postgres/" in environment()["TRUELIFT_CATALOG_URL"]
    assert environment()["TRUELIFT_RATE_LIMIT_URL"].startswith("redis://redis:6379")


def test_only_the_service_is_reachable_and_only_from_its_machine() -> None:
    ports = {name: service.get("ports", []) for name, service in compose()["services"].items()}
    assert ports.pop("truelift") == ["127.0.0.1:${TRUELIFT_PORT:-8000}:8000"]
    assert list(ports.values()) == [[], []]


def test_a_stop_leaves_time_for_what_is_under_way() -> None:
    # Requests under way have ten seconds, and what is counted has the rest.
    assert compose()["services"]["truelift"]["stop_grace_period"] == "90s"
    assert unit()["Service"]["TimeoutStopSec"] == "90"
    assert unit()["Service"]["KillMode"] == "mixed"
    assert [rest for name, rest in dockerfile() if name == "STOPSIGNAL"] == ["SIGTERM"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    """Redis with the options of the compose file."""
    if shutil.which("redis-server") is None:
        pytest.skip("needs Redis: apt-get install redis-server")
    program, *options = compose()["services"]["redis"]["command"]
    assert program == "redis-server"
    server = Redis(tmp_path, options)
    server.start()
    yield server
    server.stop()


@pytest.mark.long(seconds=5)
def test_the_parts_run_together_and_are_scraped(
    tmp_path: Path, redis: Redis, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        **environment(TRUELIFT_METRICS_TOKEN="operator", POSTGRES_PASSWORD="secret"),  # noqa: S106 - of this test
        "TRUELIFT_CATALOG_URL": new_database(),
        "TRUELIFT_RATE_LIMIT_URL": f"{redis.url}/0",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    store = tmp_path / "store"
    account = ("--account", "Shop", "--email", "me@example.com", "--json")
    made = tmp_path / "made"
    assert start_command("init", "--data-dir", str(store), *account, log=made).wait() == 0
    key = {"Authorization": f"Bearer {json.loads(made.read_text())['token']}"}
    shop = {"name": "Shop", "url": "https://shop.example"}
    with a_service(store, tmp_path / "log") as service:
        assert service.status("/healthz") == 200
        assert service.request("POST", "/api/v1/projects", shop, key).status == 201
        assert service.status("/metrics") == 404
        answer = service.request("GET", "/metrics", headers={"Authorization": "Bearer operator"})
        families = {one.name: one for one in text_string_to_metric_families(answer.body.decode())}
    assert {"truelift_loader_lag_events", "truelift_disk_free_bytes"} <= set(families)
    posts = [one for one in families["truelift_requests"].samples if one.labels["method"] == "POST"]
    assert [(one.labels["status"], one.value) for one in posts] == [("201", 1)]
    assert redis_keys(redis)
    assert not list(store.glob("*.sqlite3"))


def redis_keys(server: Redis) -> list[str]:
    listed = subprocess.run(
        ["redis-cli", "-p", str(server.port), "keys", "*"], check=True, capture_output=True, text=True
    )
    return listed.stdout.split()
