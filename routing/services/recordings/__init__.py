"""Recordings: what it takes to make a decision again, kept encrypted for a bounded time where somebody opted in."""
