"""Pure decisions: which tool for this activity, which step next. No Django, no clock, no I/O."""
