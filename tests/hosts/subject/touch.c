/* Touches 64 MiB: one fault for each page, of whichever size the kernel makes them. Then it waits for some seconds. */
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    size_t huge_page = 2 << 20, bytes = 64 << 20;
    volatile char *memory = aligned_alloc(huge_page, bytes);
    if (!memory)
        return 1;
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    if (count > 1)
        sleep(atoi(words[1]));
    return 0;
}
