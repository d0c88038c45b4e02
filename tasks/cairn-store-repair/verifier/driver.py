"""Runs a list of operations on the code under test, in a process of its own, and reports what came of each.

`python driver.py CODE FD` reads a JSON list of operations from standard input and writes a JSON list of
results, one for each operation, to the file descriptor FD. It judges nothing and knows no right answer.
Bytes travel as {"hex": "..."}, an exception as {"error": [names of its classes]}.
"""

import inspect
import itertools
import json
import os
import resource
import shutil
import sys
import threading
import unittest
from pathlib import Path

KILLED = 77
FILE_CALLS = frozenset(
    ("open", "write", "writelines", "writev", "pwrite", "pwritev", "flush", "close", "fsync", "fdatasync",
     "replace", "rename", "unlink", "remove", "truncate", "ftruncate", "copy_file_range", "sendfile", "link",
     "symlink", "mkdir", "rmdir", "posix_fallocate")
)  # fmt: skip

synced = {}
unsynced_folder = [False]
clock = [0]
store = [None]
scans = [None]


def watch_syncs():
    """Note how much of each file has been synced, and whether a rename has been."""

    def watched_sync(call):
        def sync(handle):
            call(handle)
            status = os.fstat(handle if isinstance(handle, int) else handle.fileno())
            synced[status.st_ino] = status.st_size
            if os.path.stat.S_ISDIR(status.st_mode):
                unsynced_folder[0] = False

        return sync

    def watched_rename(call):
        def rename(*args, **options):
            call(*args, **options)
            unsynced_folder[0] = True

        return rename

    os.fsync, os.fdatasync = watched_sync(os.fsync), watched_sync(os.fdatasync)
    os.replace, os.rename = watched_rename(os.replace), watched_rename(os.rename)


def plain(value):
    """A result as JSON can carry it."""
    match value:
        case None | bool() | int() | str() | float():
            return value
        case bytes() | bytearray() | memoryview():
            return {"hex": bytes(value).hex()}
        case tuple() | list():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
    return {"odd": type(value).__name__}


def files_of(folder):
    return [path for path in sorted(Path(folder).iterdir()) if path.is_file() and not path.is_symlink()]


def open_it(folder, options):
    import cairn

    if Path(folder).is_dir():
        for path in files_of(folder):
            status = path.stat()
            synced.setdefault(status.st_ino, status.st_size)
    store[0] = cairn.open_store(folder, clock=lambda: clock[0], **options)


def write_batch(rows):
    import cairn

    batch = cairn.Batch()
    for what, key, value, ttl in rows:
        if what == "put":
            batch.put(key, bytes.fromhex(value), ttl)
        else:
            batch.delete(key)
    return store[0].write(batch)


def sync_state(folder):
    sizes = {}
    for path in files_of(folder):
        status = path.stat()
        sizes[path.name] = [status.st_size, synced.get(status.st_ino, 0)]
    return {"files": sizes, "folder": not unsynced_folder[0]}


def limit_file_size(size):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def increment_in_threads(threads, times, key):
    failed = []

    def work():
        try:
            for _ in range(times):
                store[0].increment(key)
        except Exception as error:  # noqa: BLE001 - it is a result
            failed.append(type(error).__name__)

    # Often enough that two threads meet in every step that is not guarded.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.setswitchinterval(before)
    return failed


def count_down(left):
    """End the process just before its `left`-th call that touches a file."""

    def watch(_, event, function):
        if event == "c_call" and getattr(function, "__name__", "") in FILE_CALLS:
            owner = getattr(function, "__self__", None)
            where = getattr(owner, "__name__", None) or type(owner).__module__
            if where in ("posix", "_io", "io", "builtins"):
                left[0] -= 1
                if left[0] < 0:
                    os._exit(KILLED)

    return watch


def kill_at_each_call(template, into, before, then, most):
    """Copies of the store `template`, each left by a process killed one call later than the one before.

    The number of operations of `then` that had returned in each; the last was not killed.
    """
    returned = []
    for n in range(most):
        folder = f"{into}/{n:04d}"
        shutil.copytree(template, folder)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            for operation in before:
                perform([folder if item == "FOLDER" else item for item in operation])
            watch = count_down([n])
            for operation in then:
                filled = [folder if item == "FOLDER" else item for item in operation]
                sys.setprofile(watch)
                result = perform(filled)
                sys.setprofile(None)
                os.write(writer, b"!" if isinstance(result, dict) and "error" in result else b".")
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if b"!" in said or status not in (0, KILLED):
            return {"failed": n, "status": status}
        returned.append(len(said))
        if status == 0:
            return returned
    return {"failed": most, "status": 0}


def describe_api():
    import cairn

    described = {"names": sorted(cairn.__all__)}
    for name in ("open_store", "Store", "Batch"):
        thing = getattr(cairn, name)
        parts = {name: thing}
        if inspect.isclass(thing):
            parts = {f"{name}.{m}": f for m, f in vars(thing).items() if m[0] != "_" and callable(f)}
        for label, function in parts.items():
            signature = inspect.signature(function)
            described[label] = [
                [
                    p.name,
                    p.kind.name,
                    None if p.default is p.empty or callable(p.default) else repr(p.default),
                ]
                for p in signature.parameters.values()
            ]
    return described


def run_unittests(folder):
    suite = unittest.defaultTestLoader.discover(folder)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    bad = [str(case) for case, _ in result.failures + result.errors]
    return {"run": result.testsRun, "bad": bad, "skipped": len(result.skipped)}


def set_clock(value):
    clock[0] = value


def next_pairs(count):
    return list(itertools.islice(scans[0], count))


def on_store(method):
    def call(*args):
        return getattr(store[0], method)(*args)

    return call


OPERATIONS = {
    "open": open_it,
    "close": on_store("close"),
    "clock": set_clock,
    "get": on_store("get"),
    "put": lambda key, value, ttl=None: store[0].put(key, bytes.fromhex(value), ttl),
    "delete": on_store("delete"),
    "touch": on_store("touch"),
    "ttl": on_store("ttl"),
    "increment": on_store("increment"),
    "write": write_batch,
    "scan": lambda options: list(store[0].scan(**options)),
    "scan begins": lambda options: scans.__setitem__(0, iter(store[0].scan(**options))),
    "scan goes on": next_pairs,
    "compact": on_store("compact"),
    "synced": sync_state,
    "file size limit": limit_file_size,
    "threads": increment_in_threads,
    "kill at each call": kill_at_each_call,
    "api": describe_api,
    "unittest": run_unittests,
}


def perform(operation):
    name, *args = operation
    try:
        return plain(OPERATIONS[name](*args))
    except Exception as error:  # noqa: BLE001 - it is a result
        print(f"{operation!r:.200}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"error": [kind.__name__ for kind in type(error).__mro__]}


def main():
    code, descriptor = sys.argv[1], int(sys.argv[2])
    operations = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    os.set_inheritable(descriptor, False)
    watch_syncs()
    sys.path.insert(0, code)
    results = [perform(operation) for operation in operations]
    with os.fdopen(descriptor, "w", encoding="ascii") as pipe:
        json.dump(results, pipe)
    # A store that is still open stays as a killed process leaves it.
    os._exit(0)


main()
