"""People for the console's tests: members of a workspace by their role, and a stranger."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from control.models import Membership
from routing.models import Workspace

PASSWORD = "a-long-password-for-tests"


def person(name: str, workspace: Workspace | None = None, role: str = "administrator"):
    user = get_user_model().objects.create_user(name, password=PASSWORD)
    if workspace is not None:
        Membership.objects.create(user=user, workspace=workspace, role=role)
    return user
