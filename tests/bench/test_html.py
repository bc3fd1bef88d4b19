"""The report as one file: what it says, and that it needs nothing else."""

import dataclasses
import math
import re
from html.parser import HTMLParser

import made
import pytest

from taenite.bench import commands, compare, facts, html, plots, record, report
from taenite.bench.survey import Block

PEERS = ("eager", "compiled", "numpy", "torch")


@pytest.fixture(scope="module")
def survey():
    survey = made.made_survey(backends=PEERS, threads=(1, 2), only="64x64", toggles=("pool=off",))
    results = [r for r in survey.results.values() if r.backend == "numpy"]
    results[0].fail("wrong", "planted <fault>")
    results[1].suspect = "1 ns is below the 3 ns that its flops need"
    results[2].clean = [Block(0, 0, 0, 1, (10,), (10,))]
    return survey


@pytest.fixture(scope="module")
def page(survey):
    return html.page(compare.Analysis(survey), made.ABOUT, ["a <planted> warning"])


class Balance(HTMLParser):
    """Counts what is open; a page whose tags do not match raises."""

    VOID = ("meta", "br", "path", "use")

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_is_sound_and_every_name_in_it_is_unique(page):
    reader = Balance()
    reader.feed(page)
    assert reader.open == [] and len(set(reader.ids)) == len(reader.ids)


def test_nothing_is_fetched(page):
    linked = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import', page)
    assert linked and all((a or b).startswith("#") for a, b in linked)
    assert "<script" not in page and "<link" not in page


def test_verdict_and_environment_come_before_the_table_and_that_before_the_plots(page):
    places = [page.index(text) for text in ("NOT VALID", "Where it was measured", "Every row", "<figure")]
    assert places == sorted(places)
    for text in (
        "a &lt;planted&gt; warning",
        "made up",
        "Haswell",
        "000000000000",
        "control_matmul",
        "A/A across",
    ):
        assert text in page


def test_what_is_wrong_or_impossible_or_disturbed_is_marked(page):
    for text in ("planted &lt;fault&gt;", "below the floor", "alone \u00d7", '"status wrong"'):
        assert text in page


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(plots, "all_plots", lambda analysis: [])


def test_a_valid_run_says_so(survey, undrawn):
    assert "This run is valid" in html.page(compare.Analysis(survey), made.ABOUT, [])


def test_every_row_is_in_the_table_and_in_a_plot(survey, page):
    for row in {r.row for r in survey.results.values()}:
        assert page.count(str(row)) > 2


def test_every_kind_of_plot_is_drawn(survey):
    captions = " ".join(plot.caption for plot in plots.all_plots(compare.Analysis(survey)))
    for text in ("over that of the fastest peer", "Time against size", "the threads help", "A/A: the twin"):
        assert text in captions


def test_many_rows_are_split_into_figures_that_fit_a_page():
    parts = list(plots.chunks(range(150), plots.ROWS_PER_FIGURE))
    assert sum(map(len, parts)) == 150 and max(map(len, parts)) <= plots.ROWS_PER_FIGURE
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_verdicts_are_told_by_sign_and_shape_too():
    assert set(html.SIGNS) == set(plots.VERDICT_STYLES)
    assert len(set(html.SIGNS.values())) == len(html.SIGNS)
    shapes = {(marker, filled) for _, marker, filled in plots.VERDICT_STYLES.values()}
    assert len(shapes) == len(plots.VERDICT_STYLES)
    assert len({marker for _, marker, _ in plots.STYLES}) == len(plots.STYLES)


def test_the_same_survey_gives_the_same_page(survey, page):
    assert html.page(compare.Analysis(survey), made.ABOUT, ["a <planted> warning"]) == page


def test_without_its_packages_the_bundle_has_no_html_and_says_what_to_install(
    survey, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    made.write_bundle(tmp_path / "bundle", survey)
    assert not (tmp_path / "bundle" / "report.html").exists()
    commands.say_bundle(tmp_path / "bundle")
    assert "install jinja2 and matplotlib" in capsys.readouterr().out


def test_a_bundle_holds_both_reports_and_sums_of_them(survey, tmp_path, undrawn):
    made.write_bundle(tmp_path / "bundle", survey)
    sums = (tmp_path / "bundle" / "SHA256SUMS").read_text()
    assert "report.html" in sums and "report.md" in sums
    again, _, _ = record.load(tmp_path / "bundle")
    assert again.noise == survey.noise


def test_the_null_arm_is_near_one_and_gives_every_row_a_floor(survey):
    analysis = compare.Analysis(survey)
    assert set(analysis.nulls) == set(survey.settings.threads)
    for threads, null in analysis.nulls.items():
        assert null.label == "eager@aa" and null.mean.interval.low < 1 < null.mean.interval.high
        assert abs(math.log(null.mean.value)) < 0.02
        for c in null.rows:
            result = survey.results[c.row.key, "eager", threads]
            assert c.threads == threads and analysis.noise(result) >= null.differences[c.row.key]
            assert c.ratio.verdict in ("same", "inconclusive")
    assert "A/A across processes, 1 thread: " in report.null_sentence(analysis)


def test_a_disturbed_thread_count_does_not_blur_the_other():
    """The processes of rows with two threads are made to differ; rows with one are judged as before."""
    survey = made.made_survey(backends=PEERS, threads=(1, 2), only="64x64")
    quiet, before = survey.noise_of(1), survey.noise_of(2)
    for result in survey.results.values():
        if result.threads == 2 and result.timed:
            result.blocks = [
                dataclasses.replace(b, wall_ns=tuple(w * (1 + 4 * b.generation) for w in b.wall_ns))
                for b in result.blocks
            ]
            del result.__dict__["noise"]
    assert survey.noise_of(1) == quiet and survey.noise_of(2) > before + 0.5


def test_a_twin_that_differs_in_one_row_takes_its_verdict_away():
    """A row whose twin takes twice as long is not called faster for being half as long as its peer."""
    survey = made.made_survey(only="qr 64x64", speeds={"eager": 1.0, "eager@aa": 2.5, "numpy": 2.0})
    found = compare.Analysis(survey).comparisons
    assert found[0].ratio.verdict == "inconclusive"


def test_a_toggle_is_compared_with_its_plain_arm_and_is_no_peer():
    speeds = {"eager": 1.0, "eager@pool=off": 3.0, "numpy": 2.0}
    survey = made.made_survey(only="qr", speeds=speeds, toggles=("pool=off",))
    analysis = compare.Analysis(survey)
    assert {(c.backend, c.peer, c.ratio.verdict) for c in analysis.toggles} == {
        ("eager@pool=off", "eager", "slower")
    }
    assert {c.peer for c in analysis.comparisons} == {"numpy"}
    assert "## Toggles" in report.markdown(analysis, made.ABOUT, [])


def test_libraries_are_told_by_file_kernel_and_digest(survey):
    rows = facts.library_rows(survey)
    assert ["numpy", "/lib/numpy.so", "1", "Haswell", "1, 2", "000000000000"] in rows
