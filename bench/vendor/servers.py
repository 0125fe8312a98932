"""The two programs that meet: Stoa in an empty folder, and llama.cpp's server, on free ports of loopback. Both end with
their `with`, and if the benchmark is killed."""
import hashlib, http.client, json, os, pathlib, signal, socket, subprocess, sys, time, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import PYTHON, ROOT, machine
from stoa import BOUNDARY, end_with_parent, form

FOLDER = ROOT / "target/bench/vendor"
MODEL = FOLDER / "qwen2.5-coder-1.5b-instruct.gguf"
ALIAS = "qwen2.5-coder-1.5b-instruct"
WINDOW = 8192
PASSWORD = "correct horse battery"
PATIENCE = 900  # seconds: two shared cores read a long prompt for minutes


class Program:
    """A child process that is ended at the end of its `with`. Its output is in `log`."""

    def start(self, command, log, **environment):
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen([str(part) for part in command], env={**os.environ, **environment}, stdout=file,
                                            stdin=subprocess.DEVNULL, stderr=file, preexec_fn=end_with_parent)

    def wait_until(self, is_ready, seconds=180):
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                sys.exit(f"{self.process.args[0]} does not start:\n{self.log.read_text()[-800:]}")
            time.sleep(0.1)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


class Llama(Program):
    """llama.cpp's server: its own, or that of llama-cpp-python."""

    def __init__(self, options, folder, key=None):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url, self.key = f"http://127.0.0.1:{self.port}/v1", key
        settings = dict(model=options.model, port=self.port, model_alias=ALIAS, n_ctx=WINDOW, n_threads=options.threads)
        if key:
            settings["api_key"] = key
        program = ["-m", "llama_cpp.server", "--host", "127.0.0.1"] if options.server == "llama-cpp-python" else [HERE / "xserver.py"]
        flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        self.start([options.python, *program, *flags], pathlib.Path(folder) / f"llama-{self.port}.log")
        self.wait_until(self.is_ready)

    def is_ready(self):
        try:
            return self.ask("GET", "/models")[0] == 200
        except OSError:
            return False

    def answers(self):
        """How many answers it has begun, by its log."""
        text = self.log.read_text(errors="replace")
        return text.count("processing task, is_child") + text.count("POST /v1/chat/completions")

    def ask(self, method, path, body=None):
        """Asks the server itself, past Stoa."""
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {self.key}"} if self.key else {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, f"/v1{path}", body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text


class Stoa(Program):
    """All services in a data folder of their own."""

    def __init__(self, program, folder):
        folder = pathlib.Path(folder)
        listens = {f"{name}_LISTEN": "127.0.0.1:0" for name in "GATEWAY KNOWLEDGE SUPERVISOR PORTAL LEADS OPS".split()}
        self.start([program, "serve"], folder / "stoa.log", STOA_DATA_DIR=str(folder / "data"), ADMIN_PASSWORD=PASSWORD,
                   ACCESS_LOG="off", CHAT_REQUESTS_PER_MINUTE="1000000", **listens)
        listen = folder / "data/listen.json"
        self.wait_until(listen.exists)
        self.addresses = json.loads(listen.read_text())
        self.admin = Client(self.addresses["knowledge"], "admin")

    def user(self, name):
        """A new user, signed in."""
        email = f"{name}@example.org"
        self.admin.form("/api/signup", email=email, name=name, password=PASSWORD)
        return Client(self.addresses["knowledge"], email)

    def connect(self, name, llama, **more):
        """Adds a connection. Returns what the service answers."""
        body = {"name": name, "kind": "openai", "baseUrl": llama if isinstance(llama, str) else llama.url, **more}
        return self.admin.call("POST", "/api/connections", body)

    def use(self, id):
        """Makes a connection the default for chat and agents."""
        choice = {"connection": id, "model": ALIAS}
        status, body = self.admin.call("PUT", "/api/models/defaults", {"chat": choice, "agents": choice})
        if status != 200:
            sys.exit(f"the connection cannot be the default: {body}")


class Client:
    def __init__(self, address, username=None):
        self.address, self.headers = address, {}
        if username:
            digest = hashlib.sha256((username + PASSWORD).encode()).hexdigest()
            status, body = self.call("POST", "/api/auth/login", {"username": username, "password": digest})
            if status != 200:
                sys.exit(f"{username} cannot sign in: {body}")
            self.headers = {"authorization": f"Bearer {body['token']}"}

    def call(self, method, path, body=None, **headers):
        """Returns the status and the body, as JSON where it is."""
        answer, connection = self.send(method, path, json.dumps(body) if body is not None else None,
                                       {"content-type": "application/json", **headers})
        text = answer.read().decode()
        connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def form(self, path, file=None, **fields):
        answer, connection = self.send("POST", path, form(file, **fields),
                                       {"content-type": f"multipart/form-data; boundary={BOUNDARY}"})
        body = json.loads(answer.read())
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{path} {file and file[0]}: {answer.status} {body}")
        return body

    def events(self, path, body):
        """Asks, and yields the events of the answer: the seconds since the request, the name and the data."""
        started = time.monotonic()
        answer, connection = self.send("POST", path, json.dumps(body),
                                       {"content-type": "application/json", "accept": "text/event-stream"})
        if answer.status != 200:
            yield time.monotonic() - started, f"status {answer.status}", json.loads(answer.read())
        name = None
        for line in answer:
            kind, _, rest = line.decode().rstrip("\r\n").partition(": ")
            if kind == "event":
                name = rest
            elif kind == "data":
                yield time.monotonic() - started, name, json.loads(rest)
        connection.close()

    def send(self, method, path, body, headers):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request(method, path, body, {**self.headers, **headers})
        return connection.getresponse(), connection


def ingest(client, paths):
    """Ingests files. Returns their names by the ids of their documents."""
    names = {}
    for path in paths:
        try:
            names[client.form("/api/ingest", (path.name, path.read_bytes()))["documentId"]] = path.name
        except RuntimeError as failure:
            print(f"left out: {failure}")
    return names


def ask(client, conversation, query, **more):
    """Asks in a conversation. Returns the last message, what failed, and the seconds to the first word and to the end."""
    first, taken, message, failure = None, 0.0, {}, None
    for taken, name, data in client.events(f"/api/conversations/{conversation}/messages", {"query": query, **more}):
        if name == "token" and first is None:
            first = taken
        if name in ("done", "error"):
            message = data["message"]
        if name == "error" or name.startswith("status"):
            failure = data["error"]
    return message, failure, first, taken


def conversation(client):
    return client.call("POST", "/api/conversations", {})[1]["id"]
