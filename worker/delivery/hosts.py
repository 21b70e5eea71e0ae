"""Where changes may be delivered to, by the operator's list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.model.spec import JobSpec
from settings.repositories import ForgeKind, RepositorySettings
from worker.delivery.errors import DeliveryRefused
from worker.delivery.forges import Forge, forge_of
from worker.repositories.origins.hosts import RepositoryHosts, Site

SETTING = "FETTLE_DELIVER_HOSTS"
NEEDS_REVIEW = (
    "this deployment delivers only what a person has approved (FETTLE_DELIVER_NEEDS_REVIEW)"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A repository that a change goes to; `forge` only where a pull request is wanted."""

    site: Site
    forge: Forge | None


@dataclass(frozen=True, slots=True)
class DeliveryHosts:
    """`kinds` by host, and port where it is not the scheme's own. `needs_review`: only changes that
    a person has approved are delivered."""

    kinds: Mapping[str, ForgeKind]
    hosts: RepositoryHosts
    needs_review: bool = False

    @classmethod
    def over(cls, settings: RepositorySettings, hosts: RepositoryHosts) -> DeliveryHosts:
        """Those of the settings."""
        rows = (each.partition("=") for each in settings.deliver_hosts)
        kinds = {host.lower(): kind for host, _, kind in rows}
        return cls(kinds, hosts, settings.deliver_needs_review)  # type: ignore[arg-type]

    def target(self, spec: JobSpec, tenant: str) -> Target | None:
        """Where the job's change goes, with the tenant's credentials; None for a job that delivers
        nothing. Raises DeliveryRefused if this worker may not deliver it, and RepositoryRefused."""
        if spec.deliver is None:
            return None
        if spec.repo is None or spec.repo.url is None:
            raise DeliveryRefused("a change is delivered to the repository's url alone")
        if self.needs_review and not spec.review:
            raise DeliveryRefused(f"{NEEDS_REVIEW}: retry the job with a review")
        site = self.hosts.site(spec.repo.url, tenant)
        if (kind := self.kinds.get(site.place)) is None:
            listed = ", ".join(sorted(self.kinds)) or "no host"
            raise DeliveryRefused(
                f"workers deliver nothing to {site.place}: the operator has to list it, as in "
                f"{SETTING}={site.place}=github (or gitlab, or git for branches alone); "
                f"it has {listed}"
            )
        return Target(site, forge_of(kind, site) if spec.deliver.pull_request else None)
