/*
 * A program that does little but start: it runs each of its many small functions once, as a tool with a large library
 * does, and ends. Its page faults are those of its own code and data.
 */
#include <stdio.h>

#ifdef TABLE_BYTES
/* The larger program also looks something up in each page of a table that it carries along. */
static const unsigned char table[TABLE_BYTES] = {1};
#endif

enum { LENGTH = 40 };
static float left[LENGTH], right[LENGTH];

/* The compiler vectorises and unrolls these loops with -O3, and does not with -Os: the same work in more or less code. */
#define STEP(n)                                                                                                        \
    static __attribute__((noinline)) float step_##n(float *a, const float *b, int length)                              \
    {                                                                                                                  \
        float sum = 0;                                                                                                 \
        for (int i = 0; i < length; i++)                                                                               \
            a[i] = a[i] * (float)(n % 7) + b[i];                                                                       \
        for (int i = 1; i < length; i++)                                                                               \
            a[i] = a[i] * 0.5f + b[i - 1] * (float)(n % 11);                                                           \
        for (int i = 0; i < length; i += 2)                                                                            \
            sum += a[i] > b[i] ? a[i] : b[i] + (float)n;                                                               \
        return sum / (float)length;                                                                                    \
    }
#define TEN(make, tens)                                                                                                \
    make(tens##0) make(tens##1) make(tens##2) make(tens##3) make(tens##4) make(tens##5) make(tens##6) make(tens##7)    \
    make(tens##8) make(tens##9)
#define HUNDRED(make, hundreds)                                                                                        \
    TEN(make, hundreds##0) TEN(make, hundreds##1) TEN(make, hundreds##2) TEN(make, hundreds##3)                        \
    TEN(make, hundreds##4) TEN(make, hundreds##5) TEN(make, hundreds##6) TEN(make, hundreds##7)                        \
    TEN(make, hundreds##8) TEN(make, hundreds##9)
#define ALL(make) HUNDRED(make, 1) HUNDRED(make, 2) HUNDRED(make, 3) HUNDRED(make, 4) HUNDRED(make, 5)

ALL(STEP)

#define POINTER(n) step_##n,
static float (*const steps[])(float *, const float *, int) = {ALL(POINTER)};
enum { STEPS = sizeof steps / sizeof steps[0] };

int main(void)
{
    float sum = 0;
    for (int i = 0; i < STEPS; i++) {
        left[i % LENGTH] = (float)i;
        sum += steps[i](left, right, LENGTH);
    }
    long lookups = 0;
#ifdef TABLE_BYTES
    for (long i = 0; i < TABLE_BYTES; i += 4096)
        lookups += *(const volatile unsigned char *)&table[i] + 1;
#endif
    printf("hello from %d functions, %d, %ld\n", (int)STEPS, sum > 0, lookups);
    return 0;
}
