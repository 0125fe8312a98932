#!/usr/bin/env python3
"""pgvector on the same vectors: PostgreSQL of the tests with an HNSW index over all owners and a filter by owner.
`pgvector.py PASSAGES OWNERS…`: the time to build the index, its size, recall@10 and the time of a query in the server. Of
several numbers of owners each has a column of its own; the index is the same."""
import pathlib, random, subprocess, sys, tempfile, time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "embed"))
sys.dont_write_bytecode = True
from contender import ROOT, machine
from fill import DIMENSION, normalised, vectors

BIN = ROOT / "target/pgserver/pgserver/pginstall/bin"
QUERIES = 100
BATCH = 2_000


class Postgres:
    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        as_nobody("chown", "nobody", self.folder, root=True)
        as_nobody(BIN / "initdb", "-D", self.folder / "data", "-A", "trust", "-U", "stoa", "--no-sync")
        as_nobody(BIN / "pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o",
                  f"-k {self.folder} -c listen_addresses= -c maintenance_work_mem=4GB -c shared_buffers=2GB "
                  "-c max_parallel_maintenance_workers=2 -c max_wal_size=8GB -c jit=off", "start")
        self.psql = subprocess.Popen([BIN / "psql", "-h", self.folder, "-U", "stoa", "-d", "postgres", "-qAt"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait()
        as_nobody(BIN / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")

    def run(self, statements):
        """The lines that the statements answer with."""
        self.psql.stdin.write(f"{statements}\n\\echo --\n")
        self.psql.stdin.flush()
        return [line.rstrip("\n") for line in iter(self.psql.stdout.readline, "--\n")]


def as_nobody(*command, root=False):
    prefix = [] if root else ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    subprocess.run([*prefix, *map(str, command)], check=True, stdout=subprocess.DEVNULL)


def main(passages, counts):
    blocks = numpy.concatenate(list(vectors(passages)))
    dice = numpy.random.default_rng(3)
    owners = {f"owner_of_{count}": dice.integers(0, count, passages) for count in counts}
    queries = normalised(blocks[dice.integers(0, passages, QUERIES)] + 0.5 * normalised(
        dice.standard_normal((QUERIES, DIMENSION), dtype=numpy.float32)))
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        with Postgres(pathlib.Path(folder)) as postgres:
            postgres.run("CREATE EXTENSION vector; CREATE TABLE passages "
                         f"(id int PRIMARY KEY, vector vector(384), {', '.join(f'{column} int' for column in owners)});")
            start = time.perf_counter()
            for first in range(0, passages, BATCH):
                rows = ",".join(f"({number},'{text(blocks[number])}',{','.join(str(of[number]) for of in owners.values())})"
                                for number in range(first, min(first + BATCH, passages)))
                postgres.run(f"INSERT INTO passages VALUES {rows};")
            filled = time.perf_counter() - start
            start = time.perf_counter()
            postgres.run("CREATE INDEX by_vector ON passages USING hnsw (vector vector_ip_ops);")
            built = time.perf_counter() - start
            for column in owners:
                postgres.run(f"CREATE INDEX ON passages ({column});")
            postgres.run("ANALYZE passages;")
            (size,) = postgres.run("SELECT pg_relation_size('by_vector');")
            print(f"{machine()}\n{passages:,} passages: filled in {filled:.0f} s, index built in {built:.0f} s, "
                  f"{int(size) / 2**20:.0f} MiB", flush=True)
            for column, owner in owners.items():
                for effort in [40, 200]:
                    postgres.run(f"SET hnsw.ef_search = {effort};")
                    report(postgres, column, effort, blocks, owner, queries, dice.integers(0, owner.max() + 1, QUERIES))


def report(postgres, column, effort, blocks, owner, queries, asked):
    times, hits, wanted = [], 0, 0
    for query, mine in zip(queries, asked):
        rows = numpy.flatnonzero(owner == mine)
        exact = set(rows[numpy.argsort(-(blocks[rows].astype(numpy.float64) @ query.astype(numpy.float64)))[:10]].tolist())
        select = f"SELECT id FROM passages WHERE {column} = {mine} ORDER BY vector <#> '{text(query)}' LIMIT 10"
        postgres.run(f"{select};")
        plan = postgres.run(f"EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON) {select};")
        times.append(float(next(line for line in plan if "Execution Time" in line).split()[2]))
        hits += len(exact & set(map(int, postgres.run(f"{select};"))))
        wanted += len(exact)
    way = "HNSW" if any("by_vector" in line for line in plan) else "the owner's rows, exactly"
    print(f"  {column}, ef_search {effort}: by {way}; recall@10 {hits / wanted:.3f}, p50 {numpy.median(times):.2f} ms, "
          f"p99 {numpy.percentile(times, 99):.2f} ms in the server", flush=True)


def text(vector):
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


if __name__ == "__main__":
    random.seed(1)
    main(int(sys.argv[1]), [int(count) for count in sys.argv[2:]])
