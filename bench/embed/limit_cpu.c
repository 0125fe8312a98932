// Hides processor extensions from the process that loads it, so that a library which asks `cpuid` itself can be
// measured as on a smaller machine. `limit_to_avx2` lets the instruction fault (Linux, arch_prctl(2)); the handler
// asks the processor, clears the bits of AVX-512, AVX-VNNI and AMX, and goes on. Threads started later inherit it.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, FAULTS = 0, WORKS = 1 };

#define BIT(n) (1u << (n))

static void answer_cpuid(int signal_number, siginfo_t *info, void *context) {
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *instruction = (const unsigned char *)registers[REG_RIP];
    if (instruction[0] != 0x0f || instruction[1] != 0xa2) {
        signal(signal_number, SIG_DFL); // a real fault: let it happen again
        return;
    }
    unsigned leaf = (unsigned)registers[REG_RAX], part = (unsigned)registers[REG_RCX], a, b, c, d;
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, WORKS);
    __cpuid_count(leaf, part, a, b, c, d);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, FAULTS);
    if (leaf == 7 && part == 0) {
        b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31)); // F DQ IFMA PF ER CD BW VL
        c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));                       // VBMI VBMI2 VNNI BITALG VPOPCNTDQ
        d &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));    // 4VNNIW 4FMAPS VP2INTERSECT, AMX, FP16
    }
    if (leaf == 7 && part == 1) {
        a &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));        // AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
        d &= ~(BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19)); // AVX-VNNI-INT8, AVX-NE-CONVERT, AMX, AVX-VNNI-INT16, AVX10
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

int limit_to_avx2(void) {
    struct sigaction action = {.sa_sigaction = answer_cpuid, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, &action, NULL) != 0) return -1;
    return (int)syscall(SYS_arch_prctl, ARCH_SET_CPUID, FAULTS);
}

// What a library would now see: bit 0 AVX2, bit 1 AVX-512 F, bit 2 AVX512-VNNI, bit 3 AVX-VNNI, bit 4 AMX tiles.
int announced(void) {
    unsigned a, b, c, d, a1, rest;
    __cpuid_count(7, 0, a, b, c, d);
    __cpuid_count(7, 1, a1, rest, rest, rest);
    return (b >> 5 & 1) | (b >> 16 & 1) << 1 | (c >> 11 & 1) << 2 | (a1 >> 4 & 1) << 3 | (d >> 24 & 1) << 4;
}
