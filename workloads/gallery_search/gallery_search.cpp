// Searches a gallery of templates in memory, with many searches at once, as a biometric matcher does. Each search scans
// its own share of the gallery on its own thread.
//
// The gallery's memory is obtained in one of five ways, and filled either at startup or by the first search of each
// share. The region of interest is the loading, or the bursts of searches.

#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "faultwatch_region.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    std::string memory = "vector", fill = "startup", count = "bursts";
    long mib = 256, searches = 8, bursts = 2, ramp_ms = 0;
};

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "gallery_search: %s\n", what.c_str());
    std::exit(2);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Gallery {
    std::vector<float> owned;
    float *values = nullptr;
    std::size_t size = 0;

    void obtain(const std::string &memory, std::size_t bytes) {
        size = bytes / sizeof(float);
        if (memory == "vector") {
            owned.resize(size);
            values = owned.data();
            return;
        }
        int flags = MAP_ANONYMOUS;
        if (memory == "private") flags |= MAP_PRIVATE;
        else if (memory == "private_populate") flags |= MAP_PRIVATE | MAP_POPULATE;
        else if (memory == "shared") flags |= MAP_SHARED;
        else if (memory == "shared_populate") flags |= MAP_SHARED | MAP_POPULATE;
        else fail("--memory is one of vector, private, private_populate, shared, shared_populate");
        void *mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (mapping == MAP_FAILED)
            throw std::bad_alloc();
        values = static_cast<float *>(mapping);
    }
};

void enroll(float *begin, float *end) {
    for (float *value = begin; value != end; ++value)
        *value = static_cast<float>((value - begin) % 1021);
}

float best_match(const float *begin, const float *end) {
    float best = 0;
    for (const float *value = begin; value != end; ++value)
        best = std::max(best, *value * 0.5f);
    return best;
}

struct Search {
    std::thread thread;
    float *begin, *end;
    float best = 0;
    std::vector<double> latencies;
};

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void wait_at(pthread_barrier_t &barrier) { pthread_barrier_wait(&barrier); }

void run(const Settings &settings) {
    const long page = sysconf(_SC_PAGESIZE);
    const std::size_t bytes = static_cast<std::size_t>(settings.mib) << 20;
    const bool count_load = settings.count == "load", fill_at_startup = settings.fill == "startup";

    Gallery gallery;
    const long searches = settings.searches;
    const std::size_t share =
        bytes / static_cast<std::size_t>(searches) / static_cast<std::size_t>(page) * static_cast<std::size_t>(page);
    std::vector<Search> all(static_cast<std::size_t>(searches));
    pthread_barrier_t start, finish;
    pthread_barrier_init(&start, nullptr, static_cast<unsigned>(searches) + 1);
    pthread_barrier_init(&finish, nullptr, static_cast<unsigned>(searches) + 1);

    {   // The pages of the code are not what is counted.
        std::vector<float> rehearsal(64);
        enroll(rehearsal.data(), rehearsal.data() + 64);
        best_match(rehearsal.data(), rehearsal.data() + 64);
        Clock::now();
    }
    const auto work = [&](std::size_t number) {
        Search &self = all[number];
        self.latencies.resize(static_cast<std::size_t>(settings.bursts));
        wait_at(start);  // first of all, so that starting a thread is over before the counting
        wait_at(start);
        for (std::size_t burst = 0; burst < self.latencies.size(); ++burst) {
            std::this_thread::sleep_for(std::chrono::milliseconds(settings.ramp_ms * static_cast<long>(number)));
            const auto begin = Clock::now();
            if (burst == 0 && !fill_at_startup)
                enroll(self.begin, self.end);
            self.best = best_match(self.begin, self.end);
            self.latencies[burst] = seconds_since(begin);
            wait_at(finish);
        }
        wait_at(finish);  // ending a thread comes after the counting
    };

    if (count_load)
        faultwatch_region_begin();
    const auto load_start = Clock::now();
    gallery.obtain(settings.memory, bytes);
    if (fill_at_startup)
        enroll(gallery.values, gallery.values + gallery.size);
    const double load_seconds = seconds_since(load_start);
    if (count_load)
        faultwatch_region_end();

    for (std::size_t i = 0; i < all.size(); ++i) {
        char *first = reinterpret_cast<char *>(gallery.values) + i * share;
        all[i].begin = reinterpret_cast<float *>(first);
        all[i].end = reinterpret_cast<float *>(first + share);
        all[i].thread = std::thread(work, i);
    }
    wait_at(start);
    if (!count_load)
        faultwatch_region_begin();
    const auto burst_start = Clock::now();
    wait_at(start);
    for (long burst = 0; burst < settings.bursts; ++burst)
        wait_at(finish);
    const double burst_seconds = seconds_since(burst_start);
    if (!count_load)
        faultwatch_region_end();
    wait_at(finish);

    std::vector<double> first, later;
    double checksum = 0;
    for (Search &search : all) {
        search.thread.join();
        first.push_back(search.latencies[0]);
        later.insert(later.end(), search.latencies.begin() + 1, search.latencies.end());
        checksum += static_cast<double>(search.best);
    }
    // In bursts: only what the searches fill themselves, and nobody mapped before them.
    const bool mapped = settings.memory != "vector", populated = settings.memory.find("populate") != std::string::npos;
    // A vector is touched while it is made.
    const bool touches = mapped ? !populated && count_load == fill_at_startup : count_load;
    const long pages = !touches     ? 0
                       : count_load ? static_cast<long>(bytes) / page
                                    : searches * (static_cast<long>(share) / page);
    std::printf("{\"operations\": %ld, \"seconds\": %.6f, \"bytes\": %.0f, \"checksum\": %.1f, \"pages\": %ld",
                count_load ? 1 : searches * settings.bursts, count_load ? load_seconds : burst_seconds,
                count_load ? static_cast<double>(bytes)
                           : static_cast<double>(share) * static_cast<double>(searches * settings.bursts),
                checksum, pages);
    if (mapped)
        std::printf(", \"faults\": %ld", pages);
    std::printf(", \"first_p50\": %.6f, \"first_p99\": %.6f, \"later_p50\": %.6f, \"later_p99\": %.6f}\n",
                percentile(first, 0.5), percentile(first, 0.99), percentile(later, 0.5), percentile(later, 0.99));
}

}  // namespace

int main(int argc, char **argv) {
    Settings settings;
    const option options[] = {{"memory", required_argument, nullptr, 'm'}, {"fill", required_argument, nullptr, 'f'},
                              {"count", required_argument, nullptr, 'c'},  {"mib", required_argument, nullptr, 'g'},
                              {"searches", required_argument, nullptr, 's'}, {"bursts", required_argument, nullptr, 'b'},
                              {"ramp-ms", required_argument, nullptr, 'r'}, {nullptr, 0, nullptr, 0}};
    for (int choice; (choice = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (choice) {
        case 'm': settings.memory = optarg; break;
        case 'f': settings.fill = optarg; break;
        case 'c': settings.count = optarg; break;
        case 'g': settings.mib = std::atol(optarg); break;
        case 's': settings.searches = std::atol(optarg); break;
        case 'b': settings.bursts = std::atol(optarg); break;
        case 'r': settings.ramp_ms = std::atol(optarg); break;
        default: return 2;
        }
    }
    if (settings.mib < 1 || settings.searches < 1 || settings.bursts < 1 || settings.ramp_ms < 0)
        fail("--mib, --searches and --bursts must be at least 1");
    if (settings.fill != "startup" && settings.fill != "first_search")
        fail("--fill is one of startup, first_search");
    if (settings.count != "load" && settings.count != "bursts")
        fail("--count is one of load, bursts");
    try {
        run(settings);
    } catch (const std::bad_alloc &) {
        fail("out of memory");
    }
}
