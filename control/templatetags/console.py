"""How the console writes numbers, times and names. Every filter returns plain text, which the template escapes."""

from __future__ import annotations

import datetime as dt
import unicodedata
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from control.web import expecting, toasts, words
from control.web.diffing import Line, Span
from routing.choices import RevisionState
from routing.engine.validation.visible import pieces
from routing.models import Revision

register = template.Library()
register.filter(toasts.taking_back)
register.filter(expecting.mark_of)
MINUS = "−"
UNREADABLE = 1e12  # from here on nobody reads the digits of a number, and they fill a page


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """An icon of the sprite; it is decoration, the word beside it carries the meaning."""
    return format_html('<svg class="i {}" aria-hidden="true"><use href="#i-{}"/></svg>', size, name)


@register.simple_tag
def status(value: str | None, form: str = "", word: str = "") -> SafeString:
    """A verdict: its shape, then its word. `form` is "", "bare" or "big"."""
    shown = words.badge(value)
    return format_html(
        '<span class="status {} {}"><svg aria-hidden="true"><use href="#s-{}"/></svg>{}</span>',
        shown.shape,
        form,
        shown.shape,
        word or shown.word,
    )


@register.filter
def shown(value: Any) -> SafeString:
    """Text from elsewhere as it is, but for what cannot be seen or turns text round: that stands as its code, U+202E.

    It belongs into a `<bdi>` or another part that is isolated.
    """
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return escape(value)  # as nearly all is, on pages with thousands of lines
    found = _pieces(value)
    return format_html_join("", "{}", ((_mark(text) if is_hidden else text,) for text, is_hidden in found))


@register.filter
def spelled(value: Any) -> str:
    """The same for attributes and options, which hold no marks: "[U+202E]"."""
    return words.spelled("" if value is None else str(value))


def _pieces(value: Any) -> list[tuple[str, bool]]:
    return list(pieces("" if value is None else str(value)))


def _mark(run: str) -> SafeString:
    name = unicodedata.name(run[0], "control character").lower()
    return format_html('<span class="unseen" title="{}">{}</span>', name, words.code_of(run))


@register.simple_tag
def said(line: Line) -> SafeString:
    """A line of a difference: its changed words marked, what is very long of it behind a disclosure."""
    element = {"add": "<ins>{}</ins>", "del": "<del>{}</del>"}.get(line.kind)
    told = escape("")
    for span in line.spans:  # added up, since a page has thousands of them
        part = _folded(span)
        told += format_html(element, part) if span.marked and element else part
    return told


def _folded(span: Span) -> SafeString:
    if not span.folded:
        return shown(span.text)
    return format_html(
        '{}<details class="more"><summary>{}</summary>{}</details>{}',
        shown(span.head),
        plural(span.folded, "more character,more characters"),
        shown(span.middle),
        shown(span.tail),
    )


@register.simple_tag
def pair(name: str | None) -> SafeString:
    """A tool's public name, its endpoint muted. Names from elsewhere may run right to left, so each is isolated."""
    endpoint, separator, tool = (name or "").partition("__")
    if not separator:
        return format_html('<bdi class="pairname">{}</bdi>', shown(endpoint))
    return format_html('<bdi class="pairname"><i>{}__</i>{}</bdi>', shown(endpoint), shown(tool))


@register.simple_tag
def risk(value: str | None) -> SafeString:
    """Four bars and the word."""
    shown = value if value in words.RISKS else "medium"
    return format_html(
        '<span class="risk {}"><svg viewBox="0 0 18 10" aria-hidden="true"><rect x="0" y="6" width="3" height="4"/>'
        '<rect x="5" y="4" width="3" height="6"/><rect x="10" y="2" width="3" height="8"/>'
        '<rect x="15" y="0" width="3" height="10"/></svg>{}</span>',
        shown,
        shown.capitalize(),
    )


def moment_words(value: dt.datetime) -> str:
    """A time in the viewer's zone, as a sentence has it."""
    local = timezone.localtime(value)
    return f"{local.day} {local:%b %Y at %H:%M %Z}"


@register.simple_tag
def moment(value: dt.datetime | None, form: str = "clock") -> SafeString:
    """A time as `<time>` in the viewer's zone: "clock" with milliseconds, "minute", "full" with the date, "ago" for what
    people did.

    The exact time stands in the title.
    """
    if value is None:
        return format_html('<span class="mute">{}</span>', "–")
    exact = value.astimezone(dt.UTC)
    iso = exact.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    local = timezone.localtime(exact)
    full = f"{local.day} {local:%b %Y, %H:%M:%S %Z}"
    if form == "ago":
        return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', iso, full, ago(exact))
    if form == "minute":
        return format_html('<time datetime="{}" title="{}">{}</time>', iso, full, f"{local:%H:%M}")
    if form == "full":
        return format_html('<time datetime="{}" title="{}">{}</time>', iso, iso, full)
    return format_html(
        '<time datetime="{}" title="{}">{}.{}</time>',
        iso,
        full,
        f"{local:%H:%M:%S}",
        f"{exact.microsecond // 1000:03d}",
    )


def ago(value: dt.datetime, now: dt.datetime | None = None) -> str:
    """How long ago, in the largest unit that fits."""
    seconds = max(0, int(((now or dt.datetime.now(dt.UTC)) - value).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now" if seconds < 5 else f"{seconds} s ago"


@register.filter
def standing(revision: Revision) -> str:
    """A revision's state; a proposal that another one took the place of before it was ever live has a word of its own."""
    was_live = revision.published_at is not None
    return "unpublished" if revision.state == RevisionState.SUPERSEDED and not was_live else str(revision.state)


@register.filter
def shortened(text: str, width: int) -> str:
    """The beginning of a text, cut between words; a word that is longer than the room is cut itself."""
    plain = " ".join(str(text).split())
    if len(plain) <= width:
        return plain
    head = plain[:width].rpartition(" ")[0] if " " in plain[:width] else plain[: width - 1]
    return head.rstrip(" ,;:.-") + "…"


@register.filter
def count(value: Any) -> str:
    """A whole number with thousands parted."""
    return f"{int(value or 0):,}"


@register.filter
def figure(value: Any, places: int = 2) -> str:
    """A number with a fixed number of places and a real minus; a dash when there is none. Past all reading, its power of ten."""
    if value is None or value == "":
        return "–"
    size = abs(float(value))
    text = f"{size:,.{places}f}" if size < UNREADABLE else f"{size:.{places}e}".replace("e+", " × 10^")
    return MINUS + text if float(value) < 0 and round(size, places) != 0 else text


@register.filter
def percent(value: Any) -> str:
    """A share of 1 as whole percent, or with one place when it is small enough to vanish."""
    if value is None:
        return "–"
    share = float(value) * 100
    return f"{share:.0f}" if share >= 10 or share == 0 else f"{share:.1f}"


@register.filter
def points(value: Any) -> str:
    """A share of 1 in percentage points with one place, without one that is nought."""
    return figure(None if value is None else float(value) * 100, 1).removesuffix(".0")


@register.filter
def share(part: Any, whole: Any) -> str:
    """`part` of `whole` in percent with one place, or a dash when there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


@register.filter
def plural(number: int, forms: str) -> str:
    """`{{ n|plural:"tool,tools" }}` → "1 tool", "1,200 tools"."""
    one, many = forms.split(",")
    return f"{int(number):,} {one if number == 1 else many}"


@register.filter
def parted(text: str) -> SafeString:
    """ "1.2 ms" with its unit made small, for a figure."""
    number, _, unit = text.partition(" ")
    return format_html("{} <small>{}</small>", number, unit)


@register.filter
def duration(milliseconds: Any) -> str:
    """Milliseconds in the unit that reads best."""
    if milliseconds is None:
        return "–"
    value = float(milliseconds)
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"
