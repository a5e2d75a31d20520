"""The pages of whoever has not signed in: the gate and an invitation, as they open and with their mistakes marked."""

from __future__ import annotations

import pytest

from control import invitations
from routing.models.actor import SYSTEM
from tests.browser.sweep import Sweep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_gate_and_an_invitation_are_sound_also_with_mistakes(page, live_address, workspace):
    _, token = invitations.invite(workspace, "Ben <b>", "viewer", by=SYSTEM)
    sweep = Sweep(page, live_address)
    for path, button in (("/sign-in", "Sign in"), (f"/join/{token}", "Make the account and join")):
        sweep.open(path, path[:8])
        sweep.look()
        for field in page.locator("main input:is([type=text], [type=password])").all():
            field.fill("wrong")
        page.locator("form").evaluate_all("forms => forms.forEach((form) => { form.noValidate = true; })")
        page.get_by_role("button", name=button).click()
        page.get_by_role("alert").first.wait_for()
        sweep.look("refused")
    page.errors.clear()  # the browser notes every answer with 422

    assert not sweep.faults, "\n".join(sweep.faults)
