"""`manage.py verify_ledger`: do the chains of a workspace's events and of its audit log hold?"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.management.answer import BAD_USAGE, AnswerCommand, find_workspace
from routing.errors import InvalidRequest
from routing.models import Workspace
from routing.services import audit, ledger
from routing.services.ledger import Verification

REASONS = {
    "hash": "its content is not what was recorded",
    "prev_hash": "it does not follow from the one before it",
    "gap": "it is missing, or nothing vouches for it any more",
    "order": "rows changed places",
}


class Command(AnswerCommand):
    help = (
        "Verify the hash chains of a workspace's ledger and audit log; exit status 1 and the first bad number when one "
        "does not hold. A range is one of events, or with --audit one of audit entries."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument("--audit", action="store_true", help="verify the audit log alone")
        parser.add_argument("--from", type=_number, dest="start", metavar="SEQ", help="first number (default: 1)")
        parser.add_argument("--to", type=_number, dest="end", metavar="SEQ", help="last number (default: the newest)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._tell(find_workspace(options["workspace"]), options)
        except InvalidRequest as problem:
            raise CommandError(problem.message, returncode=BAD_USAGE) from None

    def _tell(self, workspace: Workspace, options: dict[str, Any]) -> None:
        start, end = options["start"], options["end"]
        if options["audit"]:
            log = audit.verify(workspace, start, end)
            self.answer(options, log.as_dict(), _about_log(log), ok=log.ok)
            return
        found = ledger.verify(workspace, start, end)
        if start is not None or end is not None:
            self.answer(options, found.as_dict(), _about_events(found), ok=found.ok)
            return
        log = audit.verify(workspace)
        result = found.as_dict()
        if not log.ok:  # the answer's shape is promised; what does not hold is added to it
            result |= {"ok": False, "audit": log.as_dict()}
        self.answer(options, result, f"{_about_events(found)}\n{_about_log(log)}", ok=found.ok and log.ok)


def _about_events(found: Verification) -> str:
    if found.ok:
        return f"The chain of {found.workspace} holds: {found.checked} events checked."
    return f"The chain of {found.workspace} breaks at event {found.first_bad}: {REASONS[str(found.reason)]}."


def _about_log(found: Verification) -> str:
    if found.ok:
        return f"The audit log of {found.workspace} holds: {found.checked} entries checked."
    return f"The audit log of {found.workspace} breaks at entry {found.first_bad}: {REASONS[str(found.reason)]}."


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of an event: 1, 2, 3, …")
    return int(text)
