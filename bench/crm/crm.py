"""Tryton's database in a folder: `crm.py make FOLDER` makes it, `crm.py list FOLDER` prints its opportunities as JSON.

It is SQLite, and has a company and a user `leads`, who may work with opportunities and nothing else of the sales.
"""
import json, os, pathlib, subprocess, sys

DATABASE = "crm"
LEADS_USER = "leads"
GROUP = "Sale Opportunity"


def settle(folder):
    """Before anything of Tryton is imported: it reads where its databases are from its environment, once."""
    os.environ.update(TRYTOND_DATABASE_URI="sqlite://", TRYTOND_DATABASE__PATH=str(folder), TRYTOND_DATABASE_NAMES=DATABASE)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{DATABASE}.sqlite").touch()
    password = folder / "password"
    password.write_text(os.urandom(16).hex())
    admin = pathlib.Path(sys.executable).with_name("trytond-admin")
    subprocess.run([admin, "-d", DATABASE, "-u", "sale_opportunity", "--activate-dependencies", "--email", "admin@example.org"],
                   env={**os.environ, "TRYTONPASSFILE": str(password)}, stdin=subprocess.DEVNULL, check=True)
    found_company()


def found_company():
    pool, Transaction = opened()
    with Transaction().start(DATABASE, 0):
        currency, = pool.get("currency.currency").create([dict(name="Euro", symbol="€", code="EUR")])
        party, = pool.get("party.party").create([dict(name="Solberg Pumps")])
        company, = pool.get("company.company").create([dict(party=party, currency=currency)])
        group, = pool.get("res.group").search([("name", "=", GROUP)])
        pool.get("res.user").create([dict(name="Leads of web forms", login=LEADS_USER, company=company,
                                          companies=[("add", [company.id])], groups=[("add", [group.id])])])


def opportunities():
    pool, Transaction = opened()
    with Transaction().start(DATABASE, 0, readonly=True):
        found = pool.get("sale.opportunity").search([], order=[("id", "ASC")])
        return [dict(number=one.number, lead=one.reference, state=one.state, message=one.comment, party=one.party.id,
                     name=one.party.name, contacts=[[each.type, each.value_compact] for each in one.party.contact_mechanisms])
                for one in found]


def opened():
    from trytond.pool import Pool
    from trytond.transaction import Transaction
    Pool.start()
    pool = Pool(DATABASE)
    pool.init()
    return pool, Transaction


if __name__ == "__main__":
    verb, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    settle(folder)
    if verb == "make":
        make(folder)
    elif verb == "list":
        print(json.dumps(opportunities()))
    else:
        sys.exit(f"unknown verb `{verb}`: one of make, list")
