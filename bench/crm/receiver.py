"""Leads into Tryton: a route of its own server, `POST /crm/leads`, for signed webhooks.

A lead becomes an opportunity, and its sender a party with an email address and a telephone number; both in one
transaction. The lead's id is the opportunity's reference: a lead that is known makes nothing new. What Tryton refuses
for its content is 400, a wrong signature 401, any other error 500, after which it is sent again.
"""
import argparse, base64, hashlib, hmac, json, os, pathlib, signal, threading, time

import crm

TOLERANCE = 5 * 60  # seconds that a webhook may be old, or ahead of this clock
ONE_AT_A_TIME = threading.Lock()  # Tryton's lock of a table does nothing on SQLite


def why_refused(secret, headers, body, now):
    """What is wrong with a webhook, or None, as Standard Webhooks say."""
    lead, sent, signatures = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not lead or not sent.isascii() or not sent.isdigit():
        return "`webhook-id` or `webhook-timestamp` is missing or wrong"
    if abs(now - int(sent)) > TOLERANCE:
        return "`webhook-timestamp` is too far from now"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{lead}.{sent}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(digest)
    if not any(hmac.compare_digest(expected, each.encode()) for each in signatures.split()):
        return "`webhook-signature` is wrong"
    return None


def take(pool, lead):
    """Makes the opportunity, and says so; or that it was known."""
    Opportunity = pool.get("sale.opportunity")
    if Opportunity.search([("reference", "=", lead["leadId"])], limit=1):
        return "known"
    said = lead["properties"]
    Opportunity.create([dict(party=party_of(pool, lead["email"], said), reference=lead["leadId"],
                             description=said.get("company") or lead["form"], comment=said.get("message"))])
    return "made"


def party_of(pool, email, said):
    """Whose address it is, with the telephone number that was told now. Who has no address is new each time.

    Addresses and numbers are compared in Tryton's compact form: it may write a number otherwise than it came.
    """
    Contact = pool.get("party.contact_mechanism")
    known = Contact.search([("type", "=", "email"), ("value_compact", "=", email)], limit=1) if email else []
    if known:
        party = known[0].party
    else:
        party, = pool.get("party.party").create([dict(name=said.get("name") or email or "unknown")])
    told = {(each.type, each.value_compact) for each in party.contact_mechanisms}
    wanted = {("email", email)} if email else set()
    if phone := said.get("phone"):
        wanted.add((kind_of_phone(Contact, party, phone), phone))
    Contact.create([dict(party=party, type=kind, value=value) for kind, value in sorted(wanted - told)])
    return party


def kind_of_phone(Contact, party, phone):
    """What cannot be dialled is kept all the same: a lead is not refused for how somebody typed a number."""
    from trytond.exceptions import UserError
    try:
        Contact.check_valid_phonenumber([Contact(type="phone", value=phone, party=party)])
    except UserError:
        return "other"
    return "phone"


def add_route(secret, answers_left):
    from trytond.exceptions import UserError
    from trytond.pool import Pool
    from trytond.protocols.wrappers import HTTPStatus, Response, with_transaction
    from trytond.transaction import Transaction, check_access
    from trytond.wsgi import app

    @with_transaction()
    def taken(request, pool, lead):
        user, = pool.get("res.user").search([("login", "=", crm.LEADS_USER)])
        # Neither more than this user may, nor for another company.
        with Transaction().set_user(user.id), Transaction().set_context(company=user.company.id), check_access():
            return take(pool, lead)

    @app.route(f"/{crm.DATABASE}/leads", methods=["POST"])
    def leads(request):
        nonlocal answers_left
        body = request.get_data()
        if reason := why_refused(secret, request.headers, body, time.time()):
            return Response(reason, HTTPStatus.UNAUTHORIZED)
        lead = json.loads(body)["data"]
        # Every error is answered here. Left to Tryton, one in a route whose body is JSON is taken for one of its own
        # calls: `with_pool` then says 400 to whatever it is, a database that is locked for a moment included.
        try:
            with ONE_AT_A_TIME:
                outcome = taken(request, Pool(crm.DATABASE), lead)
                print(outcome, lead["leadId"], flush=True)  # committed
                answers_left -= 1
                if answers_left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        except UserError as error:
            return Response(str(error), HTTPStatus.BAD_REQUEST)
        except Exception as error:
            return Response(str(error), HTTPStatus.INTERNAL_SERVER_ERROR)
        return Response(outcome)


def main(options):
    crm.settle(options.folder)
    from trytond.application import app
    from werkzeug.serving import make_server
    add_route(os.environ["CRM_SIGNING_SECRET"], options.answers)
    server = make_server("127.0.0.1", options.port, app, threaded=True)
    print("listens", server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--answers", type=int, default=-1, help="dies in place of that answer, after the commit")
    main(arguments.parse_args())
