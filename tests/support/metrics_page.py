"""The page of /metrics, read as Prometheus reads it."""

import re
import urllib.error
import urllib.request

LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(%s(?:,%s)*)\})? (\S+)" % (LABEL, LABEL))


def get(endpoint, path="/metrics"):
    """Status, headers and body of an answer."""
    try:
        with urllib.request.urlopen("http://%s%s" % (endpoint, path), timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class Page:
    """A page of metrics, refused where Prometheus would refuse it: series[name][labels] is a value."""

    def __init__(self, body):
        self.text = body.decode("utf-8")  # strict: another byte makes Prometheus drop the whole page
        self.types, self.series = {}, {}
        for line in self.text.split("\n")[:-1]:
            if line.startswith("# "):
                kind, name, rest = line[2:].split(" ", 2)
                if kind == "TYPE":
                    self.types[name] = rest
                continue
            found = SAMPLE.fullmatch(line)
            if found is None:
                raise AssertionError("no sample: %r" % line)
            labels = tuple((key, self.unescape(value)) for key, value in re.findall(LABEL, found.group(2) or ""))
            series = self.series.setdefault(found.group(1), {})
            if labels in series:
                raise AssertionError("twice: %r" % line)
            series[labels] = float(found.group(found.lastindex))

    @staticmethod
    def unescape(value):
        return re.sub(r"\\(.)", lambda found: "\n" if found.group(1) == "n" else found.group(1), value)

    @property
    def size(self):
        return sum(len(series) for series in self.series.values())

    def get(self, name, **labels):
        """The one value of that name and these labels, among others."""
        found = [value for key, value in self.series.get(name, {}).items() if set(labels.items()) <= set(key)]
        if len(found) != 1:
            raise AssertionError("%d series %s %s" % (len(found), name, labels))
        return found[0]

    def labelled(self, **labels):
        """The names of all series that carry these labels."""
        return sorted(name for name, series in self.series.items() for key in series
                      if set(labels.items()) <= set(key))


def scrape(endpoint):
    """The page as it is now."""
    return Page(get(endpoint)[2])
