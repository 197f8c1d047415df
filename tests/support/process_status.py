"""What the kernel tells of a process: memory, threads, time of processors, connections."""

import os


def status(pid, name):
    """A number of /proc/PID/status: Threads, or VmRSS and VmHWM in KiB."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise KeyError(name)


def forget_peak(pid):
    """From now on VmHWM is the most memory since now."""
    with open("/proc/%d/clear_refs" % pid, "w", encoding="ascii") as file:
        file.write("5")


def cpu_seconds(pid):
    """Time of processors that it has used, in user and system mode."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))
