"""docker-compose.yml and the Dockerfile say the same as the table of processes from which `up` starts them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from control import launch, processes
from control.environment import Environment

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "switchyard"}
WEB = [*processes.web(), "--host", "0.0.0.0", "--port", str(processes.DEFAULT_PORT)]
SECRETS = {"POSTGRES_PASSWORD", "SWITCHYARD_SECRET_KEY", "SWITCHYARD_ENCRYPTION_KEYS"}


def test_each_process_that_up_starts_is_a_service_with_the_same_command() -> None:
    started = processes.services(listener=3, web_processes=1, decide_threads=8, search_processes=2)
    by_name = {
        "web": "web",
        "decide": "worker",
        "search": "search-worker",
        "ledger": "ledger-worker",
        "beat": "scheduler",
    }
    commands = {
        "web": WEB,
        **{process.name: list(process.command[2:]) for process in started if process.name != "web"},
    }

    assert sorted(process.name for process in started) == sorted(by_name)
    assert {name: SERVICES[service]["command"] for name, service in by_name.items()} == commands
    assert set(OURS) == {*by_name.values(), "prepare"}


def test_the_numbers_of_the_commands_are_the_defaults_of_the_settings() -> None:
    fields = Environment.model_fields

    assert list(processes.decide_worker(fields["decide_threads"].default)) == SERVICES["worker"]["command"]
    assert list(processes.search_worker(fields["search_processes"].default)) == SERVICES["search-worker"]["command"]


def test_preparation_is_the_command_that_makes_tables_and_the_first_key() -> None:
    assert SERVICES["prepare"]["command"] == ["python", "manage.py", "prepare"]
    for name in set(OURS) - {"prepare"}:
        assert SERVICES[name]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}


def test_the_image_starts_the_web_process_on_the_port_that_is_published() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    command = re.search(r"^CMD (.+)$", dockerfile, re.MULTILINE)

    assert command
    assert json.loads(command.group(1)) == WEB
    assert f"EXPOSE {processes.DEFAULT_PORT}" in dockerfile
    assert SERVICES["web"]["ports"] == [f"127.0.0.1:{processes.DEFAULT_PORT}:{processes.DEFAULT_PORT}"]
    assert f"--require-hashes -r {launch.RUNTIME}" in dockerfile


def test_every_variable_that_a_service_sets_is_a_setting() -> None:
    known = {str(field.alias) for field in Environment.model_fields.values()}
    environments = [service["environment"] for service in OURS.values()]

    assert all(environment == environments[0] for environment in environments)
    assert set(environments[0]) <= known
    assert {"DATABASE_URL", "REDIS_URL"} <= set(environments[0])


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    uses = re.findall(r"\$\{([A-Z_]+)([^}]*)\}", text)

    assert {name for name, _ in uses} >= SECRETS
    assert [name for name, rest in uses if name in SECRETS and not rest.startswith(":?")] == []


def test_every_service_has_a_health_check_and_what_it_keeps_lies_on_a_volume() -> None:
    assert [name for name, service in SERVICES.items() if name != "prepare" and "healthcheck" not in service] == []
    mounted = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert mounted == set(COMPOSE["volumes"])
    assert all(service["volumes"] == ["data:/var/lib/switchyard"] for service in OURS.values())
    assert "SWITCHYARD_DATA_DIR=/var/lib/switchyard" in (ROOT / "Dockerfile").read_text()


def test_every_service_sees_the_source_of_truth_at_the_place_that_is_named_for_it() -> None:
    beside = yaml.safe_load((ROOT / "docker-compose.source.yml").read_text())["services"]
    place = "/srv/registry"

    assert set(beside) == set(OURS)
    for service in beside.values():
        assert service["environment"] == {"SWITCHYARD_SOURCE_ROOTS": place}
        assert [volume.rpartition(":")[2] for volume in service["volumes"]] == [place]
    assert f"safe.directory {place}" in (ROOT / "Dockerfile").read_text()
    assert "SWITCHYARD_SOURCE_ROOTS" in {field.alias for field in Environment.model_fields.values()}


def test_the_servers_keep_what_they_are_given_as_the_embedded_bus_does() -> None:
    embedded = processes.bus(socket=Path("s"), directory=Path("d")).command
    redis = SERVICES["redis"]["command"]

    for option in ("--appendonly", "--appendfsync", "--save", "--maxmemory-policy"):
        assert redis[redis.index(option) + 1] == embedded[embedded.index(option) + 1]
    # A name and a version, no host: images come from wherever the engine is set up to find them.
    assert [
        service["image"] for service in SERVICES.values() if not re.fullmatch(r"[a-z]+(:\d+)?", service["image"])
    ] == []
