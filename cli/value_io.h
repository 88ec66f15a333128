/* SPDX-License-Identifier: Apache-2.0 */
/* Values through descriptors: stdin of put. */
#ifndef CLI_VALUE_IO_H
#define CLI_VALUE_IO_H

#include <holdfast/holdfast.h>

/* One byte more than a value may have, to notice that it has too many. */
struct cli_value_buffer {
    size_t len;
    char data[HF_VALUE_MAX + 1];
};

/* Read to the end, or until the buffer is full. @return 0 or an errno. */
int cli_value_read(struct cli_value_buffer *buffer, int fd);

/* "NAME: a value has at most ... bytes". @return the exit code. */
int cli_value_too_long(const char *name);

#endif
