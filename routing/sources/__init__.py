"""Files that registries are kept in: where they may lie, reading and writing them safely, and their commit in Git.

Which files may be named is for whoever runs the server: those below `SWITCHYARD_SOURCE_ROOTS`, and none when it is empty.
"""

from __future__ import annotations

from routing.sources.git import Checkout, checkout_of
from routing.sources.places import Content, Missing, named, read, short, write

__all__ = ["Checkout", "Content", "Missing", "checkout_of", "named", "read", "short", "write"]
