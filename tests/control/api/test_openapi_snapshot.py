"""The contract, pinned: a change of any call is a visible line of the diff.

Write it anew after a wanted change: `python manage.py test --write-openapi tests/control/api/test_openapi_snapshot.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

from django.test import Client

SNAPSHOT = Path(__file__).with_name("openapi.json")


def test_the_api_is_described_as_it_was_agreed(request):
    found = json.loads(json.dumps(Client().get("/api/v1/openapi.json").json()))
    if request.config.getoption("--write-openapi"):
        SNAPSHOT.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    assert found == json.loads(SNAPSHOT.read_text())
