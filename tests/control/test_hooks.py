"""The hook of coding agents: what it writes and takes back, when it asks, and that it never stands in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from control import commandline
from control.integrations import ask, installer
from control.integrations.hosts import Host, find_host
from tests.fake_server import FakeServer, serving

SETTINGS = """{
    "model": "x", "größe": 1.50,
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}], "Stop": []}
}"""
SELECTED = {"tool": "web__fetch", "fallback": False, "fallback_reason": None, "confidence": 0.93}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_STATE_HOME", "SWITCHYARD_URL", "SWITCHYARD_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def claude(home: Path) -> Host:
    return find_host("claude-code")


@pytest.fixture
def codex(home: Path) -> Host:
    return find_host("codex")


def hooks(*words: str) -> int:
    return commandline.main(["switchyard", "hooks", *words])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- Writing and taking back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_installing_into_nothing_and_uninstalling_leaves_nothing(host: str, home: Path) -> None:
    assert hooks("install", "--host", host) == 0
    made = snapshot(home)
    assert hooks("uninstall", "--host", host) == 0

    folder = ".claude" if host == "claude-code" else ".codex"
    assert f"{folder}/skills/switchyard/SKILL.md" in made
    assert list(home.iterdir()) == []


def test_folders_that_were_there_stay_and_those_that_were_made_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "mine" / "agent"))
    (home / "mine").mkdir()
    (home / ".codex" / "skills").mkdir(parents=True)
    for host in ("claude-code", "codex"):
        assert [hooks("install", "--host", host) for _ in range(2)] == [0, 0]
        assert hooks("uninstall", "--host", host) == 0

    left = sorted(str(path.relative_to(home)) for path in home.rglob("*"))
    assert left == [".codex", ".codex/skills", "mine"]


def test_a_record_of_before_folders_were_kept_is_undone_as_it_was(claude: Host) -> None:
    hooks("install", "--host", "claude-code")
    record = json.loads(claude.record_path.read_text())
    del record["folders"]
    claude.record_path.write_text(json.dumps(record))
    assert hooks("uninstall", "--host", "claude-code") == 0

    assert list(claude.home.iterdir()) == []


@pytest.mark.parametrize("text", [SETTINGS, SETTINGS.replace("    ", "\t") + "\n", "{}", "", '{"hooks": {}}\n'])
def test_uninstalling_puts_settings_back_byte_for_byte(text: str, claude: Host) -> None:
    write(claude.hooks_path, text)
    before = snapshot(claude.home)

    assert (hooks("install", "--host", "claude-code"), hooks("install", "--host", "claude-code")) == (0, 0)
    installed = json.loads(claude.hooks_path.read_text())
    assert hooks("uninstall", "--host", "claude-code") == 0

    ours = [group for group in installed["hooks"]["PreToolUse"] if "control/integrations" in str(group)]
    assert [group["hooks"][0]["timeout"] for group in ours] == [2]
    assert snapshot(claude.home) == before


def test_a_reader_that_leaves_early_stops_nothing(claude: Host) -> None:
    program = "import sys; from control.commandline import main; sys.exit(main(['switchyard', *sys.argv[1:]]))"
    words = [sys.executable, "-c", program, "hooks", "install", "--host", "claude-code"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, cwd=Path(__file__).parents[2], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
    assert claude.hooks_path.exists()


def test_nothing_of_the_settings_is_lost_when_merging(claude: Host) -> None:
    write(claude.hooks_path, SETTINGS)

    hooks("install", "--host", "claude-code")

    found, original = json.loads(claude.hooks_path.read_text()), json.loads(SETTINGS)
    assert found["hooks"]["PreToolUse"].pop()["matcher"] == claude.matcher
    assert found == original


def test_what_was_added_since_stays_and_only_ours_goes(claude: Host) -> None:
    write(claude.hooks_path, SETTINGS)
    hooks("install", "--host", "claude-code")
    changed = json.loads(claude.hooks_path.read_text()) | {"theme": "dark"}
    claude.hooks_path.write_text(json.dumps(changed))
    hooks("install", "--host", "claude-code")
    hooks("uninstall", "--host", "claude-code")

    assert json.loads(claude.hooks_path.read_text()) == json.loads(SETTINGS) | {"theme": "dark"}


def test_settings_changed_after_installing_keep_the_change_when_uninstalled(claude: Host) -> None:
    hooks("install", "--host", "claude-code")
    changed = json.loads(claude.hooks_path.read_text()) | {"theme": "dark"}
    claude.hooks_path.write_text(json.dumps(changed))
    hooks("uninstall", "--host", "claude-code")

    assert json.loads(claude.hooks_path.read_text()) == {"theme": "dark"}


def test_a_skill_that_someone_rewrote_is_left(claude: Host, capsys: pytest.CaptureFixture[str]) -> None:
    hooks("install", "--host", "claude-code")
    claude.skill_path.write_text("mine now")
    hooks("uninstall", "--host", "claude-code")

    assert claude.skill_path.read_text() == "mine now"
    assert "changed since it was written; left" in capsys.readouterr().out


def test_a_skill_that_was_there_comes_back(claude: Host) -> None:
    write(claude.skill_path, "older")
    hooks("install", "--host", "claude-code")
    hooks("uninstall", "--host", "claude-code")

    assert claude.skill_path.read_text() == "older"


@pytest.mark.parametrize("words", [["show"], ["install", "--dry-run"], ["uninstall", "--dry-run"]])
def test_looking_writes_nothing(words: list[str], claude: Host, capsys: pytest.CaptureFixture[str]) -> None:
    write(claude.hooks_path, SETTINGS)
    before = snapshot(claude.home)

    assert hooks(words[0], "--host", "claude-code", *words[1:]) == 0
    assert snapshot(claude.home) == before
    if words[0] != "uninstall":
        assert "control/integrations/ask.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["{ // a comment\n}", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"a": 1, "a": 2}', "\xff"]
)
def test_settings_that_cannot_be_merged_are_left_alone(
    text: str, claude: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    claude.home.mkdir()
    claude.hooks_path.write_bytes(text.encode("latin-1"))
    before = snapshot(claude.home)

    assert hooks("install", "--host", "claude-code") == 1
    assert snapshot(claude.home) == before
    assert "nothing was changed" in capsys.readouterr().err


def test_settings_behind_a_link_are_written_through_it(claude: Host, tmp_path: Path) -> None:
    write(tmp_path / "dotfiles.json", SETTINGS)
    claude.home.mkdir()
    claude.hooks_path.symlink_to(tmp_path / "dotfiles.json")

    hooks("install", "--host", "claude-code")
    assert "control/integrations/ask.py" in (tmp_path / "dotfiles.json").read_text()
    hooks("uninstall", "--host", "claude-code")
    assert claude.hooks_path.is_symlink()
    assert (tmp_path / "dotfiles.json").read_text() == SETTINGS


TOML = '# mine\nmodel = "o"\n\n[[hooks.PreToolUse]]\nmatcher = "Bash"\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "x"'


@pytest.mark.parametrize("text", [TOML, f"{TOML}\n", '[hooks]\n[hooks.state]\na = 1\n[features]\nb = "ä"\n'])
def test_hooks_that_stand_in_toml_are_joined_there_and_taken_out_exactly(text: str, codex: Host) -> None:
    assert codex.toml_path is not None
    write(codex.toml_path, text)
    hooks("install", "--host", "codex")
    installed = codex.toml_path.read_text(encoding="utf-8")
    hooks("uninstall", "--host", "codex")

    groups = tomllib.loads(installed)["hooks"]["PreToolUse"]
    assert installed.startswith(text)
    assert groups[-1]["hooks"][0]["timeout"] == 2
    assert codex.toml_path.read_text(encoding="utf-8") == text
    assert not codex.hooks_path.exists()


def test_toml_that_was_changed_since_loses_our_block_alone(codex: Host) -> None:
    assert codex.toml_path is not None
    write(codex.toml_path, f"{TOML}\n")
    hooks("install", "--host", "codex")
    with codex.toml_path.open("a") as file:
        file.write("[later]\na = 1\n")
    hooks("uninstall", "--host", "codex")

    assert codex.toml_path.read_text() == f"{TOML}\n[later]\na = 1\n"


def test_hooks_written_inline_are_not_broken(codex: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert codex.toml_path is not None
    write(codex.toml_path, "hooks = {PreToolUse = []}\n")

    assert hooks("install", "--host", "codex") == 1
    assert codex.toml_path.read_text() == "hooks = {PreToolUse = []}\n"
    assert "add this by hand" in capsys.readouterr().err


def test_codex_settings_without_hooks_are_not_touched(codex: Host) -> None:
    assert codex.toml_path is not None
    write(codex.toml_path, 'model = "o"\n')
    hooks("install", "--host", "codex")

    assert codex.toml_path.read_text() == 'model = "o"\n'
    assert "control/integrations/ask.py" in codex.hooks_path.read_text()


@pytest.mark.parametrize("text", [b"[hooks\n", b'a = "\xff"\n', b"a = 1\na = 2\n"])
def test_toml_that_cannot_be_read_is_named_and_nothing_is_written(
    text: bytes, codex: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert codex.toml_path is not None
    codex.home.mkdir()
    codex.toml_path.write_bytes(text)

    assert hooks("install", "--host", "codex") == 1
    assert f"{codex.toml_path} is no TOML that can be read" in capsys.readouterr().err
    assert snapshot(codex.home) == {"config.toml": text}


def test_toml_that_became_unreadable_still_loses_our_block(codex: Host) -> None:
    assert codex.toml_path is not None
    write(codex.toml_path, f"{TOML}\n")
    hooks("install", "--host", "codex")
    with codex.toml_path.open("ab") as file:
        file.write(b"\xff[later\n")
    assert hooks("uninstall", "--host", "codex") == 0

    assert codex.toml_path.read_bytes() == f"{TOML}\n".encode() + b"\xff[later\n"


@pytest.mark.parametrize("action", ["show", "install", "uninstall", "check"])
def test_a_project_that_is_no_folder_is_refused(action: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks(action, "--host", "claude-code", "--project", str(home / "absent" / "x")) == 2
    assert capsys.readouterr().err == f"switchyard hooks: --project: {home}/absent/x is no folder\n"
    assert list(home.iterdir()) == []


def test_bad_usage_is_one_line_that_names_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        hooks("install", "--host", "emacs")
    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert err.startswith("switchyard hooks install: --host: ") and err.count("\n") == 1


def test_what_is_shown_is_escaped_where_a_terminal_lacks_its_letters(claude: Host) -> None:
    write(claude.hooks_path, SETTINGS)
    program = "import sys; from control.commandline import main; sys.exit(main(['switchyard', *sys.argv[1:]]))"
    words = [sys.executable, "-c", program, "hooks", "show", "--host", "claude-code"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe" in done.stdout


def test_a_project_has_settings_of_its_own(claude: Host, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    hooks("install", "--host", "claude-code", "--project", str(tmp_path / "work"))

    assert (tmp_path / "work" / ".claude" / "settings.json").exists()
    assert not claude.home.exists()


def test_no_key_is_ever_written(claude: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWITCHYARD_KEY", "canary-77")
    credentials(tmp_path, "http://127.0.0.1:9", "canary-78")
    hooks("install", "--host", "claude-code", "--credentials", str(tmp_path / "c.json"))

    assert not [name for name, content in snapshot(claude.home).items() if b"canary" in content]


def test_credentials_that_others_may_read_are_refused(
    claude: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    credentials(tmp_path, "http://127.0.0.1:9", "k").chmod(0o644)

    assert hooks("install", "--host", "claude-code", "--credentials", str(tmp_path / "c.json")) == 1
    assert "chmod 600" in capsys.readouterr().err
    assert not claude.home.exists()


# --- Asking ------------------------------------------------------------------------------------------------------------


def credentials(folder: Path, url: str, key: str = "swy_key") -> Path:
    path = folder / "c.json"
    path.write_text(json.dumps({"url": url, "harness_key": key}))
    path.chmod(0o600)
    return path


def transcript(folder: Path, *texts: str) -> Path:
    path = folder / "t.jsonl"
    lines = [
        {"message": {"role": "user", "content": text}, "uuid": f"u{place}", "type": "user"}
        for place, text in enumerate(texts)
    ]
    lines.append({"message": {"role": "user", "content": [{"type": "tool_result", "content": "secret output"}]}})
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def call(folder: Path, tool: str = "mcp__shell__run", **more: Any) -> dict[str, Any]:
    path = transcript(folder, "Read the page at example.org and tell its title")
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "tool_name": tool,
        "tool_input": {"secret": "canary-args"},
        "transcript_path": str(path),
        **more,
    }


def considered(folder: Path, fake: FakeServer, asked: dict[str, Any]) -> str | None:
    return ask.consider(asked, ask.Credentials(url=fake.url, key="swy_key"), folder / "state")


def test_at_a_fork_it_asks_and_names_the_better_tool(home: Path) -> None:
    with serving(lambda *_: (200, SELECTED)) as fake:
        said = considered(home, fake, call(home))

    [(method, path, body, headers)] = fake.asked
    assert said is not None and "'web__fetch'" in said and "0.93" in said
    assert (method, path, headers["Authorization"]) == ("POST", "/api/v1/route", "Bearer swy_key")
    assert body == {"goal": "Read the page at example.org and tell its title", "wait_ms": 1300}


def test_a_proposal_to_be_confirmed_is_told_as_one(home: Path) -> None:
    doubted = {**SELECTED, "tool": None, "fallback": True, "fallback_reason": "planner_confirmation"}
    with serving(lambda *_: (200, {**doubted, "proposed_tool": "web__fetch"})) as fake:
        said = considered(home, fake, call(home))

    assert said is not None and "'web__fetch' may be the better next step" in said


def test_it_asks_once_in_a_task_and_again_in_the_next(home: Path) -> None:
    with serving(lambda *_: (200, SELECTED)) as fake:
        first = [considered(home, fake, call(home)) for _ in range(3)]
        second = considered(home, fake, call(home, prompt_id="another"))

    assert [said is not None for said in first] == [True, False, False]
    assert second is not None
    assert len(fake.asked) == 2


def test_a_question_without_answer_counts_as_asked(home: Path) -> None:
    with serving(lambda *_: (500, {"error": {"message": "no"}})) as fake:
        for _ in range(2):
            with pytest.raises(Exception, match="no") if not fake.asked else nothing():
                considered(home, fake, call(home))

    assert len(fake.asked) == 1


class nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    "answer",
    [
        {**SELECTED, "tool": "shell__run"},
        {**SELECTED, "tool": "shell__shell_run"},
        {**SELECTED, "fallback": True, "tool": None},
        {"tool": "web__fetch"},
        {**SELECTED, "confidence": float("nan")},
        {**SELECTED, "confidence": "high"},
        {**SELECTED, "confidence": 3},
        {"decision_id": "x", "state": "queued"},
    ],
)
def test_agreement_doubt_and_half_answers_are_silent(answer: dict[str, Any], home: Path) -> None:
    with serving(lambda *_: (200, answer)) as fake:
        assert considered(home, fake, call(home)) is None
        assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "ls -la src"}),
        ("shell", {"command": ["cat", "a.py"]}),
        ("mcp__switchyard__route", {}),
        ("mcp__mcphub__resolve_tool", {}),
    ],
)
def test_where_there_is_no_fork_it_does_not_ask(tool: str, arguments: dict[str, Any], home: Path) -> None:
    with serving(lambda *_: (200, SELECTED)) as fake:
        assert considered(home, fake, call(home, tool, tool_input=arguments)) is None
        assert fake.asked == []
        assert considered(home, fake, call(home)) is not None  # the one question was not spent


@pytest.mark.parametrize("command", ["cat a | sh", "ls; rm b", "curl example.org", "echo $(x)"])
def test_a_shell_that_does_more_than_look_is_a_fork(command: str) -> None:
    assert ask.is_fork("Bash", {"command": command})


@pytest.mark.parametrize("texts", [("go on",), ("<command>clear the whole list</command>",), ()])
def test_a_turn_that_asks_for_nothing_is_no_question(texts: tuple[str, ...], home: Path) -> None:
    asked = call(home)
    transcript(home, *texts)

    assert ask.read_turn(asked) is None


def test_the_transcript_of_codex_is_read(home: Path) -> None:
    text = [{"type": "input_text", "text": "Find the failing test please"}]
    line = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": text}}
    (home / "r.jsonl").write_text(json.dumps(line) + "\nnot json\n")

    turn = ask.read_turn({"transcript_path": str(home / "r.jsonl"), "turn_id": "7"})
    assert turn == ask.Turn(goal="Find the failing test please", id="7")


def run_hook(stdin: str, *words: str, cwd: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    command = [sys.executable, "-I", ask.__file__, "--host", "claude-code", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, env=environment, check=False)
    return done, time.monotonic() - started


@pytest.mark.parametrize("stdin", ["", "{", "[]", "null", '{"hook_event_name": "PreToolUse"}', "[" * 100_000])
def test_the_program_is_silent_about_input_it_cannot_read(stdin: str, home: Path) -> None:
    done, _ = run_hook(stdin, cwd=home)

    assert (done.returncode, done.stdout) == (0, "")


def test_the_program_prints_what_hosts_understand(home: Path) -> None:
    with serving(lambda *_: (200, SELECTED)) as fake:
        path = credentials(home, fake.url)
        done, _ = run_hook(json.dumps(call(home)), "--credentials", str(path), cwd=home)

    told = json.loads(done.stdout)["hookSpecificOutput"]
    assert done.returncode == 0
    assert set(told) == {"hookEventName", "additionalContext"}  # advice: neither allowed nor denied


@pytest.mark.parametrize("answer", [(401, {"error": {"message": "key"}}), (200, b"<html>"), (302, b""), (500, b"")])
def test_the_program_fails_open_whatever_the_server_says(answer: tuple[int, Any], home: Path) -> None:
    with serving(lambda *_: answer) as fake:
        path = credentials(home, fake.url)
        done, _ = run_hook(json.dumps(call(home)), "--credentials", str(path), cwd=home)

    assert (done.returncode, done.stdout) == (0, "")


def test_the_program_fails_open_where_no_server_is(home: Path) -> None:
    path = credentials(home, "http://127.0.0.1:9")

    assert run_hook(json.dumps(call(home)), "--credentials", str(path), cwd=home)[0].stdout == ""
    assert run_hook(json.dumps(call(home)), "--credentials", str(home / "none"), cwd=home)[0].returncode == 0
    assert run_hook(json.dumps(call(home)), "--credentials", cwd=home)[0].returncode == 0


def test_a_server_that_does_not_answer_holds_nobody_up(home: Path) -> None:
    with serving(lambda *_: (200, SELECTED)) as fake:
        fake.delay_s = 4
        path = credentials(home, fake.url)
        done, seconds = run_hook(json.dumps(call(home)), "--credentials", str(path), cwd=home)

    assert (done.returncode, done.stdout) == (0, "")
    assert seconds < 3  # 1.5 for the request; the rest is a busy machine


def test_old_names_of_tasks_are_forgotten(home: Path) -> None:
    state = home / "state"
    ask.claim(state, "old")
    [old] = state.iterdir()
    os.utime(old, (0, 0))
    assert ask.claim(state, "new")

    assert not old.exists()


# --- Checking ----------------------------------------------------------------------------------------------------------


def test_check_says_that_there_is_no_hook(claude: Host) -> None:
    assert installer.check(claude)[0] is False
    assert installer.examine()[0] is True


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_check_reaches_the_server_with_the_hooks_own_credentials(host: str, home: Path) -> None:
    with serving(lambda *_: (200, {"matches": []})) as fake:
        path = credentials(home, fake.url)
        hooks("install", "--host", host, "--credentials", str(path))
        ok, message = installer.check(find_host(host))
        everyone = installer.examine()

    assert (ok, everyone[0]) == (True, True)
    assert fake.url in message
    assert "swy_key" not in message


def test_check_tells_a_refused_key_from_an_absent_server(claude: Host) -> None:
    with serving(lambda *_: (401, {"error": {"message": "this key is not known"}})) as fake:
        path = credentials(claude.home.parent, fake.url)
        hooks("install", "--host", "claude-code", "--credentials", str(path))
        refused = installer.check(claude)
    away = installer.check(claude)

    assert refused[0] is False and "this key is not known" in refused[1]
    assert away[0] is False and "cannot be reached" in away[1]


def test_check_says_what_is_missing(claude: Host) -> None:
    hooks("install", "--host", "claude-code")

    assert "SWITCHYARD_URL" in installer.check(claude)[1]
    changed = claude.hooks_path.read_text().replace(sys.executable, "/nowhere/python")
    claude.hooks_path.write_text(changed)
    assert "is gone" in installer.check(claude)[1]
