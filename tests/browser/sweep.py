"""What is wrong with a page as it stands in the browser: measured, so that every page is held to the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page

AXE = (Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js").read_text()
WIDTHS = (1440, 768, 390)
REFUSED = re.compile(r"status of (404|409|422) ")
COLOURS = ["color-contrast"]
RUN_AXE = """async (rules) => {
  const only = rules.length ? {runOnly: {type: "rule", values: rules}} : {};
  const found = await axe.run(document, {resultTypes: ["violations"], ...only});
  return found.violations.map((one) => `${one.id} ${one.nodes[0].html.slice(0, 160)}`);
}"""
FORM = """() => {
  const said = [], heads = [...document.querySelectorAll("h1")].filter((head) => head.checkVisibility());
  if (heads.length !== 1) said.push(`${heads.length} headings of the first level`);
  if (!document.title.replace("· Switchyard", "").trim()) said.push("no title");
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length) said.push(`ids given twice: ${twice.slice(0, 3)}`);
  return said;
}"""
WIDE = """() => {
  const room = document.documentElement;
  if (room.scrollWidth <= room.clientWidth) return [];
  const out = [...document.body.querySelectorAll("*")].filter((node) => node.checkVisibility() && node.getBoundingClientRect().right > room.clientWidth + 1);
  return [`${room.scrollWidth} of ${room.clientWidth} px: ${(out.pop() || document.body).outerHTML.slice(0, 120)}`];
}"""
UNSEEN_FOCUS = """() => {
  const all = "a[href], button:not([disabled]), input:not([type=hidden]):not([disabled]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex='0']";
  const look = (node) => { const style = getComputedStyle(node); return [style.boxShadow, style.borderColor, style.backgroundColor].join(); };
  const said = [], here = document.activeElement;
  for (const node of document.querySelectorAll(all)) {
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const before = look(node);
    node.focus({ preventScroll: true });
    if (document.activeElement !== node) continue;
    const style = getComputedStyle(node);
    if ((style.outlineStyle === "none" || !parseFloat(style.outlineWidth)) && look(node) === before) said.push(node.outerHTML.slice(0, 120));
  }
  here.focus?.({ preventScroll: true });
  return said;
}"""
THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  for (const one of document.getAnimations()) if (one.effect.getComputedTiming().endTime !== Infinity) one.finish();
}"""
ALL_OPEN = "() => document.querySelectorAll('details').forEach((part) => { part.open = true; })"


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe reports of the page as it stands; by these rules alone, if any are named."""
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN_AXE, list(rules))
    return found


class Sweep:
    """Goes from page to page and notes in `faults` what is wrong, each with where."""

    def __init__(self, page: Page, home: str) -> None:
        self.page, self.home = page, home
        self.faults: list[str] = []
        self._where = ""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._note(f"error in the script: {error}"))
        page.on("requestfailed", self._failed)
        page.on("dialog", lambda dialog: (self._note(f"a dialog of a script: {dialog.message}"), dialog.dismiss()))

    def _note(self, what: str) -> None:
        self.faults.append(f"{self._where}: {what}")

    def _said(self, message: Any) -> None:
        # The browser itself notes each answer that refuses, and the icon of a part of a page that is opened as a page.
        meant = message.location["url"].endswith("/favicon.ico") or REFUSED.search(message.text)
        if message.type in ("error", "warning") and not meant:
            self._note(message.text)

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # what leaving a page ends: its stream, its questions
            self._note(f"{request.url} failed: {request.failure}")

    def open(self, path: str, name: str, *, status: int = 200) -> bool:
        """Go there and open what is folded; False where a file or a part of a page is answered instead of a page."""
        self._where = name
        self.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        try:
            answer = self.page.goto(self.home + path)
        except Error as error:
            if "Download is starting" in error.message:
                return False
            raise
        if answer is not None and answer.status != status:
            self._note(f"answered {answer.status}")
        if not self.page.evaluate("document.doctype !== null"):
            return False
        for one in self.widths():
            self._note(one)
        self.page.evaluate(ALL_OPEN)
        return True

    def look(self, state: str = "", themes: tuple[str, ...] = ("light", "dark")) -> None:
        """Everything about the page as it stands: axe, its form, where the focus is seen, its width. Colours alone differ by theme."""
        page, said = self.page, []
        for theme in themes:
            self.theme(theme)
            said += [f"{theme}: {one}" for one in violations(page, COLOURS if theme == "dark" else ())]
            page.keyboard.press("Shift")  # a keyboard is in use, so focus shows
            said += [f"{theme}: the focus is not seen on {one}" for one in page.evaluate(UNSEEN_FOCUS)]
        said += page.evaluate(FORM)
        said += self.widths()
        for one in said:
            self._note(f"{state}: {one}" if state else one)

    def widths(self) -> list[str]:
        said = []
        for width in reversed(WIDTHS):
            self.page.set_viewport_size({"width": width, "height": 900})
            said += [f"wider than {width}: {one}" for one in self.page.evaluate(WIDE)]
        return said

    def theme(self, theme: str) -> None:
        """Change it on the page as it stands, and let no colour be on its way."""
        self.page.evaluate(THEME, theme)
