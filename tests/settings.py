"""The settings of the tests: control.settings over a place of this test process's own, never a real data dir.

With DATABASE_URL and REDIS_URL the tests run against those servers, in a database (and a Redis database number) of
their own; otherwise against SQLite and a bus that tests/conftest.py starts.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
NUMBER = int(re.sub(r"\D", "", WORKER) or 0)
PLACE = "SWITCHYARD_TEST_PLACE"


def _place() -> Path:
    """A short temporary directory, made by the first process of a run and shared by its workers."""
    if PLACE not in os.environ:
        os.environ[PLACE] = tempfile.mkdtemp(prefix="switchyard-test-")
        atexit.register(shutil.rmtree, os.environ[PLACE], ignore_errors=True)
    return Path(os.environ[PLACE])


def _numbered(redis_url: str) -> str:
    """The same Redis with a database number for each worker: the given one counts as the first."""
    parts = urlsplit(redis_url)
    first = int(parts.path.strip("/") or 0)
    return urlunsplit(parts._replace(path=f"/{(first + NUMBER) % 16}"))


os.environ["SWITCHYARD_DATA_DIR"] = str(_place() / WORKER)
os.environ["SWITCHYARD_SNAPSHOT_POLL_S"] = "0"
if os.environ.get("REDIS_URL"):
    os.environ["REDIS_URL"] = _numbered(os.environ["REDIS_URL"])

from control.settings import *  # noqa: E402, F403

ALLOWED_HOSTS = [*ALLOWED_HOSTS, "testserver"]  # noqa: F405
if environment.database_url:  # noqa: F405
    # Nobody reads the tests' rows after a crash: a commit need not wait for the disk.
    options = DATABASES["default"]["OPTIONS"]  # noqa: F405
    options["options"] = f"{options.get('options', '')} -c synchronous_commit=off".strip()
# Signing in is tested, not the price of a password's hash.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
