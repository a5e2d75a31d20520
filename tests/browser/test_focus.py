"""Whoever is at work in a form stays where they are when the form is swapped, and comes back from a question to what asked it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser import filled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Uses one control of one form that htmx sends, and answers what has the focus after the swap. Answers nothing at the end.
USE = """async (at) => {
  document.querySelectorAll("main details").forEach((part) => { part.open = true; });
  const usable = (node) => node.checkVisibility() && !node.disabled && node.type !== "hidden" && node.name !== "why" && node.getAttribute("aria-disabled") !== "true" && node.tabIndex >= 0;
  const controls = [...document.querySelectorAll("main :is(form[hx-post], form[hx-get]) :is(input, select, textarea, button)")].filter(usable)
    .filter((node) => !node.hasAttribute("hx-post") && node.type !== "reset");
  const node = controls[at];
  if (!node) return null;
  const what = `${node.form.getAttribute("action")} ${node.name} ${node.value.slice(0, 40)}`;
  node.focus({ preventScroll: true });
  const answered = new Promise((done) => document.addEventListener("htmx:afterRequest", done, { once: true }));
  if (node.tagName === "BUTTON") node.click(); else node.dispatchEvent(new Event("change", { bubbles: true }));
  await Promise.race([answered, new Promise((done) => setTimeout(done, 4000))]);
  const frame = () => new Promise(requestAnimationFrame);
  do await frame(); while (document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling"));
  await frame();
  return [what, document.activeElement === document.body ? "body" : document.activeElement.outerHTML.slice(0, 120)];
}"""
# Forms that save themselves wait for whoever types on: that pause is tried elsewhere.
HASTY = """() => {
  const pause = 300, later = window.setTimeout;
  window.setTimeout = (what, after, ...more) => later(what, after === pause ? 0 : after, ...more);
}"""
MOST = 40  # controls of one page
PAGES = (
    "endpoint",
    "capability",
    "policy",
    "provider",
    "scope",
    "endpoints",
    "tools",
    "decisions",
    "audit",
    "revisions",
)
QUESTIONS = "main a[hx-target='#confirm']"


@pytest.fixture
def known(workspace, decide):
    return filled.fill(workspace, decide)


@pytest.fixture
def page(sign_in, known) -> Page:
    page = sign_in("shortcuts")
    yield page
    page.errors.clear()  # the browser notes each answer that refuses a value


@pytest.mark.parametrize("name", PAGES)
def test_the_focus_is_kept_after_every_swap(page, known, live_address, name):
    page.add_init_script(f"({HASTY})()")
    page.goto(live_address + dict(filled.addresses(known, "plain"))[name])
    lost, used = [], 0
    for at in range(MOST):
        answer = page.evaluate(USE, at)
        if answer is None:
            break
        used += 1
        lost += [answer[0]] if answer[1] == "body" else []

    assert not lost, "\n".join(lost)
    assert used > 1


@pytest.mark.parametrize("name", ["endpoint", "scope", "policy", "capability", "provider"])
def test_a_question_that_is_left_gives_the_focus_back_to_what_asked_it(page, known, live_address, name):
    page.goto(live_address + dict(filled.addresses(known, "plain"))[name])
    for link in page.locator(QUESTIONS).all():
        link.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#confirm")).to_be_visible()
        assert page.evaluate("document.activeElement.closest('#confirm') !== null")
        page.keyboard.press("Escape")
        expect(page.locator("#confirm")).to_be_hidden()
        expect(link).to_be_focused()
