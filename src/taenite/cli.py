"""The command line: ``taenite``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import taenite as tn

from .bench.commands import app as bench
from .diagnose import commands as diagnose
from .diagnose.attribute_command import attribute_command

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Differentiable linear algebra on CPUs.",
)
providers = typer.Typer(no_args_is_help=True, help="The BLAS and LAPACK libraries that can be used.")
app.add_typer(bench, name="bench")
app.add_typer(providers, name="providers")
app.command("affinity", context_settings=diagnose.REST)(diagnose.affinity_command)
app.command("probe", context_settings=diagnose.REST)(diagnose.probe_command)
app.command("attribute")(attribute_command)


@providers.command("list")
def providers_list() -> None:
    """Show the providers that are installed here, and their files. Loads nothing."""
    for name, files in tn.providers.available().items():
        typer.echo(f"{name}: {', '.join(files)}")


@providers.command("info")
def providers_info(
    provider: Annotated[str | None, typer.Argument(help="A name or a path; default: the default.")] = None,
) -> None:
    """Load a provider and print what it says about itself, as JSON."""
    choose(provider)
    typer.echo(json.dumps(tn.providers.info(), indent=2))


@providers.command("test")
def providers_test(
    provider: Annotated[str | None, typer.Argument(help="A name or a path; default: the default.")] = None,
) -> None:
    """Check every routine of a provider in every element type; exit with 1 if one is wrong."""
    choose(provider)
    results = tn.providers.check()
    for one in results:
        verdict = "ok" if one["ok"] else "WRONG"
        typer.echo(f"{one['routine']:8} {one['dtype']:12} {one['residual']:10.3g} u  {verdict}")
    if not all(one["ok"] for one in results):
        raise typer.Exit(1)


def choose(provider: str | None) -> None:
    """Use the provider that was named, or load the default; one that cannot be used is a usage error."""
    try:
        if provider is None:
            tn.providers.ensure()
        else:
            tn.providers.use(provider)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="PROVIDER") from error


def main() -> None:
    """The entry point of the ``taenite`` command."""
    app()


if __name__ == "__main__":
    main()
