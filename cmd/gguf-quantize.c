/* SPDX-License-Identifier: MIT
 * gguf-quantize.c - a model in fewer bits. */
#include <float.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "cmd/common/model.h"
#include "cmd/quantize/quantize.h"

/* No number that anybody asks for. */
#define UNSAID (-FLT_MAX)

static struct job job = {.tokens = 4096, .max_kl = UNSAID};
static struct cli_list tensors;
static const char *embedding, *output_type, *target_size, *format = "text";
static int dry_run, fallback, list, measure, pure, quiet, requantize;
static int threads = INT_MIN; /* not given, and so for the next */

static const struct cli_opt opts[] = {
    {0, "allow-requantize", CLI_FLAG, &requantize, NULL,
     "quantise again what is quantised already"},
    {'n', "dry-run", CLI_FLAG, &dry_run, NULL,
     "show what would become of each tensor, and write nothing"},
    {0, "embedding", CLI_STR, &embedding, "type",
     "the type of the token embeddings"},
    {0, "fallback", CLI_FLAG, &fallback, NULL,
     "take another type where rows are no whole blocks"},
    {'f', "format", CLI_STR, &format, "text|json", "how --dry-run prints"},
    {0, "imatrix", CLI_STR, &job.imatrix, "file",
     "weigh errors by this importance matrix"},
    {0, "list", CLI_FLAG, &list, NULL, "list the recipes"},
    {0, "max-kl", CLI_FLOAT, &job.max_kl, "number",
     "choose the smallest types that keep the answers so near"},
    {0, "measure", CLI_FLAG, &measure, NULL,
     "with --dry-run, say what each tensor would lose"},
    {'o', "output", CLI_STR, &job.output, "file", "the new model"},
    {0, "output-type", CLI_STR, &output_type, "type",
     "the type of the matrix that makes the logits"},
    {0, "pure", CLI_FLAG, &pure, NULL,
     "give all tensors the recipe's main type"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no notes and no progress"},
    {0, "target-size", CLI_STR, &target_size, "size",
     "choose types that lose least in so many bytes, or bits as 4.5bpw"},
    {0, "tensor", CLI_LIST, &tensors, "regex=type",
     "the type of tensors whose name matches"},
    {0, "text", CLI_STR, &job.text, "file",
     "measure what the answers lose by this text, or stream of tokens"},
    {0, "text-tokens", CLI_INT, &job.tokens, "count",
     "use so many tokens of it; default: 4096"},
    {'t', "threads", CLI_INT, &threads, "count", "threads"},
    {0},
};
static const struct cli cli = {"gguf-quantize", "model [recipe]",
                               "make a model's tensors smaller", opts};

static int list_recipes(void)
{
    const struct recipe *r;

    for (size_t i = 0; (r = recipe_at(i)); i++)
        printf("%s\n", r->name);
    return cli_finish(0);
}

static const struct recipe *recipe_operand(const char *name)
{
    const struct recipe *r = recipe_find(name ? name : "COPY");

    if (!r)
        usage_error(&cli, "'%s' is no recipe: --list has them", name);
    return r;
}

/* Are types chosen, and not named? */
static bool chosen(void)
{
    return target_size || !(job.max_kl == UNSAID);
}

static void measuring_options(void)
{
    if (measure && !dry_run)
        usage_error(&cli, "--measure goes with --dry-run");
    if (!(job.max_kl == UNSAID) && !(job.max_kl > 0 && job.max_kl < 1e3f))
        usage_error(&cli, "--max-kl must be above 0");
    if (job.max_kl > 0 && !job.text)
        usage_error(&cli, "--max-kl needs a --text to measure by");
    if (job.text && !chosen() && !measure)
        usage_error(&cli, "--text goes with --max-kl, --target-size or "
                          "--measure");
    if (job.tokens < 512)
        usage_error(&cli, "--text-tokens must be at least 512");
    job.threads = threads > 0 ? threads : 0;
}

static void options(int argc, char **argv, int i)
{
    static const char *const formats[] = {"text", "json", NULL};

    if (i == argc)
        usage_error(&cli, "no model is named");
    if (argc - i > 2)
        usage_error(&cli, "one model and one recipe, not '%s'", argv[i + 2]);
    if (argc - i < 2 && !chosen())
        usage_error(&cli, "no recipe is named: --list has them");
    if (argc - i == 2 && chosen())
        usage_error(&cli, "--target-size and --max-kl choose the types "
                          "themselves: no recipe");
    if (!job.output == !dry_run)
        usage_error(&cli, "either --output or --dry-run is needed");
    if (threads != INT_MIN && (threads < 1 || threads > POOL_MAX))
        usage_error(&cli, "--threads: %d is not in 1..%d", threads, POOL_MAX);
    measuring_options();
    job.json = cli_choice(&cli, "format", format, formats) == 1;
    job.quiet = quiet;
    job.want.recipe = recipe_operand(argv[i + 1]);
    job.want.pure = pure;
    job.want.requant = requantize;
    job.want.fallback = fallback;
    want_types(&job, &cli, &tensors, embedding, output_type);
}

/* Threads without signals: those are for the first one. */
static struct pool *make_pool(void)
{
    struct err e = {0};
    sigset_t all, old;
    struct pool *p;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    p = pool_new(threads > 0 ? threads : cpu_threads(), &e);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (!p)
        die(&e);
    return p;
}

static int measure_plan(struct plan *p, const struct quantize_run *r,
                        struct err *e)
{
    for (size_t i = 0; i < p->n; i++) {
        struct plan_tensor *k = &p->tensor[i];

        if (k->type != k->t->type &&
            quantize_measure(&k->error, k, k->type, r, e))
            return -1;
        if (r->progress)
            r->progress(r->arg, i, p->n);
    }
    clear_progress();
    return 0;
}

static int quantize(struct plan *p, const struct gguf *g,
                    const struct quantize_run *r, struct err *e)
{
    struct gguf_out o;
    struct buf head = {0};
    uint64_t file;
    int rc;

    if (measure && !chosen() &&
        (measure_plan(p, r, e) ||
         (job.text && search_measure(p, g, &job, r, e))))
        return err_prefix(e, "%s", gguf_path(g));
    rc = keys_make(&o, g, p, &job, e);
    if (!rc)
        rc = gguf_out_head(&head, &o, e);
    file = head.n + o.data;
    buf_free(&head);
    if (!rc && dry_run)
        rc = show_plan(p, g, &job, file);
    else if (!rc)
        rc = write_model(p, &o, &job, r, e);
    if (!rc)
        show_notes(p, g, &job, file);
    else if (e->code == ERR_FORMAT)
        err_prefix(e, "%s", gguf_path(g));
    gguf_out_fini(&o);
    return rc;
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), rc;
    struct quantize_run run = {0};
    struct imatrix *im = NULL;
    struct target target;
    struct quantize q;
    struct err e = {0};
    struct gguf *g;
    struct plan p;

    if (list)
        return list_recipes();
    options(argc, argv, i);
    if (target_size)
        want_target(&target, &cli, target_size);
    quantize_init(&q, cpu_flags());
    g = model_operand(argv[i]);
    if (job.imatrix && imatrix_open(&im, job.imatrix, &e))
        die(&e);
    job.want.imatrix = im;
    run.q = &q;
    run.pool = make_pool();
    run.progress = !quiet && isatty(STDERR_FILENO) ? show_progress : NULL;
    rc = plan_make(&p, g, &q, &job.want, &e);
    if (!rc && job.text && chosen())
        rc = search_types(&p, g, target_size ? &target : NULL, &job, &run, &e);
    else if (!rc && target_size)
        rc = fit_types(&p, g, &target, &job, &run, &e);
    if (!rc)
        rc = quantize(&p, g, &run, &e);
    if (rc)
        warn("%s", e.msg);
    plan_fini(&p);
    pool_free(run.pool);
    imatrix_close(im);
    want_free(&job);
    free(job.kl.group);
    gguf_close(g);
    return cli_finish(rc ? status(&e) : 0);
}
