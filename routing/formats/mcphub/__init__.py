"""mcphub.yaml (also .toml and .json): servers, groups and agents as endpoints, groups and scopes.

Nothing is guessed and nothing is lost in silence: renamed things, keys that mean nothing here, commands and secrets are
all reported; of a secret only its place.
"""

from __future__ import annotations

from routing.formats.mcphub.configuration import ASSUMED, TOP_KEYS, convert, looks_like_mcphub

__all__ = ["ASSUMED", "TOP_KEYS", "convert", "looks_like_mcphub"]
