"""One store as a contender: `peer.py STORE SAMPLE_FOLDER DATA_FOLDER [build]`.

Fills itself in a process of its own, with both cores, then answers on one core to `go dense OWNER` with the time of a
question to that owner's passages, and the recall of the ten that were found.
"""
import importlib.metadata, os, pathlib, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ingest"))
from stoa import end_with_parent, say

AT_ONCE = 5000
SECONDS = 1  # of a turn at least, so that fast ones ask several times


def main(name, folder, data, build=None):
    if build is None:
        built = subprocess.run([sys.executable, *sys.argv, "build"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=end_with_parent)
        if built.returncode:
            return say(failure=built.stderr.strip().splitlines()[-1][:200])
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before any of its threads starts
        os.environ.update(OMP_NUM_THREADS="1", RAYON_NUM_THREADS="1")
    from sample import Sample, middle_and_end
    sample, data = Sample(folder), pathlib.Path(data)
    data.mkdir(parents=True, exist_ok=True)
    store = STORES[name](sample, data)
    if build:
        return fill(store)
    store.open()
    say(ready=True, version=f"{store.PACKAGE} {importlib.metadata.version(store.PACKAGE)}")
    for line in sys.stdin:
        owner = int(line.split()[2])
        times, answers, enough = [], [], time.monotonic() + SECONDS
        while not times or time.monotonic() < enough:
            answers = [timed(store, question, owner, times) for question in sample.questions]
        say(**middle_and_end(times), recall=sample.recall(owner, answers))


def fill(store):
    try:
        store.fill()
    except ImportError as error:
        sys.exit(f"not installed: {error.name or error}")


def timed(store, question, owner, times):
    start = time.perf_counter()
    found = store.search(question, owner)
    times.append(time.perf_counter() - start)
    return found


class Store:
    def __init__(self, sample, data):
        self.sample, self.data = sample, data

    def parts(self):
        """All rows in their order, some at once: row numbers, owners, vectors."""
        for start in range(0, len(self.sample.owners), AT_ONCE):
            rows = range(start, min(start + AT_ONCE, len(self.sample.owners)))
            yield rows, self.sample.owners[start:rows.stop].tolist(), self.sample.vectors[start:rows.stop]


class Chroma(Store):
    PACKAGE = "chromadb"

    def client(self):
        import chromadb
        return chromadb.PersistentClient(str(self.data), settings=chromadb.Settings(anonymized_telemetry=False))

    def fill(self):
        settings = dict(hnsw=dict(space="cosine"))
        collection = self.client().create_collection("passages", configuration=settings, embedding_function=None)
        for rows, owners, vectors in self.parts():
            collection.add(ids=[str(row) for row in rows], embeddings=vectors, metadatas=[dict(owner=owner) for owner in owners])

    def open(self):
        self.collection = self.client().get_collection("passages", embedding_function=None)

    def search(self, question, owner):
        found = self.collection.query(query_embeddings=[question], n_results=10, where=dict(owner=owner), include=["distances"])
        return found["ids"][0]


class LanceDb(Store):
    """Compared one by one behind an index over the owners: its vector indexes are approximate."""
    PACKAGE = "lancedb"

    def fill(self):
        import lancedb, pyarrow
        from sample import DIMENSION
        table = None
        for rows, owners, vectors in self.parts():
            vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), DIMENSION)
            part = pyarrow.table(dict(row=pyarrow.array(rows), owner=pyarrow.array(owners, pyarrow.int32()), vector=vectors))
            if table is None:
                table = lancedb.connect(str(self.data)).create_table("passages", part)
            else:
                table.add(part)
        table.optimize()
        table.create_scalar_index("owner", index_type="BITMAP")

    def open(self):
        import lancedb
        self.table = lancedb.connect(str(self.data)).open_table("passages")

    def search(self, question, owner):
        query = self.table.search(question, vector_column_name="vector").distance_type("dot")
        found = query.where(f"owner = {owner}", prefilter=True).select(["row", "_distance"]).limit(10).to_arrow()
        return found["row"].to_pylist()


class SqliteVec(Store):
    """Partitioned by owner. Vectors have length one, so the Euclidean distance, its fastest, has the same order."""
    PACKAGE = "sqlite-vec"

    def open(self):
        import sqlite3, sqlite_vec
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            import pysqlite3 as sqlite3  # Python may be built without extensions
        self.db = sqlite3.connect(self.data / "passages.db")
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)

    def fill(self):
        from sample import DIMENSION
        self.open()
        self.db.execute(f"CREATE VIRTUAL TABLE passages USING vec0(owner INTEGER PARTITION KEY, vector FLOAT[{DIMENSION}])")
        for rows, owners, vectors in self.parts():
            with self.db:
                self.db.executemany("INSERT INTO passages (rowid, owner, vector) VALUES (?, ?, ?)",
                                    zip(rows, owners, map(bytes, vectors)))

    def search(self, question, owner):
        select = "SELECT rowid, distance FROM passages WHERE vector MATCH ? AND k = 10 AND owner = ?"
        return [row for row, _ in self.db.execute(select, (question.tobytes(), owner))]


class UsearchExact(Store):
    """Its Python interface has no filter: each owner's vectors lie in a matrix of their own."""
    PACKAGE = "usearch"

    def fill(self):
        import usearch.index  # or else it is not installed

    def open(self):
        self.matrices = {}
        for owner in range(len(self.sample.exact)):
            rows = self.sample.rows(owner)
            self.matrices[owner] = rows, self.sample.vectors[rows]

    def search(self, question, owner):
        from usearch.index import MetricKind, search
        rows, vectors = self.matrices[owner]
        return rows[search(vectors, question, 10, MetricKind.IP, exact=True, threads=1).keys]


class UsearchHnsw(Store):
    """An approximate index for each owner whose passages are asked for."""
    PACKAGE = "usearch"

    def fill(self):
        from sample import DIMENSION
        from usearch.index import Index
        for owner in range(len(self.sample.exact)):
            rows = self.sample.rows(owner)
            index = Index(ndim=DIMENSION, metric="ip", dtype="f32")
            index.add(rows, self.sample.vectors[rows], threads=os.cpu_count())
            index.save(self.data / f"{owner}.usearch")

    def open(self):
        from usearch.index import Index
        self.indexes = {owner: Index.restore(self.data / f"{owner}.usearch") for owner in range(len(self.sample.exact))}

    def search(self, question, owner):
        return self.indexes[owner].search(question, 10, threads=1).keys


STORES = dict(chroma=Chroma, lancedb=LanceDb, sqlite_vec=SqliteVec, usearch_exact=UsearchExact, usearch_hnsw=UsearchHnsw)

if __name__ == "__main__":
    main(*sys.argv[1:])
