"""Draws regressions whose line, cause and cure are known: twenty that a setting cures, and twenty that none does.

What is right follows from what a regression does; no rule is asked for it. Sizes and names are drawn.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MARK = "HERE"
"""What the lines end with that cause the faults; each is right."""
MIB = 1 << 20


@dataclass(frozen=True)
class Regression:
    """A program before and after a commit.

    Attributes
    ----------
    title
        What the commit does.
    file, base, head
        The source and its content on both sides.
    build, run
        The command lines; no build where ``build`` is empty.
    causes
        The names of the rules that are right, and of the causes of a difference that are right without a rule.
    is_curable
        Whether a setting takes the faults back.
    keys
        Keys of ``[run]``.
    helpful_settings
        Settings that win faults back although they leave the cause as it is.
    """

    title: str
    file: str
    base: str
    head: str
    build: str
    run: str
    causes: frozenset[str]
    is_curable: bool
    keys: Mapping[str, str]
    helpful_settings: frozenset[str] = frozenset()

    @property
    def lines(self) -> frozenset[int]:
        """The lines that are right."""
        return frozenset(
            number for number, line in enumerate(self.head.splitlines(), 1) if line.rstrip(" */").endswith(MARK)
        )


GCC = "gcc -g -O0 -pthread -o program {file}"
GXX = "g++ -g -O0 -o program {file}"


def draw_regressions(seed: int) -> list[Regression]:
    """Return two regressions of each kind."""
    rng = random.Random(seed)
    return [draw(rng) for draw in (*CURABLE, *INCURABLE) for _ in range(2)]


def _c(
    title: str, base: str, head: str, causes: set[str], is_curable: bool, *, top: str = "", **keys: str
) -> Regression:
    """Return a regression of a C program; both parts are the body of what handles a request."""
    return Regression(
        title,
        "server.c",
        _C.replace("BODY", base).replace("TOP", top),
        _C.replace("BODY", head).replace("TOP", top),
        GCC,
        "./program",
        frozenset(causes),
        is_curable,
        keys,
    )


_C = r"""#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TOP

static long handle(int request)
{
    long sum = request;
BODY
    return sum;
}

int main(void)
{
    struct timespec begin, end;
    long sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int request = 0; request < 40; request++)
        sum += handle(request);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
    fprintf(stderr, "%ld\n", sum);
    printf("{\"operations\": 40, \"seconds\": %f}\n", seconds);
}
"""


def _fill(name: str, size: int, mark: str = "") -> str:
    return f"    memset({name}, request, {size}UL);{mark}\n    sum += {name}[{size // 2}];"


def _draw_large_block(rng: random.Random) -> Regression:
    size, name = rng.randrange(36, 64) * MIB, rng.choice(["image", "rows", "scratch"])
    base = f"    static char *{name};\n    if (!{name})\n        {name} = malloc({size});\n{_fill(name, size)}"
    head = f"    char *{name} = malloc({size});\n{_fill(name, size, ' /* HERE */')}\n    free({name}); /* HERE */"
    return _c("malloc a large block in each request", base, head, {"temporary-buffers", "returned-memory"}, True)


def _draw_trimmed_blocks(rng: random.Random) -> Regression:
    count, size = rng.randrange(100, 300), rng.randrange(30, 90) * 1024
    part = f"    static char *parts[{count}];\n    for (int i = 0; i < {count}; i++) {{\n"
    touch = f"        memset(parts[i], request, {size});%s\n        sum += parts[i][9];\n    }}\n"
    base = f"{part}        if (!parts[i])\n            parts[i] = malloc({size});\n{touch % ''}"
    free = f"    for (int i = {count - 1}; i >= 0; i--)\n        free(parts[i]); /* HERE */"
    head = f"{part}        parts[i] = malloc({size});\n{touch % ' /* HERE */'}{free}"
    return _c("free many small blocks after each request", base, head, {"temporary-buffers", "returned-memory"}, True)


def _draw_threshold(rng: random.Random) -> Regression:
    size = rng.randrange(200, 900) * 1024
    body = f"    char *page = malloc({size});\n{_fill('page', size, ' /* HERE */')}\n    free(page); /* HERE */"
    top = "static void set_up(void) __attribute__((constructor));\nstatic void set_up(void)\n{\n    %s\n}"
    base = _C.replace("BODY", body).replace("TOP", top % "mallopt(M_MMAP_THRESHOLD, 1 << 26);")
    head = _C.replace("BODY", body).replace("TOP", top % "mallopt(M_MMAP_THRESHOLD, 1 << 16); /* HERE */")
    causes = frozenset({"temporary-buffers", "returned-memory"})
    title = "lower the threshold from which malloc maps blocks"
    return Regression(title, "server.c", base, head, GCC, "./program", causes, True, {})


def _draw_trim(rng: random.Random) -> Regression:
    size = rng.randrange(2, 16) * MIB
    body = f"    char *table = malloc({size});\n{_fill('table', size, ' /* HERE */')}\n    free(table); /* HERE */"
    top = "static void set_up(void) __attribute__((constructor));\nstatic void set_up(void)\n{\n"
    top += "    mallopt(M_MMAP_THRESHOLD, 1 << 30);\n    mallopt(M_TRIM_THRESHOLD, 1 << 30);\n}"
    causes = {"temporary-buffers", "returned-memory"}
    return _c(
        "trim the heap after each request", body, f"{body}\n    malloc_trim(0); /* HERE */", causes, True, top=top
    )


_CXX = r"""#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

static std::vector<double> kept(SIZE);

static double smooth(int request)
{
BODY
    for (double &value : values) /* HERE */
        value = request; /* HERE */
    return values[9];
}

int main()
{
    auto begin = std::chrono::steady_clock::now();
    double sum = 0;
    for (int request = 0; request < 30; request++)
        sum += smooth(request);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::fprintf(stderr, "%f\n", sum);
    std::printf("{\"operations\": 30, \"seconds\": %f}\n", seconds);
}
"""


def _draw_vector(rng: random.Random) -> Regression:
    size = rng.randrange(5, 8) * MIB
    base = _CXX.replace("BODY", "    std::vector<double> &values = kept;").replace("SIZE", str(size))
    head = _CXX.replace("BODY", "    std::vector<double> values = kept; /* HERE */").replace("SIZE", str(size))
    causes = frozenset({"temporary-buffers", "returned-memory"})
    return Regression("copy a vector in each call", "smooth.cc", base, head, GXX, "./program", causes, True, {})


_PYTHON = """import json
import sys
import time

kept = bytearray(SIZE)
chunk = bytes(SIZE)


def handle(request):
BODY
    page[0] = request
    return page[9]


begin = time.perf_counter()
total = sum(handle(request) for request in range(30))
print(total, file=sys.stderr)
print(json.dumps({"operations": 30, "seconds": time.perf_counter() - begin}))
"""


def _draw_python_buffer(rng: random.Random) -> Regression:
    size = rng.randrange(36, 60) * MIB
    base = _PYTHON.replace("BODY", "    page = kept\n    memoryview(page)[:] = chunk").replace("SIZE", str(size))
    head = _PYTHON.replace("BODY", "    page = bytearray(chunk)  # HERE").replace("SIZE", str(size))
    causes = frozenset({"temporary-buffers", "returned-memory"})
    return Regression("copy a buffer in each call", "serve.py", base, head, "", "python3 serve.py", causes, True, {})


_JAVA = """public class Serve {
    static byte[][] kept;

    static long handle(int request) {
        byte[][] rows = new byte[ROWS][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = new byte[1 << 16]; // HERE
            rows[i][9] = (byte) request;
        }
        kept = rows;
        BODY
        return rows[3][9];
    }

    public static void main(String[] words) {
        long begin = System.nanoTime(), sum = 0;
        for (int request = 0; request < 12; request++) sum += handle(request);
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.err.println(sum);
        System.out.println("{\\"operations\\": 12, \\"seconds\\": " + seconds + "}");
    }
}
"""


def _draw_java_collection(rng: random.Random) -> Regression:
    source = _JAVA.replace("ROWS", str(rng.randrange(2000, 4000)))
    return Regression(
        "collect after each request, with nothing kept",
        "Serve.java",
        source.replace("BODY", ""),
        source.replace("BODY", "kept = null; rows = new byte[4][16]; System.gc(); // HERE"),
        "javac -g {file}",
        "java -Xmx512m -Xms8m -XX:+UseSerialGC -cp . Serve",
        frozenset({"returned-memory"}),
        True,
        {},
    )


_GO = """package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

var kept [][]byte

func handle(request int) int {
	rows := make([][]byte, ROWS)
	for i := range rows {
		rows[i] = make([]byte, 1<<16) // HERE
		for at := 0; at < len(rows[i]); at += 512 {
			rows[i][at] = byte(request) // HERE
		}
	}
	kept = rows
	kept = nil
	BODY
	return request
}

func main() {
	begin := time.Now()
	sum := 0
	_ = debug.SetGCPercent(100)
	for request := 0; request < 20; request++ {
		sum += handle(request)
	}
	fmt.Fprintln(os.Stderr, sum)
	fmt.Printf("{\\"operations\\": 20, \\"seconds\\": %f}\\n", time.Since(begin).Seconds())
}
"""


def _draw_go_release(rng: random.Random) -> Regression:
    source = _GO.replace("ROWS", str(rng.randrange(500, 1500)))
    return Regression(
        "give memory back after each request",
        "serve.go",
        source.replace("BODY", "_ = kept"),
        source.replace("BODY", "debug.FreeOSMemory() // HERE"),
        "go build -o program {file}",
        "./program",
        frozenset({"returned-memory"}),
        True,
        {},
    )


def _draw_lost_huge_pages(rng: random.Random) -> Regression:
    size = rng.randrange(40, 120) * MIB
    body = f"    static char *table;\n    if (!table) {{\n        table = aligned_alloc(1 << 21, {size});\n%s    }}\n"
    body += _fill("table", size, " /* HERE */")
    advise = f"        madvise(table, {size}, MADV_HUGEPAGE);\n"
    title = "advise no huge pages any more"
    return _c(title, body % advise, body % "        /* HERE */\n", {"huge-pages"}, True, huge_pages="madvise")


def _draw_growing_buffer(rng: random.Random) -> Regression:
    # Three quarters of it are more than 32 MiB: up to there glibc keeps such a buffer from the second request on.
    size = rng.randrange(45, 60) * MIB
    base = f"    static char *grown;\n    if (!grown)\n        grown = calloc(1, {size});\n{_fill('grown', size)}"
    head = (
        f"    char *grown = malloc(4096);\n    for (unsigned long size = 8192; size <= {size}UL; size += {size // 4}UL)"
    )
    head += " {\n        grown = realloc(grown, size);\n        memset(grown, request, size); /* HERE */\n    }\n"
    head += "    sum += grown[9];\n    free(grown); /* HERE */"
    return _c("let a buffer grow in each request", base, head, {"temporary-buffers", "returned-memory"}, True)


def _draw_larger_table(rng: random.Random) -> Regression:
    size, more = rng.randrange(4, 20) * MIB, rng.randrange(3, 24) * MIB
    body = "    static char *table;\n    if (!table)\n        table = malloc(%d);\n    memset(table, request, %d); %s\n"
    body += "    sum += table[9];"
    return _c(
        "a larger table",
        body % (size, size, ""),
        body % (size + more, size + more, "/* HERE */"),
        {"new memory"},
        False,
    )


def _draw_own_mapping(rng: random.Random) -> Regression:
    size = rng.randrange(1, 20) * MIB
    mapped = f"mmap(0, {size}, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)"
    base = f"    static char *area;\n    if (!area)\n        area = {mapped};\n{_fill('area', size)}"
    head = f"    char *area = {mapped}; /* HERE */\n{_fill('area', size, ' /* HERE */')}"
    head += f"\n    munmap(area, {size}); /* HERE */"
    return _c("map an area in each request", base, head, {"temporary-buffers", "returned-memory"}, False)


def _draw_own_advice(rng: random.Random) -> Regression:
    size = rng.randrange(1, 20) * MIB
    mapped = f"mmap(0, {size}, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)"
    base = f"    static char *area;\n    if (!area)\n        area = {mapped};\n{_fill('area', size, ' /* HERE */')}"
    head = f"{base}\n    madvise(area, {size}, MADV_DONTNEED); /* HERE */"
    return _c("give an area back after each request", base, head, {"returned-memory"}, False)


def _draw_fork(rng: random.Random) -> Regression:
    size = rng.randrange(4, 24) * MIB
    base = f"    static char *store;\n    if (!store)\n        store = malloc({size});\n"
    base += _fill("store", size, " /* HERE */")
    head = f"{base}\n    if (request % 4 == 0) {{\n        pid_t child = fork(); /* HERE */\n        if (!child) {{\n"
    head += "            usleep(30000);\n            _exit(0);\n        }\n"
    head += f"        memset(store, request, {size}); /* HERE */\n        waitpid(child, 0, 0);\n    }}"
    return _c("save in a child process", base, head, {"copies-after-fork"}, False)


def _draw_file_windows(rng: random.Random) -> Regression:
    size = rng.randrange(4, 16) * MIB
    head_window = rng.choice([1 << 16, 1 << 17])
    body = "    static int file = -1;\n    static char *data;\n    if (file < 0) {\n"
    body += f'        file = memfd_create("data", 0);\n        ftruncate(file, {size});\n'
    body += f"        data = mmap(0, {size}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);\n"
    body += f"        memset(data, 1, {size});\n    }}\n"
    whole = f"    for (long at = 0; at < {size}; at += 4096)\n        sum += data[at];"
    parts = f"    for (long from = 0; from < {size}; from += {head_window}) {{\n"
    parts += f"        char *part = mmap(0, {head_window}, PROT_READ, MAP_SHARED, file, from); /* HERE */\n"
    parts += f"        for (long at = 0; at < {head_window}; at += 4096)\n            sum += part[at]; /* HERE */\n"
    parts += f"        munmap(part, {head_window}); /* HERE */\n    }}"
    causes = {"temporary-buffers", "returned-memory", "small-windows", "unmapped"}
    return _c("map a file in small windows", body + whole, body + parts, causes, False)


def _draw_threads(rng: random.Random) -> Regression:
    few, many, touched = rng.randrange(1, 3), rng.randrange(8, 20), rng.randrange(100, 400) * 1024
    top = f"static void *work(void *data)\n{{\n    char stack[{touched}];\n"
    top += "    memset(stack, 1, sizeof stack); /* HERE */\n"
    top += "    *(long *)data += stack[9];\n    return 0;\n}"
    body = "    if (request == 0) {\n        pthread_t threads[32];\n        for (int i = 0; i < %d; i++)\n"
    body += "            pthread_create(&threads[i], 0, work, &sum); /* HERE */\n        for (int i = 0; i < %d; i++)\n"
    body += "            pthread_join(threads[i], 0);\n    }"
    causes = {"new memory", "stack", "thread-stacks"}
    return _c("start more threads", body % (few, few), body % (many, many), causes, False, top=top)


def _draw_static_table(rng: random.Random) -> Regression:
    size, more = rng.randrange(1, 8) * MIB, rng.randrange(2, 20) * MIB
    body = "    for (unsigned long at = 0; at < sizeof index_table; at += 64)\n"
    body += "        index_table[at] += request; /* HERE */\n"
    body += "    sum += index_table[64];"
    base, head = [
        _C.replace("BODY", body).replace("TOP", f"static char index_table[{n}];") for n in (size, size + more)
    ]
    # Each page of the table is read before it is written, so it faults twice, and huge pages help.
    causes, helpful_settings = frozenset({"new memory", "program image", "read-before-write"}), frozenset({"thp"})
    title = "a larger static table"
    return Regression(title, "server.c", base, head, GCC, "./program", causes, False, {}, helpful_settings)


def _draw_python_list(rng: random.Random) -> Regression:
    few, many = rng.randrange(20_000, 60_000), rng.randrange(150_000, 400_000)
    source = "import json\nimport sys\nimport time\n\n\ndef load(count):\n"
    source += "    return [{number: str(number)} for number in range(count)]  # HERE\n\n\n"
    source += "begin = time.perf_counter()\ntable = load(%d)\nprint(len(table), file=sys.stderr)\n"
    source += 'print(json.dumps({"operations": 1, "seconds": time.perf_counter() - begin}))\n'
    base, head = [source % count for count in (few, many)]
    causes = frozenset({"new memory"})
    return Regression("load more rows", "load.py", base, head, "", "python3 load.py", causes, False, {})


def _draw_java_array(rng: random.Random) -> Regression:
    source = "public class Load {\n    static long[] table;\n\n    public static void main(String[] words) {\n"
    source += "        long begin = System.nanoTime();\n        table = new long[%d << 17]; // HERE\n"
    source += "        for (int i = 0; i < table.length; i += 8) table[i] = i; // HERE\n"
    source += "        double seconds = (System.nanoTime() - begin) / 1e9;\n"
    source += '        System.out.println("{\\"operations\\": 1, \\"seconds\\": " + seconds + "}");\n    }\n}\n'
    few, many = rng.randrange(10, 30), rng.randrange(60, 120)
    base, head = [source % size for size in (few, many)]
    command = "java -Xms400m -Xmx400m -XX:+UseSerialGC -cp . Load"
    causes = frozenset({"new memory"})
    return Regression("a larger array", "Load.java", base, head, "javac -g {file}", command, causes, False, {})


def _draw_shared_area(rng: random.Random) -> Regression:
    size, more = rng.randrange(1, 8) * MIB, rng.randrange(2, 20) * MIB
    body = "    static char *area;\n    if (!area)\n"
    body += "        area = mmap(0, %d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n"
    body += "    memset(area, request, %d); /* HERE */\n    sum += area[9];"
    base, head = body % (size, size), body % (size + more, size + more)
    return _c("a larger shared area", base, head, {"new memory"}, False)


Draw = Callable[[random.Random], Regression]
CURABLE: tuple[Draw, ...] = (
    _draw_large_block,
    _draw_trimmed_blocks,
    _draw_threshold,
    _draw_trim,
    _draw_vector,
    _draw_python_buffer,
    _draw_java_collection,
    _draw_go_release,
    _draw_lost_huge_pages,
    _draw_growing_buffer,
)
INCURABLE: tuple[Draw, ...] = (
    _draw_larger_table,
    _draw_own_mapping,
    _draw_own_advice,
    _draw_fork,
    _draw_file_windows,
    _draw_threads,
    _draw_static_table,
    _draw_python_list,
    _draw_java_array,
    _draw_shared_area,
)
