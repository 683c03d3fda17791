/* A 32-bit program without a C library: it maps, touches and unmaps 16 pages three times. */
static int call(int number, int first, int second, int protection, int flags, int file) {
    int result;
    __asm__ volatile("push %%ebp\n xor %%ebp, %%ebp\n int $0x80\n pop %%ebp"
                     : "=a"(result)
                     : "a"(number), "b"(first), "c"(second), "d"(protection), "S"(flags), "D"(file)
                     : "memory");
    return result;
}

void _start(void) {
    for (int round = 0; round < 3; round++) {
        char *memory = (char *)call(192, 0, 16 * 4096, 3, 0x22, -1);
        for (int page = 0; page < 16; page++) memory[page * 4096] = 1;
        call(91, (int)memory, 16 * 4096, 0, 0, 0);
    }
    call(1, 0, 0, 0, 0, 0);
}
