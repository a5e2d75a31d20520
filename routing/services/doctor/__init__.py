"""The hint doctor of a workspace: `examinations` that workers make, findings that people ignore, edits that mend one."""
