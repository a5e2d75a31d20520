"""The adapter that docs/harnesses.md prints, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from routing.models import Decision
from routing.services import ledger

GUIDE = Path(__file__).parents[3] / "docs" / "harnesses.md"


@pytest.fixture
def advisor(api):
    """The guide's Advisor over a transport that leads into the test client."""
    code: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0], code)

    def lead(request: httpx.Request) -> httpx.Response:
        found = api.client.post(
            request.url.path,
            request.content,
            content_type="application/json",
            headers={"Authorization": f"Bearer {api.key}"},
        )
        return httpx.Response(found.status_code, content=found.content)

    client = httpx.Client(base_url="http://switchyard/api/v1", transport=httpx.MockTransport(lead))
    return code["Advisor"](client)  # type: ignore[operator]


def test_the_guide_s_adapter_gets_advice_and_reports_what_came_of_it(advisor, workspace):
    advice = advisor.advise("read a guide", "research", "fetch https://example.com/guide as Markdown")
    advisor.report("call-1", advice, "ok", "success")
    advisor.report("call-1", advice, "ok", "success")
    ledger.write(workspace.pk)

    decision = Decision.objects.get(pk=advice.decision_id)
    assert (advice.target, advice.ambiguous, advice.hint) == (
        "hitspec__fetch",
        False,
        "Capability route · research → hitspec · fetch",
    )
    assert (decision.invoked, decision.transport, decision.domain) == (True, "ok", "success")


def test_a_failure_of_advice_does_not_fail_the_turn(advisor):
    nothing = advisor.advise("", "research", "fetch a page")

    assert (nothing.target, nothing.hint) == (None, None)
