"""The real program in a data folder of its own, called over HTTP. Also what both benchmarks need to watch it."""
import ctypes, hashlib, http.client, json, os, pathlib, re, signal, subprocess, sys, threading, time, urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "embed"))
from contender import ROOT, Contender

PROGRAM = pathlib.Path(os.environ.get("STOA") or ROOT / "target/release/stoa")
PYTHON = ROOT / "target/bench/stores/bin/python"
PASSWORD = "correct horse battery"
BOUNDARY = "a-line-that-no-text-holds"


class Family(Contender):
    """A contender that has children: their processor time is its own, so that `others` are others."""

    def cpu_seconds(self):
        ticks = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it has just ended
            if int(fields[3]) == self.process.pid:  # the session that the contender leads
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")


class Stoa:
    """`with Stoa(program, folder) as stoa`: serves the knowledge service on free ports until the end."""

    def __init__(self, program, folder, **settings):
        self.program, self.folder, self.settings = program, pathlib.Path(folder), settings

    def __enter__(self):
        settings = dict(STOA_DATA_DIR=str(self.folder), KNOWLEDGE_LISTEN="127.0.0.1:0", OPS_LISTEN="127.0.0.1:0",
                        ADMIN_PASSWORD=PASSWORD, ACCESS_LOG="off", **self.settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "log.txt", "ab") as log:
            self.process = subprocess.Popen([self.program, "serve", "--only", "knowledge"], env={**os.environ, **settings},
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=end_with_parent)
        listen = self.folder / "listen.json"
        deadline = time.monotonic() + 120
        while not listen.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                sys.exit((self.folder / "log.txt").read_text().strip().splitlines()[-1])
            time.sleep(0.05)
        self.addresses = json.loads(listen.read_text())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def client(self, username):
        return Client(self.addresses["knowledge"], username)

    def metrics(self):
        connection = http.client.HTTPConnection(self.addresses["ops"], timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def stage_seconds(self):
        """Of all documents so far, what each stage took, waiting included."""
        stages = re.findall(r'knowledge_stage_seconds_sum\{stage="(\w+)"\} (\S+)', self.metrics())
        return {stage: float(sum) for stage, sum in stages}


class Client:
    """One kept connection with a session."""

    def __init__(self, address, username):
        self.address = address
        self.connection = http.client.HTTPConnection(address, timeout=600)
        self.headers = {}
        digest = hashlib.sha256((username + PASSWORD).encode()).hexdigest()
        token = self.call("POST", "/api/auth/login", json.dumps(dict(username=username, password=digest)))["token"]
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}

    def another(self):
        """The same session over a connection of its own."""
        twin = object.__new__(Client)
        twin.address, twin.headers = self.address, self.headers
        twin.connection = http.client.HTTPConnection(self.address, timeout=600)
        return twin

    def call(self, method, path, body=None):
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:200].decode(errors='replace')}")
        return json.loads(text)

    def sign_up(self, username):
        return self.call("POST", "/api/signup", form(username=username, email=f"{username}@example.org", name=username,
                                                     password=PASSWORD))["userId"]

    def search(self, query, **settings):
        return self.call("GET", "/api/search?" + urllib.parse.urlencode(dict(query=query, **settings)))["results"]

    def close(self):
        self.connection.close()


def form(file=None, **fields):
    """A form's body; `file` is a pair of name and bytes."""
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]
    if file:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'
        parts.append(head.encode() + file[1] + b"\r\n")
    return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


class Memory:
    """`with Memory(pid) as memory`: the most that the process and its children have held, in `memory.peak`. The
    children come and go, so they are looked at twenty times a second; the process itself keeps count."""

    def __init__(self, pid):
        self.pid, self.peak, self.ended = pid, 0, threading.Event()

    def __enter__(self):
        self.watch = threading.Thread(target=self.look, daemon=True)
        self.watch.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.watch.join()

    def look(self):
        while True:
            self.peak = max(self.peak, sum(map(most_bytes, [self.pid, *children(self.pid)])))
            if self.ended.wait(0.05):
                return


def children(pid):
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
        return [child for task in tasks for child in task.read_text().split()]
    except OSError:
        return []


def most_bytes(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def end_with_parent():
    """Whoever started it may be killed: then it ends as well."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def say(**answer):
    print(json.dumps(answer), flush=True)
