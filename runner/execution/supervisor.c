/*
 * Run a command, and end everything that it has started: when it ends, when asked to, and when the runner dies.
 *
 *     supervise CHANNEL COMMAND ARGUMENT...
 *
 * CHANNEL is a socket whose other end only the runner has. The kernel closes that end when the runner ends, however it
 * ends, and so does the runner itself to end the command early. Then, and after the command, all processes that the
 * command has started are killed. They become children of this program when their parents end, even in a session of
 * their own.
 *
 * The command starts with the default action for every signal, and with none blocked. A shell ignores SIGINT for what it
 * runs in the background, nohup ignores SIGHUP, and programs then behave differently, or cannot be stopped.
 *
 * Before it ends, this program sends "ended STATUS", the wait status of the command, or "failed ERRNO" if the command
 * cannot be executed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 10000 /* Milliseconds within which killed processes must end; then they are left to the kernel. */

/* Kill the children, and the orphans that become children meanwhile, until none is left. */
static void end_all(void)
{
    char path[64], list[65536];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    for (int waited = 0; waited < PATIENCE; waited++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD) /* No child is left. */
            return;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = file < 0 ? 0 : read(file, list, sizeof list - 1);
        if (file >= 0)
            close(file);
        list[length > 0 ? length : 0] = 0;
        for (char *word = list, *next;; word = next) {
            long pid = strtol(word, &next, 10);
            if (next == word)
                break;
            kill((pid_t)pid, SIGKILL);
        }
        usleep(1000);
    }
}

/*
 * Undo what the caller of the runner has ignored and blocked. Without SIGCHLD, no status of a child would be known.
 * The C library does not let a program change the two signals that it keeps for itself, so the kernel is called directly.
 */
static void reset_signals(void)
{
    static const unsigned long default_action[8], no_signals; /* zeros, whatever the order of the action's fields */
    for (int number = 1; number <= 64; number++) /* All signals that the kernel knows. */
        syscall(SYS_rt_sigaction, number, default_action, NULL, sizeof no_signals);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, sizeof no_signals);
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    reset_signals();
    int channel = atoi(words[1]), trouble[2];
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || pipe2(trouble, O_CLOEXEC) != 0)
        return 2;
    pid_t command = fork();
    if (command < 0)
        return 2;
    if (command == 0) {
        execvp(words[2], words + 2);
        int problem = errno;
        if (write(trouble[1], &problem, sizeof problem) < 0)
            _exit(126);
        _exit(127);
    }
    close(trouble[1]);
    int problem, process = (int)syscall(SYS_pidfd_open, command, 0);
    /* Ends without data when the command is executed. */
    if (read(trouble[0], &problem, sizeof problem) == sizeof problem) {
        dprintf(channel, "failed %d\n", problem);
        return 127;
    }
    /* The command ends, or the other end of the channel is closed. The runner sends nothing. */
    struct pollfd events[] = {{.fd = process, .events = POLLIN}, {.fd = channel, .events = POLLIN}};
    while (poll(events, 2, -1) < 0 && errno == EINTR)
        ;
    int status = 0, ended = 0;
    if (!events[1].revents)
        ended = waitpid(command, &status, 0) == command;
    end_all();
    if (ended)
        dprintf(channel, "ended %d\n", status);
    return 0;
}
