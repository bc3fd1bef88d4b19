import json

from typer.testing import CliRunner

from taenite.cli import app


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_help_names_the_commands():
    outcome = invoke("--help")
    assert outcome.exit_code == 0
    assert "bench" in outcome.output and "providers" in outcome.output


def test_providers_are_listed_with_their_files():
    outcome = invoke("providers", "list")
    assert outcome.exit_code == 0
    assert "openblas: /" in outcome.output


def test_provider_info_is_json():
    outcome = invoke("providers", "info")
    assert outcome.exit_code == 0
    assert json.loads(outcome.output)[0]["kernel"]


def test_provider_test_passes_the_default_and_refuses_an_unknown_one():
    assert invoke("providers", "test").exit_code == 0
    assert invoke("providers", "test", "no-such-provider").exit_code == 2


def test_bench_is_reachable():
    assert "large_ad" in invoke("bench", "list").output
