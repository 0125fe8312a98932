#!/usr/bin/env python3
"""Leads into a real CRM: from a form's post through the outbox to Tryton, while both ends are killed.

Fifty leads, some sent twice, thirteen of one email address. Tryton dies once between its commit and its answer, and once
at any moment; the program is killed as well. One lead more is signed with a wrong secret, one comes while Tryton's
database is locked. In the end every lead that was acknowledged must be one opportunity in
Tryton, its party must have the right email address, and those of one address must be in their order.
"""
import argparse, datetime, json, pathlib, signal, sqlite3, statistics, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import ROOT, machine
from ends import WRONG_SECRET, Stoa, Tryton, wait_for

LEADS = 50
OFTEN = "ada@example.org"  # whoever writes often: every fourth lead
LONG = "The pump in hall 3 drips.\n" * 380  # just under the 10,000 characters that a field may have


def lead(number):
    """What somebody types into the form."""
    if number % 4 == 0:
        typed = "Ada@Example.org" if number % 8 else OFTEN
        return dict(name="Ada Solberg", email=typed, phone="+47 22 00 00 00", message=f"Question {number}")
    if number == 5:
        return dict(name="Jürgen Müßigbräu-Łukasiewicz", email="juergen@example.org", company="Öl & Söhne",
                    message="Grüße 🚰, „bitte“ <b>rufen</b> Sie an")
    if number == 6:
        return dict(name="Max Long", email="long@example.org", message=LONG)
    if number == 7:
        return dict(name="Late Caller", email="late@example.org", phone="after six, ext. 12", message="Call me late")
    return dict(name=f"Person {number}", email=f"person{number}@example.org", phone=f"0047 2200 {number:04}",
                message=f"Call me, {number}")


def trouble(stoa, tryton):
    """Sends all leads, and kills what takes them meanwhile. The acknowledged ids in the order of their leads, and the
    numbers of those that got another id when they were sent again."""
    acknowledged, wrong_again = [], []

    def send_all():
        for number in range(LEADS):
            acknowledged.append(stoa.submit(lead(number), f"form-{number}"))
            if number % 7 == 0 and stoa.submit(lead(number), f"again-{number}") != acknowledged[-1]:
                wrong_again.append(number)
            time.sleep(0.3)

    sender = threading.Thread(target=send_all, daemon=True)
    sender.start()
    tryton.process.wait(60)  # by its own hand, after a commit, in place of the answer
    before = len(acknowledged)
    time.sleep(3)
    tell("Tryton died between commit and answer; nobody there for 3 s", acknowledged, tryton)
    print(f"acknowledged in these 3 s: {len(acknowledged) - before}", flush=True)
    tryton.start()
    wait_for("some leads more", lambda: len(tryton.outcomes()) >= len(acknowledged) - 5)
    tryton.kill()
    tell("Tryton killed", acknowledged, tryton)
    time.sleep(1)
    before = len(tryton.outcomes())
    tryton.start()
    wait_for("Stoa to be busy", lambda: len(tryton.outcomes()) > before)
    stoa.process.kill()
    stoa.process.wait()
    tell("Stoa killed", acknowledged, tryton)
    stoa.start()
    sender.join(120)
    return acknowledged, wrong_again


def tell(what, acknowledged, tryton):
    print(f"{what}: {len(acknowledged)} acknowledged, {len({lead_id for _, lead_id in tryton.outcomes()})} in Tryton", flush=True)


def refused_and_sent_again(stoa):
    """A wrong secret is refused by Tryton for good; mended, the lead is sent again by an administrator."""
    stoa.stop()
    stoa.start(secret=WRONG_SECRET)
    fields = dict(name="Signed Wrongly", email="wrong@example.org", message="The secret was another")
    lead_id = stoa.submit(fields, "wrong-secret")
    failed = wait_for("the refusal", lambda: (one := stoa.admin("GET", f"/api/leads/{lead_id}"))["status"] == "failed" and one)
    print(f"with a wrong secret: `failed`, \"{failed['error']}\"", flush=True)
    stoa.stop()
    stoa.start()
    stoa.admin("POST", f"/api/leads/{lead_id}/retry")
    wait_for("the lead that was sent again", lambda: stoa.admin("GET", f"/api/leads/{lead_id}")["status"] == "forwarded")
    return lead_id, fields


def while_locked(stoa, tryton):
    """A lead that comes while Tryton cannot write: an error of the moment, after which it is sent again."""
    fields = dict(name="Locked Out", email="locked@example.org", message="The database was locked")
    database = sqlite3.connect(tryton.folder / "crm.sqlite", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    lead_id = stoa.submit(fields, "locked")
    told = wait_for("an error", lambda: stoa.admin("GET", f"/api/leads/{lead_id}")["error"])
    database.execute("ROLLBACK")
    database.close()
    wait_for("the end of the lock", lambda: stoa.admin("GET", f"/api/leads/{lead_id}")["status"] != "queued")
    ended = stoa.admin("GET", f"/api/leads/{lead_id}")["status"]
    print(f"with Tryton's database locked: \"{told}\", then `{ended}`", flush=True)
    return lead_id, fields


def check(expected, opportunities):
    """`expected` are pairs of id and fields in the order in which they were acknowledged. What is wrong, in sentences."""
    for lead_id, fields in expected:
        found = [one for one in opportunities if one["lead"] == lead_id]
        if len(found) != 1:
            yield f"lead {lead_id} has {len(found)} opportunities"
            continue
        if (contacts := sorted(map(tuple, found[0]["contacts"]))) != contacts_of(fields):
            yield f"the party of lead {lead_id} has the contacts {contacts}, not {contacts_of(fields)}"
        for field in ("name", "message"):
            if found[0][field] != fields[field].strip():
                yield f"lead {lead_id}: its {field} is {found[0][field]!r}"
    if others := {one["lead"] for one in opportunities} - {lead_id for lead_id, _ in expected}:
        yield f"opportunities of no lead that was acknowledged: {others}"
    emails = {fields["email"].lower() for _, fields in expected}
    if len({one["party"] for one in opportunities}) != len(emails):
        yield f"{len({one['party'] for one in opportunities})} parties for {len(emails)} email addresses"
    for email in emails:
        wanted = [lead_id for lead_id, fields in expected if fields["email"].lower() == email]
        found = [one["lead"] for one in opportunities if one["lead"] in wanted]
        if found != wanted:
            yield f"the leads of {email} are not in their order: {found}, not {wanted}"


def contacts_of(fields):
    """Of a lead, what its party should have: a number that can be dialled in its international form, another as typed."""
    contacts = [("email", fields["email"].lower())]
    if phone := fields.get("phone"):
        dialled = "+" + "".join(filter(str.isdigit, phone)).removeprefix("00")
        contacts.append(("phone", dialled) if phone[0] in "+0" else ("other", phone))
    return sorted(contacts)


def forged(tryton, lead_id):
    """Webhooks that are not Stoa's, and one that Tryton has had. What is wrong, in sentences."""
    data = dict(leadId=lead_id, form="default", email="x@example.org", properties={})
    body = json.dumps(dict(type="lead.created", data=data)).encode()
    now = int(time.time())
    tried = dict(known=(200, tryton.post(lead_id, body, now)),
                 old=(401, tryton.post(lead_id, body, now - 600)),
                 ahead=(401, tryton.post(lead_id, body, now + 600)),
                 forged=(401, tryton.post(lead_id, body, now, WRONG_SECRET)))
    print("straight to Tryton: " + ", ".join(f"{name} {status}" for name, (_, status) in tried.items()), flush=True)
    return [f"a webhook that is {name} was answered {status}, not {wanted}"
            for name, (wanted, status) in tried.items() if status != wanted]


def main(options):
    if not options.python.exists():
        sys.exit("Tryton is missing: scripts/fetch-bench-crm installs it")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    version = subprocess.run([options.python, "-c", "import importlib.metadata as m; print(m.version('trytond'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    print(f"{machine()}; trytond {version} on SQLite", flush=True)
    with tempfile.TemporaryDirectory(prefix="crm-", dir=options.folder) as folder:
        tryton = Tryton(options.python, pathlib.Path(folder) / "tryton")
        began = time.monotonic()
        tryton.ask("make")
        tryton.start(answers=8)
        print(f"Tryton's database made and served after {time.monotonic() - began:.0f} s", flush=True)
        stoa = Stoa(pathlib.Path(folder) / "stoa", tryton.port)
        try:
            stoa.start()
            wrong = list(trial(stoa, tryton))
        finally:
            for each in (stoa, tryton):
                if each.process and each.process.poll() is None:
                    each.process.kill()
                    each.process.wait()
    print("\n".join(wrong) if wrong else "nothing is missing, double, or out of order")
    sys.exit(1 if wrong else 0)


def trial(stoa, tryton):
    acknowledged, wrong_again = trouble(stoa, tryton)
    if len(acknowledged) < LEADS:
        sys.exit(f"only {len(acknowledged)} of {LEADS} leads were acknowledged")
    began = time.monotonic()
    wait_for("forwarding", lambda: not stoa.admin("GET", "/api/leads?status=queued"))
    print(f"none was waiting {time.monotonic() - began:.1f} s after the last was acknowledged", flush=True)
    expected = [(lead_id, lead(number)) for number, lead_id in enumerate(acknowledged)]
    expected += [refused_and_sent_again(stoa), while_locked(stoa, tryton)]
    yield from (f"lead {number}, sent twice, got two ids" for number in wrong_again)
    yield from forged(tryton, acknowledged[0])
    kept, opportunities = stoa.admin("GET", "/api/leads?limit=1000"), json.loads(tryton.ask("list"))
    known = len([outcome for outcome, _ in tryton.outcomes() if outcome == "known"]) - 1  # one was ours
    forwarded = [one for one in kept if one["status"] == "forwarded"]
    print(f"{len(expected)} leads acknowledged, {len(forwarded)} forwarded, {len(opportunities)} opportunities of "
          f"{len({one['party'] for one in opportunities})} parties in Tryton; {known} came again and were known")
    time_of = lambda text: datetime.datetime.fromisoformat(text).timestamp()
    delay = lambda one: time_of(one["forwardedAt"]) - time_of(one["createdAt"])
    at_once = statistics.median(delay(one) for one in forwarded if one["attempts"] == 1)
    print(f"{sum(one['attempts'] for one in kept)} attempts, {max(one['attempts'] for one in kept)} at most of one lead; from "
          f"the form to Tryton {at_once * 1000:.0f} ms where the first one did it, {max(map(delay, forwarded)):.1f} s at most")
    if len(kept) != len(expected):
        yield f"Stoa has kept {len(kept)} leads, not {len(expected)}"
    yield from (f"lead {one['id']} is {one['status']}: {one['error']}" for one in kept if one["status"] != "forwarded")
    yield from check(expected, opportunities)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", type=pathlib.Path, default=ROOT / "target/bench/crm/bin/python", help="one that has Tryton")
    options.add_argument("--folder", help="where the databases are made")
    main(options.parse_args())
