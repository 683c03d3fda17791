// Touches N pages of a fresh mapping inside the region: perf counts exactly N faults.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "faultwatch_region.h"

namespace {
struct Region {  // the counters run for the lifetime of this object
    Region() { faultwatch_region_begin(); }
    ~Region() { faultwatch_region_end(); }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;
};
}  // namespace

int main(int argc, char **argv) {
    const std::size_t pages = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *mapping = mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return 1;
    char *memory = static_cast<char *>(mapping);
    {
        Region counted;
        for (std::size_t i = 0; i < pages; ++i)
            memory[i * page] = 1;
    }
    std::printf("{\"operations\": 1, \"pages\": %zu, \"faults\": %zu}\n", pages, pages);
}
