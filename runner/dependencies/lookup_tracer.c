/*
 * Run a command, and write down what it asks the kernel about files.
 *
 *     lookup_tracer FILTER FILE FROM WHEN MOST COMMAND ARGUMENT...
 *
 * FILTER is a descriptor with the filter of system calls, which makes the kernel stop a process at those calls that ask
 * about a name, and only at those. FROM is "launch" where a launcher comes first: it asks for an empty name right before
 * the program begins, and nothing before that is written down. Otherwise FROM is "start". WHEN is "after" where faults
 * are counted: a name in memory that the program has not touched yet is read when the call has ended, because reading it
 * earlier would take a fault away from the program. Where it is "before", nobody looks. One stop is enough for most calls
 * whose name can be read before. MOST is the number of stops after which all processes are killed, because following
 * them takes too long; 0 for no limit.
 *
 * The results are written to FILE when all processes have ended:
 *
 *     OBJECTION\0
 *     KIND PATH\0 ...
 *
 * OBJECTION says why the processes could not be followed; it is empty if they could. A KIND is one letter:
 *
 *     c  content: the file was opened or executed      s  state: its size, mode, times; links are followed
 *     l  state of the name itself, also a link's       d  the names in a folder
 *     x  extended attributes                           n  made again: it did not exist before
 *     m  changed, although it existed before           r  opened for reading when it did not exist
 *
 * Calls that make something are always looked at before: afterwards nobody knows whether it was there.
 *
 * Why ptrace and a filter: a filter alone with a notification sees no call's end, and the name has to be read before the
 * kernel does. Inotify and access times see no sizes, links, or files that are missing, and a program can evade both.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What to do at a call; see system_calls.py, which puts these numbers into the filter. */
enum action {
    OPEN = 1, STATE, NAME_STATE, LIST, DESCRIPTOR, MAKE, CHANGE, RENAME, LINK, EXECUTE, UNFOLLOWED, CONNECT, CLONE,
    CLONE3, ATTRIBUTES,
};
#define NONE 7 /* Instead of the index of an argument that the call does not have. */
#define MOST_QUESTIONS 400000
#define MOST_PROCESSES (1 << 22) /* The kernel's own limit. */
#define LOOKING 100000L /* Nanoseconds for which the next stop is polled for before this process sleeps. */
#define MOST_FILTER 8192 /* Instructions. */

/* What PTRACE_GET_SYSCALL_INFO says; the headers of libraries call it differently. */
struct stop {
    uint8_t kind, reserved[3];
    uint32_t architecture;
    uint64_t instruction, stack;
    union {
        struct {
            int64_t result;
            uint8_t is_error;
        } end;
        struct {
            uint64_t number, arguments[6];
            uint32_t data;
        } filter;
    };
};
#define GET_STOP 0x420e
#define AT_END 2
#define AT_FILTER 3

struct call {
    uint64_t arguments[6];
    uint16_t what;
};

struct question {
    char *text; /* "KIND PATH" */
    uint64_t hash;
};

struct process {
    struct call call; /* The one whose end is awaited, if any. */
    int is_waiting, is_unwatched; /* Unwatched: it does not belong to the program. */
    int pages; /* Its /proc/PID/pagemap; -1 if it is not open. */
    pid_t pid;
    struct process *next;
};

static struct process **processes; /* By number. */
static struct process *all;
static struct question *questions;
static size_t question_count, question_room;
static const char *objection = "";
static char objection_text[256];
static int is_alone = 1; /* Whether the program is one process with one thread, and has never been more. */
static int begun, early; /* Early: names are read before a call where that is enough. */
static unsigned long stops, most_stops;
static pid_t first;

/* Note why the program cannot be followed, unless a reason is known already: the first one is reported. */
static void object(const char *why)
{
    if (*objection == 0) {
        snprintf(objection_text, sizeof objection_text, "%s", why);
        objection = objection_text;
    }
}

/* ---- What was asked ---- */

/* Return a text's hash, much as FNV-1a does: each byte is mixed in by an exclusive or, then multiplied by a prime. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 1469598103934665603ULL;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
    return hash;
}

/* Double the hash table of questions. Its size is a power of two, and a question takes the next free place. */
static void grow(void)
{
    size_t room = question_room ? 2 * question_room : 1 << 14;
    struct question *larger = calloc(room, sizeof *larger);
    if (larger == NULL) {
        object("there is not enough memory to follow it");
        return;
    }
    for (size_t i = 0; i < question_room; i++)
        if (questions[i].text) {
            size_t place = questions[i].hash & (room - 1);
            while (larger[place].text)
                place = (place + 1) & (room - 1);
            larger[place] = questions[i];
        }
    free(questions);
    questions = larger;
    question_room = room;
}

/* Add a question, of a kind as in the results, to the hash table, unless it is there already. */
static void ask(char kind, const char *path)
{
    char text[2 * PATH_MAX + 16];
    snprintf(text, sizeof text, "%c %s", kind, path);
    if (2 * question_count >= question_room) /* At least half of the places stay free, so a search is short. */
        grow();
    if (question_count >= MOST_QUESTIONS || question_room == 0) {
        object("it asks about too many files");
        return;
    }
    uint64_t hash = hash_of(text);
    size_t place = hash & (question_room - 1);
    for (; questions[place].text; place = (place + 1) & (question_room - 1))
        if (questions[place].hash == hash && strcmp(questions[place].text, text) == 0)
            return;
    questions[place] = (struct question){strdup(text), hash};
    question_count++;
}

/* ---- Names in the memory of a process ---- */

/* Return whether a process has touched the page of an address, so that reading there changes nothing for it. */
static int is_touched(struct process *process, uint64_t address)
{
    uint64_t page = 0;
    char place[64];
    if (process->pages < 0) {
        snprintf(place, sizeof place, "/proc/%d/pagemap", process->pid);
        process->pages = open(place, O_RDONLY | O_CLOEXEC);
    }
    off_t offset = (off_t)(address / (uint64_t)sysconf(_SC_PAGESIZE) * sizeof page);
    return pread(process->pages, &page, sizeof page, offset) == sizeof page && page >> 63; /* Bit 63: in memory. */
}

/* Read a name from a process's memory; return its length, or -1 if it cannot be read. */
static ssize_t read_name(pid_t pid, uint64_t address, char *name)
{
    size_t done = 0;
    while (done < PATH_MAX) {
        size_t rest = 4096 - (address + done) % 4096; /* To the end of a page: the next one may not be mapped. */
        if (rest > PATH_MAX - done)
            rest = PATH_MAX - done;
        struct iovec here = {name + done, rest}, there = {(void *)(uintptr_t)(address + done), rest};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            return -1;
        char *end = memchr(name + done, 0, (size_t)got);
        if (end)
            return end - name;
        done += (size_t)got;
    }
    return -1;
}

/* The path of a link below /proc of a process; empty if it is no path of the file system. */
static void read_link(pid_t pid, const char *link, char *path)
{
    char place[64];
    snprintf(place, sizeof place, "/proc/%d/%s", pid, link);
    ssize_t length = readlink(place, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    if (path[0] != '/')
        path[0] = 0;
}

/* The path of a file that a process has opened, or of its current folder for AT_FDCWD; empty as of read_link(). */
static void read_descriptor(pid_t pid, int descriptor, char *path)
{
    char link[32];
    if (descriptor == AT_FDCWD) {
        read_link(pid, "cwd", path);
        return;
    }
    snprintf(link, sizeof link, "fd/%d", descriptor);
    read_link(pid, link, path);
}

/* Make a name absolute: DESCRIPTOR is the folder to which it is relative. Return whether that folder has a path. */
static int make_absolute(pid_t pid, int descriptor, const char *name, char *path)
{
    if (name[0] == '/') {
        snprintf(path, 2 * PATH_MAX, "%s", name);
        return 1;
    }
    read_descriptor(pid, descriptor, path);
    if (path[0] == 0)
        return 0;
    size_t length = strlen(path);
    snprintf(path + length, 2 * PATH_MAX - length, "%s%s", name[0] ? "/" : "", name);
    return 1;
}

/* Remove what changes nothing in a path: "//", "/./", and "/../" with the name before it. */
static void simplify(char *path)
{
    char *out = path;
    for (const char *in = path; *in;) {
        while (*in == '/')
            in++;
        size_t length = strcspn(in, "/");
        if (length == 2 && in[0] == '.' && in[1] == '.') {
            while (out > path && *--out != '/')
                continue;
        } else if (length > 0 && !(length == 1 && in[0] == '.')) {
            *out++ = '/';
            memmove(out, in, length);
            out += length;
        }
        in += length;
    }
    if (out == path)
        *out++ = '/';
    *out = 0;
}

static int starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/*
 * Replace a name by which a process reaches its own files through the kernel's, as /proc/self/cwd/data, by what it leads
 * to. Return 0 for the kernel's own files, which are part of the environment, 2 if the name was replaced, otherwise 1.
 */
static int leave_kernel(pid_t pid, char *path)
{
    static const char *const own[] = {"/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin", "/dev/stdout",
                                      "/dev/stderr"};
    static const char *const link[] = {"", "", "/fd", "/fd/0", "/fd/1", "/fd/2"};
    char rest[2 * PATH_MAX], name[64], target[PATH_MAX];
    simplify(path);
    if (!starts(path, "/proc/") && !starts(path, "/dev/"))
        return 1;
    for (int i = 0; i < 6; i++) {
        size_t length = strlen(own[i]), used;
        if (!starts(path, own[i]) || (path[length] && path[length] != '/'))
            continue;
        snprintf(rest, sizeof rest, "%s%s", link[i], path + length);
        if (starts(rest, "/task/")) /* Another thread, perhaps: judged below as another process is. */
            break;
        /* USED is the length of the part that is a link of the kernel, as "/cwd" or "/fd/3". */
        if (starts(rest, "/cwd") || starts(rest, "/exe"))
            used = 4;
        else if (starts(rest, "/root"))
            used = 5;
        else if (starts(rest, "/fd/"))
            used = 4 + strcspn(rest + 4, "/");
        else
            return 0;
        snprintf(name, sizeof name, "%.*s", (int)used - 1, rest + 1);
        read_link(pid, name, target);
        if (target[0] == 0) /* A pipe, a terminal, or nothing. */
            return 0;
        snprintf(path, 2 * PATH_MAX, "%s%s", strcmp(target, "/") == 0 ? "" : target, rest + used);
        simplify(path);
        return starts(path, "/proc/") || starts(path, "/dev/") ? 0 : 2;
    }
    if (starts(path, "/proc/") && (strstr(path, "/exe") || strstr(path, "/cwd") || strstr(path, "/root") ||
                                   strstr(path, "/fd/") || strstr(path, "/map_files/")))
        object("it looks at files through another process in /proc");
    return 0;
}

/* Open a name as a process sees it, without reading anything; return the descriptor, or -1 with errno set. */
static int open_as(pid_t pid, const char *path, int options)
{
    static int root = -1; /* That of all processes of the program: one that changes its root is not followed. */
    char place[64];
    if (root < 0) {
        snprintf(place, sizeof place, "/proc/%d/root", pid);
        root = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | options), .resolve = RESOLVE_IN_ROOT};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/*
 * Ask about a path, and about what it leads to now: a link may be gone when the question is answered. Return whether
 * nothing is there.
 */
static int ask_about(pid_t pid, char kind, const char *name)
{
    char path[2 * PATH_MAX], real[PATH_MAX], place[64];
    snprintf(path, sizeof path, "%s", name);
    int replaced = leave_kernel(pid, path);
    if (!replaced)
        return 0;
    if (replaced == 1) /* As it was named: ".." behind a link is not the folder in which the link is. */
        snprintf(path, sizeof path, "%s", name);
    ask(kind, path);
    int file = open_as(pid, path, kind == 'l' ? O_NOFOLLOW : 0);
    if (file < 0) {
        if (errno == ENOENT)
            return 1;
        if (errno == ELOOP || errno == EXDEV)
            object("it looks at files through a link of the kernel");
        return 0;
    }
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    ssize_t length = readlink(place, real, PATH_MAX - 1);
    close(file);
    real[length > 0 ? length : 0] = 0;
    if (real[0] == '/' && strcmp(real, path) != 0 && !starts(real, "/proc/"))
        ask(kind, real);
    return 0;
}

/* Return the argument at a place as a descriptor; the current folder if there is none. */
static int descriptor_of(const struct call *call, unsigned place)
{
    return place == NONE ? AT_FDCWD : (int)call->arguments[place];
}

/* Read the name at a place of the arguments, relative to the folder at another, as an absolute path. */
static int path_of(pid_t pid, const struct call *call, unsigned folder, unsigned place, char *path)
{
    char name[PATH_MAX] = "";
    if (place != NONE && call->arguments[place] != 0 && read_name(pid, call->arguments[place], name) < 0) {
        object("a name that it asks for cannot be read");
        return 0;
    }
    return make_absolute(pid, descriptor_of(call, folder), name, path);
}

/* Return whether a path exists in the view of a process. */
static int exists(pid_t pid, const char *path)
{
    int file = open_as(pid, path, O_NOFOLLOW);
    if (file >= 0)
        close(file);
    else if (errno != ENOENT && errno != ENOTDIR)
        object("it is unknown whether a file that it creates existed before");
    return file >= 0;
}

/* ---- Calls ---- */

/* The filter's number for a call, from the lowest bit on: 4 bits for the action, 3 for the index of each argument. */
static unsigned action_of(const struct call *call) { return call->what & 15; }
static unsigned folder_of(const struct call *call) { return call->what >> 4 & 7; }
static unsigned name_of(const struct call *call) { return call->what >> 7 & 7; }
static unsigned flags_of(const struct call *call) { return call->what >> 10 & 7; }

/* Return the flags that a call was given; 0 if it takes none. */
static uint64_t flags(const struct call *call)
{
    return flags_of(call) == NONE ? 0 : call->arguments[flags_of(call)];
}

/* Note that a path is made, or changed if it is there; and whether it would have been read if it had been there. */
static void make(pid_t pid, const char *path, int is_read)
{
    char plain[2 * PATH_MAX];
    snprintf(plain, sizeof plain, "%s", path);
    if (!leave_kernel(pid, plain))
        return;
    int is_there = exists(pid, plain);
    ask(is_there ? 'm' : 'n', plain);
    if (is_read && !is_there)
        ask('r', plain);
}

/* Return whether a call connects with a service of the host, such as the cache of names that libraries ask for. */
static int is_of_host(pid_t pid, const struct call *call)
{
    struct sockaddr_un address = {0};
    struct iovec here = {&address, sizeof address - 1}, there = {(void *)(uintptr_t)call->arguments[1], call->arguments[2]};
    if (there.iov_len > here.iov_len)
        there.iov_len = here.iov_len;
    return process_vm_readv(pid, &here, 1, &there, 1, 0) > 2 && address.sun_family == AF_UNIX &&
           (starts(address.sun_path, "/var/run/") || starts(address.sun_path, "/run/"));
}

/* Ask what a call asked, after it has returned a result, or as if it had. */
static void after(pid_t pid, const struct call *call, int64_t result)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    unsigned folder = folder_of(call), name = name_of(call), action = action_of(call);
    if (action == CONNECT) {
        if (result == 0 || result == -EINPROGRESS || !is_of_host(pid, call))
            object("it talks to another process over a socket");
        return;
    }
    if (action == LIST || action == DESCRIPTOR) {
        read_descriptor(pid, (int)call->arguments[folder], real);
        if (real[0])
            ask_about(pid, action == LIST ? 'd' : 's', real);
        return;
    }
    if (!path_of(pid, call, folder, name, path))
        return;
    switch (action) {
    case OPEN:
        /* O_TMPFILE makes a file that has no name. */
        if (ask_about(pid, (flags(call) & O_TMPFILE) == O_TMPFILE ? 's' : 'c', path) && !(flags(call) & O_CREAT))
            ask_about(pid, 'r', path);
        if (result < 0)
            return;
        read_descriptor(pid, (int)result, real);
        /* Where a link of /proc led to, or another thread changed the name meanwhile. */
        if (real[0] && strcmp(real, path) != 0 && (flags(call) & O_TMPFILE) != O_TMPFILE)
            ask_about(pid, 'c', real);
        if (((flags(call) & O_ACCMODE) != O_RDONLY || (flags(call) & O_TRUNC)) && !(flags(call) & O_CREAT) && real[0])
            ask_about(pid, 'm', real);
        return;
    case STATE:
        ask_about(pid, flags(call) & AT_SYMLINK_NOFOLLOW ? 'l' : 's', path);
        return;
    case NAME_STATE:
        ask_about(pid, 'l', path);
        return;
    case ATTRIBUTES:
        ask_about(pid, 'x', path);
        return;
    case CHANGE:
        if (result >= 0)
            ask_about(pid, 'm', path);
        else
            ask_about(pid, 'l', path);
        return;
    }
}

/* Return whether the name of a call can be read before it. */
static int is_readable(struct process *process, const struct call *call)
{
    unsigned name = name_of(call);
    uint64_t address = name == NONE ? 0 : call->arguments[name];
    if (early || address == 0)
        return 1;
    /* A name at the end of a page may go on in the next one; this covers names of up to 256 bytes. */
    return is_touched(process, address) && is_touched(process, address + 255);
}

/* Find the interpreter in the first bytes of a program, which the kernel opens by itself: of a script, or of an ELF file. */
static const char *interpreter_of(char *text, size_t length)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    if (length > 2 && text[0] == '#' && text[1] == '!') {
        char *name = text + 2 + strspn(text + 2, " \t");
        name[strcspn(name, " \t\n")] = 0;
        return name;
    }
    if (length < sizeof header || memcmp(text, ELFMAG, SELFMAG) != 0 || text[EI_CLASS] != ELFCLASS64)
        return NULL;
    memcpy(&header, text, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        size_t place = header.e_phoff + i * sizeof segment;
        if (place > length - sizeof segment || place < header.e_phoff)
            break;
        memcpy(&segment, text + place, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return segment.p_offset < length ? text + segment.p_offset : NULL;
    }
    return NULL;
}

/* Ask about a program, and about its interpreter, which may have one too: the kernel follows at most five. */
static void ask_about_program(pid_t pid, const char *path, int depth)
{
    char text[4097], place[64], absolute[2 * PATH_MAX];
    struct stat state;
    ask_about(pid, 'c', path);
    int file = open_as(pid, path, 0);
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    if (file < 0 || fstat(file, &state) != 0 || !S_ISREG(state.st_mode)) {
        close(file);
        return;
    }
    int readable = open(place, O_RDONLY | O_CLOEXEC);
    ssize_t length = readable < 0 ? 0 : read(readable, text, sizeof text - 1);
    close(file);
    close(readable);
    text[length > 0 ? length : 0] = 0;
    const char *interpreter = interpreter_of(text, length > 0 ? (size_t)length : 0);
    if (interpreter && *interpreter && depth < 5 && make_absolute(pid, AT_FDCWD, interpreter, absolute))
        ask_about_program(pid, absolute, depth + 1);
}

/* Ask what a call is going to ask, as far as that is known before it. Return whether its end has to be awaited. */
static int before(struct process *process, const struct call *call)
{
    char path[2 * PATH_MAX];
    pid_t pid = process->pid;
    unsigned folder = folder_of(call), name = name_of(call);
    switch (action_of(call)) {
    case OPEN:
        if ((flags(call) & O_CREAT) && path_of(pid, call, folder, name, path))
            make(pid, path, (flags(call) & (O_ACCMODE | O_TRUNC | O_EXCL)) == O_RDWR);
        /* The end shows what was opened really, whatever another thread or process has made of the name meanwhile. */
        if (!(early || (is_alone && is_readable(process, call))) || !path_of(pid, call, folder, name, path))
            return 1;
        after(pid, call, -ENOENT);
        return (flags(call) & O_ACCMODE) != O_RDONLY || (flags(call) & O_TRUNC);
    case STATE:
    case NAME_STATE:
    case LIST:
    case DESCRIPTOR:
    case ATTRIBUTES:
        if (!is_readable(process, call))
            return 1;
        after(pid, call, 0);
        return 0;
    case MAKE:
        if (path_of(pid, call, folder, name, path))
            make(pid, path, 0);
        return 0;
    case RENAME:
    case LINK: {
        /* The old name comes first and the new one after it; where folders are given, each stands before its name. */
        unsigned step = folder == NONE ? 1 : 2, other = folder == NONE ? NONE : folder + 2;
        if (action_of(call) == RENAME && path_of(pid, call, folder, name, path))
            ask('m', path);
        if (action_of(call) == LINK && path_of(pid, call, folder, name, path)) {
            ask_about(pid, 'c', path); /* It can be read by its new name. */
            ask_about(pid, 's', path);
        }
        if (path_of(pid, call, other, name + step, path))
            make(pid, path, 0);
        return 0;
    }
    case EXECUTE:
        if (path_of(pid, call, folder, name, path))
            ask_about_program(pid, path, 0);
        return 0;
    case UNFOLLOWED:
        object("it uses a system call that the tracer does not follow");
        return 0;
    case CLONE:
        if (flags(call) & CLONE_UNTRACED)
            object("it starts a process that must not be traced");
        return 0;
    case CLONE3: {
        uint64_t first_word = 0; /* The flags come first in the structure to which the argument points. */
        struct iovec here = {&first_word, 8}, there = {(void *)(uintptr_t)call->arguments[0], 8};
        if (process_vm_readv(pid, &here, 1, &there, 1, 0) != 8 || (first_word & CLONE_UNTRACED))
            object("it starts a process that must not be traced");
        return 0;
    }
    }
    return 1;
}

/* ---- Processes ---- */

/* Let a stopped process go on, with a signal for it or 0; REQUEST says at which call it stops next. */
static void resume(pid_t pid, int request, int signal)
{
    ptrace(request, pid, 0, (long)signal);
}

/* The launcher asks for an empty name: the program begins in this process, and nothing that is there already belongs to it. */
static int begins_here(pid_t pid, const struct call *call)
{
    char name[PATH_MAX] = "?";
    if (action_of(call) != EXECUTE || read_name(pid, call->arguments[name_of(call)], name) != 0)
        return 0;
    for (struct process *other = all; other; other = other->next)
        other->is_unwatched = other->pid != pid;
    return 1;
}

/*
 * For builds: run on the processor of the process that stopped. It is woken there and then, where waking an idle
 * processor can take ten times as long as the call, on virtual machines above all. Only now and then, because looking
 * takes time too.
 */
static void stay_near(pid_t pid)
{
    static unsigned long turns;
    char place[64], text[1024];
    if (!early || turns++ % 16)
        return;
    snprintf(place, sizeof place, "/proc/%d/stat", pid);
    int file = open(place, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    char *field = strrchr(text, ')'); /* The 2nd field; the 39th is the processor. */
    for (int number = 2; field && number < 39; number++)
        field = strchr(field + 1, ' ');
    if (field == NULL)
        return;
    cpu_set_t near;
    CPU_ZERO(&near);
    CPU_SET(atoi(field), &near);
    sched_setaffinity(0, sizeof near, &near);
}

/* Handle a process that the filter has stopped before a call. */
static void stopped_at_call(struct process *process)
{
    pid_t pid = process->pid;
    stay_near(pid);
    struct stop stop;
    struct call call;
    if (ptrace(GET_STOP, pid, sizeof stop, &stop) <= 0 || stop.kind != AT_FILTER) {
        resume(pid, PTRACE_CONT, 0);
        return;
    }
    memcpy(call.arguments, stop.filter.arguments, sizeof call.arguments);
    call.what = (uint16_t)stop.filter.data;
    if (!begun && begins_here(pid, &call)) {
        begun = 1;
        resume(pid, PTRACE_CONT, 0);
        return;
    }
    if (begun && most_stops && ++stops > most_stops) {
        objection = ""; /* This reason replaces an earlier one: it says why the program was killed. */
        object("it looks up files too often");
        /* Not the first alone: a server outlives its launcher, and would be followed for ever. */
        for (struct process *each = all; each; each = each->next)
            kill(each->pid, SIGKILL);
    }
    process->is_waiting = begun && !process->is_unwatched && before(process, &call);
    process->call = call;
    resume(pid, process->is_waiting ? PTRACE_SYSCALL : PTRACE_CONT, 0);
}

/* Handle a process that has stopped at the end of a call, for which before() wanted to wait. */
static void stopped_after_call(struct process *process)
{
    struct stop stop;
    if (process->is_waiting && ptrace(GET_STOP, process->pid, sizeof stop, &stop) > 0 && stop.kind == AT_END)
        after(process->pid, &process->call, stop.end.result);
    process->is_waiting = 0;
    resume(process->pid, PTRACE_CONT, 0);
}

static void close_pages(struct process *process)
{
    if (process->pages >= 0)
        close(process->pages);
    process->pages = -1;
}

/* Return what is known of a process; a new entry if it is seen for the first time. */
static struct process *process_of(pid_t pid)
{
    struct process *process = processes[pid];
    if (process == NULL) {
        process = calloc(1, sizeof *process);
        if (process == NULL) {
            fprintf(stderr, "memory: %s\n", strerror(errno));
            exit(2); /* The kernel ends all that is traced. */
        }
        *process = (struct process){.pid = pid, .pages = -1, .next = all};
        processes[pid] = all = process;
    }
    return process;
}

/* Remove the entry of a process that has ended. */
static void forget(pid_t pid)
{
    struct process *process = processes[pid];
    if (process == NULL)
        return;
    close_pages(process);
    for (struct process **link = &all; *link; link = &(*link)->next)
        if (*link == process) {
            *link = process->next;
            break;
        }
    free(process);
    processes[pid] = NULL;
}

/* Handle a stopped process by the reason for which it stopped, and let it go on. */
static void handle(pid_t pid, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16; /* As ptrace(2) defines the status of a traced process. */
    struct process *process = process_of(pid);
    if (begun && (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK))
        is_alone = 0;
    if (event == PTRACE_EVENT_EXEC)
        close_pages(process); /* They are those of the program before. */
    if (event == PTRACE_EVENT_SECCOMP)
        stopped_at_call(process);
    else if (signal == (SIGTRAP | 0x80)) /* PTRACE_O_TRACESYSGOOD sets this bit at a call. */
        stopped_after_call(process);
    else if (event == PTRACE_EVENT_STOP && (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU))
        resume(pid, PTRACE_LISTEN, 0);
    else
        resume(pid, PTRACE_CONT, event ? 0 : signal);
}

/*
 * Wait for the next stop. A program asks most questions in quick succession, and waking this process takes longer than a
 * question: so look for a moment before sleeping, unless builds need the processors.
 */
static pid_t next_stop(int *status)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        pid_t pid = waitpid(-1, status, __WALL | WNOHANG);
        if (pid != 0)
            return pid;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!early && (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < LOOKING);
    return waitpid(-1, status, __WALL);
}

/* Follow all processes until the last one has ended; return the status of the first. */
static int follow(void)
{
    int status, first_status = 0;
    for (;;) {
        pid_t pid = next_stop(&status);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return first_status;
        if (pid >= MOST_PROCESSES)
            continue;
        if (WIFSTOPPED(status)) {
            handle(pid, status);
            continue;
        }
        forget(pid);
        if (pid == first)
            first_status = status;
    }
}

/* ---- Start and end ---- */

/* Read the filter of system calls; return whether there is one. */
static int read_filter(int descriptor, struct sock_fprog *filter)
{
    static struct sock_filter instructions[MOST_FILTER];
    ssize_t length = pread(descriptor, instructions, sizeof instructions, 0);
    *filter = (struct sock_fprog){(unsigned short)(length > 0 ? (size_t)length / sizeof *instructions : 0), instructions};
    return filter->len > 0;
}

/* Become the command, in the child: with the filter if the parent writes 'f' (followed) to the gate. */
static void become(int gate, const struct sock_fprog *filter, char **command)
{
    char go = 0;
    if (read(gate, &go, 1) == 1 && go == 'f') {
        /* Root needs no promise to gain no privileges, and its programs may rely on gaining some. */
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) != 0) {
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter);
        }
    }
    close(gate);
    execvp(command[0], command);
    dprintf(STDERR_FILENO, "%s: %s\n", command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126); /* As a shell ends: the command was not found, or cannot be executed. */
}

/* Write the objection and all questions, as the head of this file says. */
static void write_results(const char *file)
{
    FILE *stream = fopen(file, "we");
    if (stream == NULL)
        return;
    fprintf(stream, "%s%c", objection, 0);
    for (size_t i = 0; i < question_room; i++)
        if (questions[i].text)
            fprintf(stream, "%s%c", questions[i].text, 0);
    fprintf(stream, ".%c", 0); /* A list without this end is not whole. */
    fclose(stream);
}

int main(int count, char **words)
{
    struct sock_fprog filter;
    int gate[2], descriptor;
    if (count < 7)
        return 2;
    descriptor = atoi(words[1]);
    begun = strcmp(words[3], "start") == 0;
    early = strcmp(words[4], "before") == 0;
    most_stops = strtoul(words[5], NULL, 10);
    processes = calloc(MOST_PROCESSES, sizeof *processes);
    if (processes == NULL || pipe2(gate, O_CLOEXEC) != 0)
        return 2;
    int filtered = read_filter(descriptor, &filter);
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    first = fork();
    if (first < 0)
        return 2;
    if (first == 0) {
        close(gate[1]);
        become(gate[0], &filter, words + 6);
    }
    close(gate[0]);
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    char go = 'f';
    if (!filtered || ptrace(PTRACE_SEIZE, first, 0, options) != 0) {
        object("this host does not allow it to be traced");
        go = 'u'; /* unfollowed */
    }
    if (write(gate[1], &go, 1) != 1)
        return 2;
    close(gate[1]);
    int status = follow();
    if (!begun)
        object("it did not begin");
    write_results(words[2]);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    /* End as the command did, without a core of this program. */
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}
