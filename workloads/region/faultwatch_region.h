/*
 * Count only the part of a program that matters: its region of interest.
 *
 *     #include "faultwatch_region.h"
 *     ...
 *     faultwatch_region_begin();
 *     main_loop();
 *     faultwatch_region_end();
 *
 * Between the two calls perf's counters run; before and after them they stand still, so that the faults of the loader,
 * of set-up and of tear-down are not counted. Without perf the calls do nothing. Call them from one thread at a time.
 *
 * How: perf is started with its counters closed and a pipe to open them, `perf stat -D -1 --control fd:CONTROL,ACK`, and
 * the numbers of the two descriptors reach the program in FAULTWATCH_CONTROL_FD and FAULTWATCH_ACK_FD. Each command is
 * acknowledged by perf, and the acknowledgement is waited for: without it perf acts some faults too late.
 */
#ifndef FAULTWATCH_REGION_H
#define FAULTWATCH_REGION_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int faultwatch_region_descriptor(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL && *text != '\0' ? atoi(text) : -1;
}

/* Send one command to perf and wait until it is carried out. */
static inline void faultwatch_region_command(int control, int ack, const char *command)
{
    size_t length = strlen(command);
    while (write(control, command, length) < 0)
        if (errno != EINTR)
            return;
    /* The answer is "ack\n", from some versions of perf with a NUL behind it that may come with the next answer. */
    char answer[8];
    for (;;) {
        ssize_t got = read(ack, answer, sizeof answer);
        if (got > 0 && memchr(answer, '\n', (size_t)got) != NULL)
            return;
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
    }
}

static inline void faultwatch_region_begin(void)
{
    int control = faultwatch_region_descriptor("FAULTWATCH_CONTROL_FD");
    int ack = faultwatch_region_descriptor("FAULTWATCH_ACK_FD");
    if (control < 0 || ack < 0)
        return;
    /* Counting is off already. This command touches all pages that a command needs, so none faults while counting. */
    faultwatch_region_command(control, ack, "disable\n");
    faultwatch_region_command(control, ack, "enable\n");
}

static inline void faultwatch_region_end(void)
{
    int control = faultwatch_region_descriptor("FAULTWATCH_CONTROL_FD");
    int ack = faultwatch_region_descriptor("FAULTWATCH_ACK_FD");
    if (control < 0 || ack < 0)
        return;
    faultwatch_region_command(control, ack, "disable\n");
}

#endif
