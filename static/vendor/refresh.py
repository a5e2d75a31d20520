"""Fetch the vendored front-end files again, as MANIFEST.json pins them, from the npm registry.

Run `python static/vendor/refresh.py` to write the files, or with `--check` to compare what lies here with the manifest.
To take a newer version, change it in MANIFEST.json and run with `--pin`, which writes the new digests.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "MANIFEST.json"


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def differing(manifest: dict) -> list[str]:
    """Paths whose content is not what the manifest says, missing ones included."""
    found = []
    for package in manifest["packages"]:
        for entry in package["files"]:
            path = HERE / entry["path"]
            if not path.exists() or digest(path.read_bytes()) != entry["sha256"]:
                found.append(entry["path"])
    return found


def fetch(package: dict, *, pin: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        spec = f"{package['name']}@{package['version']}"
        packed = subprocess.run(
            ["npm", "pack", "--silent", spec], cwd=directory, check=True, capture_output=True, text=True
        )
        with tarfile.open(Path(directory) / packed.stdout.strip().splitlines()[-1]) as archive:
            for entry in package["files"]:
                content = archive.extractfile("package/" + entry["from"]).read()
                if pin:
                    entry["sha256"] = digest(content)
                elif digest(content) != entry["sha256"]:
                    raise SystemExit(f"{spec}: {entry['from']} is not the file that the manifest pins")
                target = HERE / entry["path"]
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)


def main(arguments: list[str]) -> int:
    manifest = json.loads(MANIFEST.read_text())
    if "--check" in arguments:
        for path in differing(manifest):
            print(f"differs: {path}")
        return 1 if differing(manifest) else 0
    for package in manifest["packages"]:
        fetch(package, pin="--pin" in arguments)
    if "--pin" in arguments:
        MANIFEST.write_text(json.dumps(manifest, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
