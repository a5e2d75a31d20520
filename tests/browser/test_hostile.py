"""Text that tries to leave its place, ten thousand characters long, in every text field of every form of the console."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import filled
from tests.browser.sweep import Sweep
from tests.web.crowd import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = (f"{HOSTILE}\u202e " * 300)[:10_000]
TEXTS = ":is(textarea, input:is(:not([type]), [type=text], [type=search], [type=url], [type=email])):not([disabled])"
# Numbers the forms with a text field, one of each shape; answers how many there are.
FORMS = """(texts) => {
  const shapes = new Set();
  let found = 0;
  for (const form of document.querySelectorAll("main form[method=post]")) {
    const fields = [...form.querySelectorAll(texts)];
    const shape = fields.map((field) => [field.tagName, field.name, field.inputMode]).join() + form.getAttribute("action")?.split("/").slice(-2)[0];
    if (!fields.length || shapes.has(shape)) continue;
    shapes.add(shape);
    form.dataset.tried = found++;
  }
  return found;
}"""
FILL = """([texts, text, at]) => {
  const form = document.querySelector(`form[data-tried="${at}"]`);
  form.closest("details")?.setAttribute("open", "");
  form.noValidate = true;
  for (const field of form.querySelectorAll(texts)) { field.removeAttribute("maxlength"); field.value = text; }
  // A note goes along with the change that it is about, so a form that saves itself is told of another field's change.
  const changed = form.getAttribute("hx-trigger")?.includes("change") && form.querySelector(`:is(select, ${texts}):not([name=why])`);
  if (changed) changed.dispatchEvent(new Event("change", { bubbles: true }));
  else form.requestSubmit(form.querySelector("button:not([type=button], [type=reset], [disabled])"));
  window.wasHere = true;
  return form.hasAttribute("hx-post");
}"""
ARRIVED = """() => !window.wasHere && document.readyState === "complete" """
KEPT = (
    """() => [...document.querySelectorAll("main textarea, main input")].some((field) => field.value.includes("🦊"))"""
)
TOLD = """() => [...document.querySelectorAll("main [role=alert]")].some((part) => part.textContent.trim())"""


def test_every_form_answers_hostile_text_in_words_and_loses_none_of_it(sign_in, workspace, decide, live_address):
    made = filled.fill(workspace, decide)
    sweep, tried = Sweep(sign_in("shortcuts"), live_address), 0
    for name, path in filled.addresses(made, "plain"):
        if not sweep.open(path, name, measured=False):
            continue
        for at in range(sweep.page.evaluate(FORMS, TEXTS)):
            if at:
                sweep.open(path, f"{name}, form {at}", measured=False)
                sweep.page.evaluate(FORMS, TEXTS)
            tried += 1
            sweep.faults += [f"{name}, form {at}: {fault}" for fault in _sent(sweep, at)]

    assert not sweep.faults, "\n".join(sweep.faults)
    assert tried > 20
    sweep.page.errors.clear()


def _sent(sweep: Sweep, at: int) -> list[str]:
    page = sweep.page
    with page.expect_response(_is_post) as answered:
        stays = page.evaluate(FILL, [TEXTS, LONG, at])
    status: int = answered.value.status
    if not stays:
        page.wait_for_function(ARRIVED)
    if status not in (200, 302, 409, 422):
        return [f"answered {status}"]
    sweep.widths(f"form {at}", back=False)
    said = []
    if status in (409, 422):
        page.wait_for_function(TOLD)
        if not page.evaluate(KEPT):
            said.append("what was typed is gone")
    return said


def _is_post(response: Any) -> bool:
    return bool(response.request.method == "POST")
