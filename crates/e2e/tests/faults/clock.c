// The system's clock, moved by as many seconds as a file says. Loaded before the C library, so that a process under test
// sees its clock jump while that of the machine goes on.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long *seconds;

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    seconds = mapped == MAP_FAILED ? 0 : mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && seconds) time->tv_sec += *seconds;
    return failed;
}
