from __future__ import annotations

import re

import pytest

from routing.services import entries
from tests.routing.conftest import EDITOR
from tests.web.test_toasts import MORE


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("endpoints/hitspec/enabled", ["acme", "Endpoints", "hitspec", "Switch off"]),
        ("scopes/web-only/delete", ["acme", "Scopes", "web-only", "Delete from the draft"]),
        ("policies/careful/delete", ["acme", "Policies", "careful", "Delete from the draft"]),
        ("capabilities/word/delete", ["acme", "Capabilities", "word", "Delete from the draft"]),
        ("providers/jev/remove", ["acme", "Providers", "jev", "Remove"]),
        ("publish/discard", ["acme", "Review and publish", "Discard"]),
    ],
)
def test_a_question_says_where_it_is_asked(admin, workspace, path, steps):
    for section, body in MORE.items():
        entries.add(workspace, section, body, by=EDITOR)

    page = admin.get(f"/w/acme/{path}").content.decode()

    where = page.split('aria-label="Breadcrumb">')[1].split("</nav>")[0]
    words = [re.sub(r"<[^>]+>", "", part) for part in re.split(r'<span class="sep"[^>]*>/</span>', where)]
    assert words[:-1] == steps[:-1]
    assert words[-1].startswith(steps[-1])
    assert where.count("aria-current") == 1
