#!/usr/bin/env python3
"""How Stoa grows with the passages of one owner: the first search with and without a snapshot, searches after it, the
graph, and memory. `run.py 10000 100000`; STOA names another program."""
import hashlib, pathlib, random, statistics, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "embed"), str(HERE.parent / "ingest")]
sys.dont_write_bytecode = True
from contender import find_model, machine, models_folder
from stoa import PROGRAM, Stoa, form
from fill import fill, words

SEARCHES = 200
SETTINGS = dict(INDEX_TIMEOUT="10m", CHAT_REQUESTS_PER_MINUTE="100000")


def main(sizes):
    print(f"{machine()}\n")
    print("| passages | first search, from rows | snapshot written after | first search, from the snapshot | p50 ms | p99 ms | "
          "first graph, built | from the snapshot | memory MiB | mapped MiB | file MiB |")
    print("|---|" + "---|" * 10)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {size:,} | " + " | ".join(measure(pathlib.Path(folder), size)) + " |", flush=True)


def measure(folder, size):
    model = find_model(models_folder(), "model.safetensors")
    encoder = hashlib.sha256(model.read_bytes()).hexdigest()
    with Stoa(PROGRAM, folder, **SETTINGS) as stoa:
        user = stoa.client("admin").call("GET", "/api/auth/me")["user"]["id"]
    fill(folder / "stoa.db", user, encoder, size)
    with Stoa(PROGRAM, folder, **SETTINGS) as stoa:
        client = stoa.client("admin")
        rows = timed(client)
        built = seconds(lambda: client.call("GET", "/api/graph"))
        # A change, by which the passages are noticed.
        client.call("POST", "/api/ingest", form(file=("note.txt", b"A note on the word w1.")))
        written = seconds(lambda: wait_for_snapshot(folder, user))
    with Stoa(PROGRAM, folder, **SETTINGS) as stoa:
        client = stoa.client("admin")
        before = memory(stoa.process.pid)
        mapped = timed(client)
        dice = random.Random(2)
        times = [timed(client, words(dice, 8)) for _ in range(SEARCHES)]
        after = memory(stoa.process.pid)
        stored = seconds(lambda: client.call("GET", "/api/graph"))
    file = max(path.stat().st_size for path in (folder / "objects" / "users" / user / "indexes").iterdir())
    p99 = statistics.quantiles(times, n=100)[98]
    mib = lambda key: f"{(after[key] - before[key]) / 1024:.0f}"
    return [f"{rows:.2f} s", f"{written:.1f} s", f"{mapped:.2f} s", f"{1e3 * statistics.median(times):.1f}", f"{1e3 * p99:.1f}",
            f"{built:.2f} s", f"{stored:.2f} s", mib("RssAnon"), mib("RssFile"), f"{file / 2**20:.0f}"]


def timed(client, question="w1 w17 w400 w2300"):
    return seconds(lambda: client.search(question, topK=10))


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def wait_for_snapshot(folder, user):
    objects, deadline = folder / "objects" / "users" / user / "indexes", time.monotonic() + 1800
    while not objects.is_dir() or len(list(objects.iterdir())) < 2:
        if time.monotonic() > deadline:
            sys.exit((folder / "log.txt").read_text()[-2000:])
        time.sleep(0.2)
    time.sleep(1)  # the row that names them


def memory(pid):
    """In KiB, by kind."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 100_000])
