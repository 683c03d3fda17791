"""The parser's rules, one by one."""

import json

import pytest

from runner.contract.report import Reading, Status
from runner.perf.parse import PerfOutputError, parse_csv, parse_json, parse_text
from tests.runner.perf.recordings import output


def csv(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def json_row(value: str, event: str, unit: str = "", **more: str) -> str:
    row = {"counter-value": value, "unit": unit, "event": event, "event-runtime": 900, "pcnt-running": "@", **more}
    return json.dumps(row).replace('"@"', "100.00") + "\n"


def text(*rows: str, elapsed: str = "0.100000000") -> str:
    return (
        "\n Performance counter stats for './prog':\n\n" + csv(*rows) + f"\n       {elapsed} seconds time elapsed\n\n"
    )


def row(count: str, event: str, unit: str = "") -> str:
    return f"{count:>18} {unit:<4} {event:<32}"


def only(result) -> Reading:
    (reading,) = result.readings.values()
    return reading


class TestNames:
    @pytest.mark.parametrize(
        ("event", "metric"),
        [
            ("faults", "page-faults"),
            ("cs", "context-switches"),
            ("migrations", "cpu-migrations"),
            ("cpu-cycles", "cycles"),
            ("minor-faults:u", "minor-faults"),
            ("minor-faults:uk", "minor-faults"),
            ("instructions:ppp", "instructions"),
            ("cpu_core/instructions/", "instructions"),
            ("cpu_atom/instructions/u", "instructions"),
            ("cpu_core/cycles:u/", "cycles"),
            ("cpu/cpu-cycles/uH", "cycles"),
            ("armv8_cortex_a53/instructions/", "instructions"),
            ("minor-faults [software]", "minor-faults"),
            ("LLC-load-misses:u", "LLC-load-misses"),
            ("exceptions:page_fault_user", "exceptions:page_fault_user"),
            ("exceptions:page_fault_user:u", "exceptions:page_fault_user"),
            ("cpu/event=0x3c,umask=0x1/", "cpu/event=0x3c,umask=0x1/"),
            ("cpu/event=0x3c,umask=0x1/u", "cpu/event=0x3c,umask=0x1/"),
            ("r1a8", "r1a8"),
        ],
    )
    def test_is_the_catalogues(self, event, metric):
        assert list(parse_csv(csv(f"7;;{event};900;100.00;;")).readings) == [metric]

    @pytest.mark.parametrize(
        ("event", "user_only"),
        [
            ("minor-faults:u", True),
            ("minor-faults:uk", False),
            ("cpu_core/cycles/u", True),
            ("cpu_core/cycles:u/", True),
        ],
    )
    def test_tells_what_was_counted_in_user_space_only(self, event, user_only):
        assert parse_csv(csv(f"7;;{event};900;100.00;;")).user_only is user_only

    @pytest.mark.parametrize(
        "event",
        [
            "",
            "minor-faults:",
            "minor-faults:x",
            "minor-faults:k",
            "cycles:hk",
            "cycles:G",
            "7faults",
            "a b",
            "minor-f\x00",
            "page-faults/",
            "cpu_core/cycles/t",
            "cpu_core/cycles/:",
            "M/sec",
            "branches)",
            "кластер",
            "msec",
        ],
    )
    def test_refuses(self, event):
        with pytest.raises(PerfOutputError):
            parse_csv(csv(f"7;;{event};900;100.00;;"))


class TestNumbers:
    @pytest.mark.parametrize("value", [0, 2**53 + 1, 2**63 - 1, 2**64 - 1])
    def test_stay_exact(self, value):
        assert only(parse_csv(csv(f"{value};;minor-faults;900;100.00;;"))) == Reading(value=value)
        assert only(parse_json(json_row(f"{value}.000000", "minor-faults"))) == Reading(value=value)
        assert parse_text(text(row(f"{value}", "minor-faults"))).readings["minor-faults"] == Reading(value=value)

    @pytest.mark.parametrize(
        "value",
        [str(2**64), "9" * 5000, "-1", "+1", "01", "1.0", "1e3", "0x1f", "nan", "inf", "", " 7", "7 ", "٣", "1,056"],
    )
    def test_refuses_in_csv(self, value):
        with pytest.raises(PerfOutputError, match="line 1"):
            parse_csv(csv(f"{value};;minor-faults;900;100.00;;"))

    @pytest.mark.parametrize(
        "value", [f"{2**64}.000000", "-1.000000", "7", "7.0", "7.500000", "nan", "inf", "1e3", "7.0000000"]
    )
    def test_refuses_in_json(self, value):
        with pytest.raises(PerfOutputError, match="line 1"):
            parse_json(json_row(value, "minor-faults"))

    def test_times_are_seconds(self):
        rows = csv(
            "1234.56;msec;task-clock;1234560000;100.00;;",
            "20418303;ns;duration_time;20418303;100.00;;",
            "5743000;ns;user_time;5743000;100.00;;",
            "2507000;ns;system_time;2507000;100.00;;",
        )

        values = {metric: reading.value for metric, reading in parse_csv(rows).readings.items()}

        assert values == {"task-clock": 1.23456, "elapsed": 0.020418303, "user-time": 0.005743, "sys-time": 0.002507}

    @pytest.mark.parametrize("unit", ["sec", "Joules", "MiB", "50", "ns"])
    def test_refuses_an_unknown_unit(self, unit):
        with pytest.raises(PerfOutputError, match="unit"):
            parse_csv(csv(f"7;{unit};minor-faults;900;100.00;;"))

    @pytest.mark.parametrize(
        "clock", ["594227;;task-clock;594227", "0.594227;;task-clock;594227", "0.59;msec;task-clock;594227"]
    )
    def test_the_task_clock_of_every_version(self, clock):
        assert only(parse_csv(csv(f"{clock};100.00;;"))).value == pytest.approx(0.000594227, abs=5e-6)

    @pytest.mark.parametrize(
        "clock", ["594227;;task-clock;594", "5.94;msec;task-clock;594227", "594227;msec;task-clock;594227"]
    )
    def test_refuses_a_task_clock_in_another_unit_than_its_counter_says(self, clock):
        with pytest.raises(PerfOutputError):
            parse_csv(csv(f"{clock};100.00;;"))


class TestStatus:
    def test_zero_is_counted(self):
        assert only(parse_csv(csv("0;;major-faults;900;100.00;0.000;/sec"))) == Reading(value=0)

    @pytest.mark.parametrize("status", ["not counted", "not supported"])
    def test_what_has_no_count_is_kept_with_a_reason(self, status):
        reading = only(parse_csv(csv(f"<{status}>;;cycles;0;100.00;;")))

        assert (reading.status, reading.value) == (status.replace(" ", "_"), None)
        assert "cycles" in str(reading.reason)

    def test_a_time_that_may_be_zero_is_not_guessed(self):
        reading = only(parse_csv(csv("<not counted>;ns;system_time;0;100.00;;")))

        assert reading.status is Status.NOT_COUNTED
        assert "zero" in str(reading.reason)

    def test_a_clock_that_perf_did_not_read_is_not_zero(self):
        assert only(parse_csv(csv("0;;duration_time;1;100.00;;"))).status is Status.NOT_COUNTED

    def test_a_part_of_the_run_is_an_estimate(self):
        reading = only(parse_csv(csv("1056;;cycles;900;66.67;;")))

        assert reading == Reading(status=Status.MULTIPLEXED, value=1056, running_percent=66.67)

    @pytest.mark.parametrize(
        "row",
        ["7;;cycles;0;100.00;;", "<not counted>;;cycles;900;100.00;;", "7;;cycles;900;100.01;;", "7;;cycles;900;;;"],
    )
    def test_refuses_a_contradiction(self, row):
        with pytest.raises(PerfOutputError):
            parse_csv(csv(row))


class TestHybrid:
    def test_one_type_of_core(self):
        readings = output("written/csv-hybrid-one.txt").parse().readings

        assert readings["instructions"] == Reading(value=152004711)
        assert readings["cycles"] == Reading(value=160230417)

    @pytest.mark.parametrize("name", ["csv-hybrid-both", "json-hybrid-both"])
    def test_both_types_of_core(self, name):
        reading = output(f"written/{name}.txt").parse().readings["instructions"]

        assert (reading.status, reading.value, reading.running_percent) == ("multiplexed", 150300210 + 48020117, 3.0)
        assert "cpu_core, cpu_atom" in str(reading.reason)

    def test_both_types_of_core_all_the_time(self):
        result = output("written/csv-hybrid-user.txt").parse()

        assert result.readings["instructions"] == Reading(value=140300210)
        assert result.in_user_space == {"minor-faults", "instructions"}

    def test_no_core_at_all(self):
        reading = output("written/csv-hybrid-none.txt").parse().readings["instructions"]

        assert reading.status is Status.NOT_COUNTED
        assert "cpu_core" in str(reading.reason)
        assert "cpu_atom" in str(reading.reason)

    def test_refuses_one_pmu_beside_all(self):
        with pytest.raises(PerfOutputError, match="for all"):
            parse_csv(csv("7;;instructions;900;100.00;;", "7;;cpu_core/instructions/;900;100.00;;"))

    def test_refuses_user_space_beside_all(self):
        with pytest.raises(PerfOutputError, match="user space"):
            parse_csv(csv("7;;cpu_atom/cycles/u;900;100.00;;", "7;;cpu_core/cycles/;900;100.00;;"))

    @pytest.mark.parametrize("name", ["csv-multiplexed", "json-multiplexed", "text-multiplexed"])
    def test_hardware_events_that_shared_a_counter(self, name):
        reading = output(f"written/{name}.txt").parse().readings["instructions"]

        assert (reading.status, reading.value) == ("multiplexed", 152004711)
        assert reading.running_percent == pytest.approx(66, abs=0.7)

    def test_a_count_beyond_the_integers_of_a_double(self):
        assert output("written/json-multiplexed.txt").parse().readings["cycles"].value == 2**53


class TestDocument:
    def test_refuses_nothing(self):
        for parse in (parse_csv, parse_json, parse_text):
            with pytest.raises(PerfOutputError):
                parse("")

    def test_says_where(self):
        with pytest.raises(PerfOutputError) as caught:
            parse_csv("# started on Sat Nov 21 06:44:07 2026\n\n7;;major-faults;900;100.00;;\nx;;faults;900;100.00;;\n")

        assert (caught.value.number, caught.value.text) == (4, "x;;faults;900;100.00;;")
        assert str(caught.value) == "line 4: 'x' is not a whole number: 'x;;faults;900;100.00;;'"

    def test_the_same_event_twice(self):
        row = "7;;faults;900;100.00;;"
        assert only(parse_csv(csv(row, row))).value == 7
        with pytest.raises(PerfOutputError, match="twice"):
            parse_csv(csv(row, "8;;page-faults;900;100.00;;"))
        with pytest.raises(PerfOutputError, match="twice"):
            parse_csv(csv(row, "7;;page-faults:u;900;100.00;;"))

    @pytest.mark.parametrize("fields", [3, 4, 6, 8])
    def test_refuses_another_number_of_fields(self, fields):
        with pytest.raises(PerfOutputError):
            parse_csv(csv(";".join(["7", "", "faults", "900", "100.00", "1.000", "/sec", "x"][:fields])))

    def test_five_fields_are_enough(self):
        assert only(parse_csv(csv("7;;faults;900;100.00"))).value == 7

    def test_refuses_a_last_line_without_an_end(self):
        with pytest.raises(PerfOutputError, match="cut off"):
            parse_csv("7;;faults;900;100.00;;")

    def test_refuses_a_comment_that_is_not_perfs(self):
        with pytest.raises(PerfOutputError):
            parse_csv(csv("#7;;faults;900;100.00;;", "7;;major-faults;900;100.00;;"))

    def test_counters_that_were_started_together_ran_for_one_time(self):
        output = csv("5286;;minor-faults;18092278;100.00;;", "7.23;msec;task-clock;7228345;100.00;;")
        with pytest.raises(PerfOutputError, match="line 1: the counter's running time does not match its share"):
            parse_csv(output)
        # perf enabled one, was preempted, and enabled the other while the program went on.
        assert parse_csv(output, started_together=False).readings["minor-faults"].value == 5286

    def test_refuses_a_count_that_its_rate_contradicts(self):
        rows = output("recorded/debian-12/csv.txt").text
        count = rows.partition(";")[0]

        with pytest.raises(PerfOutputError, match="rate"):
            parse_csv(rows.replace(f"{count};;minor-faults", f"{int(count) + 1};;minor-faults"))

    @pytest.mark.parametrize(
        "line",
        [
            '{"counter-value" : "7.000000", "unit" : "", "event" : "faults", "event-runtime" : 900}',
            '{"counter-value" : "7.000000", "counter-value" : "8.000000", "unit" : "", "event" : "faults", '
            '"event-runtime" : 900, "pcnt-running" : 100.00}',
            '{"counter-value" : ["7.000000"], "unit" : "", "event" : "faults", "event-runtime" : 900, '
            '"pcnt-running" : 100.00}',
            '{"counter-value" : "7.000000", "unit" : "", "event" : "faults", "event-runtime" : 900, '
            '"pcnt-running" : 100.00, "surprise" : 1}',
            '{"counter-value" : "7.000000", "unit"',
            "[" * 100_000,
            "7",
            "{}",
        ],
    )
    def test_refuses_json(self, line):
        with pytest.raises(PerfOutputError):
            parse_json(line + "\n")


class TestAsked:
    ROWS = csv("7;;minor-faults:u;900;100.00;;", "<not supported>;;cpu_core/cycles/u;0;0.00;;")

    def test_all_there(self):
        assert parse_csv(self.ROWS, requested_events=["minor-faults", "cycles:u"]).user_only

    @pytest.mark.parametrize(
        "requested", [["minor-faults", "cycles", "major-faults"], ["minor-faults"], ["faults", "cycles"]]
    )
    def test_refuses_more_or_less(self, requested):
        with pytest.raises(PerfOutputError, match="asked to count"):
            parse_csv(self.ROWS, requested_events=requested)

    def test_refuses_all_where_user_space_was_requested(self):
        with pytest.raises(PerfOutputError, match="user space"):
            parse_csv(csv("7;;minor-faults;900;100.00;;"), requested_events=["minor-faults:u"])

    def test_a_tracepoint_in_user_space_has_its_modifier_without_a_colon(self):
        rows = csv("7;;faults:u;900;100.00;;", "0;;lock:contention_beginu;900;100.00;;")
        result = parse_csv(rows, requested_events=["faults", "lock:contention_begin"])

        assert result.readings["lock:contention_begin"].value == 0
        assert "lock:contention_begin" in result.in_user_space
        with pytest.raises(PerfOutputError, match="asked to count"):
            parse_csv(rows, requested_events=["faults", "lock:contention_end"])

    def test_a_time_that_perf_leaves_out_is_not_counted(self):
        readings = parse_csv(csv("7;;faults;900;100.00;;"), requested_events=["faults", "user_time"]).readings

        assert readings["user-time"].status is Status.NOT_COUNTED


class TestText:
    @pytest.mark.parametrize(
        ("counts", "elapsed", "values"),
        [
            (("1056", "7"), "0.100000000", (1056, 7)),
            (("1,056", "7"), "0.100000000", (1056, 7)),
            (("1.056", "7"), "0,100000000", (1056, 7)),
            (("1 056", "7"), "0,100000000", (1056, 7)),
            (("1\u202f056", "7"), "0,100000000", (1056, 7)),
            (("1\u00a0056", "7"), "0,100000000", (1056, 7)),
            (("1’056", "7"), "0.100000000", (1056, 7)),
            (("2,62,992", "1,056"), "0.100000000", (262992, 1056)),
            (("12,62,99,256", "2,62,992"), "0.100000000", (12_62_99_256, 262992)),
            (("1,262,992", "262,992"), "0.100000000", (1_262_992, 262992)),
        ],
    )
    def test_every_way_to_group_digits(self, counts, elapsed, values):
        report = text(row(counts[0], "minor-faults"), row(counts[1], "page-faults"), elapsed=elapsed)
        readings = parse_text(report).readings

        assert (readings["minor-faults"].value, readings["page-faults"].value) == values
        assert readings["elapsed"].value == 0.1

    @pytest.mark.parametrize(
        ("counts", "elapsed"),
        [
            (("1.056", "7"), "0.100000000"),
            (("1,056", "7"), "0,100000000"),
            (("1,056", "1.056"), "0.100000000"),
            (("1,056", "1'056"), "0.100000000"),
            (("1,056", "1056"), "0.100000000"),
            (("1,0560", "7"), "0.100000000"),
            (("1,05", "7"), "0.100000000"),
            (("1,,056", "7"), "0.100000000"),
            (("1056,000", "7"), "0.100000000"),
            (("1,262,992", "2,62,992"), "0.100000000"),
            (("12,62,992", "262,992"), "0.100000000"),
            (("123,45,678", "7"), "0.100000000"),
            (("1_056", "7"), "0.100000000"),
            (("1\ufffd056", "7"), "0.100000000"),
        ],
    )
    def test_refuses_what_no_locale_prints(self, counts, elapsed):
        with pytest.raises(PerfOutputError):
            parse_text(text(row(counts[0], "minor-faults"), row(counts[1], "page-faults"), elapsed=elapsed))

    def test_grouped_digits_and_a_decimal_comma_in_one_number(self):
        report = text(row("1.234,56", "task-clock", "msec"), row("2.345.678", "faults"), elapsed="0,100000000")

        assert parse_text(report).readings["task-clock"].value == 1.23456

    def test_refuses_a_count_out_of_line(self):
        with pytest.raises(PerfOutputError, match="not aligned"):
            parse_text(text(row("1056", "minor-faults"), row("1057", "page-faults").replace("1057", "10577")))

    def test_refuses_a_report_without_its_end(self):
        report = text(row("1056", "minor-faults"))

        with pytest.raises(PerfOutputError, match="cut off"):
            parse_text(report[: report.rindex("0.1")])

    def test_what_the_program_wrote_before_is_no_part_of_it(self):
        report = "12 items copied\nReady.\n" + text(row("1056", "minor-faults"))

        assert parse_text(report).readings["minor-faults"].value == 1056

    def test_a_command_of_several_lines(self):
        report = text(row("1056", "minor-faults")).replace("./prog", "sh -c echo 12 faults\n34 cycles")

        assert set(parse_text(report).readings) == {"minor-faults", "elapsed"}

    def test_the_end_tells_a_time_that_the_event_does_not(self):
        report = text(row("<not counted>", "user_time", "ns"), row("7", "faults")) + "       0.000000000 seconds user\n"

        assert parse_text(report).readings["user-time"] == Reading(value=0.0)

    def test_an_event_goes_before_the_end(self):
        report = text(row("12345", "duration_time", "ns"))

        assert parse_text(report).readings["elapsed"].value == 0.000012345

    def test_requested(self):
        readings = parse_text(text(row("1056", "minor-faults")), requested_events=["minor-faults"]).readings

        assert set(readings) == {"minor-faults", "elapsed"}


@pytest.mark.timeout(20)
def test_many_outputs_in_one_file_are_refused_at_once() -> None:
    clocks = csv(*(f"1.0{number % 10};msec;task-clock;10{number % 10}0000;100.00;;" for number in range(10_000)))
    with pytest.raises(PerfOutputError, match="occurs twice, with different results"):
        parse_csv(clocks)


@pytest.mark.timeout(20)
def test_an_output_with_very_many_events_is_read() -> None:
    assert len(parse_text(text(*(row("1", f"event{number}") for number in range(40_000)))).readings) == 40_001
