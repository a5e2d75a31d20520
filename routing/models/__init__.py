"""What is stored: the registry's working copy, its revisions, decisions, the ledger and the audit log."""

from routing.models.actor import Actor
from routing.models.audit import AuditEntry, AuditHead
from routing.models.calibrations import CalibrationRow
from routing.models.decisions import Decision
from routing.models.inspections import Inspection
from routing.models.ledger import ChainHead, Event, Minute, PendingEvent, Receipt
from routing.models.registry import (
    CapabilityRow,
    EndpointRow,
    EntryRow,
    PolicyRow,
    ScopeRow,
    ToolRow,
)
from routing.models.revisions import Edit, Entry, Generation, Remark, Review, Revision, Schedule
from routing.models.vectors import TextVector
from routing.models.workspaces import Workspace

__all__ = [
    "Actor",
    "AuditEntry",
    "AuditHead",
    "CalibrationRow",
    "CapabilityRow",
    "ChainHead",
    "Decision",
    "Edit",
    "EndpointRow",
    "Entry",
    "EntryRow",
    "Event",
    "Generation",
    "Inspection",
    "Minute",
    "PendingEvent",
    "PolicyRow",
    "Receipt",
    "Remark",
    "Review",
    "Revision",
    "Schedule",
    "ScopeRow",
    "TextVector",
    "ToolRow",
    "Workspace",
]
