"""What a command says where nothing was started yet, and of settings that cannot be: one line, exit 1, nothing made."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from control.environment import CHECKOUT, Environment

pytestmark = pytest.mark.embedded

# Keys of the right form; the same in every process, since test names are made of them.
KEYS = [base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2)]


REGISTRY = str(CHECKOUT / "tests" / "flows" / "registry.yaml")
AWAY = "postgresql://somebody:sesame@127.0.0.1:1/absent"
ON_AN_INSTALLATION = [
    ["verify_ledger"],
    ["export_registry"],
    ["import_registry", REGISTRY],
    ["create_key", "default"],
    ["workspace", "team", "--create"],
    ["demo_traffic", "--count", "1"],
    ["createsuperuser"],
]


def manage(directory: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command as a user gives it, in an environment without settings but these."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SWITCHYARD_", "DJANGO_", "PYTEST_", "COV_"))
        and name not in ("DATABASE_URL", "REDIS_URL")
    }
    return subprocess.run(
        [sys.executable, str(CHECKOUT / "manage.py"), *words],
        env=kept | {"SWITCHYARD_DATA_DIR": str(directory)} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("words", ON_AN_INSTALLATION, ids=lambda words: words[0])
def test_a_command_before_the_first_start_says_how_to_start_and_makes_nothing(words: list[str], tmp_path: Path) -> None:
    done = manage(tmp_path / "absent", *words)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "`manage.py up`" in done.stderr and "`manage.py prepare`" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_data_dir_stays_empty(tmp_path: Path) -> None:
    assert manage(tmp_path, "verify_ledger").returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [["check", REGISTRY], ["doctor", "--port", "0"], ["help"]], ids=lambda words: words[0]
)
def test_a_command_that_needs_no_installation_makes_none(words: list[str], tmp_path: Path) -> None:
    assert manage(tmp_path / "absent", *words).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_what_was_prepared_is_worked_on_quietly_whatever_settings_module_a_shell_names(tmp_path: Path) -> None:
    prepared = manage(tmp_path, "prepare")
    imported = manage(tmp_path, "import_registry", REGISTRY, "--publish", DJANGO_SETTINGS_MODULE="another.project")
    made = manage(tmp_path, "workspace", "team", "--create", SWITCHYARD_LOG_LEVEL="")

    assert [prepared.returncode, imported.returncode, made.returncode] == [0, 0, 0]
    assert [imported.stderr, made.stderr] == ["", ""]
    assert " INFO " not in imported.stdout + made.stdout


REFUSED = [
    ("SWITCHYARD_ENCRYPTION_KEYS", "canary-not-a-key"),
    ("SWITCHYARD_ENCRYPTION_KEYS", f"{KEYS[0]},canary"),
    ("SWITCHYARD_ENCRYPTION_KEYS", ","),
    ("SWITCHYARD_SECRET_KEY", "canary-too-short"),
    ("SWITCHYARD_LOG_LEVEL", "LOUD"),
    ("DATABASE_URL", "mysql://somebody:canary@host/name"),
    ("DATABASE_URL", "postgresql://somebody:canary@host"),
    ("DATABASE_URL", "postgresql://somebody:canary@host:99999/name"),
    ("REDIS_URL", "http://:canary@host"),
    ("REDIS_URL", "redis://"),
    ("SWITCHYARD_PUBLIC_URL", "example.org"),
    ("SWITCHYARD_PUBLIC_URL", "https://"),
    ("SWITCHYARD_PUBLIC_URL", "ftp://example.org"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_setting_that_cannot_be_is_refused_by_name(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError) as refused:
        Environment()

    [error] = refused.value.errors(include_url=False, include_input=False)
    assert error["loc"] == (name,)
    assert "canary" not in error["msg"]


ACCEPTED = [
    ("SWITCHYARD_ENCRYPTION_KEYS", f"{KEYS[0]}, {KEYS[1]}"),
    ("SWITCHYARD_SECRET_KEY", "k" * 32),
    ("SWITCHYARD_LOG_LEVEL", "debug"),
    ("DATABASE_URL", "postgresql://somebody@host:5432/name"),
    ("DATABASE_URL", "postgresql:///name?host=/run/postgresql"),
    ("REDIS_URL", "rediss://host:6380/1"),
    ("REDIS_URL", "unix:///run/redis.sock?db=1"),
    ("SWITCHYARD_PUBLIC_URL", "https://switchyard.example.org:8443/"),
]


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_a_setting_that_can_be_is_taken(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)

    assert Environment()


def test_a_bus_behind_a_socket_is_spelt_as_celery_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "unix:///run/redis.sock?db=1")

    assert Environment().broker_url == "redis+socket:///run/redis.sock?virtual_host=1"


def test_a_setting_that_is_set_to_nothing_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Environment.model_fields.values():
        monkeypatch.setenv(str(field.alias), "")

    found = Environment()

    assert {name: getattr(found, name) for name in Environment.model_fields} == {
        name: field.default for name, field in Environment.model_fields.items()
    }


@pytest.mark.parametrize("words", [["verify_ledger"], ["up", "--port", "0"], ["check", REGISTRY], ["doctor"]])
def test_every_command_refuses_in_one_line_for_each_setting(words: list[str], tmp_path: Path) -> None:
    done = manage(tmp_path / "absent", *words, SWITCHYARD_LOG_LEVEL="LOUD", SWITCHYARD_SECRET_KEY="short")

    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [
        "SWITCHYARD_SECRET_KEY",
        "SWITCHYARD_LOG_LEVEL",
    ]
    assert list(tmp_path.iterdir()) == []


def test_doctor_keeps_its_shape_when_it_refuses_a_setting(tmp_path: Path) -> None:
    answer = json.loads(manage(tmp_path, "doctor", "--json", REDIS_URL="ftp://host").stdout)

    assert answer["ok"] is False
    assert [(check["name"], check["ok"]) for check in answer["checks"]] == [("settings", False)]
    assert answer["checks"][0]["message"].startswith("REDIS_URL: ")


@pytest.mark.parametrize("words", [["verify_ledger"], ["prepare"], ["up", "--port", "0"], ["migrate"]])
def test_a_database_that_is_away_is_named_in_one_line_without_its_password(words: list[str], tmp_path: Path) -> None:
    done = manage(tmp_path, *words, DATABASE_URL=AWAY)

    told = [line for line in done.stderr.splitlines() if "DATABASE_URL" in line]
    assert done.returncode == 1
    assert len(told) == 1 and "127.0.0.1:1/absent" in told[0]
    assert "Traceback" not in done.stderr
    assert "sesame" not in done.stderr + done.stdout


def test_doctor_names_a_database_that_is_away(tmp_path: Path) -> None:
    answer = json.loads(manage(tmp_path, "doctor", "--json", DATABASE_URL=AWAY).stdout)

    [database] = [check for check in answer["checks"] if check["name"] == "database"]
    assert not database["ok"]
    assert "127.0.0.1:1/absent" in database["message"]
    assert "sesame" not in database["message"]


@pytest.mark.parametrize("words", [["verify_ledger"], ["up", "--port", "0"]], ids=lambda words: words[0])
def test_secrets_that_cannot_be_read_are_named_and_left_as_they_are(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text('{"secret_key": "canary')

    done = manage(tmp_path, *words)

    assert done.returncode == 1
    assert "secrets.json cannot be read" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "secrets.json").read_text() == '{"secret_key": "canary'


def test_a_file_that_is_no_database_is_said_in_one_line(tmp_path: Path) -> None:
    secrets = {"secret_key": "k" * 48, "encryption_keys": KEYS[0]}
    (tmp_path / "secrets.json").write_text(json.dumps(secrets))
    (tmp_path / "switchyard.sqlite3").write_text("no database at all, whatever its name says")

    done = manage(tmp_path, "verify_ledger")

    assert (done.returncode, done.stderr) == (1, "manage.py: the database cannot be used: file is not a database\n")
