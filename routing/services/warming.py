"""What pages need of a draft, in a web process's memory before somebody waits for it: at its start, and after each publication."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.db.models import F

from routing import working
from routing.generation import Watched
from routing.models import Workspace
from routing.services import registry

logger = logging.getLogger(__name__)


def _warm(_: bool | None) -> bool:
    """Read the drafts of those workspaces that published last, as many as are kept, and count how they differ from what is live."""
    newest = F("live_revision__published_at").desc(nulls_last=True)
    for workspace in Workspace.objects.order_by(newest)[: working.MOST]:
        try:
            registry.draft_change_count(workspace)
        except DatabaseError:
            raise
        except Exception:  # told by the draft's own pages; it holds up neither the start nor other drafts
            logger.exception("the draft of workspace %s cannot be read", workspace.name)
    return True


drafts: Watched[bool] = Watched(_warm, takes_long=True)
