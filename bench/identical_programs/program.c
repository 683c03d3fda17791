#include <stdio.h>

long work(long steps);

int main(void)
{
    printf("%ld\n", work(60));
    return 0;
}
