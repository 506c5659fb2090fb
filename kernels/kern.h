/* SPDX-License-Identifier: MIT
 * kern.h - the CPU's arithmetic: one table of functions per instruction set.
 *
 * Every function is defined to the bit by its ref.c, and every faster version
 * returns the same bits.  No function allocates, prints, or starts threads;
 * pointers need the alignment of their type alone, unless told otherwise.
 * Nothing reads beyond what its arguments cover.  Where a result is NaN, which
 * NaN it is isn't promised, except for functions of one number (unary and
 * the conversions of K and V).
 *
 * Weights.  A matrix W[n_out][n_in] is used in panels of 16 rows, "packed" from
 * the file's row-major blocks by pack(); rows beyond n_out are zeros.  What a
 * panel looks like inside is private to its type and instruction set (LAYOUT
 * names it); its size is panel(n_in) bytes, and panels follow each other.
 *
 * Activations.  The columns of a batch stand in tiles of at most KERN_TILE;
 * a tile of w columns keeps them as the type of the weights asks (act.h).
 *
 * A product is one panel times the tiles of W columns: y[c * ldy + r] for 16
 * rows r and all columns c.  How it is summed: DESIGN, section "one
 * arithmetic", and ref.c of each type.
 */
#ifndef LLM_KERNELS_KERN_H
#define LLM_KERNELS_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/act.h"

enum {
    KERN_ROWS = 16,   /* rows of a panel */
    KERN_KV_TILE = 16 /* positions of K that stand together */
};

enum kern_quant_id {
#define X(name, id, elems, bytes, act) KERN_##name,
#include "kernels/quant/list.h"
#undef X
    KERN_NQUANT
};

/* A row of N elements (whole blocks) from the file's form to floats. */
typedef void kern_dequant_fn(float *y, const void *row, int64_t n);
/* ROWS (1..16) rows, STRIDE bytes apart in the file's form, of N elements into
 * one panel. */
typedef void kern_pack_fn(void *panel, const void *row, size_t stride, int rows,
                          int64_t n);
/* Y[c * ldy + r] = panel x tiles, for W columns, any number of them. */
typedef void kern_mul_fn(float *y, size_t ldy, const void *panel,
                         const void *tile, int64_t n, int w);
/* The definition: one row in the file's form times column C of a tile of W. */
typedef float kern_dot_fn(const void *row, const void *tile, int64_t n, int w,
                          int c);

struct kern_quant {
    const char *name; /* "q4_k" */
    uint32_t id;      /* in the file */
    int elems, bytes; /* of a block, in the file */
    enum kern_act act;
    const char *layout; /* "rows", "l16", ... : what pack() makes */
    size_t panel_bytes; /* of a panel, for each block of ELEMS elements */
    kern_dequant_fn *dequant;
    kern_dot_fn *dot;
    kern_pack_fn *pack;
    kern_mul_fn *mul;
    /* The same, but no less than that, or NaN, in half the time: kern_most()
     * must have seen the tiles.  NULL: there is none. */
    kern_mul_fn *most;
};

/* Put columns into a tile: X[n] becomes column C of W.  N: a multiple of the
 * act's block.  Threads may fill different columns, or different blocks
 * of one (K0: the first element's index in its column), at once. */
typedef void kern_act_fn(void *tile, int w, int c, const float *x, int64_t k0,
                         int64_t n);

/* What K and V are kept as. */
enum kern_kv { KV_F16, KV_F32, KV_BF16, KV_Q8_0, KV_Q4_0, KV_NTYPE };

/* K and V of one head, a page of positions (a multiple of KERN_KV_TILE):
 *   K: [pos / 16][d][16 positions]   f32, f16, bf16
 *      [pos / 16][d / 32] x { f16 scale[16]; 32 x 16 int8, or 16 x 16 bytes of
 *      two 4-bit values, that of d in the low and of d + 16 in the high bits }
 *   V: [pos][d], or [pos][d / 32] x GGUF's q8_0 or q4_0 block
 * so that lanes are positions for K, and dimensions for V.  A value of a
 * quantised type is its integer times its scale, as float. */

/* Bytes of one head's page of NPOS positions. */
size_t kern_kv_bytes(enum kern_kv t, int d, int npos);
/* Is D a head size that T can keep?  (Quantised: multiples of 32.) */
bool kern_kv_ok(enum kern_kv t, int d);
/* One position (of the page) from and to floats X[d].  To: rounds to nearest
 * even; q8_0 and q4_0 as their GGUF formulas do. */
typedef void kern_kv_put_fn(void *page, const float *x, int d, int pos);
typedef void kern_kv_get_fn(float *x, const void *page, int d, int pos);

/* s[q * lds + p] = q . k(p), for the positions 0..16*NT-1 of a page and NQ
 * queries Q[q * ldq].  Four partial sums by i mod 4, each by fma in order from
 * 0, then (0 + 1) + (2 + 3). */
typedef void kern_score_fn(float *s, size_t lds, const float *q, size_t ldq,
                           int nq, const void *kpage, int d, int nt);
/* o[q * ldo + i] = fma(s[q * lds + p], v(p)[i], o[..]) over the positions p of
 * lo[q]..hi[q]-1 in order.  Vpage is position 0's: lo and hi are 0 or more. */
typedef void kern_mix_fn(float *o, size_t ldo, const float *s, size_t lds,
                         const int *lo, const int *hi, int nq,
                         const void *vpage, int d);

/* Activation functions: x in place. */
enum kern_unary {
    KERN_SILU,
    KERN_GELU,     /* tanh form */
    KERN_GELU_ERF, /* exact form */
    KERN_RELU2,    /* max(x, 0)^2 */
    KERN_SIGMOID,
    KERN_TANH,
    KERN_EXP,
    KERN_NUNARY
};
typedef void kern_unary_fn(float *x, int64_t n);

struct kern {
    unsigned flags;                           /* CPU_ bits in use */
    struct kern_quant quant[KERN_NQUANT + 1]; /* the last is empty */
    /* q8_0 with other panels, as large, and the same products, for matrices
     * whose greatest product is looked for.  Its MUL may be NULL. */
    struct kern_quant split;
    kern_act_fn *act[KERN_NACT];

    /* y = x * (1 / sqrt(mean(x^2) + eps)) * w; W may be NULL (all 1).  The sum
     * has 16 lanes by i mod 16, each by fma in order, then a tree: lanes 8
     * apart, 4, 2, 1.  Y may be X. */
    void (*rmsnorm)(float *y, const float *x, const float *w, int64_t n,
                    float eps);
    /* y = (x - mean) * (1 / sqrt(var + eps)) * w + b, each step rounded; W and
     * B may be NULL.  Sums as in rmsnorm(), that of x by addition, the variance
     * from the differences.  Y may be X. */
    void (*layernorm)(float *y, const float *x, const float *w, const float *b,
                      int64_t n, float eps);
    kern_unary_fn *unary[KERN_NUNARY];
    void (*add)(float *y, const float *x, int64_t n); /* y += x */
    /* y[c * ldy + r] += x[c * 16 + r]: the rows of a panel, for W columns. */
    void (*add_panel)(float *y, size_t ldy, const float *x, int w);
    void (*mul)(float *y, const float *x, int64_t n);           /* y *= x */
    void (*axpy)(float *y, float a, const float *x, int64_t n); /* fma */
    void (*scale)(float *y, float a, int64_t n);                /* y *= a */
    void (*softcap)(float *x, float cap, int64_t n); /* cap * tanh(x / cap) */
    /* Rotate the first 2*NP elements of X by CS = NP pairs (cos, sin): elements
     * i and i + NP together, or, PAIRS, 2i and 2i + 1.
     * x0' = fma(x0, cos, -(x1 * sin)), x1' = fma(x0, sin, x1 * cos). */
    void (*rope)(float *x, const float *cs, int np, bool pairs);
    /* Softmax over s[lo..hi), in place, hi > lo: s becomes exp(s * scale - m),
     * product and difference rounded, and outside lo..hi of 0..n-1 exactly 0;
     * *M is the maximum of s * scale (after a softcap of CAP, if CAP is not 0)
     * and *L the sum of the exponentials, over lanes by index mod 16 and their
     * tree as in rmsnorm(), by addition.  A NaN is never the maximum; it makes
     * itself and *L NaN. */
    void (*softmax)(float *s, int lo, int hi, int n, float scale, float cap,
                    float *m, float *l);
    /* Take the part (M1, L1, O1[d]) into (M, L, O[d]): the greater maximum
     * wins, a = exp(M - max), b = exp(M1 - max); L = fma(L, a, L1 * b), O
     * likewise. */
    void (*merge)(float *m, float *l, float *o, float m1, float l1,
                  const float *o1, int64_t d);
    /* The index of the greatest element, the first of equals; -1 when one is
     * NaN, or N is 0. */
    int64_t (*argmax)(const float *x, int64_t n);

    kern_kv_put_fn *k_put[KV_NTYPE], *v_put[KV_NTYPE];
    kern_kv_get_fn *k_get[KV_NTYPE], *v_get[KV_NTYPE];
    kern_score_fn *score[KV_NTYPE];
    kern_mix_fn *mix[KV_NTYPE];
};

/* Fill K with the best functions that FLAGS (CPU_ bits) allow; 0 gives the
 * reference ones. */
void kern_init(struct kern *k, unsigned flags);

/* Make column C, of N elements, of a tile of W of KERN_ACT_Q32 ready for
 * kern_quant.most: in place of ds, which products with q8_0 do not read. */
void kern_most(void *tile, int w, int c, int64_t n);

/* The type whose number in the file is ID; NULL when weights cannot have it. */
const struct kern_quant *kern_quant_find(const struct kern *k, uint32_t id);

/* Bytes of a panel of N elements a row. */
static inline size_t kern_panel(const struct kern_quant *q, int64_t n)
{
    return q->panel_bytes * (size_t)(n / q->elems);
}

#endif
