/* Touches 64 MiB: one fault for each page, of whichever size the kernel makes them. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    size_t huge_page = 2 << 20, bytes = 64 << 20;
    char *memory = aligned_alloc(huge_page, bytes);
    if (!memory)
        return 1;
    memset(memory, 1, bytes);
    return memory[bytes / 2] != 1;
}
