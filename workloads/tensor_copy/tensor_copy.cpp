// Copies a tensor into a buffer, step after step, as a model server does with the inputs of each request.
//
// Whether the buffer's pages stay with the process between two steps is the allocator's choice, and decides the speed.

#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "faultwatch_region.h"

namespace {

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "tensor_copy: %s\n", what.c_str());
    std::exit(2);
}

// One way to come by a buffer for a step. The allocator is whatever malloc is at run time.
struct Buffer {
    virtual char *get(std::size_t bytes) = 0;
    virtual void put(char *buffer, std::size_t bytes) = 0;
    virtual ~Buffer() = default;
};

struct Fresh : Buffer {
    char *get(std::size_t bytes) override { return static_cast<char *>(std::malloc(bytes)); }
    void put(char *buffer, std::size_t) override { std::free(buffer); }
};

struct Reused : Buffer {
    char *kept = nullptr;
    char *get(std::size_t bytes) override { return kept ? kept : kept = static_cast<char *>(std::malloc(bytes)); }
    void put(char *, std::size_t) override {}
    ~Reused() override { std::free(kept); }
};

struct Mapped : Buffer {
    int flags;
    explicit Mapped(int more_flags) : flags(MAP_PRIVATE | MAP_ANONYMOUS | more_flags) {}
    char *get(std::size_t bytes) override {
        void *buffer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        return buffer == MAP_FAILED ? nullptr : static_cast<char *>(buffer);
    }
    void put(char *buffer, std::size_t bytes) override { munmap(buffer, bytes); }
};

// Copy the tensor `steps` times and return a checksum over one value of each copy.
unsigned long copy_steps(Buffer &buffers, const char *tensor, std::size_t bytes, long steps) {
    unsigned long checksum = 0;
    for (long step = 0; step < steps; ++step) {
        char *copy = buffers.get(bytes);
        if (copy == nullptr)
            fail("out of memory");
        std::memcpy(copy, tensor, bytes);
        checksum += static_cast<unsigned char>(copy[static_cast<std::size_t>(step) * 4099 % bytes]);
        buffers.put(copy, bytes);
    }
    return checksum;
}

}  // namespace

int main(int argc, char **argv) {
    long mib = 4, steps = 500;
    std::string kind = "fresh";
    const option options[] = {{"mib", required_argument, nullptr, 'm'},
                              {"steps", required_argument, nullptr, 's'},
                              {"buffer", required_argument, nullptr, 'b'},
                              {nullptr, 0, nullptr, 0}};
    for (int choice; (choice = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (choice) {
        case 'm': mib = std::atol(optarg); break;
        case 's': steps = std::atol(optarg); break;
        case 'b': kind = optarg; break;
        default: return 2;
        }
    }
    if (mib < 1 || steps < 1)
        fail("--mib and --steps must be at least 1");

    const std::size_t bytes = static_cast<std::size_t>(mib) << 20;
    const long pages = static_cast<long>(bytes) / sysconf(_SC_PAGESIZE);
    Fresh fresh;
    Reused reused;
    Mapped mapped(0), populated(MAP_POPULATE);
    Buffer *buffers = nullptr;
    long faults = -1;  // what theory demands; only a program that maps its memory itself can know
    if (kind == "fresh") buffers = &fresh;
    else if (kind == "reused") buffers = &reused;
    else if (kind == "mapped") { buffers = &mapped; faults = steps * pages; }
    else if (kind == "populate") { buffers = &populated; faults = 0; }
    else fail("--buffer is one of fresh, reused, mapped, populate");

    Mapped source(MAP_POPULATE);
    char *tensor = source.get(bytes);
    if (tensor == nullptr)
        fail("out of memory");
    for (std::size_t i = 0; i < bytes; ++i)
        tensor[i] = static_cast<char>(i * 31);
    // One step and one look at the clock beforehand: the pages of their code are not what is counted.
    copy_steps(mapped, tensor, bytes, 1);
    std::chrono::steady_clock::now();

    faultwatch_region_begin();
    const auto start = std::chrono::steady_clock::now();
    const unsigned long checksum = copy_steps(*buffers, tensor, bytes, steps);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    faultwatch_region_end();

    std::printf("{\"operations\": %ld, \"seconds\": %.6f, \"bytes\": %lld, \"checksum\": %lu, \"pages\": %ld", steps,
                seconds.count(), static_cast<long long>(bytes) * steps, checksum, kind == "populate" ? 0 : pages);
    if (faults >= 0)
        std::printf(", \"faults\": %ld", faults);
    std::printf("}\n");
}
