"""`manage.py export_registry`: a revision's document, to keep in Git or to take elsewhere."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.management.answer import BAD_USAGE, InstallationCommand, find_workspace
from routing.errors import NotFound
from routing.formats import write_json, write_yaml
from routing.manifests import thaw
from routing.services import revisions


class Command(InstallationCommand):
    help = "Print the document of the live revision, or of another one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument("--revision", type=int, metavar="N", help="number of the revision (default: the live one)")
        parser.add_argument("--format", default="yaml", choices=["yaml", "json"], help="default: yaml")
        parser.add_argument(
            "--json", action="store_const", const="json", dest="format", help="the same as --format json"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        if options["revision"] is None:
            document = revisions.live_document(workspace)
        else:
            try:
                document = thaw(revisions.find(workspace, options["revision"]))
            except NotFound as problem:
                raise CommandError(problem.message, returncode=BAD_USAGE) from None
        write = write_json if options["format"] == "json" else write_yaml
        self.stdout.write(write(document), ending="")
