#!/usr/bin/env python3
"""Start here: `python3 manage.py up` runs everything, `python3 manage.py test` passes the tests.

Needs nothing but Python: the first start makes `.venv` and installs the locked requirements into it.
"""

import os
import sys

if sys.version_info < (3, 11):
    # Nothing newer than this file may be read before this line: an old Python could not even parse it.
    sys.exit(
        "Switchyard needs Python 3.11 or newer, and this is %d.%d (%s).\n"
        "Install a newer one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python; "
        "else https://www.python.org/downloads/) and start again with it." % (*sys.version_info[:2], sys.executable)
    )

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from control import launch

    launch.enter(sys.argv)

    from control import commandline

    sys.exit(commandline.main(sys.argv))
