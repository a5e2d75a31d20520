"""Asking a server. Only the standard library: a command that sends one request has no use for a pool of connections.

The key is sent to the named server alone: redirects are not followed, and no message repeats it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from control.asking.arguments import FLAGS, complain, parse_json, read_history, read_text, read_tools
from control.asking.errors import BadInput, NoAnswer, NotThere

WAIT_MS = 30_000  # as long as a server holds an answer
PATIENCE_S = 60.0  # for an answer that a worker has not begun by then
TIMEOUT_S = 35.0
MOST_BYTES = 32 * 1024 * 1024
OF_A_SERVER = ("history", "session_id", "policy")  # keys of a search that no process has by itself
_DECIDED = ("category", "confidence", "fallback", "fallback_reason", "tool")
_FIELDS = {
    "goal": "--goal", "observation": "--observation", "last_action": "--last-action", "constraints": "--constraint",
    "recent_actions": "--recent-action", "tools": "--tools-json", "policy": "--policy", "query": "QUERY", "max_hits": "--max-hits",
}  # fmt: skip


def route(asked: argparse.Namespace) -> Mapping[str, Any]:
    for name, flag in FLAGS.items():
        if getattr(asked, flag.removeprefix("--").replace("-", "_")) is not None:
            raise BadInput(
                f"{flag}: a server decides by its policies; leave it out, or choose one with --policy ({name})"
            )
    body = {
        "goal": asked.goal,
        "observation": asked.observation,
        "last_action": asked.last_action,
        "recent_actions": read_history(asked.recent_action),
        "constraints": asked.constraint,
        "tools": read_tools(asked.tools_json) if asked.tools_json is not None else None,
        "policy": asked.policy,
        "wait_ms": WAIT_MS,
    }
    try:
        answer = Server(asked.url, asked.key).ask(
            "/route", {name: said for name, said in body.items() if said is not None}
        )
    except NotThere as problem:
        if asked.policy is not None:
            raise BadInput(f"--policy: {problem}") from None
        raise
    return answer if asked.verbose else {name: answer.get(name) for name in _DECIDED}


def resolve(asked: argparse.Namespace) -> Mapping[str, Any]:
    if asked.scope is not None:
        raise BadInput("--scope: a server knows the scope from the key; leave it out")
    query = asked.query if asked.query != "-" else read_text("-", "QUERY")
    body: dict[str, Any] = {"query": query, "explain": asked.explain}
    if asked.max_hits is not None:
        body["max_hits"] = asked.max_hits
    return Server(asked.url, asked.key).ask("/resolve", body)


def search(asked: argparse.Namespace) -> Mapping[str, Any]:
    body = parse_json(read_text(asked.file, "FILE"), "FILE")
    if not isinstance(body, dict):
        raise BadInput("FILE: must be one object, the body of POST /searches")
    server = Server(asked.url, asked.key)
    try:
        return server.ask("/searches", {"wait_ms": WAIT_MS, **body})
    except NotThere as problem:
        if named := [name for name in ("session_id", "policy") if body.get(name) is not None]:
            told = f"{server.shown} has no searches, or not the {' or '.join(named)} that FILE names"
            raise NoAnswer(f"{told}: {problem}") from None
    return _search_without(server, asked, body)


def _search_without(server: Server, asked: argparse.Namespace, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What to do about a server that has no searches: one that only the environment names does not stand in the way."""
    missing = f"{server.shown} has no searches"
    if asked.url_said:
        raise NoAnswer(f"{missing}; leave out --url and unset SWITCHYARD_URL to search in this process")
    if needed := [name for name in OF_A_SERVER if body.get(name) is not None]:
        raise NoAnswer(f"{missing}, and {', '.join(needed)} in FILE cannot be searched by without a server")
    from control.asking import lookahead

    complain(f"{asked.program}: {missing}; searching in this process, as with SWITCHYARD_URL unset")
    return lookahead.look_ahead(body, asked)


class Server:
    """One server under one key. Raises BadInput for what it does not accept, NoAnswer where it cannot answer."""

    def __init__(self, url: str, key: str, *, timeout_s: float = TIMEOUT_S) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            raise BadInput("--url: must be http://HOST[:PORT] or https://HOST[:PORT]")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise BadInput("--key: holds characters that no key has")
        self._connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port = host, port
        base = parts.path.rstrip("/")
        self._base = base if base.endswith("/api/v1") else f"{base}/api/v1"
        self._key = key
        self._timeout_s = timeout_s
        self.shown = f"{parts.scheme}://{parts.netloc}"

    def ask(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question; one that a worker has yet to give is waited for."""
        until = time.monotonic() + PATIENCE_S
        status, answer = self.send("POST", f"{self._base}{path}", body)
        while status == 202:
            poll = answer.get("poll")
            if not isinstance(poll, str) or not poll.startswith("/") or time.monotonic() > until:
                raise NoAnswer(f"{self.shown} has taken the question and not decided it in time")
            time.sleep(0.25)
            status, answer = self.send("GET", poll, None)
            if status == 200 and answer.get("state") in ("queued", "running"):
                status, answer = 202, {**answer, "poll": poll}
        # A decision that is polled for says its answer inside, beside what the ledger knows of it.
        inside = answer.get("answer")
        return inside if isinstance(inside, dict) else answer

    def send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Mapping[str, Any]]:
        connection = self._connect(self._host, self._port, timeout=self._timeout_s)
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        content = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            text = response.read(MOST_BYTES)
        except TimeoutError:
            raise NoAnswer(f"{self.shown} did not answer in time") from None
        except (OSError, http.client.HTTPException, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise NoAnswer(f"{self.shown} cannot be reached: {reason}") from None
        finally:
            connection.close()
        return response.status, self._read(response.status, text)

    def _read(self, status: int, text: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise NoAnswer(f"{self.shown} is no Switchyard: status {status}, and no JSON object")
        if status in (200, 202):
            return answer
        error = answer.get("error")
        message = self._told(error if isinstance(error, dict) else {}, status)
        if status in (401, 403):
            raise BadInput(f"--key: {message}")
        if status == 404:
            raise NotThere(message)
        if status in (400, 413, 415, 422):
            raise BadInput(message)
        raise NoAnswer(message)

    def _told(self, error: Mapping[str, Any], status: int) -> str:
        """What a server says is wrong, in one line, by the flags that said it."""
        parts = [str(error.get("message") or f"status {status}")]
        for detail in error.get("details") or []:
            if isinstance(detail, dict):
                path = str(detail.get("path"))
                field = path.replace("[", ".").partition(".")[0]
                if field in _FIELDS:
                    parts.append(f"{_FIELDS[field]}: {path} {detail.get('message')}")
                elif not parts[0].startswith(f"{path}: {detail.get('message')}"):
                    parts.append(f"{path}: {detail.get('message')}")
        return " ".join("; ".join(parts).replace(self._key, "[REDACTED]").split())
