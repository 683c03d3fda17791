#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 8 };
static long page_size;

static void touch(volatile char *memory)
{
    for (int page = 0; page < PAGES; page++)
        memory[page * page_size] = 1;
}

static void *wait_a_little(void *unused)
{
    usleep(2000);
    return unused;
}

int main(void)
{
    page_size = sysconf(_SC_PAGESIZE);
    for (int round = 0; round < 3; round++) {
        char *memory = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch(memory);
        madvise(memory, PAGES * page_size, MADV_DONTNEED);
        touch(memory);
        munmap(memory, PAGES * page_size);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, wait_a_little, NULL);
    pthread_join(thread, NULL);
    return 0;
}
