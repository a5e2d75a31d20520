"""Demo content: a registry of real published tools, and a small one of six specialists.

`documents` makes the two registry documents and needs no Django; `load` publishes them in a new installation.
`requests`, `outcomes` and `traffic` make up `manage.py demo_traffic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from routing.models import Actor


def load(by: Actor) -> None:
    """Fills the workspaces `default` and `contextual-routing` where they are still empty; see `loading`."""
    from control.demo import loading  # here, so that the documents can be read without waking Django

    loading.load(by)
