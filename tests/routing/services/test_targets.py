"""Where an entry leads is looked at when it is saved: by its spelling, and by what its name leads to at that moment."""

from __future__ import annotations

import pytest

from routing.errors import InvalidRegistry
from routing.providers import names
from routing.services import entries, targets, workspaces

pytestmark = pytest.mark.django_db


def endpoint(url: str):
    return {"name": "mcp", "kind": "mcp", "url": url}


def leads_to(monkeypatch, *addresses: str):
    monkeypatch.setattr(names, "lookup", lambda host, port: list(addresses))


@pytest.mark.parametrize("section", ["endpoints", "providers"])
@pytest.mark.parametrize(
    ("address", "words"),
    [("10.1.2.3", "private"), ("169.254.169.254", "no server"), ("::ffff:127.0.0.1", "private"), ("93.184.216.34", "")],
)
def test_a_name_is_vetted_by_what_it_leads_to(published, by, monkeypatch, section, address, words):
    leads_to(monkeypatch, "93.184.216.34", address)
    body = {**endpoint("https://models.example/mcp"), "kind": "mcp" if section == "endpoints" else "compatible"}

    if not words:
        assert entries.add(published, section, body, by=by)["url"] == body["url"]
        return
    with pytest.raises(InvalidRegistry) as refused:
        entries.add(published, section, body, by=by)
    assert [detail["path"] for detail in refused.value.details] == ["url"]
    assert words in refused.value.details[0]["message"]


def test_the_allow_list_lets_a_name_through(published, by, monkeypatch):
    leads_to(monkeypatch, "10.1.2.3")
    workspaces.configure(published, {"allow_private": ["models.example:443"]}, by=by)

    assert entries.add(published, "endpoints", endpoint("https://models.example/mcp"), by=by)


def test_a_name_that_leads_nowhere_is_saved_with_a_remark(published, by):
    given = endpoint("https://models.example/mcp")
    entries.add(published, "endpoints", given, by=by)

    assert "models.example cannot be looked up" in targets.remark("endpoints", given)
    assert targets.remark("endpoints", endpoint("https://93.184.216.34/mcp")) == ""
    assert targets.remark("endpoints", {"description": "no URL was entered"}) == ""


def test_an_account_that_leads_elsewhere_needs_its_credential_anew(published, by):
    entries.add(published, "providers", {"name": "jev", "kind": "openrouter"}, by=by)

    with pytest.raises(InvalidRegistry) as refused:
        entries.edit(published, "providers", "jev", {"kind": "typesafe"}, by=by)
    assert [detail["path"] for detail in refused.value.details] == ["credential"]
    changes = {"kind": "typesafe", "credential": "env:TYPESAFE_API_KEY"}
    assert entries.edit(published, "providers", "jev", changes, by=by)["kind"] == "typesafe"
    assert entries.edit(published, "providers", "jev", {"timeout_s": 2}, by=by)["timeout_s"] == 2
