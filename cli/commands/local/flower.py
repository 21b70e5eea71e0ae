"""`fettle flower`: Flower over this deployment's broker."""

from __future__ import annotations

import os

import click

from cli.context import load, refuse_names
from cli.errors import BadSettings, CliError
from cli.local import ports
from cli.local.deployment import flower_installed
from jobs.queue.hints import celery_app
from settings.base import StoreSettings
from settings.client import UpSettings
from settings.reading.addresses import AddressError, parse_listen_host


@click.command()
@click.option("--address", default=ports.LOOPBACK, show_default=True, help="Where it listens.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Its port (FETTLE_FLOWER_PORT).")
def flower_command(address: str, port: int | None) -> None:
    """Run Flower, Celery's pages, over the broker of this deployment (FETTLE_BROKER_URL).

    It shows hints: which worker looked at which job, and how many hints wait. It wants the password
    FETTLE_FLOWER_PASSWORD from the user `fettle`.
    """
    settings, store = load(UpSettings), load(StoreSettings)
    refuse_names(store)
    if settings.flower_password is None:
        raise BadSettings("Flower has no password", next_step="set FETTLE_FLOWER_PASSWORD")
    if not flower_installed():
        raise CliError("Flower is not installed", next_step="pip install 'fettle[flower]'")
    try:
        host = parse_listen_host(address)
    except AddressError as error:
        raise BadSettings("--address does not fit", str(error)) from None
    password = settings.flower_password.get_secret_value()
    # In this process, because every user of the machine can read the arguments of a process.
    options = (
        f"--address={host}",
        f"--port={port or settings.flower_port}",
        f"--basic_auth=fettle:{password}",
        f"--conf={os.devnull}",  # else Flower runs a flowerconfig.py of the working directory
        "--logging=error",
    )
    celery_app(store.broker_url.url).start(["--quiet", "flower", *options])
