"""Forms of the capability page: one text, or several with one on each line."""

from __future__ import annotations

from dataclasses import dataclass

from control.web.forms.endpoints import TextForm


@dataclass(slots=True, kw_only=True)
class LinesForm(TextForm):
    """Words or phrases, each on its own line; a phrase may hold a comma."""

    def lines(self) -> list[str]:
        """Each once, in order, without the empty ones and with single spaces."""
        return list(dict.fromkeys(line for part in self.value.splitlines() if (line := " ".join(part.split()))))
