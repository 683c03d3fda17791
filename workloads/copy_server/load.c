/*
 * The load: some clients at once, each with a connection and as many requests.
 *
 *     load PATH CLIENTS REQUESTS FAULTS
 *
 * It prints one line of JSON: the requests of all clients, the seconds, and FAULTS, the faults that the server has in
 * theory for them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST 128

static int connections[MOST];
static long requests;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *send_requests(void *argument)
{
    int connection = connections[(intptr_t)argument];
    for (long i = 0; i < requests; i++) {
        uint64_t answer;
        if (write(connection, "q", 1) != 1 || recv(connection, &answer, sizeof answer, MSG_WAITALL) != sizeof answer)
            fail("a request");
    }
    return NULL;
}

int main(int count, char **words)
{
    if (count != 5)
        return 2;
    int clients = atoi(words[2]);
    requests = atol(words[3]);
    if (clients < 1 || clients > MOST || requests < 1)
        return 2;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    pthread_t threads[MOST];
    for (int i = 0; i < clients; i++) {
        connections[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connections[i] < 0 || connect(connections[i], (struct sockaddr *)&address, sizeof address) != 0)
            fail(words[1]);
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (intptr_t i = 0; i < clients; i++)
        if (pthread_create(&threads[i], NULL, send_requests, (void *)i) != 0)
            fail("a client");
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("{\"operations\": %ld, \"seconds\": %.9f, \"faults\": %s}\n", clients * requests, seconds, words[4]);
    return 0;
}
