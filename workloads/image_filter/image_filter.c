/*
 * Finds the edges in images with a chain of filters. Between two filters lies a temporary image, and where it comes from
 * decides how often its pages are faulted in:
 *   malloc    temporaries of an image's size, allocated and freed for each image
 *   populate  the same, mapped with MAP_POPULATE
 *   mapped    the same, mapped without it
 *   row       temporaries of one row's size: all filters run on a row before the next row
 * The result is a new image in all of them, as the caller of a library wants it.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "faultwatch_region.h"

/* A filter makes one row of its output from one row of its input. */
typedef void filter(const float *in, float *out, size_t width);

static void linearise(const float *in, float *out, size_t width)
{
    for (size_t x = 0; x < width; x++)
        out[x] = in[x] * in[x];
}

static void blur(const float *in, float *out, size_t width)
{
    out[0] = in[0];
    out[width - 1] = in[width - 1];
    for (size_t x = 1; x + 1 < width; x++)
        out[x] = 0.25f * in[x - 1] + 0.5f * in[x] + 0.25f * in[x + 1];
}

static void gradient(const float *in, float *out, size_t width)
{
    out[0] = out[width - 1] = 0;
    for (size_t x = 1; x + 1 < width; x++)
        out[x] = in[x + 1] - in[x - 1];
}

static void magnitude(const float *in, float *out, size_t width)
{
    for (size_t x = 0; x < width; x++)
        out[x] = in[x] < 0 ? -in[x] : in[x];
}

static void threshold(const float *in, float *out, size_t width)
{
    for (size_t x = 0; x < width; x++)
        out[x] = in[x] > 0.1f ? 1.0f : 0.0f;
}

static filter *const chain[] = {linearise, blur, gradient, magnitude, threshold};
enum { FILTERS = sizeof chain / sizeof chain[0], TEMPORARIES = FILTERS - 1 };

static size_t width = 1920, height = 1080, page;

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *map_image(int more_flags)
{
    void *image = mmap(NULL, width * height * sizeof(float), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    if (image == MAP_FAILED)
        fail("mmap");
    return image;
}

static void unmap_image(float *image)
{
    munmap(image, width * height * sizeof(float));
}

static float *allocate_image(void)
{
    float *image = malloc(width * height * sizeof *image);
    if (image == NULL)
        fail("malloc");
    return image;
}

/* Run each filter over the whole image, into a temporary image. */
static void filter_images(const float *input, float *output, float **temporaries)
{
    const float *in = input;
    for (int f = 0; f < FILTERS; f++) {
        float *out = f == TEMPORARIES ? output : temporaries[f];
        for (size_t y = 0; y < height; y++)
            chain[f](in + y * width, out + y * width, width);
        in = out;
    }
}

/* Run all filters over one row, then over the next. */
static void filter_rows(const float *input, float *output, float *even, float *odd)
{
    for (size_t y = 0; y < height; y++) {
        const float *in = input + y * width;
        for (int f = 0; f < FILTERS; f++) {
            float *out = f == TEMPORARIES ? output + y * width : f % 2 ? odd : even;
            chain[f](in, out, width);
            in = out;
        }
    }
}

enum temporaries { MALLOC, POPULATE, MAPPED, ROW };
static const char *const kinds[] = {"malloc", "populate", "mapped", "row", NULL};

static double process(enum temporaries kind, const float *input, float *even, float *odd)
{
    float *output = map_image(0), *temporaries[TEMPORARIES];
    if (kind == ROW) {
        filter_rows(input, output, even, odd);
    } else {
        for (int i = 0; i < TEMPORARIES; i++)
            temporaries[i] = kind == MALLOC ? allocate_image() : map_image(kind == POPULATE ? MAP_POPULATE : 0);
        filter_images(input, output, temporaries);
        for (int i = 0; i < TEMPORARIES; i++) {
            if (kind == MALLOC)
                free(temporaries[i]);
            else
                unmap_image(temporaries[i]);
        }
    }
    double edges = 0;
    for (size_t i = 0; i < width * height; i += 97)
        edges += (double)output[i];
    unmap_image(output);
    return edges;
}

static int one_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "image_filter: unknown value %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    enum temporaries kind = MALLOC;
    long images = 40;
    const struct option options[] = {
        {"temporaries", required_argument, NULL, 't'}, {"width", required_argument, NULL, 'w'},
        {"height", required_argument, NULL, 'h'},      {"images", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    for (int choice; (choice = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (choice) {
        case 't': kind = (enum temporaries)one_of(kinds, optarg); break;
        case 'w': width = strtoul(optarg, NULL, 10); break;
        case 'h': height = strtoul(optarg, NULL, 10); break;
        case 'i': images = atol(optarg); break;
        default: return 2;
        }
    }
    if (width < 2 || height < 1 || images < 1) {
        fprintf(stderr, "image_filter: an image has at least two columns and one row\n");
        return 2;
    }
    page = (size_t)sysconf(_SC_PAGESIZE);

    float *input = map_image(MAP_POPULATE), *rows = calloc(2 * width, sizeof *rows);
    if (rows == NULL)
        fail("calloc");
    for (size_t i = 0; i < 2 * width; i++)
        rows[i] = 1; /* so that their pages are there: they are kept for all images */
    for (size_t i = 0; i < width * height; i++)
        input[i] = (float)(i * 31 % 251) / 251;
    double edges = process(MAPPED, input, rows, rows + width) - process(ROW, input, rows, rows + width);
    now(); /* the pages of the code are not what is counted */

    faultwatch_region_begin();
    double begin = now();
    for (long i = 0; i < images; i++)
        edges += process(kind, input, rows, rows + width);
    double seconds = now() - begin;
    faultwatch_region_end();

    long image_pages = (long)((width * height * sizeof(float) + page - 1) / page);
    long touched = kind == MALLOC || kind == MAPPED ? FILTERS : 1; /* fresh images for each image */
    printf("{\"operations\": %ld, \"seconds\": %.6f, \"bytes\": %.0f, \"checksum\": %.0f, \"pages\": %ld", images,
           seconds, (double)images * (double)(width * height * sizeof(float)), edges, touched * image_pages);
    if (kind != MALLOC)
        printf(", \"faults\": %ld", touched * image_pages * images);
    printf("}\n");
    return 0;
}
