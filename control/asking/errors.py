"""Why a command has no answer to print."""

from __future__ import annotations


class BadInput(Exception):
    """What was asked cannot be asked; the text names the flag. Exit status 2."""


class NoAnswer(Exception):
    """The question was good and nobody answered it. Exit status 1."""


class NotThere(NoAnswer):
    """A server has no such call, or not the thing that was named; the question itself may be a good one."""
