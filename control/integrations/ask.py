"""What the hook runs before a tool call: one question to the server at a fork, and silence in every other case.

Only the standard library and `control.asking.remote` are imported. Whatever goes wrong, nothing is printed and the status is 0: the agent goes on as
if there were no hook. It is over after DEADLINE_S at the latest, and it asks at most once in a task (one turn of the user).
Sent is the user's last text; never what the agent is about to call, its arguments, files or output.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEADLINE_S = 1.8  # the agent itself gives up after 2
REQUEST_S = 1.5
MAX_INPUT = 4 * 1024 * 1024
TAIL = 256 * 1024  # of a transcript, where the last turn stands
GOAL_BYTES = 1600
SHORTEST_GOAL = 3  # words: "yes" and "go on" ask for nothing
KEPT_S = 24 * 3600
# Commands of a shell that only look: what follows from them is decided after they were run.
LOOKING = frozenset("cat cd date echo file head ls pwd stat tail tree wc which".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    url: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the user asked for last, and what tells this turn from all others."""

    goal: str
    id: str


def main(words: list[str] | None = None) -> int:
    """Always 0. Prints the host's JSON when there is something to say."""
    watchdog = threading.Timer(DEADLINE_S, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    try:
        said = sys.argv[1:] if words is None else words
        credentials = Path(said[said.index("--credentials") + 1]) if "--credentials" in said else None
        call = json.loads(sys.stdin.buffer.read(MAX_INPUT))
        advice = consider(call, read_credentials(credentials), state_dir())
        if advice:
            told = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": advice}}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
    except Exception:
        pass  # a hook that cannot advise must not be noticed
    finally:
        watchdog.cancel()
    return 0


def consider(call: Mapping[str, Any], credentials: Credentials | None, state: Path) -> str | None:
    """One sentence for the agent, or None: no fork, asked already, no answer, or an answer that agrees."""
    tool = call.get("tool_name")
    if call.get("hook_event_name") != "PreToolUse" or not isinstance(tool, str) or credentials is None:
        return None
    if not is_fork(tool, call.get("tool_input")):
        return None
    turn = read_turn(call)
    if turn is None or not claim(state, f"{call.get('session_id')}\n{turn.id}"):
        return None
    answer = ask(credentials, turn.goal)
    sure = answer.get("fallback") is False
    doubted = answer.get("fallback_reason") == "planner_confirmation"
    better = answer.get("tool") if sure else answer.get("proposed_tool") if doubted else None
    confidence = answer.get("confidence")
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:  # NaN is no confidence either
        return None
    if not isinstance(better, str) or same_tool(tool, better):
        return None
    return (
        f"Switchyard: for what was asked, the tool {better!r} {'is likely' if sure else 'may be'} the better next step "
        f"than {tool!r} (confidence {confidence:.2f}). This is advice, given once in this task and no permission: "
        f"compare the two, describe {better!r} if you do not know it, and go on with the one that fits."
    )


def is_fork(tool: str, arguments: Any) -> bool:
    """Whether another tool might do it: not for a command that only looks, and not for our own tools."""
    if "switchyard" in tool.lower() or "mcphub" in tool.lower():
        return False
    command = arguments.get("command") if isinstance(arguments, dict) else None
    first = command[0] if isinstance(command, list) and command else command
    if not isinstance(first, str):
        return True
    words = first.split()
    joined = any(sign in first for sign in "|;&>`$")
    return joined or not words or words[0] not in LOOKING


def same_tool(pending: str, target: str) -> bool:
    """`mcp__web__fetch`, `web__fetch` and `web__web_fetch` are one tool."""
    return _canonical(pending) == _canonical(target)


def _canonical(name: str) -> str:
    name = name.lower().removeprefix("mcp__")
    endpoint, mark, fragment = name.partition("__")
    if not mark:
        return name
    for prefix in (f"{endpoint}_", f"{endpoint}-"):
        fragment = fragment.removeprefix(prefix)
    return f"{endpoint}__{fragment}"


def read_turn(call: Mapping[str, Any]) -> Turn | None:
    """The last text of the user in the transcript; None for a turn that asks for nothing."""
    path = call.get("transcript_path")
    if not isinstance(path, str) or not path:
        return None
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read(TAIL).decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        entry = _entry(line)
        text = " ".join(_texts(entry)).strip()
        if not text or text.startswith("<"):  # what a host puts in itself is marked up
            continue
        if len(text.split()) < SHORTEST_GOAL:
            return None
        goal = text.encode("utf-8", "replace")[:GOAL_BYTES].decode("utf-8", "ignore")
        told = call.get("prompt_id") or call.get("turn_id") or entry.get("uuid") or entry.get("timestamp") or text
        return Turn(goal=goal, id=str(told))
    return None


def _entry(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and not found.get("isMeta") and not found.get("isCompactSummary") else {}


def _texts(entry: Mapping[str, Any]) -> Iterator[str]:
    """What a user wrote: Claude Code keeps it under `message`, Codex under `payload`; results of tools are no such text."""
    message = entry.get("message", entry.get("payload", entry))
    if not isinstance(message, dict) or message.get("role") != "user":
        return
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        if isinstance(block, dict) and block.get("type") in ("text", "input_text"):
            text = block.get("text")
            if isinstance(text, str):
                yield text


def claim(state: Path, task: str) -> bool:
    """Whether this task's one question is still to be asked; it counts as asked from here on, whatever comes of it."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    forgotten = time.time() - KEPT_S
    for old in state.iterdir():
        if old.stat().st_mtime < forgotten:
            old.unlink(missing_ok=True)
    try:
        (state / hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()).touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return False
    return True


def state_dir() -> Path:
    """Names of asked tasks lie here, as digests."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "switchyard" / "hooks"


def read_credentials(path: Path | None) -> Credentials | None:
    """From the file, else from the environment; None where they are not whole, or others may read the file."""
    if path is None:
        url, key = os.environ.get("SWITCHYARD_URL"), os.environ.get("SWITCHYARD_KEY")
        return Credentials(url=url, key=key) if url and key else None
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            return None
        found = json.loads(path.read_bytes())
        url, key = found["url"], found["harness_key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Credentials(url=url, key=key) if isinstance(url, str) and isinstance(key, str) and url and key else None


def ask(credentials: Credentials, goal: str) -> Mapping[str, Any]:
    """The server's decision among the tools of its scope."""
    from control.asking.remote import Server

    server = Server(credentials.url, credentials.key, timeout_s=REQUEST_S)
    body = {"goal": goal, "wait_ms": int(REQUEST_S * 1000) - 200}
    status, answer = server.send("POST", "/api/v1/route", body)
    return answer if status == 200 else {}


if __name__ == "__main__":
    # Started by its path, so that neither the agent's folder nor an installed package has a say in what runs.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
