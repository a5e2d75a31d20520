"""The head of a workspace's chain: locked by whoever appends, and never behind what was appended already."""

from __future__ import annotations

import logging
from typing import Any

from routing.events import GENESIS
from routing.models import ChainHead, Event, Workspace

logger = logging.getLogger(__name__)


def locked_head(workspace_id: Any) -> ChainHead:
    """Lock the chain until the transaction ends.

    A head that was removed or set back by somebody is moved past all numbers that were ever given, so that appending goes
    on and what is missing stays a gap for `verify` to find.
    """
    heads = ChainHead.objects.select_for_update()
    head = heads.filter(workspace_id=workspace_id).first()
    if head is None:
        ChainHead.objects.get_or_create(workspace_id=workspace_id)
        head = heads.get(workspace_id=workspace_id)
    newest = Event.objects.filter(workspace_id=workspace_id).order_by("-seq").values_list("seq", "hash").first()
    noted = Workspace.objects.values_list("ledger_seq", flat=True).get(pk=workspace_id)
    furthest = max(newest[0] if newest else 0, noted)
    if head.seq < furthest:
        logger.error("the head of a chain stood at %d although %d was written; going on after that", head.seq, furthest)
        head.seq, head.hash = furthest, newest[1] if newest else GENESIS
    return head
