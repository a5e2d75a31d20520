"""The commit that a file stands at, where it lies in a Git checkout. Git is only asked: it writes nothing, runs no hook,
filter or pager of the checkout, and fetches nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

PATIENCE_S = 5.0
_QUIET = ("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ANSWER = "%H%x00%cI%x00%an%x00%s"
_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """Where a file stands in its Git checkout; `why` says in a sentence why that is not known."""

    top: str = ""  # the checkout's directory
    branch: str = ""  # empty when HEAD is detached
    commit: str = ""  # empty when the file is in no commit yet
    at: datetime | None = None
    author: str = ""
    subject: str = ""
    is_committed: bool = False  # the file says what the commit says
    why: str = ""

    @property
    def abbreviated(self) -> str:
        return self.commit[:10]


class _NoAnswer(Exception):
    """Git refused or did not answer; its text is a sentence."""


def checkout_of(path: str, data: bytes) -> Checkout | None:
    """The checkout of a file with this content; None when it lies in none."""
    whole = Path(os.path.realpath(path))
    if not any((parent / ".git").exists() for parent in whole.parents):
        return None
    program = shutil.which("git")
    if program is None:
        return Checkout(
            why="It lies in a Git checkout, but git is not installed on the server: the commit is not known."
        )
    try:
        return _ask(program, whole, data)
    except _NoAnswer as error:
        return Checkout(why=str(error))


def _ask(program: str, whole: Path, data: bytes) -> Checkout:
    def git(*words: str) -> str | None:
        return _run([program, "-C", str(whole.parent), *_QUIET, *words])

    top = git("rev-parse", "--show-toplevel")
    if top is None:
        raise _NoAnswer("Git does not know the checkout that it lies in: the commit is not known.")
    branch = git("symbolic-ref", "--short", "--quiet", "HEAD") or ""
    blob = git("rev-parse", "--verify", "--quiet", f"HEAD:./{whole.name}")
    if blob is None or not _HEX.fullmatch(blob):
        return Checkout(top=top, branch=branch)
    told = (git("log", "-1", "--no-show-signature", f"--format={_ANSWER}") or "").split("\0")
    if len(told) != 4:
        raise _NoAnswer("Git's answer could not be read: the commit is not known.")
    commit, at, author, subject = told
    return Checkout(
        top=top,
        branch=branch,
        commit=commit,
        at=datetime.fromisoformat(at),
        author=author[:200],
        subject=subject[:400],
        is_committed=_blob(data, len(blob)) == blob,
    )


def _blob(data: bytes, length: int) -> str:
    """The name under which Git keeps this content, in a repository whose names have this length."""
    digest = hashlib.sha256 if length == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data).hexdigest()


def _run(command: list[str]) -> str | None:
    """What Git prints; None when it says no."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, env=kept | quiet, check=False
        )
    except subprocess.TimeoutExpired:
        raise _NoAnswer(f"Git did not answer within {PATIENCE_S:g} seconds: the commit is not known.") from None
    except OSError:
        raise _NoAnswer("Git could not be started: the commit is not known.") from None
    if b"dubious ownership" in done.stderr:
        raise _NoAnswer(
            "The checkout belongs to another user than the server's, so Git does not read it (safe.directory): the commit "
            "is not known."
        )
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
