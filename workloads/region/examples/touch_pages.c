/* Touches N pages of a fresh mapping inside the region: perf counts exactly N faults. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faultwatch_region.h"

int main(int argc, char **argv)
{
    size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;

    faultwatch_region_begin();
    for (size_t i = 0; i < pages; i++)
        memory[i * page] = 1;
    faultwatch_region_end();

    printf("{\"operations\": 1, \"pages\": %zu, \"faults\": %zu}\n", pages, pages);
    return 0;
}
