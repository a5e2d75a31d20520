"""What commands that print a result share: `--json`, the exit status that says yes or no, and finding a workspace."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from routing.models import Workspace

BAD_USAGE = 2


class AnswerCommand(BaseCommand):
    """A command with one result: `answer` prints it for people or as one line of JSON, and ends with 0 (yes) or 1 (no)."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one line of JSON")

    def answer(self, options: Mapping[str, Any], result: Mapping[str, Any], text: str, *, ok: bool = True) -> None:
        self.stdout.write(json.dumps(result, ensure_ascii=False) if options["json"] else text)
        if not ok:
            self.stdout.flush()
            sys.exit(1)


def find_workspace(name: str) -> Workspace:
    """The workspace of that name; an unknown one is bad usage, and the known ones are named."""
    workspace = Workspace.objects.filter(name=name).first()
    if workspace is None:
        known = ", ".join(Workspace.objects.values_list("name", flat=True)) or "none yet; the first start makes one"
        raise CommandError(f"there is no workspace {name!r} (there are: {known})", returncode=BAD_USAGE)
    return workspace
