from runner.adoption.systems import java
from tests.runner.adoption.listings import listing

_TESTS = "package a;\nclass {0} {{\n  @Test\n  void reads() {{}}\n{1}}}\n"


def test_a_library_is_run_by_its_tests_the_largest_files_also_alone() -> None:
    files = {
        "pom.xml": "<project/>",
        "src/main/java/a/Reader.java": "package a; class Reader {}",
        "src/test/java/a/ReaderTest.java": _TESTS.format("ReaderTest", ""),
        "src/test/java/a/WriterTest.java": _TESTS.format("WriterTest", "  // longer\n"),
        "src/test/java/a/Helper.java": "package a; class Helper {}",
    }
    (build,) = java.propose(listing(files))
    assert build.command.startswith("mvn --quiet --batch-mode test-compile dependency:copy-dependencies")
    assert build.builds_tests
    assert build.environment == {"MAVEN_OPTS": "-Dmaven.repo.local={home}/.m2/repository"}
    assert [run.command.rsplit(" ", 1)[1] for run in build.runs] == [
        "--scan-classpath=target/test-classes",
        "--select-class=a.WriterTest",
        "--select-class=a.ReaderTest",
    ]
    assert all(run.is_test for run in build.runs)


def test_a_main_class_that_maven_does_not_compile_is_not_run() -> None:
    main = "class Example { public static void main(String[] args) {} }"
    files = {"pom.xml": "<project/>", "Example.java": main, "src/main/java/a/Reader.java": "package a; class Reader {}"}
    assert java.propose(listing(files)) == []
    compiled = {**files, "src/main/java/a/App.java": f"package a;\n{main}"}
    (build,) = java.propose(listing(compiled))
    assert {run.program for run in build.runs} == {"java -cp target/classes:target/dependency/* a.App"}


def test_tests_of_a_module_run_in_its_folder() -> None:
    files = {
        "pom.xml": "<modules><module>core</module><module>extras</module></modules>",
        "core/src/test/java/a/ReaderTest.java": _TESTS.format("ReaderTest", ""),
        "core/src/test/java/a/WriterTest.java": _TESTS.format("WriterTest", ""),
        "extras/src/test/java/a/ExtraTest.java": _TESTS.format("ExtraTest", ""),
    }
    (build,) = java.propose(listing(files))
    assert " -pl core -am test-compile " in build.command
    assert all(run.command.startswith("sh -c 'cd core && exec java -cp target/") for run in build.runs)


def test_a_project_without_tests_and_main_classes_proposes_nothing() -> None:
    files = {"pom.xml": "<project/>", "src/test/java/a/Helper.java": "package a; class Helper {}"}
    assert java.propose(listing(files)) == []
