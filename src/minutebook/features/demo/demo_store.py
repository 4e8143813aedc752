"""A store worth looking at: two months of a small team that rebuilds its billing, made up."""

import secrets
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from minutebook.app import App, now, open_app
from minutebook.config import Settings
from minutebook.domain.caller import Call, Caller
from minutebook.domain.decision_drafts import DecisionDraft
from minutebook.domain.drafts import Draft
from minutebook.domain.errors import Refused
from minutebook.domain.ids import RandomBits
from minutebook.domain.origin import Origin
from minutebook.domain.records import DEFAULT_ORGANIZATION, Memory, MemoryType, Role
from minutebook.features.code.services import CodeServices
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.recall_log.settings import RecallLogSettings
from minutebook.services.search.recall import WEIGHTS

BEGAN = timedelta(days=60)
"""How long ago the story begins."""

STEP = timedelta(days=2, hours=1)
"""How much of the story's time passes from one thing that happens to the next."""

PEOPLE = ("Ada", "Grace", "Linus")
SERVICES = ("billing service", "ledger", "invoice mailer", "payment gateway", "web shop")
TOOLS = ("PostgreSQL", "Redis", "gRPC", "Kubernetes")
PLACES = ("staging", "production", "Hofmann GmbH")

RELATIONS = (
    ("Ada", "ledger", "owns"),
    ("Grace", "billing service", "maintains"),
    ("Linus", "web shop", "maintains"),
    ("Ada", "Grace", "works with"),
    ("billing service", "ledger", "uses"),
    ("billing service", "payment gateway", "calls"),
    ("invoice mailer", "billing service", "listens to"),
    ("web shop", "billing service", "orders from"),
    ("ledger", "PostgreSQL", "stores in"),
    ("billing service", "Redis", "caches in"),
    ("billing service", "gRPC", "speaks"),
    ("ledger", "gRPC", "speaks"),
    ("staging", "Kubernetes", "runs on"),
    ("production", "Kubernetes", "runs on"),
    ("Hofmann GmbH", "web shop", "sells through"),
)

FACTS: tuple[tuple[str, MemoryType, str | None], ...] = (
    (
        "The ledger keeps amounts in cents, as whole numbers; the web shop sends euros with decimals.",
        MemoryType.ARCHITECTURE,
        "Amounts are in cents",
    ),
    (
        "Failed payments are retried three times, then a person at Hofmann GmbH is called.",
        MemoryType.PROCEDURAL,
        "When a payment fails",
    ),
    (
        "The billing service talks to the ledger over gRPC, on port 7443 in production.",
        MemoryType.TECH_STACK,
        None,
    ),
    ("Ada prefers short pull requests with one idea each.", MemoryType.PREFERENCE, None),
    ("Grace reviews whatever touches the payment gateway.", MemoryType.PREFERENCE, None),
    (
        "El despliegue a producción se hace los martes, nunca los viernes.",
        MemoryType.PROCEDURAL,
        "Cuándo se despliega",
    ),
    (
        "In March the ledger was down for two hours because the disk of PostgreSQL was full.",
        MemoryType.EPISODIC,
        "The outage in March",
    ),
    (
        "Session tokens are checked in auth/verify.py by `check_session_token()`.",
        MemoryType.DOCUMENTATION,
        None,
    ),
    (
        "The invoice mailer must not send twice: it notes each invoice in Redis for a day.",
        MemoryType.SEMANTIC,
        "Invoices are sent once",
    ),
    (
        "To restore staging: scale the billing service to 0, load the dump into PostgreSQL, scale to 2.",
        MemoryType.PROCEDURAL,
        "Restoring staging",
    ),
    (
        "Linus moves the web shop to the new checkout by the end of the quarter.",
        MemoryType.TASK,
        None,
    ),
    (
        "Load tests on staging reach 340 orders a minute before Redis refuses connections.",
        MemoryType.FACT,
        "How much staging bears",
    ),
    (
        "Load tests on staging reach 340 orders a minute before Redis refuses a connection.",
        MemoryType.FACT,
        None,
    ),
    (
        "Hofmann GmbH wants invoices as PDF and, from January on, as XRechnung.",
        MemoryType.SEMANTIC,
        "What Hofmann GmbH wants",
    ),
)

TURNS = (
    (
        "Why did the checkout fail last night?",
        "The log of the payment gateway shows timeouts; the pool of the billing service was full.",
        "The billing service had no connection left: `pool_size` was 5. I raised it to 20 in "
        "billing/config.py and the test `test_checkout_under_load` passes now.",
    ),
    (
        "Could it happen again?",
        "Look at the retry logic, too.",
        "Yes, at more than 600 orders a minute. Decided to add a queue before the payment gateway next.",
    ),
)


CODE: dict[str, str] = {
    "billing/payments.py": '''"""Take payments through the gateway, and try again when it does not answer."""

import time

TRIES = 3


class PaymentFailed(Exception):
    """The gateway refused, or did not answer after all tries."""


def charge(gateway: Gateway, order: Order) -> Receipt:
    """Charge an order; a person is called when every try has failed."""
    for attempt in range(TRIES):
        try:
            return gateway.charge(order.id, cents=order.total_cents)
        except TimeoutError:
            # The pool is full at 600 orders a minute: wait longer each time.
            time.sleep(2**attempt)
    raise PaymentFailed(f"order {order.id} after {TRIES} tries")
''',
    "billing/invoices.py": '''"""Send each invoice once."""

DAY = 86_400


def send_once(redis: Redis, mailer: Mailer, invoice: Invoice) -> bool:
    """Send an invoice unless it was sent within a day; tell whether it was sent now."""
    is_new = redis.set(f"invoice:{invoice.id}", "sent", nx=True, ex=DAY)
    if is_new:
        mailer.send(invoice.customer, attachment=invoice.as_pdf())
    return bool(is_new)
''',
    "shop/checkout.ts": """// What the shop sends to billing: euros with decimals become whole cents.
export function toCents(euros: string): number {
  const [whole, part = "0"] = euros.split(".");
  return Number(whole) * 100 + Number(part.padEnd(2, "0").slice(0, 2));
}

export async function checkout(cart: Cart, billing: Billing): Promise<Receipt> {
  const cents = cart.items.reduce((sum, item) => sum + toCents(item.price), 0);
  return billing.charge({ order: cart.id, cents });
}
""",
}
"""The team's code, by path."""


QUESTIONS = (
    "When is the ledger deployed?",
    "Which port does the billing service use?",
    "What happens when a payment fails?",
)
"""What the agent asked in its last session."""


def fill(
    settings: Settings, ends: datetime | None = None, randbits: RandomBits = secrets.randbits
) -> None:
    """Fill the new store of these settings with the story; texts get their vectors once it is opened.

    The story ends at an instant, by default a minute ago.
    """
    clock = _Clock((ends or now()) - timedelta(minutes=1))
    settings = replace(settings.of(RecallLogSettings), embedder="none", recall_log="questions")
    with closing(open_app(settings, clock=clock, randbits=randbits)) as app:
        _Story(app, clock).tell(settings.home / "billing")


class _Clock:
    """The story's time: it passes as the story tells, and a little with each look."""

    def __init__(self, ends: datetime) -> None:
        self._now, self._ends = ends - BEGAN, ends

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def pass_on(self) -> None:
        """Let some time pass, but not beyond the end."""
        self._now = min(self._now + STEP, self._ends)


class _Story:
    """Tells the story to an app."""

    def __init__(self, app: App, clock: _Clock) -> None:
        self._app = app
        self._clock = clock
        self._agent = _caller("scribe", Role.AGENT, "scribe")
        self._ada = _caller("ada", Role.MANAGER, "browser")
        self._grace = _caller("grace", Role.HUMAN, "browser")

    def tell(self, code: Path) -> None:
        """Tell it from beginning to end; the team's code is written to a folder."""
        self._know_things()
        memories = [self._remember(*each) for each in FACTS]
        self._decide()
        self._correct(memories)
        self._talk()
        self._ask()
        self._write_code(code)

    def _know_things(self) -> None:
        ids = {}
        for type, names in (
            ("person", PEOPLE),
            ("service", SERVICES),
            ("technology", TOOLS),
            ("place", PLACES),
        ):
            for name in names:
                entity = self._app.entities.create_entity(self._agent, name, type, None, None)
                ids[name] = entity.id
        for source, target, type in RELATIONS:
            self._app.entities.create_relation(self._agent, ids[source], ids[target], type, 1.0)

    def _remember(
        self, content: str, type: MemoryType, title: str | None = None, by: Caller | None = None
    ) -> Memory:
        self._clock.pass_on()
        draft = Draft(content=content, type=type, title=title)
        return self._app.memories.store(by or self._agent, draft)

    def _decide(self) -> None:
        decisions = self._app.get(LedgerServices).decisions

        def draft(title: str, why: str, *follows: str) -> DecisionDraft:
            self._clock.pass_on()
            return DecisionDraft(title, "queue before the gateway", why, follows)

        first = decisions.record(
            self._grace,
            draft(
                "Retry payments inside the billing service",
                "It needs no further service, and three tries were enough in March.",
            ),
        )
        second = decisions.supersede(
            self._grace,
            [first.id],
            draft(
                "Put a queue in PostgreSQL before the gateway",
                "Retries inside the billing service hold its connections; that ended the night of the "
                "failed checkout. A table in PostgreSQL is one thing less to run.",
                "Orders wait a second longer",
                "The ledger sees each payment once",
            ),
        )
        self._app.get(LedgerServices).proposals.propose(
            self._agent,
            draft(
                "Put a queue in Redis before the gateway",
                "The table is polled 40 times a second. Redis is there already, and tells at once.",
                "Orders that wait are lost if Redis restarts",
            ),
            [second.id],
        )

    def _correct(self, memories: list[Memory]) -> None:
        app, cents, tasks = self._app, memories[0], memories[10]
        self._clock.pass_on()
        app.status.verify(self._grace, cents.id)
        app.memories.update(
            self._agent, memories[2].id, {"content": memories[2].content.replace("7443", "8443")}
        )
        self._clock.pass_on()
        port = self._remember("The staging database listens on port 5432.", MemoryType.FACT)
        self._clock.pass_on()
        moved = Draft(content="The staging database listens on port 6543.", type=MemoryType.FACT)
        app.memories.store_joined(self._grace, moved, [], [port.id], "moved behind the pooler")
        app.status.deprecate(self._grace, tasks.id, "The new checkout is live")
        rule = self._remember(
            "Card numbers are written to no log, no memory and no ticket.",
            MemoryType.BUSINESS_RULE,
            "Card numbers stay out",
            self._ada,
        )
        app.status.lock(self._ada, rule.id)
        app.links.link(self._agent, memories[1].id, memories[6].id, "learned from")
        app.links.link(self._agent, memories[11].id, memories[8].id, "limits")
        try:
            # Refused, and on the trail.
            app.memories.delete(self._agent, rule.id)
        except Refused:
            self._clock.pass_on()

    def _talk(self) -> None:
        for prompt, thought, answer in TURNS:
            self._clock.pass_on()
            self._app.sessions.add(self._agent, "checkout-fails", prompt, thought, answer)
        self._app.summaries.summarize(self._agent, "checkout-fails")

    def _ask(self) -> None:
        for question in QUESTIONS:
            found = self._app.recall.recall(self._agent, question, 4, WEIGHTS).hits
            got = [(each.record, each.hit.score) for each in found]
            self._app.note_answer(self._agent, "recall", question, got)

    def _write_code(self, folder: Path) -> None:
        self._clock.pass_on()
        for name, text in CODE.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._app.get(CodeServices).projects.index(self._agent, str(folder))


def _caller(name: str, role: Role, client: str) -> Caller:
    origin = Origin(client=client, session="checkout-fails")
    call = Call(session="checkout-fails", origin=origin)
    return Caller(name=name, role=role, organization=DEFAULT_ORGANIZATION, call=call)
