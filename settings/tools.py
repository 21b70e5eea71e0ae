"""Settings of the executor's tools: what reaches out of the sandbox is off until it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from settings.base import FettleSettings, Names
from settings.reading.addresses import none_if_empty, parse_hosts, parse_http
from settings.sandbox import MIB


def _index(value: SecretStr) -> SecretStr:
    return SecretStr(parse_http(value.get_secret_value(), user_info=True))


class ToolSettings(FettleSettings):
    """Sizes in bytes, times in seconds."""

    tools: Names = Field(
        (),
        description="additional tools, by their names as entry points `fettle.tools` of packages"
        " that are installed with Fettle",
    )
    fetch_hosts: Annotated[Names, AfterValidator(parse_hosts)] = Field(
        (),
        description="hosts whose pages the tool `fetch` may read, as `docs.example.org`, "
        "`*.example.org`, `example.org:8443`; unset: there is no such tool",
    )
    fetch_http: bool = Field(False, description="whether `fetch` may also read over http")
    fetch_private: bool = Field(
        False,
        description="whether hosts on that list may have private or loopback addresses, as in an"
        " intranet; link-local ones (a cloud's metadata) never",
    )
    fetch_bytes: int = Field(2 * MIB, gt=0, description="largest page")
    fetch_seconds: float = Field(15.0, gt=0, description="time for a page, redirects included")
    install_list: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="a requirements file with the packages that the tool `install` may install; "
        "with hashes (`--hash=sha256:...`) only those files; unset: there is no such tool",
    )
    install_index: Annotated[
        Annotated[SecretStr, AfterValidator(_index)] | None, BeforeValidator(none_if_empty)
    ] = Field(
        None,
        description="address of the package index (its `/simple/`), with `user:password@` if it "
        "needs one",
    )
    install_hosts: Annotated[Names, AfterValidator(parse_hosts)] = Field(
        (),
        description="additional hosts that the index's links lead to, if its files are elsewhere",
    )
    install_dependencies: bool = Field(
        False,
        description="whether dependencies of a listed package may be installed although they are"
        " not listed; never with hashes",
    )
    install_bytes: int = Field(
        24 * MIB, gt=0, description="bytes of the wheels of one call together"
    )
    install_seconds: float = Field(60.0, gt=0, description="time for one call of `install`")

    @model_validator(mode="after")
    def _both_of_install(self) -> Self:
        if (self.install_list is None) != (self.install_index is None):
            raise ValueError("FETTLE_INSTALL_LIST and FETTLE_INSTALL_INDEX go together")
        return self
