/*
 * A server that answers each line with a byte, in one of the ways in which servers behave and misbehave:
 *
 *     server PORT|PATH MODE
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *mode;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void touch_page(void)
{
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
    if (!is("grow"))
        munmap(page, 4096);
}

static void *map_much(void *none)
{
    for (int i = 0; i < 4; i++)
        munmap(mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0), 16 << 20);
    return none;
}

/* Threads map memory at the same time: each holds the lock of the address space for milliseconds. */
static void compete(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, map_much, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void answer(int connection)
{
    static int answers;
    /* Small: a buffer that reaches below the stack of what came before is a fault more, as the environment is long. */
    char text[64];
    ssize_t length;
    while ((length = read(connection, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < length; i++) {
            if (is("crash"))
                abort();
            if (is("compete"))
                compete();
            if (is("restless"))
                for (int page = ++answers % 2000 < 1000 ? 1 : 4; page; page--)
                    touch_page();
            if (is("touch") || is("grow") || is("fork"))
                touch_page();
            if (is("print"))
                for (int line = 0; line < 100; line++)
                    puts("a line that a server prints for each request, and another, and another");
            if (text[i] == '\n' && write(connection, "k", 1) != 1)
                return;
        }
}

/* Works on when the load has ended, for a fifth of a second: one page each millisecond, and busy in between. */
static void work_late(void)
{
    struct timespec begin, now;
    for (int page = 0; page < 200; page++) {
        touch_page();
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000L);
    }
}

/* Wakes up 200 times a second, to do next to nothing. */
static void *tick(void *none)
{
    for (;;)
        usleep(5000);
    return none;
}

static int listen_at(const char *place)
{
    int yes = 1, unix_socket = strchr(place, '/') != NULL;
    int listener = socket(unix_socket ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons(atoi(place)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    strncpy(path.sun_path, place, sizeof path.sun_path - 1);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    int failed = unix_socket ? bind(listener, (void *)&path, sizeof path) : bind(listener, (void *)&port, sizeof port);
    if (failed || listen(listener, 16))
        exit(2);
    return listener;
}

static void write_without_end(void)
{
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    for (int file = 0;; file++) {
        char name[100];
        snprintf(name, sizeof name, "faultwatch-data/%d", file);
        int output = open(name, O_WRONLY | O_CREAT, 0600);
        for (int i = 0; i < 64; i++)
            if (write(output, block, sizeof block) < 0)
                sleep(1);
        close(output);
    }
}

static void log_stop(const char *event)
{
    int log = open("../stops", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(log, event, 1) != 1)
        _exit(1);
    close(log);
}

static void stop_slowly(int signal_number)
{
    (void)signal_number;
    log_stop("s");
    usleep(500000);
    log_stop("e");
    _exit(0);
}

int main(int count, char **words)
{
    mode = count > 2 ? words[2] : "";
    if (is("end"))
        return 3;
    if (is("daemon") && fork() > 0)
        return 0;
    if (is("stubborn"))
        signal(SIGTERM, SIG_IGN);
    if (is("slow to stop"))
        signal(SIGTERM, stop_slowly);
    if (is("hang"))
        pause();
    if (is("chatter"))
        for (;;)
            puts("a line that a server prints for ever, and another, and another, and another");
    if (is("disk"))
        write_without_end();
    int listener = listen_at(words[1]);
    if (is("helper") && fork() == 0 && setsid() > 0)
        pause();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* so that its pages are there before the windows */
    pthread_t ticker;
    if (is("ticking"))
        pthread_create(&ticker, NULL, tick, NULL);
    puts("ready to serve");
    fflush(stdout);
    if (is("fork"))
        signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int connection = accept(listener, 0, 0);
        if (!is("fork")) {
            answer(connection);
        } else if (fork() == 0) {
            answer(connection);
            _exit(0);
        }
        close(connection);
        if (is("late"))
            work_late();
    }
}
