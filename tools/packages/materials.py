"""The list of what a release is made of (SBOM), as CycloneDX: from the lock, with the licences that the packages name."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from minutebook.features.models.built_in.model_files import PUBLISHED, PublishedModel
from tools.packages.facts import Facts
from tools.packages.requirements import ROOT, Requirement

_CLASSIFIER = "License :: OSI Approved :: "


def materials(facts: Facts, requirements: Sequence[Requirement], epoch: int) -> str:
    """Return the SBOM as JSON; `epoch` is its time in seconds since 1970, so that it can be made again."""
    purl = PackageURL("pypi", name=facts.name, version=facts.version)
    root = Component(
        name=facts.name,
        version=facts.version,
        type=ComponentType.APPLICATION,
        description=facts.description,
        purl=purl,
        bom_ref=str(purl),
        licenses=[LicenseFactory().make_from_string(facts.license)],
        external_references=[
            ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(facts.urls["Homepage"]))
        ],
    )
    components = [(each, _component(each)) for each in requirements]
    bom = Bom(
        components=[*(component for _, component in components), *map(_model, PUBLISHED)],
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, str(purl)),
    )
    bom.metadata.component = root
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.register_dependency(root, [made for each, made in components if ROOT in each.parents])
    for parent, component in components:
        needs = [made for each, made in components if parent.name in each.parents]
        bom.register_dependency(component, needs)
    text: str = JsonV1Dot6(bom).output_as_string(indent=1)
    return text + "\n"


def _component(requirement: Requirement) -> Component:
    purl = PackageURL("pypi", name=requirement.name, version=requirement.version)
    # One digest a file: which of them is installed depends on the machine.
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in requirement.digests],
    )
    return Component(
        name=requirement.name,
        version=requirement.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=str(purl),
        licenses=_licences(requirement.name),
        external_references=[files],
    )


def _model(published: PublishedModel) -> Component:
    """Describe a model that the wheel has in it."""
    return Component(
        name=published.name,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=published.name,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=published.sha256)],
        licenses=[LicenseFactory().make_from_string(published.licence)],
    )


def _licences(name: str) -> list[License]:
    """Return the licence that an installed package names; none for one that other machines need."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return []
    classified = [
        each.removeprefix(_CLASSIFIER)
        for each in said.get_all("Classifier") or []
        if each.startswith(_CLASSIFIER)
    ]
    named = [*(said.get_all("License-Expression") or []), *(said.get_all("License") or [])]
    text = next(iter(named), " AND ".join(classified))
    # Some packages put the whole licence there.
    first = text.strip().partition("\n")[0]
    return [LicenseFactory().make_from_string(first)] if first else []
