"""The shape of the house: which way imports go, what the engine needs, what pages may contain."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted(path for place in ("control", "routing") for path in (ROOT / place).rglob("*.py"))

# Each would let text from a registry or a harness become markup, or would need a looser content security policy.
NOT_IN_TEMPLATES = {
    "a value marked safe": re.compile(r"\|\s*safe(seq)?\b|{%\s*autoescape off"),
    "an inline script": re.compile(r"<script(?![^>]*\bsrc=)[^>]*>", re.IGNORECASE),
    "an inline style": re.compile(r"<style\b|\sstyle\s*=", re.IGNORECASE),
    "an inline handler": re.compile(r"\son[a-z]+\s*=|hx-on\b|javascript:", re.IGNORECASE),
    "something of another host": re.compile(r"(?:src|href)\s*=\s*[\"']https?://", re.IGNORECASE),
}


def test_imports_go_forward_only() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:]


def test_the_engine_is_imported_without_django_or_any_client() -> None:
    program = "import sys; from routing.engine import *; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not {"django", "celery", "redis", "httpx", "httpx2", "mcp", "pydantic", "ninja"} & set(done.stdout.split())


def test_every_public_name_of_the_engine_is_there_and_says_its_module_once() -> None:
    import ast

    import routing.engine as engine

    typed = next(node for node in ast.parse(Path(engine.__file__).read_text()).body if isinstance(node, ast.If))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    assert {name.name: node.module for node in imports for name in node.names} == engine._HOMES
    assert sorted(engine.__all__) == sorted(engine._HOMES)
    assert [name for name in engine.__all__ if not hasattr(engine, name)] == []


def test_values_of_the_engine_are_had_without_the_tables_of_the_ranker() -> None:
    program = (
        "import sys; from routing.engine import HarnessState, ToolDescriptor, normalize_tools; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not {"numpy", "snowballstemmer", "routing.engine.catalog"} & set(done.stdout.split())


@pytest.mark.django_db
def test_the_migrations_are_complete() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("fault", NOT_IN_TEMPLATES)
def test_no_template_contains(fault: str) -> None:
    assert TEMPLATES
    found = [
        f"{path.relative_to(ROOT)}: {match.group(0).strip()}"
        for path in TEMPLATES
        for match in NOT_IN_TEMPLATES[fault].finditer(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_no_code_declares_text_to_be_safe_markup() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\bmark_safe\b|\bSafeString\(|csrf_exempt", path.read_text(encoding="utf-8"))
    ]

    assert found == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_package_of_a_lock_is_pinned_by_hash_and_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())

    assert "://" not in text
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_for_development_has_every_package_of_the_other_at_the_same_version() -> None:
    def pins(lock: str) -> set[str]:
        return set(re.findall(r"^\S+==\S+", (ROOT / lock).read_text(), re.MULTILINE))

    assert pins("requirements.lock") - pins("requirements-dev.lock") == set()
