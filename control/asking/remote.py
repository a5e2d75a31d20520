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

from control.asking.arguments import FLAGS, parse_json, read_history, read_text, read_tools
from control.asking.errors import BadInput, NoAnswer

WAIT_MS = 30_000  # as long as a server holds an answer
PATIENCE_S = 60.0  # for an answer that a worker has not begun by then
TIMEOUT_S = 35.0
MOST_BYTES = 32 * 1024 * 1024
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
    answer = Server(asked.url, asked.key).ask("/route", {name: said for name, said in body.items() if said is not None})
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
    return Server(asked.url, asked.key).ask("/searches", {"wait_ms": WAIT_MS, **body})


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
        self._shown = f"{parts.scheme}://{parts.netloc}"

    def ask(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question; one that a worker has yet to give is waited for."""
        until = time.monotonic() + PATIENCE_S
        status, answer = self.send("POST", f"{self._base}{path}", body)
        while status == 202:
            poll = answer.get("poll")
            if not isinstance(poll, str) or not poll.startswith("/") or time.monotonic() > until:
                raise NoAnswer(f"{self._shown} has not decided in time ({answer.get('state')})")
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
            raise NoAnswer(f"{self._shown} did not answer in time") from None
        except (OSError, http.client.HTTPException, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise NoAnswer(f"{self._shown} cannot be reached: {reason}") from None
        finally:
            connection.close()
        return response.status, self._read(response.status, text)

    def _read(self, status: int, text: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise NoAnswer(f"{self._shown} is no Switchyard: status {status}, and no JSON object")
        if status in (200, 202):
            return answer
        error = answer.get("error")
        message = self._told(error if isinstance(error, dict) else {}, status)
        if status in (401, 403):
            raise BadInput(f"--key: {message}")
        if status in (400, 404, 413, 415, 422):
            raise BadInput(message)
        raise NoAnswer(message)

    def _told(self, error: Mapping[str, Any], status: int) -> str:
        """What a server says is wrong, in one line, by the flags that said it."""
        parts = [str(error.get("message") or f"status {status}")]
        for detail in error.get("details") or []:
            if isinstance(detail, dict):
                path = str(detail.get("path"))
                field = path.replace("[", ".").partition(".")[0]
                parts.append(f"{_FIELDS.get(field, field)}: {path} {detail.get('message')}")
        return " ".join("; ".join(parts).replace(self._key, "[REDACTED]").split())
