"""Files that commands are given: read whole, or refused in plain words."""

from __future__ import annotations

import sys
from pathlib import Path

from django.core.management.base import CommandError

from control.management.answer import BAD_USAGE

MAX_BYTES = 16 * 1024 * 1024


def read_file(name: str) -> bytes:
    """The content of a file, `-` for standard input. What is no readable file is bad usage."""
    if name == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise CommandError(f"{name} is a directory, not a file", returncode=BAD_USAGE)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CommandError(f"there is no file {name}", returncode=BAD_USAGE) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "its name is no path"
        raise CommandError(f"{name} cannot be read: {reason}", returncode=BAD_USAGE) from None
