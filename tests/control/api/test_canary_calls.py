from __future__ import annotations

import copy
import json

import pytest

from control.api.schemas import out
from routing.models import CanaryRow
from tests.routing.conftest import DOCUMENT


def proposed(api) -> int:
    document = copy.deepcopy(DOCUMENT)
    document["endpoints"][1]["description"] = "Notes of the team"
    headers = {"Authorization": f"Bearer {api.key}"}
    body = json.dumps({"document": document, "message": "Describe notes"})
    return api.client.put("/api/v1/registry", body, content_type="application/json", headers=headers).json()["revision"]


@pytest.fixture
def number(api) -> int:
    return proposed(api)


def test_a_revision_answers_some_by_a_call_and_everybody_by_the_next(api, make_api, number):
    status, told = api.post(f"/revisions/{number}/canary", {"scopes": ["web-only"], "bounds": {"no_match": 0.1}})
    some, others = (make_api(scope=scope, name=f"of-{scope}") for scope in ("web-only", "default"))
    answers = [one.post("/resolve", {"query": "fetch a page"})[1]["revision"] for one in (some, others)]
    row = api.get(f"/revisions/{number}")[1]
    published = api.post(f"/revisions/{number}/publish", {"message": "Good"})

    assert status == 200 and out.CanaryOut.model_validate(told)
    assert (told["state"], told["scopes"], told["percent"], told["live_revision"]) == ("running", ["web-only"], None, 2)
    assert told["bounds"] == {"no_match": 0.1, "fallback": 0.05, "failure": 0.05}
    assert answers == [number, 2]
    assert (row["state"], row["canary"], row["published_at"]) == ("approved", "running", None)
    assert (published[0], published[1]["state"]) == (200, "live")
    assert api.get(f"/revisions/{number}/canary")[1]["state"] == "promoted"


def test_it_is_stopped_by_a_call_once(api, number):
    api.post(f"/revisions/{number}/canary", {"scopes": ["web-only"]})
    first, second = (api.post(f"/revisions/{number}/canary/stop", {"reason": "Not now"}) for _ in range(2))

    assert (first[0], first[1]["state"], first[1]["reason"]) == (200, "stopped", "Not now")
    assert (second[0], second[1]["error"]["code"]) == (409, "superseded")
    status, told = api.post(f"/revisions/{number}/publish", {"message": "After all"})
    assert (status, told["error"]["code"]) == (409, "superseded")
    assert told["error"]["message"] == f"Revision {number} was stopped as a canary; propose its changes anew."
    assert api.get(f"/revisions/{number}")[1]["state"] == "superseded"


def test_what_is_published_beside_it_is_refused_with_its_number(api, number):
    api.post(f"/revisions/{number}/canary", {"scopes": ["web-only"]})
    other = copy.deepcopy(DOCUMENT) | {"capabilities": [{"name": "paper"}]}
    headers = {"Authorization": f"Bearer {api.key}"}
    put = api.client.put(
        "/api/v1/registry", json.dumps({"document": other}), content_type="application/json", headers=headers
    )
    status, told = api.post(f"/revisions/{put.json()['revision']}/publish", {})

    assert (status, told["error"]["code"]) == (409, "canary_running")
    assert told["error"]["details"][0]["value"] == number


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scopes": ["web-only"], "percent": 10},
        {"scopes": []},
        {"percent": 51},
        {"scopes": ["nowhere"]},
        {"scopes": ["web-only"], "bounds": {"no_match": 0.6}},
        {"scopes": ["web-only"], "bounds": {"errors": 0.1}},
        {"scopes": ["web-only"], "minimum": 9},
        {"scopes": ["web-only"], "hours": 0},
        {"scopes": ["web-only"], "at_end": "restart"},
        {"scopes": ["web-only"], "at_end": "promote"},
        {"scopes": ["web-only"], "bounds": {"no_match": "0.1"}},
        {"scopes": ["web-only"], "minimum": "100"},
        {"scopes": ["web-only"], "hours": True},
        {"percent": True},
    ],
)
def test_terms_that_make_no_sense_are_refused(api, number, body):
    status, told = api.post(f"/revisions/{number}/canary", body)

    assert (status, told["error"]["code"]) == (422, "invalid_request")
    assert told["error"]["details"] and not CanaryRow.objects.exists()


def test_a_revision_without_one_has_none_to_read_or_stop(api):
    assert api.get("/revisions/2/canary")[0] == 404
    assert api.post("/revisions/2/canary/stop", {})[0] == 404
    assert api.post("/revisions/99/canary", {"scopes": ["web-only"]})[0] == 404
