"""Write the page of the documentation that says who may do what, from the table that every door asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from control.management.answer import add_data_dir
from control.roles_page import page


class Command(BaseCommand):
    help = "Print the page docs/roles.md, or write it to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        add_data_dir(parser)
        parser.add_argument("--to", metavar="FILE", help="write it there instead of printing it")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["to"]:
            Path(options["to"]).write_text(page(), encoding="utf-8")
        else:
            self.stdout.write(page(), ending="")
