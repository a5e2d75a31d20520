"""`route`, `resolve` and `search` from a shell: what they print, with which status, and what they do not load."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from control import commandline
from tests.fake_server import FakeServer, serving

TOOLS = [
    {"name": "read_file", "description": "Read a repository file by path", "category": "inspect", "risk": "low"},
    {"name": "search_code", "description": "Search source code for a symbol or text"},
    {"name": "write_file", "description": "Replace a repository file with new content", "risk": "medium"},
]
TOOLS_JSON = json.dumps(TOOLS)
GOAL = ["route", "--goal", "read src/parser.py", "--tools-json", TOOLS_JSON]
REGISTRY = {
    "version": 1,
    "endpoints": [
        {
            "name": "web",
            "kind": "declared",
            "tools": [{"name": "fetch", "description": "Fetch the text of a web page"}],
        },
        {"name": "files", "kind": "declared", "tools": [{"name": "read", "description": "Read a local file by path"}]},
    ],
    "scopes": [{"name": "narrow", "endpoints": ["files"]}],
}


@pytest.fixture(autouse=True)
def _no_server_and_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SWITCHYARD_URL", "SWITCHYARD_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def registry(tmp_path: Path) -> str:
    path = tmp_path / "registry.json"
    path.write_text(json.dumps(REGISTRY))
    return str(path)


def har(*words: str) -> int:
    """The exit status; argparse ends the process by itself."""
    try:
        return commandline.main(["har", *words])
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    with serving(lambda *_: (200, {"error": "unset"})) as server:
        yield server


# --- In process --------------------------------------------------------------------------------------------------------


def test_a_route_is_one_line_with_the_five_keys_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert har(*GOAL) == 0

    out = capsys.readouterr().out
    answer = json.loads(out)
    assert out.count("\n") == 1
    assert list(answer) == ["category", "confidence", "fallback", "fallback_reason", "tool"]
    assert (answer["tool"], answer["category"], answer["fallback"]) == ("read_file", "inspect", False)
    assert answer["confidence"] == round(answer["confidence"], 4)


def test_verbose_adds_what_else_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert har(*GOAL, "--verbose") == 0

    out = capsys.readouterr().out
    answer = json.loads(out)
    assert out.count("\n") > 5
    assert list(answer) == sorted(answer)
    assert set(answer["probabilities"]) == {"read_file", "search_code", "write_file", "__fallback__"}
    assert answer["thresholds"] == {"direct": 0.85, "fallback": 0.6, "by": "default"}
    assert {"proposed_tool", "source", "latency_ms"} <= set(answer)


def test_a_fallback_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert har("route", "--goal", "sing a song", "--tools-json", TOOLS_JSON) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["tool"], answer["fallback"]) == (None, True)

    assert har(*GOAL, "--mode", "planner_only") == 0
    assert json.loads(capsys.readouterr().out)["fallback_reason"] == "planner_only"


def test_a_tool_to_be_confirmed_is_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    assert har(*GOAL, "--direct-threshold", "1", "--verbose") == 0

    answer = json.loads(capsys.readouterr().out)
    assert (answer["fallback_reason"], answer["tool"]) == ("planner_confirmation", None)
    assert answer["proposed_tool"] == "read_file"
    assert answer["thresholds"]["direct"] == 1


def test_the_state_is_handed_on_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from control.asking import local
    from routing.engine import ActionSummary, HarnessState, RouteDecision

    seen: list[Any] = []
    monkeypatch.setattr(local, "decide", lambda *given: seen.append(given) or RouteDecision())
    words = ["--observation", "-x fails", "--last-action", "ls", "--constraint", "a", "--constraint", "--b"]
    assert har(*GOAL, *words, "--recent-action", "read=ok=1", "--history", "run=", "--hierarchical-threshold", "3") == 0

    _, config, state, tools = seen[0]
    assert config.hierarchical_threshold == 3
    assert state == HarnessState(
        "read src/parser.py", "-x fails", "ls", [ActionSummary("read", "ok=1"), ActionSummary("run", "")], ["a", "--b"]
    )
    assert [tool.risk.value for tool in tools] == ["low", "low", "medium"]


def test_tools_come_from_a_file_or_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools.json").write_text(TOOLS_JSON)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TOOLS_JSON.encode())))

    assert har("route", "--goal", "read a.py", "--tools-json", f"@{tmp_path}/tools.json") == 0
    assert har("route", "--goal", "read a.py", "--tools-json", "-") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["route"], "--goal"),
        (["route", "--goal", "x"], "--tools-json"),
        (["route", "--goal", "x", "--tools-json", "{"], "--tools-json: no JSON"),
        (["route", "--goal", "x", "--tools-json", "[" * 100_000], "--tools-json: no JSON"),
        (["route", "--goal", "x", "--tools-json", "[" + "9" * 5000 + "]"], "--tools-json: no JSON"),
        (["route", "--goal", "x", "--tools-json", "{}"], "--tools-json: must be an array"),
        (["route", "--goal", "x", "--tools-json", "[]"], "--tools-json: names no tool"),
        (["route", "--goal", "x", "--tools-json", '["a"]'], "--tools-json: [0]"),
        (["route", "--goal", "x", "--tools-json", '[{"description": "a"}]'], "--tools-json: a tool needs a name"),
        (["route", "--goal", "x", "--tools-json", '[{"name": "a", "risk": "no"}]'], "--tools-json: tool 'a': risk"),
        (["route", "--goal", "x", "--tools-json", '[{"name": "a"}, {"name": "a"}]'], "duplicate tool name: a"),
        (["route", "--goal", "x", "--tools-json", '[{"name": "__fallback__"}]'], "--tools-json: the tool name"),
        (["route", "--goal", "x", "--tools-json", "@/nowhere"], "--tools-json: /nowhere cannot be read"),
        ([*GOAL, "--direct-threshold", "2"], "--direct-threshold"),
        ([*GOAL, "--direct-threshold", "nan"], "--direct-threshold"),
        ([*GOAL, "--direct-threshold", "high"], "--direct-threshold"),
        ([*GOAL, "--direct-threshold", "0.5"], "--fallback-threshold must not be above --direct-threshold"),
        ([*GOAL, "--fallback-threshold", "-1"], "--fallback-threshold"),
        ([*GOAL, "--hierarchical-threshold", "0"], "--hierarchical-threshold"),
        ([*GOAL, "--mode", "fast"], "--mode"),
        ([*GOAL, "--recent-action", "read"], "--recent-action"),
        ([*GOAL, "--policy", "fast"], "--policy"),
        ([*GOAL, "--nonsense"], "--nonsense"),
        ([*GOAL, "--observation", "a\udcff"], "--observation"),
        ([*GOAL, "--url", "http://h"], "--key"),
        ([*GOAL, "--url", "ftp://h", "--key", "k"], "--url"),
        ([*GOAL, "--url", "http://h:port", "--key", "k"], "--url"),
        ([*GOAL, "--url", "http://h", "--key", "a b"], "--key"),
        ([*GOAL, "--url", "http://h", "--key", "k", "--provider", "local"], "--url"),
        ([*GOAL, "--url", "http://h", "--key", "k", "--direct-threshold", "1"], "--direct-threshold"),
        (["resolve"], "query"),
        (["resolve", "x", "--registry", "/nowhere"], "--registry: /nowhere"),
        (["resolve", "x", "--max-hits", "many"], "--max-hits"),
        (["search"], "FILE"),
        (["search", "/nowhere"], "FILE: /nowhere"),
    ],
)
def test_bad_input_is_told_by_its_flag_and_is_status_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert har(*words) == 2

    err = capsys.readouterr().err
    assert err.startswith(f"har {words[0]}: ") and err.count("\n") == 1
    assert said in err


def test_an_account_without_its_variable_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert har(*GOAL, "--provider", "openrouter") == 2
    assert "OPENROUTER_API_KEY" in capsys.readouterr().err


def test_the_program_ends_at_once_with_its_status_and_all_it_has_said() -> None:
    program = "import sys; from control.commandline import main; sys.argv[0] = 'har'; sys.exit(main())"
    root = Path(__file__).parents[2]
    for words, status in ((GOAL, 0), (["route", "--goal", "x", "--tools-json", "[]"], 2)):
        done = subprocess.run([sys.executable, "-c", program, *words], cwd=root, capture_output=True, text=True)
        assert done.returncode == status
        assert (done.stdout + done.stderr).endswith("\n")


def written_to(stdout: str, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program in a shell that hands it `stdout`, for example `>&-`."""
    program = "import sys; from control.commandline import main; sys.argv[0] = 'har'; sys.exit(main())"
    return subprocess.run(
        ["sh", "-c", f'"$@" {stdout}', "sh", sys.executable, "-c", program, *words],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        capture_output=True,
    )


def test_letters_that_a_terminal_lacks_are_escaped() -> None:
    tools = json.dumps([{"name": "датум_lesen", "description": "Read the date"}], ensure_ascii=False)
    words = ["route", "--goal", "Read the date", "--tools-json", tools, "--verbose"]
    done = written_to("", *words, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, b"")
    assert "датум_lesen" in json.loads(done.stdout.decode("ascii"))["probabilities"]
    assert "датум_lesen" in written_to("", *words, PYTHONIOENCODING="utf-8").stdout.decode()


@pytest.mark.parametrize(("stdout", "said"), [(">/dev/full", b"No space left"), (">&-", b"standard output is closed")])
def test_an_answer_that_cannot_be_written_is_none(stdout: str, said: bytes) -> None:
    done = written_to(stdout, *GOAL)

    assert done.returncode == 1
    assert done.stderr.startswith(b"har route: the answer cannot be written: ") and said in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = "import sys; from control.commandline import main; sys.argv[0] = 'har'; sys.exit(main())"
    words = [sys.executable, "-c", program, *GOAL]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


def test_complaints_never_take_the_place_of_an_answer() -> None:
    done = written_to("2>&-", "route", "--goal", "x", "--tools-json", "[]")
    assert (done.returncode, done.stdout) == (2, b"")


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from control.asking import local

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "decide", interrupted)
    assert har(*GOAL) == 130


def test_a_request_is_resolved_from_a_document(registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert har("resolve", "fetch the text of a web page", "--registry", registry) == 0
    out = capsys.readouterr().out
    answer = json.loads(out)
    assert out.count("\n") == 1 and list(answer) == sorted(answer)
    assert answer["recommendation"]["namespaced"] == "web__fetch"

    assert har("resolve", "fetch a web page", "--registry", registry, "--scope", "narrow", "--explain") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "no_match"
    assert "explanation" in answer


def test_an_unknown_scope_and_a_broken_document_are_bad_input(
    registry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("version: 1\nendpoints: [{name: A B}]\n")

    assert har("resolve", "x", "--registry", registry, "--scope", "absent") == 2
    assert "--scope: there is no scope 'absent'" in capsys.readouterr().err
    assert har("resolve", "x", "--registry", str(tmp_path / "broken.yaml")) == 2
    assert "--registry: endpoints[0]" in capsys.readouterr().err


GRAPH = {
    "root_state": "start",
    "states": [
        {"id": "start", "goal": "get rich", "tools": [{"name": "quick"}, {"name": "invest"}]},
        {"id": "invested", "goal": "wait", "tools": [{"name": "finish"}]},
        {"id": "end", "goal": "done"},
    ],
    "transitions": [
        {"from_state": "start", "tool": "quick", "to_state": "end", "reward": 0.6, "terminal": True},
        {"from_state": "start", "tool": "invest", "to_state": "invested", "reward": 0.05},
        {"from_state": "invested", "tool": "finish", "to_state": "end", "reward": 1.0, "terminal": True},
    ],
}


def searched(tmp_path: Path, **changes: Any) -> int:
    (tmp_path / "s.json").write_text(json.dumps({**GRAPH, **changes}))
    return har("search", str(tmp_path / "s.json"))


def test_a_supplied_graph_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert searched(tmp_path) == 0

    answer = json.loads(capsys.readouterr().out)
    result = answer["result"]
    assert (answer["method"], answer["state"]) == ("exact", "finished")
    assert (result["tool"], result["principal_variation"]) == ("invest", ["invest", "finish"])
    assert result["one_step"] == {"tool": "quick", "value": 0.6}
    assert result["exact"]["tool"] == "invest"


def test_a_search_by_simulations_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert searched(tmp_path, method="puct", simulations=4, use_prior=False) == 0

    answer = json.loads(capsys.readouterr().out)
    assert answer["result"]["root_visits"] == {"quick": 3, "invest": 1}
    assert (answer["result"]["tool"], answer["progress"]["simulations"]) == ("quick", 4)


def test_a_graph_without_tools_is_an_answer_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert searched(tmp_path, root_state="end") == 0
    assert json.loads(capsys.readouterr().out)["result"]["fallback_reason"] == "mcts_no_tools"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"root_state": "absent"}, "root_state"),
        ({"root_state": 3}, "root_state"),
        ({"states": []}, "states"),
        ({"states": [{"id": "start", "goal": "x", "value": float("inf")}]}, "states[0].value"),
        ({"simulations": 0}, "simulations"),
        ({"simulations": "many"}, "simulations"),
        ({"method": "luck"}, "method"),
        ({"depth": 3}, "depth: is no key"),
        ({"use_prior": 1}, "use_prior"),
        ({"history": {}}, "history: only a server"),
    ],
)
def test_a_search_that_cannot_be_is_bad_input(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert searched(tmp_path, **changes) == 2
    err = capsys.readouterr().err
    assert "har search: FILE: " in err and said in err


# --- Of a server -------------------------------------------------------------------------------------------------------

DECISION = {
    "decision_id": "d1",
    "state": "finished",
    "tool": "web__fetch",
    "category": "network",
    "confidence": 0.93,
    "fallback": False,
    "fallback_reason": None,
    "probabilities": {},
    "policy": "default",
}


def test_a_server_is_asked_when_one_is_named(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (200, DECISION)
    monkeypatch.setenv("SWITCHYARD_URL", f"{fake.url}/")
    monkeypatch.setenv("SWITCHYARD_KEY", "swy_k")
    assert har("route", "--goal", "read it", "--constraint", "no writes", "--recent-action", "ls=ok") == 0

    [(method, path, body, headers)] = fake.asked
    assert (method, path, headers["Authorization"]) == ("POST", "/api/v1/route", "Bearer swy_k")
    assert body == {
        "goal": "read it",
        "constraints": ["no writes"],
        "recent_actions": [{"tool": "ls", "outcome": "ok"}],
        "wait_ms": 30000,
    }
    assert json.loads(capsys.readouterr().out) == {
        "category": "network", "confidence": 0.93, "fallback": False, "fallback_reason": None, "tool": "web__fetch",
    }  # fmt: skip


def test_what_is_said_outright_stands_above_the_environment(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SWITCHYARD_URL", fake.url)
    assert har(*GOAL, "--provider", "local") == 0
    assert fake.asked == []


def test_a_promise_is_waited_for(fake: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    states = iter(["queued", "running"])

    def reply(method: str, path: str, body: Any) -> tuple[int, Any]:
        state = next(states, None)
        if method == "POST":
            return 202, {"decision_id": "d1", "state": state, "poll": "/api/v1/decisions/d1"}
        return 200, {"id": "d1", "state": state} if state else {"id": "d1", "state": "finished", "answer": DECISION}

    fake.reply = reply
    assert har("route", "--goal", "x", "--url", f"{fake.url}/api/v1", "--key", "k", "--verbose") == 0

    assert [path for _, path, *_ in fake.asked] == ["/api/v1/route", *["/api/v1/decisions/d1"] * 2]
    assert json.loads(capsys.readouterr().out)["decision_id"] == "d1"


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, 2), (401, 2), (403, 2), (404, 1), (422, 2), (409, 1), (429, 1), (500, 1), (503, 1), (302, 1)],
)
def test_what_a_server_refuses_is_told_by_the_flag_without_the_key(
    status: int, expected: int, fake: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    details = [{"path": "tools[0].name", "message": "is blank"}]
    fake.reply = lambda *_: (status, {"error": {"message": "no canary-9\nkey", "details": details}})
    assert har("route", "--goal", "x", "--url", fake.url, "--key", "canary-9") == expected

    err = capsys.readouterr().err
    assert "--tools-json: tools[0].name is blank" in err
    assert err.count("\n") == 1
    assert "canary-9" not in err


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"\xff"])
def test_a_server_of_another_kind_is_told_as_such(
    content: bytes, fake: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (200, content)
    assert har("resolve", "x", "--url", fake.url, "--key", "k") == 1
    assert "is no Switchyard" in capsys.readouterr().err


def test_a_server_that_is_away_is_no_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert har("resolve", "x", "--url", "http://127.0.0.1:9", "--key", "k") == 1
    assert "cannot be reached" in capsys.readouterr().err


def test_resolve_and_search_send_what_they_were_given(
    fake: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (200, {"b": 1, "a": 2})
    (tmp_path / "s.json").write_text('{"root_state": "r", "wait_ms": 5}')
    server = ["--url", fake.url, "--key", "k"]
    assert har("resolve", "fetch", "--max-hits", "3", "--explain", *server) == 0
    assert har("search", str(tmp_path / "s.json"), *server) == 0

    assert [(path, body) for _, path, body, _ in fake.asked] == [
        ("/api/v1/resolve", {"query": "fetch", "explain": True, "max_hits": 3}),
        ("/api/v1/searches", {"root_state": "r", "wait_ms": 5}),
    ]
    assert capsys.readouterr().out == '{"a":2,"b":1}\n' * 2


NO_CALL = {"error": {"code": "not_found", "message": "There is no such call; /api/v1/openapi.json lists them all."}}


def test_a_server_without_searches_that_was_named_outright_is_told_in_plain_words(
    fake: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (404, NO_CALL)
    (tmp_path / "s.json").write_text(json.dumps(GRAPH))
    assert har("search", str(tmp_path / "s.json"), "--url", fake.url, "--key", "k") == 1

    assert capsys.readouterr() == (
        "",
        f"har search: {fake.url} has no searches; leave out --url and unset SWITCHYARD_URL to search in this process\n",
    )


@pytest.mark.parametrize("name", ["s.json", "-"])
def test_a_server_without_searches_in_the_environment_does_not_stand_in_the_way(
    name: str, fake: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (404, NO_CALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWITCHYARD_URL", fake.url)
    monkeypatch.setenv("SWITCHYARD_KEY", "k")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GRAPH).encode())))
    (tmp_path / "s.json").write_text(json.dumps(GRAPH))
    assert har("search", name) == 0

    out, err = capsys.readouterr()
    assert json.loads(out)["result"]["tool"] == "invest"
    assert "has no searches; searching in this process" in err and err.count("\n") == 1


@pytest.mark.parametrize("more", [{"history": {}}, {"session_id": "s"}, {"policy": "careful"}])
def test_what_only_a_server_can_search_by_is_not_searched_without_it(
    more: dict[str, Any],
    fake: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.reply = lambda *_: (404, NO_CALL)
    monkeypatch.setenv("SWITCHYARD_URL", fake.url)
    monkeypatch.setenv("SWITCHYARD_KEY", "k")
    assert searched(tmp_path, **more) == 1

    out, err = capsys.readouterr()
    assert out == "" and "has no searches" in err and next(iter(more)) in err


def test_a_policy_that_a_server_does_not_have_is_bad_input(
    fake: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (404, {"error": {"message": "There is no such policy for this key's scope."}})
    assert har("route", "--goal", "x", "--url", fake.url, "--key", "k", "--policy", "careful") == 2
    assert "--policy: There is no such policy" in capsys.readouterr().err


@pytest.mark.parametrize("answer", [{}, {"decision_id": "d", "state": "queued", "poll": None}])
def test_a_promise_that_says_nowhere_to_ask_again_is_no_answer(
    answer: dict[str, Any], fake: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reply = lambda *_: (202, answer)
    assert har("route", "--goal", "x", "--url", fake.url, "--key", "k") == 1
    assert capsys.readouterr().err == f"har route: {fake.url} has taken the question and not decided it in time\n"


# --- The program -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["route", "resolve", "search"])
def test_help_is_status_0(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert har(command, "--help") == 0
    assert har("help", command) == 0
    first, second = capsys.readouterr().out.split("usage: har ")[1:]
    assert first == second


def test_the_general_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert har() == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ("route", "resolve", "search", "hooks"))


def loaded_by(*words: str) -> set[str]:
    program = (
        "import sys; from control.commandline import main; status = main(['har', *sys.argv[1:]]);"
        "print(*sys.modules, file=sys.stderr); sys.exit(status)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=root, capture_output=True, text=True, check=True)
    return {name for name in done.stderr.split() if name}


def test_a_route_loads_no_more_than_it_needs() -> None:
    loaded = loaded_by(*GOAL)

    assert {"numpy", "routing.engine.scoring"} <= loaded
    heavy = {"django", "pydantic", "httpx", "asyncio", "yaml", "jsonschema_rs", "orjson", "cryptography", "celery"}
    assert not (heavy | {"control.environment", "routing.engine.validation", "routing.formats"}) & loaded


def test_asking_a_server_loads_no_ranker(fake: FakeServer) -> None:
    fake.reply = lambda *_: (200, DECISION)
    loaded = loaded_by("route", "--goal", "x", "--url", fake.url, "--key", "k")

    assert not {"numpy", "django", "httpx", "routing.engine.models"} & loaded
