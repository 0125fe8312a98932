#!/usr/bin/env python3
"""How several processes share the work, and how many times an index is in memory then: `owners.py PROCESSES OWNERS`.

The knowledge services run on one PostgreSQL server and one folder of objects, behind one gateway. Every owner uploads
some documents and searches several times; then the processes are asked how many indexes they hold."""
import json, os, pathlib, re, statistics, subprocess, sys, tempfile, threading, time, http.client, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "embed"), str(HERE.parent / "ingest")]
sys.dont_write_bytecode = True
from contender import machine
from stoa import PASSWORD, PROGRAM, Client, Stoa, form
from pgvector import Postgres

ROUNDS = 10
DOCUMENTS = 3
AT_ONCE = 8


class Gateway(Stoa):
    """Only the gateway, in front of the processes."""

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = dict(STOA_DATA_DIR=str(self.folder), GATEWAY_LISTEN="127.0.0.1:0", OPS_LISTEN="127.0.0.1:0", ADMIN_PASSWORD=PASSWORD,
                        ACCESS_LOG="off", **self.settings)
        with open(self.folder / "log.txt", "ab") as log:
            self.process = subprocess.Popen([self.program, "serve", "--only", "gateway"], env={**os.environ, **settings},
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not (self.folder / "listen.json").exists():
            time.sleep(0.05)
        self.addresses = json.loads((self.folder / "listen.json").read_text())
        return self


def main(processes, owners):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        (folder / "postgres").mkdir()
        with Postgres(folder / "postgres") as postgres:
            shared = dict(DATABASE_URL=f"postgres://stoa@localhost/postgres?host={folder / 'postgres'}", DATABASE_CONNECTIONS="12",
                          OBJECT_STORE_URL=f"file://{folder / 'objects'}", JWT_SECRET="a secret of the benchmark, long enough for all")
            run(folder, processes, owners, shared)


def run(folder, processes, owners, shared):
    workers = [Stoa(PROGRAM, folder / f"worker{number}", **shared).__enter__() for number in range(processes)]
    targets = ",".join(f"http://{worker.addresses['knowledge']}" for worker in workers)
    try:
        administrator = workers[0].client("admin")
        clients = []
        for owner in range(owners):
            administrator.sign_up(f"owner{owner}")
            clients.append(Client(workers[owner % processes].addresses["knowledge"], f"owner{owner}"))
            clients[-1].close()
        uploads = together([(client, f"Owner {owner} keeps the word w{owner} and number {number}.") for number in range(DOCUMENTS)
                            for owner, client in enumerate(clients)], lambda: upload)
        for worker in workers:
            worker.__exit__()
        for number in range(processes):
            (folder / f"worker{number}" / "listen.json").unlink(missing_ok=True)
        workers[:] = [Stoa(PROGRAM, folder / f"worker{number}", **shared).__enter__() for number in range(processes)]
        targets = ",".join(f"http://{worker.addresses['knowledge']}" for worker in workers)
        with Gateway(PROGRAM, folder / "gateway", CORE_SERVICE_URL=targets, **shared) as gateway:
            times, rate = together(clients * ROUNDS, lambda: searcher(gateway.addresses["gateway"]))
        held = [int(float(re.search(r"^knowledge_index_owners (\S+)", worker.metrics(), re.M)[1])) for worker in workers]
    finally:
        for worker in workers:
            worker.__exit__()
    print(f"{machine()}\n{processes} processes, {owners} owners: {uploads[1]:.0f} uploads/s, {rate:.0f} searches/s, p50 {1e3 * statistics.median(times):.1f} ms, "
          f"p99 {1e3 * statistics.quantiles(times, n=100)[98]:.1f} ms; indexes held {held}, {sum(held) / owners:.2f} of each")


def upload(item):
    client, text = item[0].another(), item[1]
    client.call("POST", "/api/ingest", form(file=("note.txt", text.encode())))
    client.close()


def searcher(address):
    connection = http.client.HTTPConnection(address, timeout=60)

    def search(client):
        token = client.headers["Authorization"].removeprefix("Bearer ")
        connection.request("GET", "/core/api/search?" + urllib.parse.urlencode(dict(query="the word")), headers={"x-api-key": token})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    return search


def together(items, worker):
    """Works on all items, some at once. Returns the seconds of each, and how many were done a second."""
    times, left, lock = [], items[::-1], threading.Lock()

    def work():
        do = worker()
        while True:
            with lock:
                if not left:
                    return
                item = left.pop()
            start = time.perf_counter()
            do(item)
            times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, len(times) / (time.perf_counter() - began)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
