#!/usr/bin/env python3
"""Turns what the benches print, each into a file of a directory, into a table and, with --json FILE, a list of objects."""

import argparse
import json
import pathlib
import statistics


def medians(printed):
    """Items per second (else: seconds, as a rate) of each google-benchmark, the median of its repetitions."""
    runs = {}
    for run in printed["benchmarks"]:
        if run.get("run_type") == "iteration":
            rate = run.get("items_per_second") or 1e3 / run["real_time"]
            runs.setdefault(run["run_name"], []).append(rate)
    return {name: statistics.median(rates) for name, rates in runs.items()}


def figure(name, value, unit, peer, peer_value, reach, at_least=True):
    ratio = value / peer_value
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "peer": peer,
        "peer_value": peer_value,
        "ratio": round(ratio, 3),
        "reach": (">= " if at_least else "<= ") + str(reach),
        "met": ratio >= reach if at_least else ratio <= reach,
    }


def compared(measured, name, unit, peer, reach, at_least=True):
    """A figure of what was measured in rounds: [value, peer's value, the median of the rounds' ratios]."""
    value, peer_value, ratio = measured
    # The two medians may come from different rounds.
    row = figure(name, value, unit, peer, peer_value, reach, at_least)
    return row | {"ratio": ratio, "met": ratio >= reach if at_least else ratio <= reach}


def bounded(name, value, unit, bound):
    """A figure that has a bound and no peer."""
    return figure(name, value, unit, "bound", bound, 1, at_least=False)


def ring_figures(rates):
    def nanos(name):
        return 1e9 / rates[name]

    def millis(name):
        return 1e3 / rates[name]

    local = "local Owner, 100 nodes x 160 points, 1 M keys"
    return [
        figure(local, nanos("BM_Lookup"), "ns/key", "hashing alone", nanos("BM_HashOnly"), 2.5, at_least=False),
        figure(local, rates["BM_Lookup"], "keys/s", "std::map", rates["BM_LookupStdMap"], 8),
        figure(local, rates["BM_Lookup"], "keys/s", "sorted list", rates["BM_LookupBinarySearch"], 1),
        figure(local, rates["BM_Lookup"], "keys/s", "scan", rates["BM_LookupScan"], 1),
        figure(local, rates["BM_Lookup"], "keys/s", "libmemcached", rates["BM_LookupLibmemcached"], 20),
        figure("the same, hashed by MD5", rates["BM_LookupMd5"], "keys/s", "libmemcached",
               rates["BM_LookupLibmemcached"], 1),
        figure("local Owner, 100 nodes, 2^16 slots, 1 M keys", nanos("BM_LookupSlots"), "ns/key", "hashing alone",
               nanos("BM_HashOnly"), 1.5, at_least=False),
        figure("one AddNode, 10,000 nodes x 160 points", millis("BM_ApplyAddNode"), "ms", "linear merge",
               millis("BM_LinearMerge"), 3, at_least=False),
    ]


def durable_figures(rates):
    value, least = (1e3 / rates[f"BM_{name}/real_time"] for name in ("DurableAddNode", "MergeAndSync"))
    return [figure("durable AddNode, 10,000 nodes x 160 points", value, "ms", "merge + fsync", least, 3, at_least=False)]


def copy_figures(rates):
    one, two = (rates[f"BM_LocalRingOwner/real_time/threads:{threads}"] for threads in (1, 2))
    return [
        figure("LocalRing Owner, one thread", 1e9 / one, "ns/key", "hashing alone",
               1e9 / rates["BM_CopyHashOnly/real_time"], 2.5, at_least=False),
        figure("LocalRing Owner, two threads", two, "keys/s", "one thread", one, 1.7),
        figure("LocalRing OwnersOf, 1,000 keys a batch", 1e9 / rates["BM_LocalRingOwnersOf/real_time"], "ns/key",
               "hashing the same views", 1e9 / rates["BM_CopyHashOfViews/real_time"], 1.5, at_least=False),
    ]


def in_micros(millis):
    value, peer_value, ratio = millis
    return [value * 1e3, peer_value * 1e3, ratio]


def rpc_figures(measured):
    changes = f"Lookup p99, {measured['changes_per_second']:.0f} changes/s"
    return [
        compared(measured["lookup"], "unary Lookup", "calls/s", "bare echo", 0.95),
        compared(measured["metrics"], "echo with a Lookup's metrics", "calls/s", "bare echo", 0.98),
        compared(in_micros(measured["p99_under_changes"]), changes, "us", "ring at rest", 1.2, at_least=False),
        compared(in_micros(measured["p99_elsewhere"]), changes, "us", "changes elsewhere", 1.2, at_least=False),
    ]


def batch_figures(measured):
    return [
        compared(measured["echo_1000"], "BatchLookup of 1,000 keys", "keys/s", "protobuf echo", 1),
        compared(measured["echo_10000"], "BatchLookup of 10,000 keys", "keys/s", "protobuf echo", 1),
        compared(measured["mget_1000"], "BatchLookup of 1,000 keys", "keys/s", "redis MGET", 1.2),
    ]


def watch_figures(many, few, storm):
    def delivery(measured):
        name = f"one change to {measured['watchers']:,} watchers"
        return compared(measured["from_call"], name, "ms", "etcd", 1, at_least=False)

    watchers = f"{many['watchers']:,} watchers"
    kib_each = many["kib_each"]
    return [
        delivery(few),
        delivery(many),
        bounded(f"the slowest change to {watchers}", many["slowest"], "ms", 500),
        compared(kib_each, "an idle watcher", "KiB", "etcd", 0.5, at_least=False),
        bounded("an idle watcher", kib_each[0], "KiB", 20),
        bounded(f"{watchers} come back, until in sync", storm["in_sync"], "ms", 10_000),
        compared(in_micros(storm["lookup_p99"]), "Lookup p99 meanwhile", "us", "watchers idle", 10, at_least=False),
        compared(in_micros(storm["lookup_p99_elsewhere"]), "Lookup p99 meanwhile", "us", "other ringd", 2, at_least=False),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--json")
    arguments = parser.parse_args()

    def printed(bench):
        return json.loads((arguments.directory / f"{bench}.json").read_text(encoding="utf-8"))

    figures = ring_figures(medians(printed("ring"))) + durable_figures(medians(printed("durable")))
    figures += copy_figures(medians(printed("copy"))) + rpc_figures(printed("rpc")) + batch_figures(printed("batch"))
    figures += watch_figures(printed("watch_10000"), printed("watch_1000"), printed("storm"))

    print(f"{'what':48} {'value':>14} {'unit':8} {'peer':17} {'peer value':>14} {'ratio':>8} {'reach':>8}  met")
    for row in figures:
        print(f"{row['name']:48} {row['value']:14,.1f} {row['unit']:8} {row['peer']:17} {row['peer_value']:14,.1f} "
              f"{row['ratio']:8.3f} {row['reach']:>8}  {'yes' if row['met'] else 'NO'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
