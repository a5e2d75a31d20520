"""One file below an allowed directory, whatever links and renames happen meanwhile.

Links are followed as long as they stay inside. What a path comes to is then walked from the allowed directory, one step
at a time and following no link any more, so that nobody can lead a step elsewhere between the check and its use.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from routing.errors import SourceUnreadable
from routing.formats.text import MAX_BYTES

ENDINGS = (".yaml", ".yml", ".json")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe must not hold its reader up.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = 0o644


class Missing(SourceUnreadable):
    """There is no file of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a file holds. Equal stamps are equal contents."""

    data: bytes
    stamp: str


# --- which files may be named -----------------------------------------------------------------------------------------
def named(path: str) -> str:
    """A path as it is kept: whole and in one spelling; raises ValueError with a sentence when it may not be named."""
    path = path.strip()
    if not settings.SOURCE_ROOTS:
        raise ValueError(
            "This server allows no file as a source of truth. Whoever runs it names the directories that may be read in "
            "SWITCHYARD_SOURCE_ROOTS."
        )
    if "\0" in path or not path.lower().endswith(ENDINGS):
        raise ValueError(f"Name a file that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}.")
    whole = os.path.normpath(settings.SOURCE_ROOTS[0] / path)
    try:
        _resolved(whole)
    except SourceUnreadable as error:
        raise ValueError(error.message) from None
    return whole


def short(path: str) -> str:
    """The path below its allowed directory, for people."""
    for root in settings.SOURCE_ROOTS:
        with contextlib.suppress(ValueError):
            return str(Path(path).relative_to(root))
    return path


def _resolved(path: str) -> tuple[str, Path]:
    """The allowed directory, and where below it the path leads; raises SourceUnreadable for any other."""
    try:
        found = Path(os.path.realpath(path))
        for root in (os.path.realpath(one) for one in settings.SOURCE_ROOTS):
            if found.is_relative_to(root) and not found.is_relative_to(os.path.realpath(settings.DATA_DIR)):
                return root, found.relative_to(root)
    except (OSError, ValueError):
        raise SourceUnreadable("Its name is no path of a file.") from None
    raise SourceUnreadable(
        "It lies outside of the directories that this server allows (SWITCHYARD_SOURCE_ROOTS), or a link leads out of them."
    )


# --- read and write ---------------------------------------------------------------------------------------------------
def read(path: str, known: Content | None = None) -> Content:
    """The file's content: the `known` one itself while the file is the same. Raises Missing, or SourceUnreadable."""
    with _folder(path) as (folder, name), _opened(folder, name) as handle:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise SourceUnreadable("It is no regular file.")
        if found.st_size > MAX_BYTES:
            raise SourceUnreadable(f"It is larger than {MAX_BYTES // 1024 // 1024} MiB; nothing larger is read.")
        stamp = f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"
        if known and known.stamp == stamp:
            return known
        with os.fdopen(handle, "rb", closefd=False) as file:
            return Content(data=file.read(MAX_BYTES), stamp=stamp)


def write(path: str, data: bytes) -> None:
    """Put this in the file's place, whole or not at all; its rights stay. Raises SourceUnreadable with a sentence."""
    with _folder(path) as (folder, name):
        draft = f".{name}.{secrets.token_hex(6)}"
        try:
            with os.fdopen(os.open(draft, _WRITE, _NEW_FILE, dir_fd=folder), "wb") as file:
                os.fchmod(file.fileno(), _rights(folder, name))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)


def _rights(folder: int, name: str) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _NEW_FILE


@contextmanager
def _opened(folder: int, name: str) -> Iterator[int]:
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _folder(path: str) -> Iterator[tuple[int, str]]:
    """The open directory that a file lies in, and its name there."""
    root, below = _resolved(path)
    handle = -1
    try:
        handle = os.open(root, _DIRECTORY)
        for part in below.parts[:-1]:
            following = os.open(part, _DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = following
        yield handle, below.name
    except OSError as problem:
        raise _told(problem) from None
    finally:
        if handle >= 0:
            os.close(handle)


def _told(problem: OSError) -> SourceUnreadable:
    if isinstance(problem, FileNotFoundError):
        return Missing("There is no such file.")
    if isinstance(problem, PermissionError):
        return SourceUnreadable("The server's user may not open it, or may not write into its directory.")
    return SourceUnreadable(f"It cannot be opened: {problem.strerror or type(problem).__name__}.")
