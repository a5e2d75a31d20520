"""Every example of the guide to the API is accepted by the API, in the order in which the guide shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from control import demo
from control.access import RIGHTS
from control.keys import create_key
from routing.models import Workspace
from routing.models.actor import SYSTEM

DOCS = Path(__file__).parents[3] / "docs"
POSTED = re.compile(r"ask \$base/(\S+) -d '(.*?)'\n", re.DOTALL)
FETCHED = re.compile(r"""ask "?\$base/([^"\s]+)"?$""", re.MULTILINE)


@pytest.fixture
def harness(db: None) -> dict[str, str]:
    demo.load(by=SYSTEM)
    _, key = create_key(Workspace.objects.get(name="default"), "default", rights=RIGHTS, by=SYSTEM)
    return {"Authorization": f"Bearer {key}"}


def post(path: str, text: str, headers: dict[str, str]) -> Any:
    body = json.loads(text)
    if path == "route":
        body["wait_ms"] = 0  # no worker runs here: the promise is what can be had
    return Client().post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)


def test_every_example_that_sends_something_is_accepted(harness: dict[str, str]) -> None:
    examples = POSTED.findall((DOCS / "api.md").read_text(encoding="utf-8"))

    answers = [(path, post(path, text, harness)) for path, text in examples]

    assert len(answers) >= 9
    assert [(path, answer.content) for path, answer in answers if answer.status_code not in (200, 202)] == []


def test_every_example_that_reads_something_finds_it(harness: dict[str, str]) -> None:
    paths = FETCHED.findall((DOCS / "api.md").read_text(encoding="utf-8"))

    assert len(paths) >= 4
    answers = {path: Client().get(f"/api/v1/{path}", headers=harness).status_code for path in paths}
    assert answers == dict.fromkeys(paths, 200)


def test_the_first_request_of_the_readme_is_answered_as_it_says(harness: dict[str, str]) -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    body = re.search(r"-d '(\{\"query\".*?\})'", readme)
    assert body is not None

    answer = post("resolve", body[1], harness).json()

    assert answer["status"] == "confident"
    assert answer["recommendation"]["namespaced"] == "github__list_pull_requests"
    assert answer["decision_id"]


def test_the_reports_of_the_ledger_s_page_are_accepted_whole(harness: dict[str, str]) -> None:
    text = (DOCS / "ledger.md").read_text(encoding="utf-8")
    body = re.search(r"/events .*? -d '(.*?)'\n", text, re.DOTALL)
    assert body is not None

    answer = post("events", body[1], harness).json()

    assert answer == {"accepted": 3, "duplicates": 0, "rejected": []}
