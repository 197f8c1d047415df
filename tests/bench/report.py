#!/usr/bin/env python3
"""Turns what the benches print into a table and, with --json FILE, into a list of objects."""

import argparse
import json
import statistics


def medians(path):
    """Items per second (else: seconds, as a rate) of each google-benchmark, the median of its repetitions."""
    runs = {}
    with open(path, encoding="utf-8") as file:
        for run in json.load(file)["benchmarks"]:
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
        figure("LocalRing Owner, two threads", two, "keys/s", "one thread", one, 1.8),
    ]


def rpc_figures(measured):
    def compared(key, name, peer, reach):
        value, peer_value, ratio = measured[key]
        row = figure(name, value, "calls/s", peer, peer_value, reach)
        # The median of the rounds' ratios: the two medians may come from different rounds.
        return row | {"ratio": ratio, "met": ratio >= reach}

    return [
        compared("lookup", "unary Lookup", "bare echo", 0.95),
        compared("metrics", "echo with a Lookup's metrics", "bare echo", 0.98),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ring")
    parser.add_argument("durable")
    parser.add_argument("copy")
    parser.add_argument("rpc")
    parser.add_argument("--json")
    arguments = parser.parse_args()

    figures = ring_figures(medians(arguments.ring)) + durable_figures(medians(arguments.durable))
    figures += copy_figures(medians(arguments.copy))
    with open(arguments.rpc, encoding="utf-8") as file:
        figures += rpc_figures(json.load(file))

    print(f"{'what':48} {'value':>14} {'unit':8} {'peer':14} {'peer value':>14} {'ratio':>8} {'reach':>8}  met")
    for row in figures:
        print(f"{row['name']:48} {row['value']:14,.1f} {row['unit']:8} {row['peer']:14} {row['peer_value']:14,.1f} "
              f"{row['ratio']:8.3f} {row['reach']:>8}  {'yes' if row['met'] else 'NO'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
