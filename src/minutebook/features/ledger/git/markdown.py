"""A decision as a Markdown file: fields for programs in front, text for people below."""

import hashlib
import re
import unicodedata
from datetime import UTC, datetime
from typing import Any

import yaml

from minutebook.record import instants
from minutebook.record.errors import InvalidInput
from minutebook.record.ids import ledger_id_of
from minutebook.record.records import Authorship, Decision, DecisionStatus

MAX_DEPTH = 20
"""Levels of nesting in front matter; ours has two."""

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: type = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_RATIONALE, _CONSEQUENCES = "## Rationale", "## Consequences"
_REPLACES, _REPLACED = "## Replaces", "## Replaced by"
_HEADINGS = (_RATIONALE, _CONSEQUENCES, _REPLACES, _REPLACED)
# A line of somebody's text that looks like a heading of ours gets one backslash more.
_LIKE_HEADING = re.compile(rf"(?m)^(?=\\*(?:{'|'.join(_HEADINGS)})$)")
_ESCAPED = re.compile(rf"(?m)^\\(?=\\*(?:{'|'.join(_HEADINGS)})$)")

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-([\w-]*)-([0-9a-f]{8})\.md")
_SLUG = 48
"""Characters of a target that stand in the name of its file."""

_TEXTS = frozenset({"id", "target", "title", "status", "authorship", "author", "created_at"})
_LISTS = frozenset({"supersedes", "superseded_by"})
_OPTIONS = frozenset({"proposal", "repository", "user"})


class NotADecision(ValueError):
    """A file under the name of a decision does not hold one; the message says why."""


def check_can_be_written(decision: Decision) -> None:
    """Raise InvalidInput if a text holds half a character (a lone surrogate): no file can."""
    texts = [(name, getattr(decision, name)) for name in ("title", "target", "rationale", "author")]
    texts += [("consequences", consequence) for consequence in decision.consequences]
    texts += [(name, getattr(decision, name) or "") for name in ("repository", "user")]
    for name, text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            remedy = "must be whole characters; character {at} is half of one"
            raise InvalidInput(name, remedy, at=error.start + 1) from None


def file_name(decision: Decision) -> str:
    """Return the name of a decision's file: its date, its target and the digits of its id."""
    day = decision.created_at.astimezone(UTC).date().isoformat()
    # Composed, because some systems compose the names of files by themselves.
    target = unicodedata.normalize("NFC", decision.target.lower())
    slug = re.sub(r"[\W_]+", "-", target).strip("-")
    return f"{day}-{slug[:_SLUG].strip('-') or 'decision'}-{decision.id[-8:]}.md"


def is_file_name(name: str) -> bool:
    """Tell whether a file's name is that of a decision."""
    return _NAME.fullmatch(name) is not None


def shard(decision: Decision) -> str:
    """Return two hexadecimal digits that the decisions on one target share."""
    return hashlib.blake2b(decision.target.encode(), digest_size=1).hexdigest()


def render(decision: Decision) -> bytes:
    """Return the content of a decision's file; organization and commit are not in it.

    Raises InvalidInput if a field cannot be written.
    """
    check_can_be_written(decision)
    front: dict[str, Any] = {
        "id": decision.id,
        "target": decision.target,
        "title": decision.title,
        "status": str(decision.status),
        "authorship": str(decision.authorship),
        "author": decision.author,
        "created_at": instants.rfc3339(decision.created_at),
    }
    front |= {name: list(getattr(decision, name)) for name in sorted(_LISTS)}
    front |= {name: getattr(decision, name) for name in sorted(_OPTIONS)}
    fields = {name: value for name, value in front.items() if value not in ([], None)}
    head = yaml.dump(
        fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20, indent=2
    )
    return f"---\n{head}---\n\n{_body(decision)}".encode()


def parse(organization: str, data: bytes) -> Decision:
    """Return the decision that a file holds. Raises NotADecision if it holds none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotADecision(f"byte {error.start + 1} is not UTF-8") from None
    opening, _, rest = text.partition("\n")
    head, fence, body = rest.partition("\n---\n")
    if opening != "---" or not fence:
        raise NotADecision("it has no front matter")
    front = _parse_front_matter(head)
    sections = _sections(body)
    if _RATIONALE not in sections:
        raise NotADecision(f"it has no section {_RATIONALE!r}")
    try:
        created_at = datetime.fromisoformat(front["created_at"])
        status = DecisionStatus(front["status"])
        authorship = Authorship(front["authorship"])
    except ValueError as error:
        raise NotADecision(str(error)) from None
    if created_at.tzinfo is None:
        raise NotADecision("created_at has no zone")
    return Decision(
        organization=organization,
        id=front["id"],
        target=front["target"],
        title=front["title"],
        rationale=_ESCAPED.sub("", sections[_RATIONALE]),
        status=status,
        authorship=authorship,
        author=front["author"],
        created_at=created_at.astimezone(UTC),
        consequences=_items(sections.get(_CONSEQUENCES)),
        supersedes=tuple(front.get("supersedes", ())),
        superseded_by=tuple(front.get("superseded_by", ())),
        proposal=front.get("proposal"),
        repository=front.get("repository"),
        user=front.get("user"),
    )


def _body(decision: Decision) -> str:
    """Return the text of a decision's file below its front matter."""
    lines = [f"# {' '.join(decision.title.split())}", ""]
    lines += [_RATIONALE, "", _LIKE_HEADING.sub(r"\\", decision.rationale), ""]
    if decision.consequences:
        lines += [_CONSEQUENCES, ""]
        for consequence in decision.consequences:
            first, *others = consequence.split("\n")
            lines += [f"- {first}", *(f"  {line}" if line else "" for line in others)]
        lines.append("")
    for heading, ids in ((_REPLACES, decision.supersedes), (_REPLACED, decision.superseded_by)):
        if ids:
            lines += [heading, "", *(f"- `{id}`" for id in ids), ""]
    return "\n".join(lines)


def _check_depth(head: str) -> None:
    """Raise NotADecision for YAML nested deeper than MAX_DEPTH: the loader would overflow the stack."""
    depth = 0
    for event in yaml.parse(head, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise NotADecision(f"its front matter is nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _parse_front_matter(head: str) -> dict[str, Any]:
    """Return the fields of a front matter in YAML. Raises NotADecision if they are not those of a decision."""
    try:
        _check_depth(head)
        # A safe loader, chosen above.
        front = yaml.load(head, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise NotADecision(f"its front matter is no YAML: {error}") from None
    if not isinstance(front, dict):
        raise NotADecision("its front matter is no table")
    unknown = sorted(map(str, front.keys() - _TEXTS - _LISTS - _OPTIONS))
    if unknown:
        raise NotADecision(f"its front matter has the unknown field {unknown[0]!r}")
    for name in [*sorted(_TEXTS), *sorted(_OPTIONS & front.keys())]:
        if not isinstance(front.get(name), str):
            raise NotADecision(f"{name} must be a text")
    for name in sorted(_LISTS & front.keys()):
        ids = front[name]
        if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
            raise NotADecision(f"{name} must be a list of ids")
    if ledger_id_of(front["id"]) != front["id"]:
        raise NotADecision("id must be that of a decision")
    return front


def _sections(body: str) -> dict[str, str]:
    """Split the body at our headings; return the text of each section by its heading, without the blank lines around it."""
    lines = body.split("\n")
    indices = [index for index, line in enumerate(lines) if line in _HEADINGS]
    ends = [*indices[1:], len(lines)]
    return {
        lines[index]: "\n".join(lines[index + 2 : end - 1])
        for index, end in zip(indices, ends, strict=True)
    }


def _items(section: str | None) -> tuple[str, ...]:
    """Return the items of a Markdown list. Raises NotADecision if a line is part of no item."""
    if section is None:
        return ()
    items: list[list[str]] = []
    for line in section.split("\n"):
        if line.startswith("- ") or line == "-":
            items.append([line[2:]])
        elif items and (line.startswith("  ") or not line):
            items[-1].append(line[2:])
        else:
            raise NotADecision(f"{_CONSEQUENCES!r} must be a list; {line[:40]!r} is no part of one")
    return tuple("\n".join(item) for item in items)
