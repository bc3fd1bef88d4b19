"""The command line: ``taenite``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import taenite as tn

from .bench.commands import app as bench

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Differentiable linear algebra on CPUs.",
)
providers = typer.Typer(no_args_is_help=True, help="The BLAS and LAPACK libraries that can be used.")
app.add_typer(bench, name="bench")
app.add_typer(providers, name="providers")


@providers.command("list")
def providers_list() -> None:
    """Show the providers that are found here, one per line."""
    for one in tn.providers.info():
        typer.echo(one["name"])


@providers.command("info")
def providers_info(
    compact: Annotated[bool, typer.Option(help="One line of JSON.")] = False,
) -> None:
    """Print what is known about each provider, as JSON."""
    typer.echo(json.dumps(tn.providers.info(), indent=None if compact else 2, default=str))


def main() -> None:
    """The entry point of the ``taenite`` command."""
    app()


if __name__ == "__main__":
    main()
