/* Touches 64 MiB: one fault for each page, of whichever size the kernel makes them. Then it waits as long as there is
 * a file of that name. */
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
    while (count > 1 && access(words[1], F_OK) == 0)
        usleep(100000);
    return 0;
}
