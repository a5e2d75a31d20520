"""The fields of a provider account that are edited one at a time: what each means, and what the draft has there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from control.web import merging
from control.web.forms.policies import SettingForm, read_value, shown
from routing.engine.policies import Setting
from routing.engine.registry import Provider
from routing.engine.validation.scopes import SENT

_OF = Provider(name="x", kind="openrouter")  # what an account is that says nothing of itself
SETTINGS: Mapping[str, Setting] = {
    one.name: one
    for one in (
        Setting(name="model", type="text", default=_OF.model, meaning="Which model answers. Pin it: thresholds are made for one version."),
        Setting(name="timeout_s", type="number", default=_OF.timeout_s, above=0, unit="s", meaning="For a whole answer, with its pauses and repeated requests."),
        Setting(name="max_retries", type="integer", default=_OF.max_retries, low=0, high=5, meaning="Requests sent again after overload, a fault or a lost connection."),
        Setting(name="hedge_after_s", type="number", default=None, above=0, unit="s", optional=True, meaning="After so long without an answer a second request is sent, and the first answer counts. Empty: never."),
        Setting(name="confidence", type="choice", default=_OF.confidence, choices=("reported", "peak"), meaning="As the provider reports it, or worked out from the peak of the probabilities."),
        Setting(name="max_connections", type="integer", default=_OF.max_connections, low=1, meaning="Requests of one process on their way at once; more wait their turn."),
        Setting(name="breaker_failures", type="integer", default=_OF.breaker_failures, low=1, meaning="Failures in a row after which the account is left alone."),
        Setting(name="breaker_open_s", type="number", default=_OF.breaker_open_s, low=0, unit="s", meaning="For how long it is left alone before one request tries it."),
        Setting(name="send", type="choices", default=_OF.send, choices=SENT, meaning="What of a state leaves for this account."),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One field on the page. `own`: the draft sets it itself."""

    setting: Setting
    form: SettingForm
    value: Any
    own: bool
    conflict: Any = None

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def label(self) -> str:
        return self.setting.name.replace("_", " ").removesuffix(" s").capitalize()

    @property
    def told(self) -> str:
        return told(self.value)

    @property
    def usual(self) -> str:
        return told(self.setting.default)

    @property
    def chosen(self) -> list[tuple[str, bool]]:
        """Each choice of several with whether it is taken."""
        taken = self.form.value.split("\n")
        return [(one, one in taken) for one in self.setting.choices]


def lines(body: Mapping[str, Any], posted: Line | None = None) -> list[Line]:
    return [posted if posted and posted.name == name else line(body, name) for name in SETTINGS]


def line(body: Mapping[str, Any], name: str, form: SettingForm | None = None, conflict: Any = None) -> Line:
    setting, own = SETTINGS[name], name in body
    value = body.get(name, setting.default)
    shown_form = form or SettingForm(value=shown(value), read=mark(body, name))
    return Line(setting=setting, form=shown_form, value=value, own=own, conflict=conflict)


def mark(body: Mapping[str, Any], name: str) -> str:
    """A mark of one field as somebody reads it."""
    return merging.mark("providers", body["name"], name, body.get(name))


def read(name: str, text: str) -> Any:
    """A posted text as the document has it; None for the default."""
    setting = SETTINGS[name]
    if not text:
        return [] if setting.type == "choices" else None
    value = read_value(text, setting)
    usual = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return None if value == usual else value


def told(value: Any) -> str:
    if value is None:
        return "never"
    if isinstance(value, list | tuple):
        return ", ".join(value).replace("_", " ") or "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
