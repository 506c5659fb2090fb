/* SPDX-License-Identifier: MIT
 * limits_ops.h - loops of the instructions that multiply bytes, with nothing
 * else in them.  They are written out, as the compiler would rather leave them
 * away; each may run only where its flags say that it is there. */
#ifndef LLM_CMD_LIMITS_OPS_H
#define LLM_CMD_LIMITS_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "cmd/bench/limits.h"

/* ONE(n) for accumulators 0 to 11: more than any of these takes to come
 * through. */
#define OP_TWELVE(ONE)                                                         \
    ONE("0")                                                                   \
    ONE("1")                                                                   \
    ONE("2")                                                                   \
    ONE("3")                                                                   \
    ONE("4")                                                                   \
    ONE("5")                                                                   \
    ONE("6")                                                                   \
    ONE("7")                                                                   \
    ONE("8")                                                                   \
    ONE("9")                                                                   \
    ONE("10")                                                                  \
    ONE("11")

#if defined(__x86_64__)
#define OP_CLOBBER                                                             \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
        "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define OP_LOOP(NAME, BEGIN, ONE, END)                                         \
    static inline void NAME(long turns)                                        \
    {                                                                          \
        static const uint32_t bytes = 0x5b3a7c29;                              \
                                                                               \
        __asm__ volatile(BEGIN "1:\n" OP_TWELVE(ONE) "dec %0\njnz 1b\n" END    \
                         : "+r"(turns)                                         \
                         : "m"(bytes)                                          \
                         : OP_CLOBBER, "cc");                                  \
    }
#define OP_FILL(R)                                                             \
    "vpbroadcastd %1, %%" R "14\n"                                             \
    "vpbroadcastd %1, %%" R "15\n"

/* Words: every processor of the kind has them. */
#define OP_SSE2(N) "pmaddwd %%xmm15, %%xmm" N "\n"
/* Without an instruction that adds to 32 bits, 16 bits are the most. */
#define OP_AVX2(N)                                                             \
    "vpmaddubsw %%ymm14, %%ymm15, %%ymm13\n"                                   \
    "vpaddw %%ymm13, %%ymm" N ", %%ymm" N "\n"
#define OP_VNNI(N) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" N "\n"
#define OP_AVX512(N)                                                           \
    "vpmaddubsw %%zmm14, %%zmm15, %%zmm13\n"                                   \
    "vpaddw %%zmm13, %%zmm" N ", %%zmm" N "\n"
#define OP_VNNI512(N) "vpdpbusd %%zmm14, %%zmm15, %%zmm" N "\n"

OP_LOOP(op_sse2, "movd %1, %%xmm15\n", OP_SSE2, "")
OP_LOOP(op_avx2, OP_FILL("ymm"), OP_AVX2, "vzeroupper\n")
OP_LOOP(op_vnni, OP_FILL("ymm"), OP_VNNI, "vzeroupper\n")
OP_LOOP(op_avx512, OP_FILL("zmm"), OP_AVX512, "vzeroupper\n")
OP_LOOP(op_vnni512, OP_FILL("zmm"), OP_VNNI512, "vzeroupper\n")

/* Six tiles of sums of 16 x 16, from two of 16 x 64 bytes. */
static inline void op_amx(long turns)
{
    static const struct {
        uint8_t palette, zeros[15];
        uint16_t columns[16];
        uint8_t rows[16];
    } shape = {1,
               {0},
               {64, 64, 64, 64, 64, 64, 64, 64},
               {16, 16, 16, 16, 16, 16, 16, 16}};
    static uint8_t bytes[1024];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37);
    __asm__ volatile("ldtilecfg %1\n"
                     "tileloadd (%2, %3), %%tmm6\n"
                     "tileloadd (%2, %3), %%tmm7\n"
                     "tilezero %%tmm0\n"
                     "tilezero %%tmm1\n"
                     "tilezero %%tmm2\n"
                     "tilezero %%tmm3\n"
                     "tilezero %%tmm4\n"
                     "tilezero %%tmm5\n"
                     "1:\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm0\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm1\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm2\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm3\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm4\n"
                     "tdpbssd %%tmm7, %%tmm6, %%tmm5\n"
                     "dec %0\n"
                     "jnz 1b\n"
                     "tilerelease\n"
                     : "+r"(turns)
                     : "m"(shape), "r"(bytes), "r"((uint64_t)64)
                     : "cc", "memory");
}

static const struct limits_op op_list[] = {
    {"pmaddwd xmm", 0, 12 * 16, op_sse2},
    {"vpmaddubsw ymm", CPU_AVX2, 12 * 64, op_avx2},
    {"vpdpbusd ymm", CPU_AVX2VNNI, 12 * 64, op_vnni},
    {"vpmaddubsw zmm", CPU_AVX512, 12 * 128, op_avx512},
    {"vpdpbusd zmm", CPU_AVX512VNNI, 12 * 128, op_vnni512},
    {"tdpbssd", CPU_AMX, 6 * 2 * 16 * 16 * 64, op_amx},
};

#elif defined(__aarch64__)
#define OP_LOOP(NAME, ONE)                                                     \
    static inline void NAME(long turns)                                        \
    {                                                                          \
        __asm__ volatile("movi v14.16b, #41\nmovi v15.16b, #92\n"              \
                         "1:\n" OP_TWELVE(ONE) "subs %0, %0, #1\nb.ne 1b\n"    \
                         : "+r"(turns)                                         \
                         :                                                     \
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",     \
                           "v8", "v9", "v10", "v11", "v13", "v14", "v15",      \
                           "cc");                                              \
    }
#define OP_NEON(N)                                                             \
    "smull v13.8h, v14.8b, v15.8b\n"                                           \
    "sadalp v" N ".4s, v13.8h\n"
/* sdot and smmla vN.4s, v14.16b, v15.16b, as numbers: assemblers refuse what
 * the processor that they compile for might not have. */
#define OP_SDOT(N)  ".inst 0x4e8f95c0 + " N "\n"
#define OP_SMMLA(N) ".inst 0x4e8fa5c0 + " N "\n"

OP_LOOP(op_neon, OP_NEON)
OP_LOOP(op_sdot, OP_SDOT)
OP_LOOP(op_smmla, OP_SMMLA)

static const struct limits_op op_list[] = {
    {"smull", CPU_NEON, 12 * 16, op_neon},
    {"sdot", CPU_DOTPROD, 12 * 32, op_sdot},
    {"smmla", CPU_I8MM, 12 * 64, op_smmla},
};

#else
static const struct limits_op op_list[] = {{NULL, ~0u, 0, NULL}};
#endif

#endif
