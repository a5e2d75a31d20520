"""The hook and the check of docs/git.md, run as they stand there, in a real checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from routing.formats import write_yaml
from tests.routing.conftest import DOCUMENT

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[2]
NAMES = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
NAMES |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in NAMES.items()}


def snippet(name: str) -> str:
    text = (ROOT / "docs" / "git.md").read_text(encoding="utf-8")
    return re.search(rf"```sh {name}\n(.*?)```", text, re.DOTALL)[1]  # type: ignore[index]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the hook, and a python3 on the path that has the packages."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    place = tmp_path / "checkout"
    run(place, "git", "init", "-q", str(place), cwd=tmp_path)
    hook = place / ".git" / "hooks" / "pre-commit"
    hook.write_text(snippet("hook"))
    hook.chmod(0o755)
    return place


def run(place: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DJANGO_"))}
    path = f"{place.parent / 'bin'}:{kept['PATH']}"
    environment = kept | NAMES | {"PATH": path, "SWITCHYARD": str(ROOT)}
    return subprocess.run(command, cwd=cwd or place, env=environment, capture_output=True, text=True, timeout=120)


def commit(place: Path, content: str) -> subprocess.CompletedProcess[str]:
    (place / "registry.yaml").write_text(content)
    run(place, "git", "add", "registry.yaml")
    return run(place, "git", "commit", "-m", "Registry")


def test_the_hook_lets_a_sound_registry_through_and_stops_a_broken_one(checkout):
    sound, broken = write_yaml(DOCUMENT), write_yaml(DOCUMENT).replace("declared", "no-kind")

    passed = commit(checkout, sound)
    stopped = commit(checkout, broken)
    (checkout / "registry.yaml").write_text(sound)  # what is committed counts, not what lies there
    still = run(checkout, "git", "commit", "-m", "Registry")

    assert passed.returncode == 0, passed.stderr
    assert stopped.returncode != 0 and "endpoints[0].kind" in stopped.stdout + stopped.stderr
    assert still.returncode != 0
    assert run(checkout, "git", "rev-list", "--count", "HEAD").stdout.strip() == "1"


@pytest.mark.parametrize(("content", "status"), [(write_yaml(DOCUMENT), 0), ("version: 1\nendpoints: 5\n", 1)])
def test_continuous_integration_ends_as_the_check_does(checkout, content, status):
    (checkout / "registry.yaml").write_text(content)

    done = run(checkout, "sh", "-c", snippet("ci"))

    assert done.returncode == status, done.stderr
    assert f'"ok": {"true" if status == 0 else "false"}' in done.stdout
