/* SPDX-License-Identifier: MIT
 * checkops_data.h - 64 numbers, and what the gguf package (0.19) quantises them
 * to: gguf.quants.quantize(). */
#ifndef LLM_TESTS_UNIT_CHECKOPS_DATA_H
#define LLM_TESTS_UNIT_CHECKOPS_DATA_H

static const float gguf_x[64] = {
    0x1.6fdbcp+1f,   -0x1.958d48p-1f, 0x1.c91116p-5f,   0x1.62b3c2p-1f,
    -0x1.5756dcp+0f, -0x1.9p+2f,      -0x1.8ccbbcp-10f, -0x1.7dd3f8p+1f,
    0x1.bae28p+0f,   0x1.055642p+0f,  -0x1.102fcap+0f,  -0x1.2aa198p-2f,
    0x1.b7d004p-1f,  -0x1.c6f82p-2f,  -0x1.a693dep-2f,  -0x1.3c39bp+1f,
    0x1.e2b4eap-1f,  0x1.af4dc4p-3f,  0x1.ddc7a4p-2f,   -0x1.4c2bf8p+1f,
    0x1.673138p+1f,  0x1.0caad4p-2f,  -0x1.50f774p-1f,  0x1.b986bp+1f,
    -0x1.3c0832p-4f, -0x1.3baaeep+1f, -0x1.60b5d8p-1f,  -0x1.f1eff8p+1f,
    0x1.c8b288p+0f,  -0x1.6a7fcep-1f, -0x1.4328c8p+0f,  0x1.d2bd3p+0f,
    -0x1.674628p+1f, 0x1.d209a8p-1f,  -0x1.c13778p+1f,  -0x1.202bf8p+0f,
    -0x1.0609cap+1f, 0x1.3e203ap+1f,  0x1.80510ep+1f,   -0x1.1eb8c4p-1f,
    0x1.fcp+6f,      0x1.4p+1f,       -0x1.4p+1f,       0x1p-1f,
    -0x1.73bc1p+1f,  -0x1.885ab2p+1f, 0x1.4d7822p-1f,   0x1.e913a2p+1f,
    0x1.d4fde4p-2f,  -0x1.c89daap-1f, 0x1.a00e28p+1f,   0x1.9d1856p-2f,
    0x1.61270ep-3f,  0x1.b7aff4p-2f,  -0x1.cce26cp-3f,  -0x1.0d5e42p-1f,
    -0x1.383f8p+1f,  0x1.b49d18p-1f,  -0x1.49f86p-3f,   0x1.039d92p+1f,
    -0x1.410504p-1f, -0x1.9ed37ap+1f, -0x1.5acdecp-3f,  0x1.71d1bep+1f};
static const unsigned char gguf_q8_0[] = {
    77,  42,  58,  240, 1,   14, 229, 129, 0,   195, 35,  21,  234, 250,
    17,  247, 248, 206, 19,  4,  9,   203, 57,  5,   243, 70,  254, 206,
    242, 177, 36,  242, 230, 37, 0,   60,  253, 1,   252, 255, 254, 2,
    3,   255, 127, 3,   253, 1,  253, 253, 1,   4,   0,   255, 3,   0,
    0,   0,   0,   255, 254, 1,  0,   2,   255, 253, 0,   3};
static const unsigned char gguf_q4_0[] = {
    64,  58,  156, 135, 152, 89,  198, 128, 120, 196, 138, 89,
    119, 56,  169, 119, 103, 165, 240, 203, 136, 136, 136, 136,
    136, 136, 136, 136, 128, 136, 136, 136, 136, 136, 136, 136};

#endif
