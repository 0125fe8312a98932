"""Stoa over HTTP as a contender: `ours.py PROGRAM MODEL_FOLDER SAMPLE_FOLDER DATA_FOLDER`.

Its database is filled with the rows that ingestion would have written. Answers to `go MODE OWNER` with the time of
whole requests, one after the other over one connection: the question is embedded, its passages are found and read.
"""
import hashlib, json, pathlib, random, sqlite3, sys, time, uuid

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ingest"))
from stoa import Stoa, say
from words import zipf, zipf_text

OF_A_DOCUMENT = 4  # passages
WORDS = 120
NAMES = 8


def main(program, model, folder, data):
    try:
        from sample import Sample, middle_and_end
    except ImportError as error:
        return say(failure=f"not installed: {error.name or error}")
    sample, data = Sample(folder), pathlib.Path(data)
    questions = [json.loads(line) for line in pathlib.Path(folder, "questions.jsonl").read_text().splitlines()]
    searched = range(len(sample.exact))
    with Stoa(program, data) as stoa:
        administrator = stoa.client("admin")
        users = [administrator.sign_up(f"owner{owner}") for owner in searched]
    fill(data / "stoa.db", sample, users, hashlib.sha256(pathlib.Path(model, "model.safetensors").read_bytes()).hexdigest())
    # The first search of an owner reads the passages.
    with Stoa(program, data, INDEX_TIMEOUT="600s") as stoa:
        clients = [stoa.client(f"owner{owner}") for owner in searched]
        say(ready=True, first_seconds=[timed(client, questions[0], "dense")[0] for client in clients])
        for line in sys.stdin:
            _, mode, owner = line.split()
            clients[int(owner)].close()  # it may have been idle for too long; the next request opens it again
            timed(clients[int(owner)], questions[0], mode)
            pairs = [timed(clients[int(owner)], question, mode) for question in questions]
            rows = sample.rows(int(owner))
            recall = sample.recall(int(owner), [rows_of(rows, results) for _, results in pairs]) if mode == "dense" else None
            say(**middle_and_end([seconds for seconds, _ in pairs]), recall=recall)
        for client in clients:
            client.close()


def timed(client, question, mode):
    start = time.perf_counter()
    results = client.search(question, mode=mode, topK=10)
    return time.perf_counter() - start, results


def rows_of(rows, results):
    return [rows[uuid.UUID(one["documentId"]).int % 2**32 * OF_A_DOCUMENT + one["metadata"]["chunkIndex"]] for one in results]


def fill(path, sample, users, encoder):
    db = sqlite3.connect(path)
    for owner in range(len(sample.sizes)):
        with db:
            user = users[owner] if owner < len(users) else add_user(db, owner)
            add_documents(db, sample, owner, user, encoder)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def add_user(db, owner):
    user = str(uuid.UUID(int=owner))
    db.execute("INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login) "
               "VALUES (?, ?, ?, ?, 0, '', '', 0, 0)", (user, f"owner{owner}", f"owner{owner}@example.org", f"owner{owner}"))
    return user


def add_documents(db, sample, owner, user, encoder):
    rows, dice = sample.rows(owner), random.Random(owner)
    names = max(len(rows) // 2, 1)
    for number in range(0, len(rows), OF_A_DOCUMENT):
        document, passages = number // OF_A_DOCUMENT, rows[number:number + OF_A_DOCUMENT]
        id, revision = str(uuid.UUID(int=(owner + 1 << 64) + document)), document + 1
        db.execute("INSERT INTO documents (id, user_id, title, filename, object_key, content_hash, size, uploaded_at, metadata, "
                   "status, progress, chunk_count, encoder, revision, indexed_revision) "
                   "VALUES (?, ?, ?, ?, ?, ?, 0, 0, '{}', 'indexed', 100, ?, ?, ?, ?)",
                   (id, user, f"name {document}", f"{document}.txt", f"users/{user}/{id}", id, len(passages), encoder,
                    revision, revision))
        db.executemany("INSERT INTO chunks (document_id, position, text, headings, start, vector, mentions) "
                       "VALUES (?, ?, ?, '[]', 0, ?, ?)",
                       [(id, position, zipf_text(dice, WORDS), sample.vectors[row].tobytes(), mentions(dice, names, document))
                        for position, row in enumerate(passages)])
    db.execute("UPDATE users SET revision = ? WHERE id = ?", (len(rows), user))


def mentions(dice, names, document):
    """Some names that are as frequent as names are, and the one that the document is about."""
    keys = [(f"name {zipf(dice, names)}", {}) for _ in range(NAMES)] + [(f"name {document}", dict(d=True))]
    return json.dumps([dict(k=key, l=key, t="term", n=1, w=0.3, s=1, **more) for key, more in keys])


if __name__ == "__main__":
    main(*sys.argv[1:])
