"""Parts of pages that look again by themselves."""

from __future__ import annotations

import re

import pytest
from django.conf import settings

TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_part_that_waits_looks_again_when_one_look_was_lost(path):
    looks = re.findall(r'hx-get="[^"]*" hx-trigger="(load delay:[^"]*)"', path.read_text())

    assert [look for look in looks if ", every " not in look] == []
