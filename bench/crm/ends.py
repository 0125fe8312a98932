"""Both ends of a lead's way, each a process that may be killed and started again: Stoa, and Tryton with its receiver."""
import base64, hashlib, hmac, http.client, json, os, pathlib, re, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "ingest")]
from stoa import PROGRAM, end_with_parent

PASSWORD = "correct horse battery"
SECRET, WRONG_SECRET = ("whsec_" + base64.b64encode(bytes([n] * 32)).decode() for n in (7, 8))


class Tryton:
    """Its server with the route for leads, in a process that may be killed and started again on the same port."""

    def __init__(self, python, folder):
        self.python, self.folder, self.log, self.port, self.process = python, folder, folder / "receiver.txt", 0, None

    def start(self, answers=-1):
        began = self.log.stat().st_size if self.log.exists() else 0
        command = [self.python, HERE / "receiver.py", self.folder, "--port", str(self.port), "--answers", str(answers)]
        # Without retries of its own, a locked database is an error after 5 seconds, not 30.
        self.process = spawn(command, self.log, CRM_SIGNING_SECRET=SECRET, PYTHONDONTWRITEBYTECODE="1",
                             TRYTOND_DATABASE__RETRY="0")
        ready = lambda: re.search(r"^listens (\d+)$", self.log.read_text()[began:], re.MULTILINE)
        self.port = int(wait_for("Tryton", ready, self.process, self.log)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def outcomes(self):
        return re.findall(r"^(made|known) (\S+)$", self.log.read_text(), re.MULTILINE)

    def ask(self, verb):
        done = subprocess.run([self.python, HERE / "crm.py", verb, self.folder], capture_output=True, text=True,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        return done.stdout

    def post(self, lead_id, body, sent, secret=SECRET):
        """A webhook as Stoa would send it, or nearly so: the status."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signature = base64.b64encode(hmac.digest(key, f"{lead_id}.{sent}.".encode() + body, hashlib.sha256)).decode()
        headers = {"content-type": "application/json", "webhook-id": lead_id, "webhook-timestamp": str(sent),
                   "webhook-signature": f"v1,bm90IHRoaXM= v1,{signature}"}
        return call(f"127.0.0.1:{self.port}", "POST", "/crm/leads", body, headers)[0]


class Stoa:
    """The gateway, for an administrator's token, and the leads service."""

    def __init__(self, folder, crm_port):
        self.folder, self.log, self.crm_port, self.process = folder, folder / "log.txt", crm_port, None
        folder.mkdir()

    def start(self, secret=SECRET):
        listen = self.folder / "data/listen.json"
        listen.unlink(missing_ok=True)
        settings = dict(STOA_DATA_DIR=str(self.folder / "data"), ADMIN_PASSWORD=PASSWORD, LEADS_PER_MINUTE="1000000",
                        CRM_KIND="webhook", CRM_URL=f"http://127.0.0.1:{self.crm_port}/crm/leads", CRM_SIGNING_SECRET=secret,
                        CRM_RETRY_FIRST="200ms", CRM_RETRY_LONGEST="2s",
                        **{f"{name}_LISTEN": "127.0.0.1:0" for name in ("GATEWAY", "LEADS", "OPS")})
        self.process = spawn([PROGRAM, "serve", "--only", "gateway,leads"], self.log, **settings)
        self.listen = wait_for("Stoa", lambda: listen.exists() and json.loads(listen.read_text()), self.process, self.log)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def submit(self, fields, key):
        """The id of a lead that was acknowledged. As a page would, it tries again until it is, with the same key."""
        for _ in range(200):
            try:
                headers = {"content-type": "application/json", "idempotency-key": key}
                status, text = call(self.listen["leads"], "POST", "/api/leads", json.dumps(fields), headers)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
                continue
            if status != 202:
                raise RuntimeError(f"a lead was answered {status}: {text}")
            return json.loads(text)["leadId"]
        raise RuntimeError("no answer to a lead")

    def admin(self, method, path):
        login = json.dumps(dict(username="admin", password=PASSWORD))
        _, text = call(self.listen["gateway"], "POST", "/auth/login", login, {"content-type": "application/json"})
        token = json.loads(text)["token"]
        status, text = call(self.listen["leads"], method, path, None, {"authorization": f"Bearer {token}"})
        assert status == 200, (status, text)
        return json.loads(text)


def spawn(command, log, **settings):
    with open(log, "ab") as out:
        return subprocess.Popen(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                preexec_fn=end_with_parent)


def call(address, method, path, body, headers):
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def wait_for(what, ready, process=None, log=None, seconds=90):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := ready():
            return found
        if process and process.poll() is not None:
            sys.exit(f"{what} ended: {log.read_text()[-2000:]}")
        time.sleep(0.05)
    sys.exit(f"{what}: not after {seconds} s" + (f": {log.read_text()[-2000:]}" if log else ""))
