"""RunCache: answers of earlier runs, kept apart by API key. Off unless the operator wants it."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.record import JobRecord
from sandbox.cache import ResultCache, environment
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Sandbox
from settings.sandbox import SandboxSettings


@dataclass(frozen=True, slots=True)
class RunCache:
    """One a worker, in its memory; each job sees what its own key has run. `sandbox` runs what is
    not known, on `backend`.
    """

    sandbox: Sandbox
    backend: LocalSandbox | DockerSandbox
    answers: ResultCache
    settings: SandboxSettings

    @classmethod
    def over(
        cls, sandbox: Sandbox, backend: LocalSandbox | DockerSandbox, settings: SandboxSettings
    ) -> RunCache | None:
        """None where the setting is off, which is the default."""
        if not settings.sandbox_cache:
            return None
        return cls(sandbox, backend, ResultCache(settings.sandbox_cache_bytes), settings)

    def of(self, record: JobRecord) -> Sandbox:
        """The sandbox of one attempt at a job."""
        image = self._image()
        if image is None or not record.key_id:  # nothing can be told to be the same, or whose it is
            return self.sandbox
        scope = f"{record.tenant}\n{record.key_id}"
        return self.answers.scoped(scope, self.sandbox, image=image)

    def _image(self) -> str | None:
        """What the code runs in, as it is now: an installation or another image changes it."""
        if isinstance(self.backend, DockerSandbox):
            return self.backend.image_id
        return environment(self.settings.sandbox_python)
