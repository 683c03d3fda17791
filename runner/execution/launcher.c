/*
 * Start a program at a given moment, and say how it ended.
 *
 *     launch CHANNEL ORDERS PERSONALITY LIMITS USER GROUP PROCESSES FILE_BYTES DATA_BYTES COUNT COPIES NAME=VALUE...
 *            [COPY FILE]... PATH ARGUMENT...
 *
 *     launch seal PROCESS
 *
 * The COUNT variables are the program's environment. They are no environment of this launcher: what is to be confined
 * must not choose a library for what confines it. The program finds each of the COPIES in place of its file.
 *
 * Between its start and the program's, perf is attached to the process that becomes the program, so nothing that was
 * done before is counted: neither what built the sandbox around it nor this launcher. Two rounds of the same steps are
 * taken: asking, being answered, executing. The first ends in a path that cannot be executed. So when the counters
 * are opened before the second answer, each page that the second round needs has been touched, and it adds no fault.
 *
 * CHANNEL is a socket. PERSONALITY is set again: where a sandbox's own program gains capabilities, as root's does, the
 * kernel takes the switch for the address layout away. LIMITS are triples of a resource, its soft and its hard limit,
 * separated by commas. PROCESSES is 0 where the program is not to be confined; USER is -1 where it stays the same.
 * The second form lets nobody in the user namespace of a process make another.
 *
 * Processes that the program leaves behind become children of this launcher. It waits a little for them to end, says
 * which do not, and ends those.
 *
 * The kernel's own account of the program is a second witness of what perf counts. The account begins with the process,
 * so what the process has taken before the program is sent with each question and can be subtracted. The launcher takes
 * the account of everything that it waits for: the program with all children that were waited for, and what the program
 * left behind.
 *
 * ORDERS is another socket, or -1. Over it the runner has further commands started beside the program, one at a time,
 * such as the load of a server: "start" with the fields of start_load(), or "kill". They see what the program sees, its
 * network too, and are neither counted nor in the account. How one ended is answered with "done STATUS NANOSECONDS".
 * What a command leaves behind may go on as long as the program, and ends with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 250 /* Milliseconds that processes may go on after the program that left them behind. */
#define ORDER_BYTES 200000 /* The longest order: a command with its variables. */
#define MANY 1000 /* Children that are looked at in one round. */

static int channel; /* The runner reads it: how the program ended, or what was refused. */

/* Report to the runner what cannot be done, and end. */
static void refuse(const char *what)
{
    dprintf(channel, "refused %s: %s\n", what, strerror(errno));
    _exit(126);
}

/* Set both limits of a resource; a hard limit that is lower already cannot be raised, and stays. */
static void limit(int resource, rlim_t most)
{
    struct rlimit both;
    if (getrlimit(resource, &both) != 0)
        refuse("a limit");
    if (both.rlim_max > most)
        both.rlim_max = most;
    both.rlim_cur = both.rlim_max;
    if (setrlimit(resource, &both) != 0)
        refuse("a limit");
}

/* Set the limits that every program gets. Here, because a hard limit that was lowered cannot be raised again. */
static void set_limits(const char *triples)
{
    for (char *next; *triples; triples = next) {
        long long numbers[3];
        for (int i = 0; i < 3; i++, triples = next + (*next != 0))
            numbers[i] = strtoll(triples, &next, 10);
        next += *next != 0;
        struct rlimit both = {(rlim_t)numbers[1], (rlim_t)numbers[2]};
        if (setrlimit((int)numbers[0], &both) != 0)
            refuse("a limit");
    }
}

/* Write a text to a file of the kernel, or end. */
static void put(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0)
        refuse(path);
    close(file);
}

/* Become a user without privileges, in a new user namespace: there, its processes are counted apart from the host's. */
static void become_user(long user, long group)
{
    char map[100];
    if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
        refuse("becoming an unprivileged user");
    /* To map itself it must own its files in /proc, which another user's former process does not. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || unshare(CLONE_NEWUSER) != 0)
        refuse("a user namespace");
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%ld %ld 1", group, group);
    put("/proc/self/gid_map", map);
    snprintf(map, sizeof map, "%ld %ld 1", user, user);
    put("/proc/self/uid_map", map);
}

/* Be scheduled as any other process: a stranger's program must not inherit the runner's real-time priority. */
static void become_ordinary(void)
{
    struct sched_param none = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if ((policy == SCHED_FIFO || policy == SCHED_RR) && sched_setscheduler(0, SCHED_OTHER, &none) != 0)
        refuse("ordinary scheduling");
    limit(RLIMIT_RTPRIO, 0);
    limit(RLIMIT_NICE, 0);
}

struct confinement {
    const char *limits;
    long user, group;
    rlim_t processes, file_bytes, data_bytes;
};

/* Set the limits; give up the privileges too if the program is to be confined. */
static void confine(const struct confinement *most)
{
    set_limits(most->limits);
    if (most->processes == 0)
        return; /* It is not to be confined. */
    become_ordinary();
    if (most->user >= 0)
        become_user(most->user, most->group);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        refuse("giving up new privileges");
    limit(RLIMIT_NPROC, most->processes);
    limit(RLIMIT_FSIZE, most->file_bytes);
    limit(RLIMIT_DATA, most->data_bytes);
    limit(RLIMIT_CORE, 0);
}

/* Lay copies over files, for this process and what it starts. Only root may; a sandbox has its own way. */
static void lay_over(char **pairs, int count)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        refuse("a view of its own");
    for (int i = 0; i < 2 * count; i += 2)
        if (mount(pairs[i], pairs[i + 1], NULL, MS_BIND, NULL) != 0 ||
            mount(NULL, pairs[i + 1], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
            refuse(pairs[i + 1]);
}

/* Return a time in microseconds. */
static long long microseconds(struct timeval time)
{
    return time.tv_sec * 1000000LL + time.tv_usec;
}

/* Ask for leave to go on, with the faults of this process until now. */
static void ask(void)
{
    char text[100], answer;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    int length = snprintf(text, sizeof text, "ready %ld\n", used.ru_minflt + used.ru_majflt);
    if (write(channel, text, length) != length || read(channel, &answer, 1) != 1)
        _exit(125);
}

/* Execute the program when the runner allows it. The first round fails, and touches the pages that the second needs. */
static void become(const char *path, char **arguments, char **variables)
{
    const char *paths[] = {"", path};
    for (int round = 0; round < 2; round++) {
        ask();
        execve(paths[round], arguments, variables);
    }
    refuse("executing the program");
}

/* Read the start of a small file as text; return its length. */
static size_t get(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, room - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0 ? (size_t)length : 0;
}

/* List children of this process, the first few hundred; return how many. */
static int list_children(pid_t *children, int room)
{
    char text[4096], path[100];
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    get(path, text, sizeof text);
    /* A space follows each number. If it does not, the number was cut off and names another process. */
    for (char *next, *word = text; count < room; word = next) {
        long pid = strtol(word, &next, 10);
        if (next == word || *next != ' ')
            break;
        children[count++] = (pid_t)pid;
    }
    return count;
}

static pid_t sessions[MANY]; /* The sessions of the last commands beside the program. */
static int session_count;

/* Return whether a process belongs to a command beside the program, and not to the program. */
static int is_of_load(pid_t process)
{
    pid_t session = getsid(process);
    for (int i = 0; i < session_count && i < MANY; i++)
        if (sessions[i] == session)
            return 1;
    return 0;
}

/* Kill the children that the commands beside the program left behind. */
static void end_loads(void)
{
    pid_t children[MANY];
    int count = list_children(children, MANY);
    for (int i = 0; i < count; i++)
        if (is_of_load(children[i]))
            kill(children[i], SIGKILL);
}

/* Kill all children. Where SAY is set, say which ones the program left behind, as many as fit. */
static void end_children(int say)
{
    char path[100], name[32], names[800] = "";
    pid_t children[MANY];
    int count = list_children(children, MANY);
    for (int i = 0; i < count; i++) {
        kill(children[i], SIGKILL);
        if (is_of_load(children[i]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/comm", children[i]);
        get(path, name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        if (strlen(names) + strlen(name) + 3 < sizeof names)
            strcat(strcat(names, *names ? ", " : ""), *name ? name : "?");
    }
    if (say)
        dprintf(channel, "outlived %s\n", *names ? names : "?");
}

static long faults_of_others; /* Faults of the processes that the program left behind. */

/* Wait for a process that the program left behind, or for any; return as waitpid does without being blocked. */
static pid_t take_in(pid_t which)
{
    struct rusage used;
    pid_t ended = wait4(which, NULL, WNOHANG, &used);
    if (ended > 0)
        faults_of_others += used.ru_minflt + used.ru_majflt;
    return ended;
}

/* Return whether the program, which has ended, left processes behind that still run. */
static int has_left_any(pid_t program)
{
    pid_t children[MANY];
    int left = 0, count = list_children(children, MANY);
    for (int i = 0; i < count; i++)
        left |= children[i] != program && !is_of_load(children[i]) && take_in(children[i]) == 0;
    return left;
}

/* Wait for what the program left behind, for a while; return how many milliseconds that took. */
static int wait_for_others(pid_t program)
{
    int waited = 0;
    for (; waited < PATIENCE && has_left_any(program); waited++)
        usleep(1000);
    return waited;
}

/* Wait until nothing of the program is left, after some milliseconds of waiting. */
static void settle(int waited)
{
    while (waited < 4 * PATIENCE) { /* What SIGKILL has not ended by then is left. */
        end_loads();
        pid_t ended = take_in(-1);
        if (ended < 0 && errno == ECHILD) /* No child is left. */
            return;
        if (ended != 0)
            continue;
        if (waited >= PATIENCE) /* Say only once what the program left behind. */
            end_children(waited == PATIENCE);
        usleep(1000);
        waited++;
    }
}

static pid_t load; /* The command beside the program; 0 if none runs. */
static long long load_started; /* Nanoseconds. */

/* Return the time of the monotonic clock. */
static long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Run on some processors only, numbers separated by commas; on all that are allowed if there are none. */
static void choose_processors(const char *numbers)
{
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    for (char *next; *numbers; numbers = next + (*next == ','))
        CPU_SET(strtoul(numbers, &next, 10) % CPU_SETSIZE, &chosen);
    if (CPU_COUNT(&chosen) > 0 && sched_setaffinity(0, sizeof chosen, &chosen) != 0)
        refuse("the processors of the load");
}

/*
 * Start a command: PROCESSORS, the COUNT of the variables, these, PATH, ARGUMENT..., each ended by a zero byte. The
 * descriptors are its output, its errors, and a socket over which it waits to be sealed, as the program is.
 */
static void start_load(char *fields, char *end, const int *descriptors, const struct confinement *most)
{
    static char *words[ORDER_BYTES + 1]; /* Each word takes at least the zero byte that ends it. */
    int count = 0;
    for (char *word = fields; word < end; word += strlen(word) + 1)
        words[count++] = word;
    words[count] = NULL;
    int variables = count > 1 ? atoi(words[1]) : -1;
    load_started = nanoseconds();
    load = variables < 0 || count < 4 + variables ? -1 : fork();
    if (load > 0)
        sessions[session_count++ % MANY] = load;
    if (load != 0)
        return;
    channel = STDERR_FILENO; /* The child reports a refusal in the errors of the command. */
    setsid();
    if (dup2(descriptors[0], STDOUT_FILENO) < 0 || dup2(descriptors[1], STDERR_FILENO) < 0)
        _exit(126);
    choose_processors(words[0]);
    confine(most);
    char answer;
    if (write(descriptors[2], "ready", 5) != 5 || read(descriptors[2], &answer, 1) != 1)
        _exit(125);
    /* The variables need a zero behind the last one, where the path is. */
    char **command = words + 2 + variables, *path = command[0];
    command[0] = NULL;
    execve(path, command + 1, words + 2);
    refuse("executing the command");
}

/* Report how the load ended, if it has; without WNOHANG in OPTIONS, wait for its end. A load below 0 did not start. */
static void finish_load(int orders, int options)
{
    int status = 0;
    if (load > 0 && waitpid(load, &status, options) != load)
        return;
    dprintf(orders, "done %d %lld\n", load > 0 ? status : 127 << 8, nanoseconds() - load_started);
    load = 0;
}

/* Kill the load with its process group, and alone too: it may not have made its group yet. */
static void kill_load(void)
{
    if (load > 0) {
        kill(-load, SIGKILL);
        kill(load, SIGKILL);
    }
}

/* Receive an order and carry it out; return whether more can come. */
static int take_order(int orders, const struct confinement *most)
{
    static char text[ORDER_BYTES + 1];
    union {
        char room[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr aligned;
    } rights;
    struct iovec data = {text, ORDER_BYTES};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = rights.room,
                             .msg_controllen = sizeof rights.room};
    ssize_t length = recvmsg(orders, &message, MSG_CMSG_CLOEXEC);
    if (length <= 0)
        return length < 0 && errno == EINTR;
    text[length] = 0;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int descriptors[3] = {-1, -1, -1};
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof descriptors))
        memcpy(descriptors, CMSG_DATA(head), sizeof descriptors);
    if (strcmp(text, "start") == 0 && load == 0) {
        start_load(text + strlen(text) + 1, text + length, descriptors, most);
        if (load < 0)
            finish_load(orders, 0);
    } else if (strcmp(text, "kill") == 0) {
        kill_load();
    }
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return 1;
}

/* Start what the runner orders, until the program ends or the runner is gone. */
static void serve_orders(int orders, const struct confinement *most, pid_t program)
{
    int process = (int)syscall(SYS_pidfd_open, program, 0);
    while (process >= 0) {
        int load_process = load > 0 ? (int)syscall(SYS_pidfd_open, load, 0) : -1;
        struct pollfd events[] = {{.fd = process, .events = POLLIN},
                                  {.fd = orders, .events = POLLIN},
                                  {.fd = load_process, .events = POLLIN}};
        int ready = poll(events, 3, -1);
        if (load_process >= 0)
            close(load_process);
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0 && events[2].revents)
            finish_load(orders, WNOHANG);
        if (ready > 0 && (events[0].revents || (events[1].revents && !take_order(orders, most))))
            break;
    }
    if (process >= 0)
        close(process);
    if (load > 0) {
        kill_load();
        finish_load(orders, 0);
    }
}

/* Let nobody in the user namespace of a process make another. Only from outside: in the sandbox /proc/sys is closed. */
static int seal(const char *process)
{
    char path[100];
    snprintf(path, sizeof path, "/proc/%s/ns/user", process);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    channel = STDERR_FILENO;
    if (namespace < 0 || setns(namespace, CLONE_NEWUSER) != 0)
        refuse(path);
    put("/proc/sys/user/max_user_namespaces", "0");
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "seal") == 0)
        return seal(words[2]);
    if (count < 12)
        return 2;
    int variables = atoi(words[10]), copies = atoi(words[11]);
    if (variables < 0 || copies < 0 || count < 14 + variables + 2 * copies)
        return 2;
    char **pairs = words + 12 + variables, **command = pairs + 2 * copies;
    channel = atoi(words[1]);
    int orders = atoi(words[2]);
    struct confinement most = {
        .limits = words[4],
        .user = atol(words[5]),
        .group = atol(words[6]),
        .processes = strtoull(words[7], NULL, 10),
        .file_bytes = strtoull(words[8], NULL, 10),
        .data_bytes = strtoull(words[9], NULL, 10),
    };
    char **environment = calloc(variables + 1, sizeof *environment);
    if (environment == NULL || fcntl(channel, F_SETFD, FD_CLOEXEC) != 0)
        return 2;
    if (orders >= 0 && fcntl(orders, F_SETFD, FD_CLOEXEC) != 0)
        return 2;
    memcpy(environment, words + 12, variables * sizeof *environment);
    if (personality(strtoul(words[3], NULL, 10)) < 0)
        refuse("the personality");
    if (copies > 0)
        lay_over(pairs, copies);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t program = fork();
    if (program < 0)
        refuse("a process");
    if (program == 0) {
        confine(&most);
        become(command[0], command + 1, environment);
    }
    /* Where both have the same user, the program must not write what this launcher says of it into its memory. */
    if (most.processes > 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        refuse("closing the launcher's memory");
    if (orders >= 0)
        serve_orders(orders, &most, program);
    int status;
    struct rusage used;
    struct timespec end;
    siginfo_t ended;
    while (waitid(P_PID, (id_t)program, &ended, WEXITED | WNOWAIT) < 0)
        if (errno != EINTR)
            refuse("waiting");
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* perf counts only for as long as the program is there, if only as a zombie. */
    int waited = wait_for_others(program);
    while (wait4(program, &status, 0, &used) < 0)
        if (errno != EINTR)
            refuse("waiting");
    settle(waited);
    dprintf(channel, "ended %d %lld %lld %ld %lld %ld\n", status, microseconds(used.ru_utime),
            microseconds(used.ru_stime), used.ru_maxrss, end.tv_sec * 1000000000LL + end.tv_nsec,
            used.ru_minflt + used.ru_majflt + faults_of_others);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
