/*
 * A server in one header: it listens at a Unix socket, and each connection has a thread. A request is one byte; the
 * answer is eight bytes, which the request's work has computed.
 */
#ifndef SERVE_H
#define SERVE_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The work of one request, and what the thread of a connection gives back at its end. */
static uint64_t answer_request(void);
static void end_connection(void);

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *answer_connection(void *argument)
{
    int connection = (int)(intptr_t)argument;
    char request;
    while (read(connection, &request, 1) == 1) {
        uint64_t answer = answer_request();
        if (write(connection, &answer, sizeof answer) != sizeof answer)
            break;
    }
    end_connection();
    close(connection);
    return NULL;
}

static void serve(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 128) != 0)
        fail(path);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        pthread_t thread;
        if (connection < 0 || pthread_create(&thread, NULL, answer_connection, (void *)(intptr_t)connection) != 0)
            fail("a connection");
        pthread_detach(thread);
    }
}

#endif
