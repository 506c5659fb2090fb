/* SPDX-License-Identifier: MIT
 * io.h - where a program reads from, where it writes, and in which form. */
#ifndef LLM_CMD_IO_H
#define LLM_CMD_IO_H

#include "cmd/common/cli.h"
#include "wire/wire.h"

/* Groups for option tables, as {.name = "", .kind = CLI_GROUP, .out = ...}:
 * -f and -o; -o alone. */
extern const struct cli_opt io_stream_opts[];
extern const struct cli_opt io_file_opts[];

/* Make standard output what -o says, once, before anything is written; exits
 * when that fails.  io_output_name() is what messages should call it. */
void io_output(void);
const char *io_output_name(void);

/* The word of a -f that is the program's own, which has forms besides these; -o
 * alone is then in its table. */
void io_form(const char *word);

/* io_output(), and the form to write: what -f says, else WIRE_TEXT on a
 * terminal and WIRE_CBOR elsewhere.  Exits when -f asks for CBOR on a
 * terminal. */
enum wire_format io_format(const struct cli *c);

/* io_format(); and *W, a stream on standard output in that form, or NULL where
 * it is WIRE_TEXT, which the program writes itself. */
enum wire_format io_stream(const struct cli *c, struct wire_out **w);
/* Close W (NULL may be closed); exits, with ST unless it is 0, when something
 * was not written.  The file that -o names is then what it was. */
void io_stream_close(struct wire_out *w, int st);

/* Open OPERAND for reading, "-" being standard input.  *NAME is what messages
 * should call it.  -1 with ERR_IO, also for a directory. */
int io_open(const char *operand, const char **name, struct err *e);

/* Call FN for each of the N operands, opened, or for standard input when N is
 * 0.  An operand that fails, there or here, is warned about, and the others go
 * on, unless it was out of memory.  The worst exit code. */
typedef int io_fn(void *arg, int fd, const char *name, struct err *e);
int io_each(char **operand, int n, io_fn *fn, void *arg);

#endif
