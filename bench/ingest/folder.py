#!/usr/bin/env python3
"""A folder of many small files as a source: how long until all are documents, until all are found, and what a run costs
in which nothing has changed. Prints memory, too: nothing grows with the number of files.

    python3 bench/ingest/folder.py 10000
"""
import hashlib, json, os, pathlib, re, subprocess, sys, tempfile, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOA = pathlib.Path(os.environ.get("STOA", ROOT / "target/release/stoa"))
PORTS = {name: 19700 + number for number, name in enumerate(["GATEWAY", "KNOWLEDGE", "SUPERVISOR", "PORTAL", "LEADS", "OPS"])}
BASE = f"http://127.0.0.1:{PORTS['KNOWLEDGE']}"


def main(files):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        place = folder / "place"
        for number in range(files):
            path = place / f"{number % 100:02}" / f"note-{number:05}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"Note {number}: valve V-{number} in hall {number % 37} is inspected every {number % 90 + 2} days.")
        settings = {f"{name}_LISTEN": f"127.0.0.1:{port}" for name, port in PORTS.items()}
        settings |= {"STOA_DATA_DIR": str(folder / "data"), "FOLDER_ROOTS": str(place), "ADMIN_PASSWORD": "password"}
        with open(folder / "log", "w") as log:
            process = subprocess.Popen([STOA, "serve"], env=os.environ | settings, stdout=log, stderr=log)
        try:
            measure(process, place, files)
        finally:
            process.terminate()
            process.wait(30)


def measure(process, place, files):
    token = sign_in()
    started = time.monotonic()
    body = {"name": "Notes", "settings": {"kind": "folder", "path": str(place)}}
    source = call("POST", "/api/sources", token, body)["source"]["id"]
    first = run_ended(source, token, None)
    print(f"{files} files are documents after {time.monotonic() - started:.1f} s, {memory(process)} MiB")
    while call("GET", "/api/documents?limit=1", token)["counts"]["processing"]:
        time.sleep(0.2)
    took = time.monotonic() - started
    counts = call("GET", "/api/documents?limit=1", token)["counts"]
    print(f"all are found after {took:.1f} s ({files / took:.0f} a second), {counts}, {memory(process)} MiB")
    started = time.monotonic()
    call("POST", f"/api/sources/{source}/run", token, {})
    again = run_ended(source, token, first["lastRun"]["endedAt"])
    print(f"a run without a change takes {time.monotonic() - started:.2f} s: {again['lastRun']['unchanged']} unchanged")
    peak = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
    print(f"at most {int(peak[1]) >> 10} MiB")


def run_ended(source, token, before):
    while True:
        found = call("GET", f"/api/sources/{source}", token)
        if found["lastRun"] and found["lastRun"]["endedAt"] not in (None, before):
            return found
        time.sleep(0.1)


def sign_in():
    digest = hashlib.sha256(b"adminpassword").hexdigest()
    for _ in range(200):
        try:
            return call("POST", "/api/auth/login", None, {"username": "admin", "password": digest})["token"]
        except OSError:
            time.sleep(0.2)
    sys.exit("it does not start")


def call(method, path, token, body=None):
    headers = {"Content-Type": "application/json"} | ({"X-Api-Key": token} if token else {})
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=60) as answer:
        return json.load(answer)


def memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
