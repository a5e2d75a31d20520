"""The program's own part: help, versions, exit statuses, the data dir, and what the commands answer."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from control import commandline, doctor
from control.environment import environment
from control.models import HarnessKey
from routing.models import Actor, AuditEntry, Event, Workspace
from routing.services import ledger, registry
from routing.services.ledger import Report

OURS = [name for name, app in get_commands().items() if app == "control"]
BY = Actor(kind="operator", name="an-editor")


@pytest.fixture
def workspace(db: None) -> Workspace:
    return registry.create_workspace("default", by=BY)


def answer_of(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]])
def test_without_a_command_it_lists_the_commands_and_is_content(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = commandline.main(["switchyard", *words])

    shown = capsys.readouterr().out
    assert status == 0
    assert all(
        f"  {name} " in shown for name in ("up", "test", "doctor", "create_key", "verify_ledger", "import_registry")
    )


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(["har", "--version"]) == 0
    assert capsys.readouterr().out == f"switchyard {commandline.version()}\n"


def test_an_unknown_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(["switchyard", "nonsense"]) == 2
    assert "no command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["up", "--port", "many"], ["up", "--port", "70000"], ["verify_ledger", "--from", "0"]]
)
def test_an_argument_out_of_its_range_is_bad_usage_in_words(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        commandline.main(["switchyard", *words])

    assert ended.value.code == 2
    assert " is no " in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["a", "--data-dir", "there", "b"], ["--data-dir=there", "a", "b"], ["a", "b", "--data-dir", "there"]]
)
def test_the_data_dir_may_stand_anywhere(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWITCHYARD_DATA_DIR", "elsewhere")
    monkeypatch.chdir(tmp_path)

    assert commandline.take_data_dir(words) == ["a", "b"]
    assert os.environ["SWITCHYARD_DATA_DIR"] == str(tmp_path / "there")


def test_a_data_dir_without_a_name_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(["switchyard", "doctor", "--data-dir"]) == 2
    assert "--data-dir needs a directory" in capsys.readouterr().err


def test_a_key_is_made_with_the_default_rights_and_shown(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    made = answer_of(capsys, "create_key", "default", "--name", "ci", "--expires", "3")
    row = HarnessKey.objects.get(pk=made["id"])

    assert sorted(made) == ["expires_at", "id", "key", "name", "rights", "scope", "workspace"]
    assert (made["name"], made["workspace"], made["scope"]) == ("ci", "default", "default")
    assert made["rights"] == ["decide", "call", "report", "read"]
    assert made["expires_at"].endswith("Z")
    assert made["key"] not in (row.digest, row.name)


def test_without_json_the_key_stands_alone_on_its_line(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("create_key", "default")

    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("swy_")


@pytest.mark.parametrize("scope", ["defualt", "", "default\n", "a\x1b[31mb"])
def test_a_key_for_a_scope_that_is_not_live_is_refused_and_the_live_ones_are_named(
    workspace: Workspace, scope: str
) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("create_key", scope)

    assert refused.value.returncode == 1
    assert "(there are: default)" in str(refused.value)
    assert str(refused.value).isprintable()
    assert not HarnessKey.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--name", "a\x7fb"],
        ["--name", "a\x9b1m"],
        ["--rights", "decide,fly"],
        ["--expires", "0"],
        ["--workspace", "nowhere"],
    ],
)
def test_a_key_that_cannot_be_made_is_bad_usage(workspace: Workspace, words: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("create_key", "default", *words)

    assert refused.value.returncode == 2
    assert not HarnessKey.objects.exists()


def test_the_ledger_is_verified_and_a_changed_event_is_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [Report(id=f"r{number}", kind="invocation", target="a__b", status="started") for number in range(3)]
    ledger.accept(workspace.pk, "default", "a-harness", reports)
    ledger.write(workspace.pk)
    good = answer_of(capsys, "verify_ledger")
    Event.objects.filter(workspace=workspace, seq=2).update(target="a__c")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_ledger", "--json")
    bad = json.loads(capsys.readouterr().out)

    expected = {"workspace": "default", "from": 1, "to": 3, "checked": 3, "ok": True, "first_bad": None, "reason": None}
    assert good == expected
    assert ended.value.code == 1
    assert (bad["ok"], bad["first_bad"], bad["reason"]) == (False, 2, "hash")


def test_a_changed_audit_entry_fails_the_same_command(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    good = answer_of(capsys, "verify_ledger", "--audit")
    AuditEntry.objects.filter(workspace=workspace, seq=2).update(actor="somebody else")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_ledger", "--json")
    bad = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        call_command("verify_ledger")
    text = capsys.readouterr().out

    assert (good["ok"], good["first_bad"], good["checked"]) == (True, None, good["to"])
    assert ended.value.code == 1
    assert (bad["ok"], bad["first_bad"], bad["audit"]["first_bad"], bad["audit"]["reason"]) == (False, None, 2, "hash")
    assert "The audit log of default breaks at entry 2" in text


@pytest.mark.parametrize("words", [["--from", "3", "--to", "2"], ["--from", "5"], ["--to", "1"]])
def test_a_range_without_events_is_bad_usage(workspace: Workspace, words: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("verify_ledger", *words)

    assert refused.value.returncode == 2


def test_a_workspace_is_made_and_set_up(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    made = answer_of(
        capsys, "workspace", "team", "--create", "--approvals", "2", "--allow-private", "10.1.2.3/8, model.lan:80"
    )
    again = answer_of(capsys, "workspace", "team", "--self-approval", "on")

    assert made["allow_private"] == ["10.0.0.0/8", "model.lan:80"]
    assert again == made | {"self_approval": True}
    assert Workspace.objects.get(name="team").approvals_needed == 2


@pytest.mark.parametrize(
    "words", [["no such", "--create"], ["a__b", "--create"], ["absent"], ["default", "--allow-private", "a b"]]
)
def test_a_workspace_that_cannot_be_is_bad_usage(workspace: Workspace, words: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("workspace", *words)

    assert refused.value.returncode == 2


def checks(**changes: Any) -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.examine(host="127.0.0.1", port=0)}


@pytest.mark.parametrize("name", sorted(OURS))
def test_the_help_of_our_commands_names_the_data_dir(name: str) -> None:
    parser = load_command_class("control", name).create_parser("manage.py", name)

    assert "--data-dir" in parser.format_help()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["demo_traffic", "--rate", "1e9"], "above 0 and at most 1,000,000"),
        (["doctor", "--port", "99999"], "'99999' is no port: a number from 0 to 65535"),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        commandline.main(["switchyard", *words])

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_doctor_names_what_others_may_read(db: None) -> None:
    environment.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    notes = environment.data_dir / "first-run.json"
    notes.write_text("{}")
    notes.chmod(0o644)
    try:
        found = checks()["first_run"]
        notes.chmod(0o600)
        mended = checks()["first_run"]
    finally:
        notes.unlink()

    assert (found.ok, mended.ok) == (False, True)
    assert f"chmod 600 {notes}" in found.message


def test_doctor_shows_no_secret(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "canary-3hF9")
    found = checks()

    assert "OPENROUTER_API_KEY set" in found["secrets"].message
    assert "canary-3hF9" not in repr(found)


def test_doctor_finds_packages_and_database_in_order(db: None) -> None:
    found = checks()

    assert {name: found[name].ok for name in ("python", "packages", "database", "port")} == dict.fromkeys(
        ("python", "packages", "database", "port"), True
    )


def test_doctor_names_a_data_dir_that_others_may_read(db: None) -> None:
    mode = stat.S_IMODE(environment.data_dir.stat().st_mode)
    environment.data_dir.chmod(0o755)
    try:
        found = checks()["data_dir"]
    finally:
        environment.data_dir.chmod(mode)

    assert not found.ok
    assert "chmod 700" in found.message
