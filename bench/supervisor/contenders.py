"""The programs that are compared: Stoa on SQLite and on PostgreSQL, and Restate. Each keeps its data in a folder of its
own, listens on loopback, and ends with the benchmark, however that ends."""
import contextlib, http.client, json, os, pathlib, pwd, re, shutil, signal, socket, subprocess, threading, time

from contender import ROOT, Failure
from stoa import PROGRAM, end_with_parent

POSTGRES = ROOT / "target/pgserver/pgserver/pginstall/bin"
DURABLE = ROOT / "target/bench/durable/node_modules"
SEED = "A diary of each hive that works without a network."
CLIENTS = 16
PATIENCE = 120
# What Stoa's workflow and the peer's handler have: so many steps in a chain.
CHAINS = dict(one=1, three=3, long=30)


class Programs:
    """Processes with a log each, ended by their ids in the opposite order."""

    def __init__(self, folder):
        self.folder, self.running = folder, []
        folder.mkdir(parents=True)

    def start(self, name, command, ends_by=signal.SIGTERM, **settings):
        log = open(self.folder / f"{name}.txt", "wb")
        process = subprocess.Popen([str(part) for part in command], env={**os.environ, **settings}, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, cwd="/", preexec_fn=end_with_parent, start_new_session=True)
        self.running.append((name, process, ends_by))
        return process

    def until(self, ready):
        """What `ready` returns once it is something."""
        deadline = time.monotonic() + 60
        while not (found := ready()):
            for name, process, _ in self.running:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise Failure(f"{name} did not start: {' '.join(self.log(name).splitlines()[-1:])}")
            time.sleep(0.02)
        return found

    def log(self, name):
        return (self.folder / f"{name}.txt").read_text(errors="replace").strip()

    def end(self):
        for _, process, ends_by in reversed(self.running):
            process.send_signal(ends_by)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def cpu_seconds(self):
        """Of the processes and of their children, those that have ended included."""
        own, ticks = {process.pid for _, process, _ in self.running}, 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has just ended
                fields = stat.read_text().rsplit(")", 1)[1].split()
                if int(stat.parent.name) in own or int(fields[1]) in own:
                    ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")


class Contender:
    """`with contender`: `chain` carries out one long chain, `storm` many chains at once."""

    def __init__(self, name, folder, vendor):
        self.name, self.vendor, self.programs = name, vendor, Programs(folder / "-".join(re.findall(r"\w+", name)))

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.programs.end()
            raise
        return self

    def __exit__(self, *_):
        self.programs.end()

    def storm(self, chain, count):
        """Seconds until all are complete, from the first request on."""
        beginnings = self.beginnings(chain, count)
        self.vendor.expect(count * CHAINS[chain])
        started = time.perf_counter()
        in_threads(beginnings, self.client.address)
        self.vendor.notes(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while self.open_runs():
            if time.monotonic() > deadline:
                raise Failure(f"runs are still open after {PATIENCE} s")
            time.sleep(0.005)
        return time.perf_counter() - started


class Stoa(Contender):
    def start(self):
        data = self.programs.folder
        workflow = data / "workflow.toml"
        workflow.write_text("".join(phase(name, steps) for name, steps in CHAINS.items()))
        (data / "role.md").write_text("You do what your name says.\n")
        self.programs.start("stoa", [PROGRAM, "serve", "--only", "supervisor"], STOA_DATA_DIR=str(data / "data"),
                            SUPERVISOR_LISTEN="127.0.0.1:0", OPS_LISTEN="127.0.0.1:0", ACCESS_LOG="off",
                            WORKFLOW=str(workflow), VENDOR_A_API_KEY="none", VENDOR_A_BASE_URL=self.vendor.url,
                            DATABASE_URL=self.database())
        listen = data / "data/listen.json"
        self.programs.until(listen.exists)
        self.addresses = json.loads(listen.read_text())
        self.client = Client(self.addresses["supervisor"])
        self.projects = []

    def database(self):
        return ""

    def chain(self, followed=False):
        """The vendor's notes of the long chain of a new project."""
        project = self.new_project(self.client)
        for phase in CHAINS:
            self.vendor.expect(CHAINS[phase])
            if followed:
                events = f"/api/execute?projectId={project}&phase={phase}"
                self.client.text("GET", events, headers={"Accept": "text/event-stream"})
            else:
                self.begin(self.client, project, phase)
            notes = self.vendor.notes(PATIENCE)
            while self.client.json("GET", f"/api/projects/{project}")["status"] == "running":
                time.sleep(0.005)
        return notes, []

    def beginnings(self, chain, count):
        in_threads([lambda client: self.projects.append(self.new_project(client))] * (count - len(self.projects)),
                   self.client.address)
        return [lambda client, project=project: self.begin(client, project, chain) for project in self.projects[:count]]

    def new_project(self, client):
        return client.json("POST", "/api/projects", dict(name="Bees", product_seed=SEED))["id"]

    def begin(self, client, project, phase):
        client.json("POST", "/api/execute", dict(projectId=project, phase=phase), {"Prefer": "respond-async"})

    def open_runs(self):
        statuses = [project["status"] for project in self.client.json("GET", "/api/projects?limit=1000")]
        if "error" in statuses:
            raise Failure("a run has ended in error")
        return statuses.count("running")

    def transaction(self):
        """The mean of a step's transaction, in seconds."""
        metrics = Client(self.addresses["ops"]).text("GET", "/metrics")
        sum, count = (float(re.search(rf"supervisor_commit_seconds_{part} (\S+)", metrics)[1]) for part in ("sum", "count"))
        return sum / count


class StoaOnPostgres(Stoa):
    def database(self):
        """Starts a server, as nobody where this is root, whom PostgreSQL refuses."""
        if not POSTGRES.exists():
            raise Failure("no PostgreSQL: run scripts/fetch-postgres")
        folder = self.programs.folder / "postgres"
        folder.mkdir()
        as_user = ["setpriv"]
        if os.getuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            as_user += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        # Changing the user clears what it was to get at its parent's end.
        as_user += ["--pdeathsig", "INT", "--"]
        initdb = [*as_user, POSTGRES / "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-D",
                  folder / "data"]
        made = subprocess.run(initdb, capture_output=True, text=True, cwd="/")
        if made.returncode != 0:
            raise Failure(f"initdb: {made.stderr.strip()[-200:]}")
        self.programs.start("postgres", [*as_user, POSTGRES / "postgres", "-D", folder / "data", "-k", folder, "-c",
                                         "listen_addresses=", "-c", "fsync=on", "-c", "synchronous_commit=on"], signal.SIGINT)
        asking = [POSTGRES / "pg_isready", "-q", "-h", folder]
        self.programs.until(lambda: subprocess.run(asking).returncode == 0)
        return f"postgres://postgres@localhost/postgres?host={folder}"


class Restate(Contender):
    def start(self):
        found = list(DURABLE.glob("@restatedev/restate-server-*/bin/restate-server"))
        if not found or not shutil.which("node"):
            raise Failure("not installed: run scripts/fetch-bench-durable")
        self.programs.start("service", ["node", ROOT / "bench/supervisor/chain.cjs", self.vendor.url], NODE_PATH=str(DURABLE))
        ingress, admin, node = free_ports(3)
        # Its own defaults but for the addresses: the log that makes a step durable is fsynced.
        self.programs.start("restate", [found[0], "--no-logo"], RESTATE_BASE_DIR=str(self.programs.folder / "data"),
                            RESTATE_LISTEN_MODE="tcp", RESTATE_BIND_ADDRESS=f"127.0.0.1:{node}", RESTATE_NODE_NAME="bench",
                            RESTATE_INGRESS__BIND_ADDRESS=f"127.0.0.1:{ingress}",
                            RESTATE_ADMIN__BIND_ADDRESS=f"127.0.0.1:{admin}", RESTATE_DISABLE_TELEMETRY="true")
        service = self.programs.until(lambda: re.search(r"^\d+$", self.programs.log("service"), re.M))[0]
        self.admin, self.client = Client(f"127.0.0.1:{admin}"), Client(f"127.0.0.1:{ingress}")
        self.programs.until(lambda: self.takes(dict(uri=f"http://127.0.0.1:{service}")))

    def takes(self, deployment):
        try:
            return self.admin.json("POST", "/deployments", deployment)
        except (OSError, http.client.HTTPException, RuntimeError):
            self.admin.connection.close()
            return None

    def chain(self):
        """The vendor's notes of a long chain, and what lay between its steps by the service's own clock."""
        self.vendor.expect(CHAINS["long"])
        gaps = self.client.json("POST", "/chain/run", dict(steps=CHAINS["long"]))
        return self.vendor.notes(PATIENCE), gaps

    def beginnings(self, chain, count):
        return [lambda client: client.json("POST", "/chain/run/send", dict(steps=CHAINS[chain]))] * count

    def open_runs(self):
        query = "SELECT count(*) AS open FROM sys_invocation WHERE status <> 'completed'"
        return self.admin.json("POST", "/query", dict(query=query))["rows"][0]["open"]


class Client:
    """One kept connection."""

    def __init__(self, address):
        self.address = address
        self.connection = http.client.HTTPConnection(address, timeout=PATIENCE)

    def json(self, method, path, body=None, headers={}):
        return json.loads(self.text(method, path, body, headers))

    def text(self, method, path, body=None, headers={}):
        headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self.connection.request(method, path, body if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]}")
        return text


def phase(name, steps):
    """Agents in a chain: each reads what the one before has written."""
    text = f'[[phase]]\nname = "{name}"\n'
    for step in range(steps):
        inputs = f'"{name}-{step - 1}"' if step else ""
        text += f'[[phase.agent]]\nname = "{name}-{step}"\nprompt = "role.md"\nprovider = "vendor-a"\ninputs = [{inputs}]\n'
    return text


def in_threads(tasks, address):
    """Each with a connection of the thread that does it; the first failure is told."""
    waiting, failures = list(reversed(tasks)), []

    def work():
        client = Client(address)
        try:
            while not failures:
                waiting.pop()(client)
        except IndexError:  # nothing is left
            client.connection.close()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
