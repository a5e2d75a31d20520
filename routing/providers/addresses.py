"""Which addresses may be called: by what they mean, however they are written.

Nothing is ever sent to addresses of the link (where clouds keep their credentials), of groups, or of no use. Loopback and
private ranges are for the workspace's allow list to open: networks (`10.0.0.0/8`) and hosts with an optional port
(`model.lan:8080`). A caller without a workspace, such as the library on one's own machine, passes no list and may reach them.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_METADATA = {ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("fd00:ec2::254")}
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_TUNNELS = (ipaddress.ip_network("2001::/32"),)  # Teredo: where it ends is somebody else's choice
_PROTOCOL = ipaddress.ip_network("192.0.0.0/24")  # no server has one, though a few count as global
_LOOPBACK = ipaddress.ip_address("127.0.0.1")


@dataclass(frozen=True, slots=True)
class Destinations:
    """A workspace's allow list for addresses that are not public."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[tuple[str, int | None]] = frozenset()

    @classmethod
    def of(cls, words: Iterable[str]) -> Destinations:
        """What is neither a network nor a host opens nothing."""
        networks: list[Network] = []
        hosts: set[tuple[str, int | None]] = set()
        for word in words:
            try:
                networks.append(ipaddress.ip_network(word.strip(), strict=False))
            except ValueError:
                host, _, port = word.strip().lower().partition(":")
                hosts.add((host, int(port) if port.isascii() and port.isdecimal() else None))
        return cls(tuple(networks), frozenset(hosts))

    def admits(self, address: Address, host: str, port: int) -> bool:
        name = host.lower().rstrip(".")
        if (name, None) in self.hosts or (name, port) in self.hosts:
            return True
        return any(address.version == network.version and address in network for network in self.networks)


def meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address only wraps."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_refused(address: Address) -> bool:
    """Whether nothing may be sent there, whatever a workspace allows."""
    real = meant(address)
    return (
        real.is_link_local
        or real.is_multicast
        or real.is_unspecified
        or (real.is_reserved and not real.is_loopback)
        or real in _METADATA
        or (isinstance(real, ipaddress.IPv6Address) and (real.is_site_local or any(real in one for one in _TUNNELS)))
    )


def opens_nothing(network: Network) -> bool:
    """Whether an allow list names it in vain, since all of it is refused."""
    is_refused_host = network.num_addresses == 1 and is_refused(network.network_address)
    return network.is_link_local or network.is_multicast or is_refused_host


def is_private(address: Address) -> bool:
    """Whether it is of one's own machine or network, or of no public use, and so for the allow list to open."""
    real = meant(address)
    return not real.is_global or real in _PROTOCOL


def reason_against(address: Address, host: str, port: int, allow: Destinations | None) -> str:
    """Why nothing may be sent there, for an operator; empty when it may."""
    if is_refused(address):
        return "its address is one that no server of models or tools has"
    if allow is not None and is_private(address) and not allow.admits(meant(address), host, port):
        return "its address is private and not on this workspace's allow list"
    return ""


def written(host: str) -> Address | None:
    """The address that a host spells out, in any of the spellings that a connection takes: 127.1, 0x7f.1 and 2130706433 too.

    None for a name, which only a lookup can tell, except `localhost`.
    """
    bare = host.strip("[]").partition("%")[0].rstrip(".").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return _LOOPBACK
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare)) if bare[:1].isdigit() else None
    except OSError:
        return None


def read_addresses(found: Iterable[str]) -> list[Address]:
    """What a lookup answers, as addresses; a zone is no part of them. Raises ValueError."""
    return [ipaddress.ip_address(one.partition("%")[0]) for one in found]


def place_of(url: str) -> tuple[str, int]:
    """Host and port that a URL leads to; the host is empty for what is no URL. Raises ValueError for a port that is none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def reason_at_save(url: str, allow: Destinations, found: Iterable[Address] = ()) -> str:
    """Why this URL leads to a refused address: as it is spelled, or by what its name was `found` to lead to.

    Connecting looks at the name again, since it may lead elsewhere by then.
    """
    host, port = place_of(url)
    address = written(host)
    reasons = (reason_against(one, host, port, allow) for one in (found if address is None else (address,)))
    return next(filter(None, reasons), "")
