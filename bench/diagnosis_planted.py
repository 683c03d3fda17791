"""Small programs with a planted trouble, each with its cured neighbour, in several languages.

What is right follows from the program; no rule is asked for it. Without an argument a program is in trouble, and with
one it is well; or it is well if it is built otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A program, the rule that is right for it, and how it is built and run.

    Attributes
    ----------
    title
        The trouble and the language.
    rule
        The rule that must be among the findings of the program in trouble, and not among those of the one that is well.
    file, source
        Its source.
    build, run
        The words of the command lines; no build where ``build`` is empty.
    cure
        A setting that takes the trouble away as well, if there is one.
    well_build
        How it is built to be well, if an argument does not make it so.
    """

    title: str
    rule: str
    file: str
    source: str
    build: tuple[str, ...]
    run: tuple[str, ...]
    cure: tuple[str, str] | None = None
    well_build: tuple[str, ...] = ()


_GCC = ("gcc", "-g", "-O1", "-pthread", "-fPIE", "-pie", "-o", "program")
_GXX = ("g++", "-g", "-O2", "-o", "program")
_PROGRAM = ("./program",)

_THREADS_C = r"""#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 4000, WORKERS = 4 };

static void work(void)
{
    char stack[64 << 10];
    memset(stack, 1, sizeof stack);
    __asm__ volatile("" : : "r"(stack) : "memory");
}

static void *one(void *data)
{
    work();
    return data;
}

static void *many(void *data)
{
    for (int i = 0; i < TASKS / WORKERS; i++)
        work();
    return data;
}

int main(int count, char **words)
{
    int pooled = count > 1 && words;
    for (int round = 0; round < (pooled ? 1 : TASKS / WORKERS); round++) {
        pthread_t threads[WORKERS];
        for (int i = 0; i < WORKERS; i++)
            pthread_create(&threads[i], 0, pooled ? many : one, 0);
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], 0);
    }
}
"""

_THREADS_RUST = r"""use std::thread;

fn work(task: u64) -> u64 {
    let mut stack = [0u8; 48 << 10];
    for (place, byte) in stack.iter_mut().enumerate() {
        *byte = (place as u64 * task) as u8;
    }
    std::hint::black_box(&stack).iter().map(|byte| *byte as u64).sum()
}

fn main() {
    let mut sum = 0;
    if std::env::args().count() > 1 {
        let worker = |first: u64| thread::spawn(move || (0..500).map(|task| work(first + task)).sum::<u64>());
        for thread in (0..4).map(|number| worker(number * 500)).collect::<Vec<_>>() {
            sum += thread.join().unwrap();
        }
    } else {
        for task in 0..2000u64 {
            sum += thread::spawn(move || work(task)).join().unwrap();
        }
    }
    println!("{}", sum);
}
"""

_THREADS_JAVA = r"""import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class Tasks {
    static volatile long sum;

    static long deep(int depth, long task) {
        return depth == 0 ? task : 1 + deep(depth - 1, task * 31);
    }

    public static void main(String[] words) throws Exception {
        if (words.length > 0) {
            var pool = Executors.newFixedThreadPool(4);
            for (long task = 0; task < 3000; task++) {
                long one = task;
                pool.submit(() -> { sum += deep(200, one); });
            }
            pool.shutdown();
            pool.awaitTermination(60, TimeUnit.SECONDS);
        } else {
            for (long task = 0; task < 3000; task++) {
                long one = task;
                Thread thread = new Thread(() -> { sum += deep(200, one); });
                thread.start();
                thread.join();
            }
        }
    }
}
"""

_VECTOR = r"""#include <vector>

int main(int count, char **)
{
    long sum = 0;
    for (int round = 0; round < 8; round++) {
        std::vector<long> values;
        if (count > 1)
            values.reserve(6000000);
        for (long i = 0; i < 6000000; i++)
            values.push_back(i * round);
        sum += values[round];
    }
    return sum == 7;
}
"""

_STRING = r"""#include <string>

int main(int count, char **)
{
    for (int round = 0; round < 20; round++) {
        std::string text;
        if (count > 1)
            text.reserve(20000000);
        for (int i = 0; i < 1000000; i++)
            text += "eighteen letters..";
        if (text[round] == 'z')
            return 1;
    }
}
"""

_SHARED_C = r"""#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 8 };

int main(int count, char **words)
{
    size_t size = 64 << 20, part = count > 1 && words ? size / WORKERS : size;
    char *cache = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int worker = 0; worker < WORKERS; worker++)
        if (!fork()) {
            memset(cache + (part == size ? 0 : part * worker), worker, part);
            _exit(0);
        }
    while (wait(0) > 0)
        ;
}
"""

_SHARED_PYTHON = """import mmap
import os
import sys

SIZE, WORKERS = 64 << 20, 8
cache = mmap.mmap(-1, SIZE)
part = SIZE // WORKERS if len(sys.argv) > 1 else SIZE
for worker in range(WORKERS):
    if os.fork() == 0:
        first = worker * part if part < SIZE else 0
        for place in range(first, first + part, 4096):
            cache[place] = worker
        os._exit(0)
for worker in range(WORKERS):
    os.wait()
"""

_TABLE = r"""#include <stdlib.h>

int main(int count, char **words)
{
    size_t size = (size_t)160 << 20;
    volatile char *table = calloc(1, size);
    long hits = 0;
    if (count > 1 && words)
        for (size_t place = 0; place < size; place += 4096)
            table[place] = 0;
    for (unsigned i = 0, key = 1; i < 400000; i++) {
        key = key * 1664525u + 1013904223u;
        size_t place = (size_t)(key >> 4) % size;
        if (table[place])
            hits++;
        table[place] = 1;
    }
    return hits == 1;
}
"""

_ADDRESSES = r"""#include <string.h>

static const char name[] = "name";
static const char *const names[1000000] = {[0 ... 999999] = name};

int main(int count, char **words)
{
    return count > 1 && words ? 0 : (int)strlen(names[count * 1000]) - 4;
}
"""

TROUBLES = (
    Planted("a thread for each task, C", "thread-per-task", "tasks.c", _THREADS_C, (*_GCC, "tasks.c"), _PROGRAM),
    Planted(
        "a thread for each task, Rust",
        "thread-per-task",
        "tasks.rs",
        _THREADS_RUST,
        ("rustc", "-O", "-g", "-o", "program", "tasks.rs"),
        _PROGRAM,
    ),
    Planted(
        "a thread for each task, Java",
        "thread-per-task",
        "Tasks.java",
        _THREADS_JAVA,
        ("javac", "-g", "Tasks.java"),
        ("java", "-cp", ".", "Tasks"),
    ),
    Planted("a growing vector, C++", "growing-buffer", "vector.cc", _VECTOR, (*_GXX, "vector.cc"), _PROGRAM),
    Planted("a growing string, C++", "growing-buffer", "string.cc", _STRING, (*_GXX, "string.cc"), _PROGRAM),
    Planted("a shared cache, C", "shared-memory", "cache.c", _SHARED_C, (*_GCC, "cache.c"), _PROGRAM),
    Planted("a shared cache, Python", "shared-memory", "cache.py", _SHARED_PYTHON, (), ("python3", "cache.py")),
    Planted(
        "a table that is looked up first, C",
        "read-before-write",
        "table.c",
        _TABLE,
        (*_GCC, "table.c"),
        _PROGRAM,
        ("thp", "always"),
    ),
    Planted(
        "a table of addresses, C",
        "relocations",
        "names.c",
        _ADDRESSES,
        (*_GCC, "names.c"),
        _PROGRAM,
        well_build=("gcc", "-g", "-O1", "-fno-pie", "-no-pie", "-o", "program", "names.c"),
    ),
)
