"""Puts up an installation step by step: its place, its port, bus, tables, first content, then everything that serves.

Django is loaded only when there is something to prepare: most starts find everything as the last one left it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import logging
import os
import socket
import sys
import time

from control import prepared, processes
from control.environment import CHECKOUT, environment
from control.place import WILDCARDS, Address, Refused, claim, open_listener, prepare_data_dir
from control.processes import DEFAULT_HOST, DEFAULT_PORT, NoBus
from control.supervisor import CannotStart, Say, Stopped, Supervisor

HELP = "Run everything: web, workers, scheduler and the embedded bus, until Ctrl-C or SIGTERM."
PATIENCE_S = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default=DEFAULT_HOST, help=f"address to listen on (default: {DEFAULT_HOST})")
    parser.add_argument(
        "--port",
        type=port_number,
        default=DEFAULT_PORT,
        help=f"port to listen on, 0 for any free one (default: {DEFAULT_PORT})",
    )
    # Taken out of the arguments before anything else (control.commandline); named here for --help.
    parser.add_argument(
        "--data-dir", help="where database, bus, logs and secrets lie (default: .switchyard in the checkout)"
    )
    demo = parser.add_mutually_exclusive_group()
    demo.add_argument(
        "--demo", action="store_true", help="load the demo content, also into an installation that has none"
    )
    demo.add_argument("--empty", action="store_true", help="load no demo content on the first start")


def port_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 to 65535")
    return int(text)


def main(program: str, words: list[str]) -> int:
    """`up` as a command: 0 after it was asked to stop, 1 when it cannot start, 2 for bad usage."""
    parser = argparse.ArgumentParser(prog=f"{program} up", description=HELP)
    add_arguments(parser)
    options = parser.parse_args(words)
    demo = True if options.demo else False if options.empty else None
    try:
        run(host=options.host, port=options.port, demo=demo, say=_say)
    except (Refused, NoBus, CannotStart) as problem:
        print(f"{program} up: {problem}", file=sys.stderr)
        return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def run(*, host: str, port: int, demo: bool | None, say: Say) -> None:
    """Start everything, say where it is, look after it until somebody asks to stop, stop everything."""
    began = time.monotonic()
    os.umask(0o077)
    directory = prepare_data_dir(environment.data_dir)
    with claim(directory), open_listener(host, port) as listener:
        address = Address(host=host, port=listener.getsockname()[1])
        _extend_environment(address)
        supervisor = Supervisor(logs=directory / "logs", directory=CHECKOUT, say=say)
        supervisor.listen()
        try:
            is_first = _start(supervisor, listener, address, demo)
            _announce(address, time.monotonic() - began, is_first, say)
            supervisor.run()
        except Stopped:
            pass
        finally:
            say("stopping")
            supervisor.stop()
            say("stopped")


def _extend_environment(address: Address) -> None:
    """What the children are to know beyond what the user has set."""
    if address.host not in WILDCARDS and address.host not in environment.hosts:
        named = f"[{address.host}]" if ":" in address.host else address.host
        os.environ["SWITCHYARD_ALLOWED_HOSTS"] = ",".join([*environment.hosts, named])
    os.environ["SWITCHYARD_DATA_DIR"] = str(environment.data_dir)


def _start(supervisor: Supervisor, listener: socket.socket, address: Address, demo: bool | None) -> bool:
    """Put up the tree, and wait until it answers; true when this was the installation's first start."""
    if not environment.redis_url:
        _start_bus(supervisor)
    is_first = False
    if demo or not prepared.is_known():
        supervisor.check()
        is_first = _prepare(address, demo, supervisor.say)
    supervisor.check()
    services = processes.services(
        listener=listener.fileno(),
        web_processes=environment.web_processes,
        decide_threads=environment.decide_threads,
        search_processes=environment.search_processes,
    )
    # The scheduler answers nobody and has nothing to do in the first second: the others get the processor.
    supervisor.start([process for process in services if process.name != "beat"])
    if not environment.redis_url:
        _forget_hearts()
    probe = Probe(address)
    supervisor.wait_until(probe.is_ready, patience_s=PATIENCE_S, waiting_for=probe.why_not)
    supervisor.start([process for process in services if process.name == "beat"])
    return is_first


def _start_bus(supervisor: Supervisor) -> None:
    place = environment.bus_socket
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = place.parent.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        raise Refused(f"{place.parent} belongs to somebody else; remove it or choose a data dir with a shorter path")
    supervisor.start([processes.bus(socket=place, directory=environment.data_dir / "bus")])
    supervisor.wait_until(lambda: _answers_ping(place), patience_s=PATIENCE_S, waiting_for=lambda: "the bus")
    supervisor.ready = False


def _answers_ping(place: os.PathLike[str]) -> bool:
    """Whether a bus listens on that socket and has loaded what it keeps on disk."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(os.fspath(place))
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")
    return False


def _forget_hearts() -> None:
    """The last run's workers may seem to live, for some seconds after it: what the bus keeps on disk outlives them."""
    from routing import bus

    with contextlib.suppress(bus.BusAway):
        bus.forget_hearts(processes.QUEUES)


def _prepare(address: Address, demo: bool | None, say: Say) -> bool:
    import django

    django.setup()
    logging.getLogger().setLevel(logging.WARNING)  # the terminal is for problems
    from control import preparation

    try:
        preparation.migrate(say)
        is_first = preparation.first_content(url=address.url, is_loopback=address.is_loopback, demo=demo, say=say)
    except preparation.DatabaseAway as problem:
        raise Refused(str(problem)) from None
    finally:
        preparation.close_connections()
    prepared.note()
    return is_first


class Probe:
    """Asks /readyz and remembers what it answered."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.answer = "the web process"

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection(self.address.near, self.address.port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            self.answer = ", ".join(response.read(2000).decode(errors="replace").split("\n")).strip(" ,")
            return response.status == 200
        except (OSError, http.client.HTTPException):
            self.answer = "the web process"
            return False
        finally:
            connection.close()

    def why_not(self) -> str:
        return self.answer


def _announce(address: Address, seconds: float, is_first: bool, say: Say) -> None:
    say(f"ready after {seconds:.1f} s: {environment.public_url or address.url}")
    notes = environment.data_dir / "first-run.json"
    with contextlib.suppress(OSError, ValueError):
        first = json.loads(notes.read_text())
        say(f"sign-in and harness key: {notes}")
        # Once, and to a terminal only: what a log keeps, others may read.
        if is_first and sys.stdout.isatty():
            say(f"  user {first['username']}   password {first['password']}")
            say(f"  harness key {first['harness_key']}")
