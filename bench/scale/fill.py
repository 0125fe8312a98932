"""Passages for the benchmark, written as ingestion would have written them: random vectors of length one that lie in
clusters, and sentences of made-up words."""
import json, random, sqlite3, uuid

import numpy

DIMENSION = 384
OF_A_DOCUMENT = 50  # passages
CLUSTER = 50  # passages, on average
BLOCK = 10_000


def vectors(count, seed=1):
    """Blocks of vectors, the same for every caller."""
    dice = numpy.random.default_rng(seed)
    centers = unit(dice, max(count // CLUSTER, 1))
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        yield normalised(unit(dice, size) + centers[dice.integers(0, len(centers), size)])


def unit(dice, count):
    return normalised(dice.standard_normal((count, DIMENSION), dtype=numpy.float32))


def normalised(values):
    return values / numpy.linalg.norm(values, axis=1, keepdims=True)


def words(dice, count):
    """Words that are as frequent as words are."""
    return " ".join(f"w{int(50_000 ** dice.random()) - 1}" for _ in range(count))


def fill(path, user, encoder, count):
    """Gives a user so many passages in an SQLite database."""
    dice = random.Random(count)
    sentences = [words(dice, 20).capitalize() + "." for _ in range(20_000)]
    names = max(count // 20, 1)
    db = sqlite3.connect(path)
    (revision,) = db.execute("SELECT revision FROM users WHERE id = ?", (user,)).fetchone()
    with db:
        for block in vectors(count):
            for start in range(0, len(block), OF_A_DOCUMENT):
                passages = block[start:start + OF_A_DOCUMENT]
                revision += 1
                document = str(uuid.uuid4())
                db.execute("INSERT INTO documents (id, user_id, title, filename, object_key, content_hash, size, uploaded_at, "
                           "metadata, status, progress, chunk_count, encoder, revision, indexed_revision) "
                           "VALUES (?, ?, ?, ?, ?, ?, 0, 0, '{}', 'indexed', 100, ?, ?, ?, ?)",
                           (document, user, f"name {revision}", f"{revision}.txt", f"users/{user}/{document}", document,
                            len(passages), encoder, revision, revision))
                db.executemany("INSERT INTO chunks (document_id, position, text, headings, start, vector, mentions) "
                               "VALUES (?, ?, ?, '[]', 0, ?, ?)",
                               [(document, position, " ".join(dice.choices(sentences, k=6)), vector.tobytes(),
                                 mentions(dice, names, revision)) for position, vector in enumerate(passages)])
        db.execute("UPDATE users SET revision = ? WHERE id = ?", (revision, user))
        db.execute("INSERT INTO index_snapshots (user_id, changed) VALUES (?, ?) "
                   "ON CONFLICT (user_id) DO UPDATE SET changed = changed + excluded.changed", (user, count))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def mentions(dice, names, document):
    """Some names that are as frequent as names are, and the one that the document is about."""
    keys = [(f"name {int(names ** dice.random()) - 1}", {}) for _ in range(5)] + [(f"name {document}", dict(d=True))]
    return json.dumps([dict(k=key, l=key, t="term", n=1, w=0.3, s=1, **more) for key, more in keys])
