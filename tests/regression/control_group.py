"""Control groups that limit the memory of programs under test, as a container's does: for whoever may make one (root, where they are mounted
writable; version 1, or 2 where the memory controller is handed down)."""
import contextlib
import itertools
import os
import pathlib
import time

MOUNT = pathlib.Path("/sys/fs/cgroup")
_numbers = itertools.count()


def _own_group(controller):
    """Where this process is, of version 1 ("memory") or 2 (""); the root where that is not to be seen from here, as in some containers."""
    root = MOUNT / "memory" if controller else MOUNT
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (controller in controllers.split(",") if controller else not controllers):
            folder = root / path.lstrip("/")
            return folder if (folder / "cgroup.procs").exists() else root
    return None


def _parents():
    first = _own_group("memory")
    if first is not None and (first / "memory.limit_in_bytes").exists():
        yield first, 1
    second = _own_group("")
    if second is not None:  # a group that has processes may hand nothing down but the root's
        for folder in (second, MOUNT):
            control = folder / "cgroup.subtree_control"
            if control.exists() and "memory" in control.read_text().split():
                yield folder, 2


class ControlGroup:
    """A group with a limit in bytes (None: none). Processes come in by `enter`, called in them before they become another program."""

    def __init__(self, folder, version, limit):
        self.folder, self.version = folder, version
        folder.mkdir()
        try:
            if limit is not None:
                self._limit(int(limit))
        except OSError:
            folder.rmdir()
            raise

    def _limit(self, limit):
        (self.folder / ("memory.limit_in_bytes" if self.version == 1 else "memory.max")).write_text(str(limit))
        swap = self.folder / ("memory.memsw.limit_in_bytes" if self.version == 1 else "memory.swap.max")
        if swap.exists():
            swap.write_text(str(limit) if self.version == 1 else "0")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self):
        """Bytes at most, what can be dropped included."""
        return int((self.folder / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak")).read_text())

    def kills(self):
        """How many processes the system ended for want of memory."""
        events = self.folder / ("memory.oom_control" if self.version == 1 else "memory.events")
        return int(dict(line.split() for line in events.read_text().splitlines()).get("oom_kill", 0))

    def remove(self):
        for _ in range(100):  # a process that has ended is gone from it a moment later
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.05)


@contextlib.contextmanager
def control_group(limit=None):
    """A new group for a while; throws OSError that says why where none can be made."""
    reasons = []
    for folder, version in _parents():
        try:
            group = ControlGroup(folder / f"tessera-test-{os.getpid()}-{next(_numbers)}", version, limit)
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            yield group
        finally:
            group.remove()
        return
    raise OSError("no control group can be made: " + ("; ".join(reasons) or "none with a memory controller is there"))
