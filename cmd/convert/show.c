/* SPDX-License-Identifier: MIT
 *
 * What becomes of a folder, for people and as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/common/cli.h"
#include "cmd/convert/convert.h"

static const char *type_name(uint32_t type)
{
    return gguf_type_info(type)->name;
}

/* Of what T is made: NULL where of nothing in the folder. */
static const struct safetensors_tensor *source(const struct convert_tensor *t)
{
    return t->npiece ? t->piece[0].from : NULL;
}

/* "[8 of] name", as far as it says. */
static void from_text(const struct convert_tensor *t)
{
    const struct safetensors_tensor *s = source(t);

    if (!s)
        printf("made");
    else if (t->npiece > 1 && t->piece[1].from != s)
        printf("%s and %zu more", s->name, t->npiece - 1);
    else
        printf("%s", s->name);
}

static void row(const struct convert_tensor *t)
{
    char shape[96] = "";
    int n = 0;

    for (int i = 0; i < t->ndim; i++)
        n += snprintf(shape + n, sizeof shape - (size_t)n,
                      i ? " x %llu" : "%llu", (unsigned long long)t->ne[i]);
    printf("%-32s %-20s %-4s %-4s ", t->name, shape,
           source(t) ? safetensors_dtype_name(source(t)->dtype) : "-",
           type_name(t->type));
    from_text(t);
    putchar('\n');
}

static void show_text(const struct convert *c, uint64_t file)
{
    for (size_t i = 0; i < convert_n(c); i++)
        row(convert_at(c, i));
    printf("%s: %zu tensors, %llu bytes of %llu\n",
           convert_model_of_folder(c)->arch, convert_n(c),
           (unsigned long long)convert_head(c)->data, (unsigned long long)file);
}

static json_t *tensor_json(const struct convert_tensor *t)
{
    const struct safetensors_tensor *s = source(t);
    json_t *j = json_object(), *shape = json_array(), *from = json_array();

    for (int i = 0; i < t->ndim; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->ne[i]));
    for (size_t i = 0; i < t->npiece; i++)
        if (!i || t->piece[i].from != t->piece[i - 1].from)
            json_array_append_new(from, json_string(t->piece[i].from->name));
    json_object_set_new(j, "name", json_string(t->name));
    json_object_set_new(j, "shape", shape);
    json_object_set_new(j, "from",
                        s ? json_string(safetensors_dtype_name(s->dtype))
                          : json_null());
    json_object_set_new(j, "to", json_string(type_name(t->type)));
    json_object_set_new(j, "bytes", json_integer((json_int_t)t->bytes));
    json_object_set_new(j, "tensors", from);
    return j;
}

static void show_json(const struct convert *c, const struct job *job,
                      uint64_t file)
{
    json_t *j = json_object(), *tensors = json_array();
    char *out;

    json_object_set_new(j, "folder", json_string(job->input));
    json_object_set_new(j, "architecture",
                        json_string(convert_model_of_folder(c)->arch));
    json_object_set_new(j, "bytes", json_integer((json_int_t)file));
    json_object_set_new(j, "tensor_bytes",
                        json_integer((json_int_t)convert_head(c)->data));
    for (size_t i = 0; i < convert_n(c); i++)
        json_array_append_new(tensors, tensor_json(convert_at(c, i)));
    json_object_set_new(j, "tensors", tensors);
    out = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    if (!out)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    puts(out);
    free(out);
}

void convert_show(const struct convert *c, const struct job *j)
{
    struct buf head = {0};
    struct err e = {0};
    uint64_t file;

    if (gguf_out_head(&head, convert_head(c), &e))
        die(&e);
    file = head.n + convert_head(c)->data;
    buf_free(&head);
    if (j->json)
        show_json(c, j, file);
    else
        show_text(c, file);
}
