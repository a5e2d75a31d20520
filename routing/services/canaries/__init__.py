"""Canaries: a revision answers some before it answers everybody, and is stopped by itself when it does worse."""
