"""Stoa as a contender: `ours.py PROGRAM DATA_FOLDER FILES_FOLDER CONNECTIONS`.

Answers to `go KIND` (a folder below FILES_FOLDER) with the seconds from the first upload until all is found, as a user
who has nothing yet, since the same file twice would be embedded once. The client is in this process, on the same cores.
"""
import pathlib, queue, sys, threading, time

sys.dont_write_bytecode = True
from stoa import Memory, Stoa, form, say


def main(program, data, files, connections):
    with Stoa(program, data) as stoa:
        administrator = stoa.client("admin")
        say(ready=True)
        for number, line in enumerate(sys.stdin):
            uploads = [form(file=(path.name, path.read_bytes())) for path in sorted(pathlib.Path(files, line.split()[1]).iterdir())]
            administrator.sign_up(f"user{number}")
            administrator.close()  # opened again by the next request: idle connections are closed
            user = stoa.client(f"user{number}")
            before = stoa.stage_seconds()
            with Memory(stoa.process.pid) as memory:
                start = time.monotonic()
                passages = upload_all(user, uploads, int(connections))
                if not user.search("which results were obtained"):
                    raise RuntimeError("nothing is found")
                seconds = time.monotonic() - start
            user.close()
            stages = {stage: sum - before.get(stage, 0) for stage, sum in stoa.stage_seconds().items()}
            say(seconds=seconds, passages=passages, peak_bytes=memory.peak, stages=stages)


def upload_all(user, uploads, connections):
    """Each connection sends the next file as soon as its last one is indexed. Returned is how many passages there are."""
    waiting, counts = queue.SimpleQueue(), []
    for upload in uploads:
        waiting.put(upload)

    def send():
        client = user.another()
        while True:
            try:
                upload = waiting.get_nowait()
            except queue.Empty:
                return client.close()
            counts.append(client.call("POST", "/api/ingest", upload)["chunks"])

    threads = [threading.Thread(target=send) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(counts) < len(uploads):
        raise RuntimeError(f"only {len(counts)} of {len(uploads)} files were indexed")
    return sum(counts)


if __name__ == "__main__":
    main(*sys.argv[1:])
