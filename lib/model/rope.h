/* SPDX-License-Identifier: MIT
 * rope.h - rotations: which angle each pair of elements turns by. */
#ifndef LLM_MODEL_ROPE_H
#define LLM_MODEL_ROPE_H

#include <stdbool.h>

struct build;

/* Read the rope keys and tensors and make table 0, which all layers use;
 * BASE is what the base is when the file does not say.  Layers with a window
 * have a table of their own when their base differs (WINDOW_BASE, when the file
 * does not say; 0: that of the others) or when they, not WINDOW_SCALED, have
 * none of the scaling.  After params_windows(). */
void rope_read(struct build *b, double base, double window_base,
               bool window_scaled);

#endif
