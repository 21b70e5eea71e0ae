"""The images of layers that an engine has: made when they are first asked for, and removed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sandbox.docker.engine import Engine, EngineLost
from sandbox.docker.garbage_collection import MACHINE, MARK, Owner
from sandbox.docker.image import Image
from sandbox.docker.layered import image as layered_image
from sandbox.docker.layered.image import LAYERS, MADE_FROM, LayeredImage
from sandbox.protocol import SandboxUnavailable


class LayeredImages:
    """Those over one `image`, of layers below the directory `top`."""

    def __init__(self, engine: Engine, image: Image, top: Path, owner: Owner) -> None:
        self._engine, self._image, self._top, self._owner = engine, image, top, owner
        self._files: dict[tuple[str, ...], int] = {}
        self._makings: dict[str, asyncio.Lock] = {}

    def files(self, layers: tuple[str, ...]) -> int:
        """How many files an image that was asked for begins with."""
        return self._files.get(layers, 0)

    async def image(self, layers: tuple[str, ...], held: set[str]) -> LayeredImage:
        """The image of these layers. It is made of a container, whose mark is among those `held`
        meanwhile; afterwards the session's sweep removes it. Raises SandboxUnavailable.
        """
        tag = layered_image.tag(self._image, layers)
        async with self._makings.setdefault(tag, asyncio.Lock()):
            found = layered_image.found(await self._engine.image(tag))
            if found is None:
                await self._make(tag, layers, held)
                found = layered_image.found(await self._engine.image(tag))
        if found is None:
            raise SandboxUnavailable(f"the engine has not kept the image {tag}")
        self._files[layers] = found.files
        return found

    async def remove_left(self) -> None:
        """Remove those that are of no more use."""
        for seen in await self._engine.images(LAYERS):
            if layered_image.is_left(
                seen.labels, seen.age, self._owner.machine, self._image.id, self._has
            ):
                try:
                    await self._engine.remove_image(seen.id)
                except EngineLost:
                    raise
                except SandboxUnavailable:
                    continue

    def _has(self, name: str) -> bool:
        return (self._top / name).is_dir()

    async def _make(self, tag: str, layers: tuple[str, ...], held: set[str]) -> None:
        whole = await asyncio.to_thread(layered_image.union, self._top, layers)
        mark = uuid.uuid4().hex
        held.add(mark)
        try:
            labels = {**self._owner.labels, MARK: mark}
            body = {"Image": self._image.id, "Cmd": ["never started"], "Labels": labels}
            made = await self._engine.create(body, f"{layered_image.REPOSITORY}-{mark}")
            if made is None:
                raise SandboxUnavailable("the engine has a container of a name that nobody gave")
            await self._engine.extract(made, _parts(whole.archive()))
            own = {LAYERS: " ".join(layers), MADE_FROM: self._image.id, **whole.labels}
            await self._engine.commit(made, tag, {**own, MACHINE: self._owner.machine})
        finally:
            held.discard(mark)  # a stray from now on: to remove it takes seconds


async def _parts(archive: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The parts of an archive, each read in a thread."""
    while part := await asyncio.to_thread(next, archive, b""):
        yield part
