/* A library with constants and variables on many pages. work() touches some of them. */
#include <stdlib.h>

enum { CONSTANTS = 1 << 18, VARIABLES = 20000, BYTES = 300000 };
static const long constants[CONSTANTS] = {1, 2, 3};
static long variables[VARIABLES] = {1};

long work(long steps)
{
    long sum = 0;
    volatile const long *constant = constants;
    char *buffer = malloc(BYTES);
    for (long i = 0; i < steps; i++) {
        sum += constant[i * 104729 % CONSTANTS];
        variables[i * 997 % VARIABLES]++;
        buffer[i * 4096 % BYTES] = (char)sum;
    }
    sum += buffer[4096];
    free(buffer);
    return sum;
}
