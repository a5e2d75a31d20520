"""The cast of the console's tests: a workspace with a published registry and its decisions, and people by role."""

from __future__ import annotations

import pytest
from django.test import Client

from routing.models import Decision, Workspace
from routing.services import decisions, ledger
from routing.services.decisions import Caller
from routing.services.ledger import Report
from tests import baseline
from tests.cast import person


@pytest.fixture
def workspace(db) -> Workspace:
    return baseline.two_endpoints()


@pytest.fixture
def caller(workspace) -> Caller:
    return Caller(workspace_id=workspace.pk, scope="default", harness="a-harness")


@pytest.fixture
def enter(workspace):
    """A browser in which a new member with this role has signed in."""

    def enter(role: str = "administrator") -> Client:
        client = Client()
        client.force_login(person(f"the-{role}", workspace, role))
        return client

    return enter


@pytest.fixture
def admin(enter) -> Client:
    return enter()


@pytest.fixture
def stranger(workspace) -> Client:
    client = Client()
    client.force_login(person("a-stranger"))
    return client


@pytest.fixture
def decide(caller, workspace):
    """A decision of the resolver that the ledger has taken in, with what a harness reported of it."""

    def decide(
        query: str = "fetch https://example.com/guide as Markdown", reports: tuple[tuple[str, str], ...] = ()
    ) -> Decision:
        answer = decisions.resolve(caller, query)
        facts = [
            Report(
                id=f"{answer['decision_id'][-12:]}-{n}",
                kind=kind,
                target="hitspec__fetch",
                status=status,
                decision_id=answer["decision_id"],
            )
            for n, (kind, status) in enumerate(reports)
        ]
        if facts:
            ledger.accept(workspace.pk, "default", "a-harness", facts)
        ledger.write(workspace.pk)
        return Decision.objects.get(pk=answer["decision_id"])

    return decide
