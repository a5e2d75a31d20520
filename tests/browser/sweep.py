"""What is wrong with a page as it stands in the browser: measured, so that every page is held to the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page

AXE = (Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js").read_text()
WIDTHS = (1440, 768, 390)
HEIGHT = 900
REFUSED = re.compile(r"status of (404|409|422) ")
COLOURS = ["color-contrast"]
Themes = tuple[str, ...]
BOTH: Themes = ("light", "dark")
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
# What shows the focus is its ring for most; whatever has none is looked at once more with the focus where it was before.
UNSEEN_FOCUS = """() => {
  const all = "a[href], button:not([disabled]), input:not([type=hidden]):not([disabled]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex='0']";
  const look = (style) => [style.boxShadow, style.borderColor, style.backgroundColor].join();
  const focus = (node) => node.focus?.({ preventScroll: true });
  const said = [], here = document.activeElement;
  for (const node of document.querySelectorAll(all)) {
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const last = document.activeElement;
    focus(node);
    if (document.activeElement !== node) continue;
    const style = getComputedStyle(node);
    if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth)) continue;
    const focused = look(style);
    if (last === document.body) node.blur(); else focus(last);
    if (look(style) === focused) said.push(node.outerHTML.slice(0, 120));
    focus(node);
  }
  focus(here);
  return said;
}"""
# Changes it on the page as it stands, and lets no colour be on its way.
THEME = """theme => {
  document.documentElement.dataset.theme = theme;
  for (const one of document.getAnimations()) if (one.effect.getComputedTiming().endTime !== Infinity) one.finish();
}"""
ALL_OPEN = "() => document.querySelectorAll('details').forEach((part) => { part.open = true; })"
# What a page fetches by itself as soon as it is there is part of it.
SETTLED = """async () => {
  const until = performance.now() + 5000;
  while (document.querySelector(".htmx-request") && performance.now() < until) await new Promise(requestAnimationFrame);
}"""
IS_PAGE = f"async () => {{ if (!document.doctype) return false; await ({SETTLED})(); return true; }}"
# One errand for all that is asked of a page as it stands: each costs as much as a small page.
LOOK = f"""async ([themes, colours]) => {{
  const said = [];
  for (const theme of themes) {{
    ({THEME})(theme);
    for (const one of await ({RUN_AXE})(theme === "dark" ? colours : [])) said.push(`${{theme}}: ${{one}}`);
    for (const one of ({UNSEEN_FOCUS})()) said.push(`${{theme}}: the focus is not seen on ${{one}}`);
  }}
  return [...said, ...({FORM})()];
}}"""


def violations(page: Page) -> list[str]:
    """What axe reports of the page as it stands."""
    _bring_axe(page)
    found: list[str] = page.evaluate(RUN_AXE, [])
    return found


def _bring_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


class Sweep:
    """Goes from page to page and notes in `faults` what is wrong, each with where."""

    def __init__(self, page: Page, home: str) -> None:
        self.page, self.home = page, home
        self.faults: list[str] = []
        self._where = ""
        self._resize(WIDTHS[0])
        self._brings_axe = False  # from the first look on, each page brings it along: that is quicker than sending it
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._note(f"error in the script: {error}"))
        page.on("requestfailed", self._failed)
        page.on("dialog", lambda dialog: (self._note(f"a dialog of a script: {dialog.message}"), dialog.dismiss()))

    def _note(self, what: str) -> None:
        self.faults.append(f"{self._where}: {what}")

    def _note_all(self, said: Iterable[str], state: str) -> None:
        for one in said:
            self._note(f"{state}: {one}" if state else one)

    def _said(self, message: Any) -> None:
        # The browser itself notes each answer that refuses, and the icon of a part of a page that is opened as a page.
        meant = message.location["url"].endswith("/favicon.ico") or REFUSED.search(message.text)
        if message.type in ("error", "warning") and not meant:
            self._note(message.text)

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # what leaving a page ends: its stream, its questions
            self._note(f"{request.url} failed: {request.failure}")

    def visit(self, path: str, name: str, *, status: int = 200, themes: Themes = BOTH) -> bool:
        """Go there and look at everything, first with what is folded as it is, then open; False where there is no page."""
        if not self._arrive(path, name, status):
            return False
        self.widths(back=False)
        self.page.evaluate(ALL_OPEN)
        self.widths(back=False)
        self._examine("", themes)
        return True

    def open(self, path: str, name: str, *, measured: bool = True) -> bool:
        """Go there and open what is folded; False where a file or a part of a page is answered instead of a page."""
        if not self._arrive(path, name, 200):
            return False
        if measured:
            self.widths()
        self.page.evaluate(ALL_OPEN)
        return True

    def look(self, state: str = "", themes: Themes = BOTH) -> None:
        """Everything about the page as it stands: axe, its form, where the focus is seen, its width. Colours alone differ by theme."""
        self._examine(state, themes)
        self.widths(state)

    def widths(self, state: str = "", *, back: bool = True) -> None:
        """Whether the page keeps within its window, from the width that it has to the other end, and back there if wanted."""
        order = WIDTHS if self._width != WIDTHS[-1] else WIDTHS[::-1]
        said: list[str] = []
        for width in order:
            self._resize(width)
            said += [f"wider than {width}: {one}" for one in self.page.evaluate(WIDE)]
        if back:
            self._resize(order[0])
        self._note_all(said, state)

    def _arrive(self, path: str, name: str, status: int) -> bool:
        self._where = name
        try:
            answer = self.page.goto(self.home + path)
        except Error as error:
            if "Download is starting" in error.message:
                return False
            raise
        if answer is not None and answer.status != status:
            self._note(f"answered {answer.status}")
        return bool(self.page.evaluate(IS_PAGE))

    def _examine(self, state: str, themes: Themes) -> None:
        if not self._brings_axe:
            self._brings_axe = True
            self.page.add_init_script(AXE)
            _bring_axe(self.page)
        self.page.keyboard.press("Shift")  # a keyboard is in use, so focus shows
        self._note_all(self.page.evaluate(LOOK, [list(themes), COLOURS]), state)

    @property
    def _width(self) -> int | None:
        return self.page.viewport_size and self.page.viewport_size["width"]

    def _resize(self, width: int) -> None:
        if self.page.viewport_size != {"width": width, "height": HEIGHT}:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
