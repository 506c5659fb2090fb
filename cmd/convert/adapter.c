/* SPDX-License-Identifier: MIT
 *
 * A LoRA adapter to a GGUF. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/common/cleanup.h"
#include "cmd/common/cli.h"
#include "cmd/common/value.h"
#include "cmd/convert/convert.h"
#include "convert/peft.h"

static void show_one(const struct peft *p, size_t i, bool json)
{
    const struct safetensors_tensor *t = peft_from(p, i);
    const char *dtype = safetensors_dtype_name(t->dtype),
               *type = gguf_type_info(peft_type(p, i))->name;

    if (!json) {
        printf("%-40s %llu x %llu  %s  %s  ", peft_name(p, i),
               (unsigned long long)t->shape[1], (unsigned long long)t->shape[0],
               dtype, type);
        put_text((struct gguf_str){t->name, strlen(t->name)}, true);
        putchar('\n');
        return;
    }
    printf("%s{\"name\":\"%s\",\"shape\":[%llu,%llu],\"from\":\"%s\",\"to\":"
           "\"%s\",\"tensors\":[",
           i ? "," : "", peft_name(p, i), (unsigned long long)t->shape[1],
           (unsigned long long)t->shape[0], dtype, type);
    put_cstring(t->name);
    fputs("]}", stdout);
}

static void show(const struct peft *p, const struct job *j)
{
    if (j->json) {
        fputs("{\"folder\":", stdout);
        put_cstring(j->input);
        printf(",\"tensor_bytes\":%llu,\"tensors\":[",
               (unsigned long long)peft_head(p)->data);
    }
    for (size_t i = 0; i < peft_n(p); i++)
        show_one(p, i, j->json);
    if (j->json)
        puts("]}");
}

static int write_adapter(const struct peft *p, const struct job *j,
                         struct err *e)
{
    struct gguf_file *f;

    if (cleanup_open(&f, j->output, e))
        return -1;
    if (gguf_file_head(f, peft_head(p), e) || peft_write(p, f, e) ||
        cleanup_close(f, e)) {
        cleanup_abandon(f);
        return -1;
    }
    return 0;
}

int convert_adapter(const struct job *j)
{
    struct peft *p;
    struct err e = {0};

    if (peft_open(&p, j->input, j->base, j->want.type, &e))
        die(&e);
    if (j->dry_run)
        show(p, j);
    else if (write_adapter(p, j, &e))
        warn("%s", e.msg);
    peft_close(p);
    return cli_finish(e.code ? status(&e) : 0);
}
