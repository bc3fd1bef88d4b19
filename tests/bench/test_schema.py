"""The files of a bundle against their JSON schemas, and faults that the schemas must see."""

import json
from pathlib import Path

import jsonschema
import made
import pytest

from taenite.bench import html, record

SCHEMAS = Path(record.__file__).parent / "schema"


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    survey = made.made_survey(only="qr 64x64", toggles=("pool=off",), thresholds=(("qr *", 0.1),))
    next(r for r in survey.results.values() if r.backend == "numpy").fail("unsupported", "made up")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "missing", lambda: ["matplotlib"])
        return made.write_bundle(tmp_path_factory.mktemp("schema") / "bundle", survey, warnings=["made up"])


@pytest.mark.parametrize("name", ["protocol", "run"])
def test_documents_follow_their_schemas(bundle, name):
    document = json.loads((bundle / f"{name}.json").read_text())
    assert document["schema"] == record.SCHEMA
    validator(name).validate(document)


def test_every_sample_follows_its_schema(bundle):
    check = validator("sample")
    lines = (bundle / "samples.jsonl").read_text().splitlines()
    for line in lines:
        check.validate(json.loads(line))
    assert len(lines) > 20


def spoiled(document, change):
    copy = json.loads(json.dumps(document))
    change(copy)
    return copy


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(schema=1),
        lambda d: d.update(valid=True),
        lambda d: d.pop("rates"),
        lambda d: d.update(surprise=1),
        lambda d: d["rows"][0].update(status="fine"),
        lambda d: d["rows"][0].pop("suspect"),
        lambda d: d["workers"][0]["libraries"][0].update(sha256="short"),
        lambda d: d["rounds"][0].update(foreign=-1),
    ],
)
def test_a_run_that_is_spoiled_is_refused(bundle, change):
    document = json.loads((bundle / "run.json").read_text())
    assert not validator("run").is_valid(spoiled(document, change))


def test_a_sample_without_a_time_is_refused(bundle):
    line = json.loads((bundle / "samples.jsonl").read_text().splitlines()[0])
    assert not validator("sample").is_valid({**line, "wall_ns": [0]})
    assert not validator("sample").is_valid({**line, "wall_ns": [1.5]})
