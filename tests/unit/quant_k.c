/* SPDX-License-Identifier: MIT
 * quant_k.c - a block of each K-quant and of IQ4_XS against values that were
 * not made with this code: FNV-1a of the floats that gguf-py gives, and their
 * product with two blocks of activations in double. */
#include "kernels/kern.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const struct gold {
    enum kern_quant_id type;
    const char *hex;
    uint64_t hash;
    double dot, size; /* sum of products, of their magnitudes */
} gold[] = {
    {KERN_q2_k,
     "c4f1bf9d2c77df80aece687aecc2fd0d09978eb056468be42f14305c5769ce6d"
     "8ee3e32341bba9917765bba323735cedb74dfd659af07dc85fbf6ae0eca37bac"
     "ab5c9f534034a3728cd1f4385b4164e9bfb8992f",
     0x4fe698e66ca6a8deull, -20724.258270263672, 247344.84237670898},
    {KERN_q3_k,
     "998b30abfc42164d81605c07f4a5a32f8734bd11d356f6aed7a5f2d65e9e7660"
     "1645fd606e524901582639d48dcb373850be6823c10735a984c1580623e1a1b3"
     "3b740c5481c53c045f6ec5fcf928cb8c8844c04cdb9a84a397e2d26f96e80ca3"
     "202548d24b21c4a60ecf56a55ab9",
     0x5e5371188cb57b62ull, -52462.0361328125, 455702.939453125},
    {KERN_q4_k,
     "75065a9d3d873b1d8ff062efc9246d21daa1353a35750315f60e328893846b65"
     "42d5ad296b6d0926c8c2814130e554fabebdd5fd55a30a6868ca87692ac62b01"
     "222a7a034f641aa9f081250d96ec1db727ca89795268b1f23c9bb5a5ff029e3e"
     "eec276f7171164519c08b2c5168091bf7ce15d8f8ad22fa0d1461810cc18f19f"
     "476a6210bf4841ef94f76b1508bd15ff",
     0xcc1c5fc0f8c1cbaaull, 148.4783699810505, 5418.6272657215595},
    {KERN_q5_k,
     "1ca92b82284e5fb3bd76a8f8eccb272c0c8abab83fc7ab0c8b2f64eebd2f1fde"
     "8c93e35c3bda1006a79c6ef30a3216e459e3d6a8eb95589900a0ae6f629a3b65"
     "c63d0cc55e64d84ceca5a9322fe27c64206b14badbf69ae5fe3e63b70dc75294"
     "d48d272c60701a2551d3eea63212f28f674a84adc834e74fdcc9cbff6f5bf1e6"
     "0c5a2620a1a8da28df911a0db3ccc67e6ab0537e83b30706099d93cac9f08343"
     "bb53cc5b0df070b5735ace2c384a2c9d",
     0xcdfe95f605297b65ull, -30372.463889062405, 494501.81241828203},
    {KERN_q6_k,
     "12996e479ee4e7908ebc28fccccbc8457c3576dc5a97900a40951de03e32b10a"
     "25136a9c8bba511f82cbc5061a87ca410873dad2a47b2f87d0d04afdcf3cc539"
     "9062040ce112d2c9b183ebe7acdcca86963acfd9f8c4aa6d460fbf9cec91e26d"
     "37449df0c8c9973ddf48fd08402cb889fc84cf0bba899e3badd5aece13deb552"
     "599d2f994feba982ab693f0c4c8988a205a22d2574c2e653234e751a0ab5a0b8"
     "46b915b630cd8f5bd9cdc9ea66724aea6558c5e9c0e01f26743001ecd84cec93"
     "63bb76c4bc56ce5ae1f5c9e9eb916e74490e",
     0xb658c361435096e2ull, -758.6483581066132, 9766.767226934433},
    {KERN_iq4_xs,
     "57064aa66f695c62dc1cac481530b23552e18ec3249a6854cc7f72760fd49fe7"
     "4db316f4f031eefbc60c5a02e31681745fdb4f641d89677e2c3e9e831ce81c99"
     "b7e42e986db0f0d6d9657aa41b155302b06a3a4da93fb0cbf133edc315dff7f8"
     "96b1e28b2934c667fd99adfbe230137001745528e6ca2ef5098f16673acc2968"
     "5f1de5c220307360",
     0x724cd5265f0ed494ull, -114.85230213403702, 1412.8366368412971},
};

static uint8_t digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static uint64_t fnv(const void *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)p)[i]) * 0x100000001b3ull;
    return h;
}

int main(void)
{
    static struct kern k;
    static float x[512], y[256];
    static float tile[ACT_Q256_BYTES * 2 / sizeof(float)];

    kern_init(&k, 0);
    /* -127..127, the second block halved: integers and scales are exact. */
    for (int i = 0; i < 512; i++)
        x[i] = (float)(i * 37 % 255 - 127) * (i < 256 ? 1.0f : 0.5f);
    k.act[KERN_ACT_Q256](tile, 1, 0, x, 0, 512);
    for (size_t i = 0; i < sizeof gold / sizeof *gold; i++) {
        const struct gold *g = &gold[i];
        const struct kern_quant *q = &k.quant[g->type];
        uint8_t row[2 * 256];
        int n = (int)strlen(g->hex) / 2;
        float dot;

        ok(n == q->bytes && q->elems == 256 && n <= 256, "%s: %d bytes",
           q->name, n);
        for (int j = 0; j < n; j++)
            row[j] = row[n + j] =
                (uint8_t)(digit(g->hex[2 * j]) << 4 | digit(g->hex[2 * j + 1]));
        q->dequant(y, row, 256);
        ok(fnv(y, sizeof y) == g->hash, "%s: values", q->name);
        dot = q->dot(row, tile, 512, 1, 0);
        ok(fabs((double)dot - g->dot) <= 1e-6 * g->size, "%s: product %g, %g",
           q->name, (double)dot, g->dot);
    }
    return tap_done();
}
