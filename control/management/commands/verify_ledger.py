"""`manage.py verify_ledger`: does the chain of a workspace's events hold?"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.management.answer import BAD_USAGE, AnswerCommand, find_workspace
from routing.errors import InvalidRequest
from routing.services import ledger

REASONS = {
    "hash": "its content is not what was recorded",
    "prev_hash": "it does not follow from the one before it",
    "gap": "it is missing, or nothing vouches for it any more",
    "order": "events changed places",
}


class Command(AnswerCommand):
    help = (
        "Verify the hash chain of a workspace's ledger; exit status 1 and the first bad number when it does not hold."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument("--from", type=_number, dest="start", metavar="SEQ", help="first number (default: 1)")
        parser.add_argument("--to", type=_number, dest="end", metavar="SEQ", help="last number (default: the newest)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = ledger.verify(find_workspace(options["workspace"]), options["start"], options["end"])
        except InvalidRequest as problem:
            raise CommandError(problem.message, returncode=BAD_USAGE) from None
        if found.ok:
            text = f"The chain of {found.workspace} holds: {found.checked} events checked."
        else:
            text = f"The chain of {found.workspace} breaks at event {found.first_bad}: {REASONS[str(found.reason)]}."
        self.answer(options, found.as_dict(), text, ok=found.ok)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of an event: 1, 2, 3, …")
    return int(text)
