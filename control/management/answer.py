"""What our commands share: they need an installation; most print a result for people or as JSON; some find a workspace."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from control import preparation
from routing.models import Workspace

BAD_USAGE = 2


def add_data_dir(parser: ArgumentParser) -> None:
    """Name `--data-dir` in the help; it is taken out of the arguments before anything else (control.commandline)."""
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="where database, bus, logs and secrets lie (default: .switchyard in the checkout)",
    )


class InstallationCommand(BaseCommand):
    """A command on an installation that was started before: refuses in one sentence, and creates nothing, when it was not."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_data_dir(parser)

    def needs_installation(self, options: Mapping[str, Any]) -> bool:
        return True

    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.needs_installation(options):
            try:
                reason = preparation.why_not_started()
            except preparation.DatabaseAway as problem:
                reason = str(problem)
            if reason:
                raise CommandError(reason)
        return super().execute(*args, **options)


class AnswerCommand(InstallationCommand):
    """A command with one result: `answer` prints it for people or as one line of JSON, and ends with 0 (yes) or 1 (no)."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
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
