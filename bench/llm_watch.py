# SPDX-License-Identifier: MIT
"""llm_watch.py - run a program, and know what it took of the processor when."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

POLL = 0.01
CONTEXT = "8192"  # in which a first token is asked for


def processor(pid):
    """Seconds that a process, all its threads, has run: its clock in Linux."""
    return time.clock_gettime((~pid << 3) | 2)


class Failed(Exception):
    pass


def ending(p):
    return f"exit {p.returncode}" if p.returncode >= 0 else signal.Signals(-p.returncode).name


def watch(cmd, env=None, stdin=None):
    """Run to the end; what it wrote, and [time, processor time, bytes written]
    from begin to end.  It writes to a file: a reader of a pipe would take time
    of the processor with each line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(cmd, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err,
                             env={**os.environ, **(env or {})})
        series = []
        try:
            while p.poll() is None:
                series.append((time.perf_counter(), processor(p.pid), os.fstat(out.fileno()).st_size))
                time.sleep(POLL)
        except OSError:  # it has just ended
            p.wait()
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
        if p.returncode:
            err.seek(0)
            tail = err.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise Failed(f"{cmd[0].split('/')[-1]}: {ending(p)}: {' / '.join(tail)}")
        out.seek(0)
        return out.read(), series


def used(series, written, seconds):
    """Processor time of those SECONDS at whose end so many bytes were WRITTEN."""
    if len(series) < 2:
        return None
    end = next((t for t, _, n in series if n >= written), series[-1][0])

    def at(t):
        for (t0, c0, _), (t1, c1, _) in zip(series, series[1:]):
            if t <= t1:
                return c0 + (c1 - c0) * max(0, t - t0) / (t1 - t0)
        return series[-1][1]

    return at(end) - at(end - seconds)


def whole(cmds):
    """Run a pipe of programs; seconds, and the most memory that each one had."""
    begin = time.perf_counter()
    running, source = [], subprocess.DEVNULL
    for i, cmd in enumerate(cmds):
        sink = subprocess.PIPE if i < len(cmds) - 1 else subprocess.DEVNULL
        running.append(subprocess.Popen(cmd, stdin=source, stdout=sink, stderr=subprocess.DEVNULL))
        if i:
            source.close()
        source = running[-1].stdout
    most = []
    for p in running:
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        most.append(usage.ru_maxrss * 1024)
    seconds = time.perf_counter() - begin
    for p, cmd in zip(running, cmds):
        if p.returncode:
            raise Failed(f"{cmd[0].split('/')[-1]}: {ending(p)}")
    return seconds, most


class Busy:
    """One busy process for each processor that we may use, while this is open.
    Each ends, too, when we are gone."""
    LOOP = "import os\np = os.getppid()\nwhile os.getppid() == p:\n    for _ in range(10**6): pass\n"

    def __enter__(self):
        self.p = [subprocess.Popen([sys.executable, "-c", self.LOOP]) for _ in os.sched_getaffinity(0)]
        time.sleep(0.2)

    def __exit__(self, *_):
        for p in self.p:
            p.kill()
            p.wait()


def records(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]
