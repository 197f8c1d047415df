"""The copy of a ring in Python that client/README.md shows: the names that its code makes, RingCopy and follow."""

import os
import re

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "client", "README.md")


def names_of_readme():
    with open(README, encoding="utf-8") as file:
        text = file.read()
    names = {}
    for begin in ("import bisect", "def follow"):
        exec(re.search(r"```python\n(%s.*?)```" % begin, text, re.S).group(1), names)  # pylint: disable=exec-used
    return names
