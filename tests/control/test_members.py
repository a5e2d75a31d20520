"""People and keys as the processes of an installation meet them: two at once, roles that shrink, uses that are written."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from control import invitations, keys, members
from control.access import RIGHTS, rights_of
from control.models import HarnessKey, Invitation, Membership, Role
from control.uses import uses
from routing.errors import InvalidRequest
from routing.models import Actor
from routing.models.actor import SYSTEM
from routing.services import registry
from tests.cast import person
from tests.routing.conftest import EDITOR

ADA = Actor(kind="operator", name="ada")


def at_once(*acts) -> list[Exception | None]:
    """Do these in threads that start together; what each raised."""
    found: list[Exception | None] = [None] * len(acts)
    ready = threading.Barrier(len(acts))

    def work(place: int) -> None:
        try:
            ready.wait()
            acts[place]()
        except Exception as error:
            found[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return found


# --- two at once ------------------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "leave",
    [
        lambda workspace, name: members.remove(workspace, name, by=SYSTEM),
        lambda workspace, name: members.deactivate(workspace, name, by=SYSTEM),
        lambda workspace, name: members.change_role(workspace, name, "viewer", by=SYSTEM),
    ],
    ids=["remove", "deactivate", "change_role"],
)
def test_of_two_administrators_who_leave_at_once_one_stays(leave):
    workspace = registry.create_workspace("acme", by=EDITOR)
    for name in ("ada", "ben"):
        person(name, workspace)

    failed = at_once(lambda: leave(workspace, "ada"), lambda: leave(workspace, "ben"))

    assert sorted(type(error).__name__ for error in failed) == ["InvalidRequest", "NoneType"]
    assert Membership.objects.active().filter(workspace=workspace, role=Role.ADMINISTRATOR).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_who_accept_an_invitation_at_once_one_gets_in():
    workspace = registry.create_workspace("acme", by=EDITOR)
    _, token = invitations.invite(workspace, "Ben", "viewer", by=SYSTEM)
    people = [person(name) for name in ("ben", "eve")]

    failed = at_once(*[lambda user=user: invitations.accept(token, user, by=EDITOR) for user in people])

    assert sorted(type(error).__name__ for error in failed) == ["InvalidRequest", "NoneType"]
    assert Membership.objects.filter(workspace=workspace).count() == 1


# --- invitations ------------------------------------------------------------------------------------------------------
@pytest.fixture
def workspace(db):
    workspace = registry.create_workspace("acme", by=EDITOR)
    person("ada", workspace)
    person("root", workspace)
    return workspace


@pytest.mark.parametrize(
    "end",
    [
        lambda w, row: Invitation.objects.filter(pk=row.pk).update(expires_at=timezone.now()),
        lambda w, row: invitations.withdraw(w, row.pk, by=ADA),
        lambda w, row: invitations.renew(w, row.pk, by=ADA),
        lambda w, row: members.change_role(w, "ada", "editor", by=SYSTEM),
        lambda w, row: members.remove(w, "ada", by=SYSTEM),
    ],
    ids=["too old", "withdrawn", "renewed", "inviter is no administrator any more", "inviter is gone"],
)
def test_an_invitation_that_has_ended_lets_nobody_in(workspace, end):
    row, token = invitations.invite(workspace, "Ben", "administrator", by=ADA)
    end(workspace, row)

    assert invitations.find(token) is None
    with pytest.raises(InvalidRequest):
        invitations.accept(token, person("ben"), by=EDITOR)
    assert not Membership.objects.filter(user__username="ben").exists()


def test_whoever_was_shut_out_does_not_come_back_by_an_invitation(workspace):
    _, token = invitations.invite(workspace, "Ben", "viewer", by=SYSTEM)
    members.deactivate(workspace, "ada", by=SYSTEM)
    ada = Membership.objects.get(workspace=workspace, user__username="ada")

    with pytest.raises(InvalidRequest):
        invitations.accept(token, ada.user, by=ADA)
    ada.refresh_from_db()
    assert ada.deactivated_at is not None


def test_a_link_is_kept_as_a_digest_alone(workspace):
    row, token = invitations.invite(workspace, "Ben", "viewer", by=ADA)

    kept = str([list(one) for one in Invitation.objects.values_list()])
    assert token not in kept and row.digest != token


# --- keys -------------------------------------------------------------------------------------------------------------
def test_the_rights_of_a_key_follow_the_role_of_its_maker(workspace):
    _, plain = keys.create_key(workspace, "default", rights=RIGHTS, by=ADA)
    found = {}
    for role in Role.values:
        members.change_role(workspace, "ada", role, by=SYSTEM)
        found[role] = keys.find_harness(plain).rights

    assert found == {role: rights_of(role) for role in Role.values}
    assert found["administrator"] == set(RIGHTS)


def test_a_key_ends_with_the_membership_of_its_maker_and_comes_back_with_it(workspace):
    _, plain = keys.create_key(workspace, "default", by=ADA)

    members.deactivate(workspace, "ada", by=SYSTEM)
    gone = keys.find_harness(plain)
    members.reactivate(workspace, "ada", by=SYSTEM)
    back = keys.find_harness(plain)
    members.remove(workspace, "ada", by=SYSTEM)

    assert (gone, keys.find_harness(plain)) == (None, None)
    assert back is not None


def test_a_rotated_key_acts_as_whoever_rotated_it_and_the_one_before_ends_in_time(workspace):
    row, first = keys.create_key(workspace, "default", name="ci", by=SYSTEM)
    second = keys.rotate_key(row, overlap_hours=2, by=ADA)
    both = [keys.find_harness(plain) for plain in (first, second)]
    third = keys.rotate_key(row, overlap_hours=2, by=ADA)

    assert [(one.name, one.made_by) for one in both] == [("ci", "ada"), ("ci", "ada")]
    assert keys.find_harness(first) is None
    HarnessKey.objects.filter(pk=row.pk).update(previous_until=timezone.now() - timedelta(seconds=1))
    members.change_role(workspace, "root", "editor", by=SYSTEM)  # so that this process looks again
    assert (keys.find_harness(second), keys.find_harness(third).name) == (None, "ci")
    keys.revoke_key(row, by=ADA)
    assert keys.find_harness(third) is None


@pytest.mark.parametrize(
    ("allowed", "address", "may"),
    [
        ([], "203.0.113.9", True),
        ([], "", True),
        (["192.0.2.0/24"], "192.0.2.7", True),
        (["192.0.2.0/24"], "::ffff:192.0.2.7", True),
        (["192.0.2.0/24"], "192.0.3.1", False),
        (["192.0.2.0/24"], "", False),
        (["192.0.2.0/24"], "unix:", False),
        (["192.0.2.7"], "192.0.2.7", True),
        (["2001:db8::/32"], "2001:db8::1%eth0", True),
        (["2001:db8::/32", "10.0.0.0/8"], "10.1.2.3", True),
        (["10.0.0.0/8"], "2001:db8::1", False),
    ],
)
def test_a_key_may_be_used_from_its_networks_alone(workspace, allowed, address, may):
    _, plain = keys.create_key(workspace, "default", allowed_addresses=allowed, by=SYSTEM)

    assert keys.find_harness(plain).may_come_from(address) is may


def test_the_last_use_of_a_key_is_written_later_and_never_set_back(workspace, django_assert_num_queries):
    uses.flush()  # what calls of other tests left there
    row, _ = keys.create_key(workspace, "default", by=SYSTEM)
    with django_assert_num_queries(0):
        for _ in range(100):
            uses.note(row.pk)
    with django_assert_num_queries(1):
        uses.flush()
    row.refresh_from_db()
    first, later = row.last_used_at, timezone.now() + timedelta(minutes=1)

    HarnessKey.objects.filter(pk=row.pk).update(last_used_at=later)
    uses.note(row.pk)
    uses.flush()
    row.refresh_from_db()

    assert timezone.now() - first < timedelta(minutes=1)
    assert row.last_used_at == later
