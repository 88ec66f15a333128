/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords in texts of URLs: that of the login, and those of parameters, such
 * as libpq's password and sslpassword. */
#ifndef CLI_PASSWORD_H
#define CLI_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Overwrite them, in an argument or a variable: in the memory that ps reads, or
 * before the text is in a message. NULL: none. */
void cli_password_hide(char *text);

/* Find the first one, or its rest, from *at on: *n bytes at *at, not 0.
 * @p is_sentence: a blank, and punctuation before it, ends a URL of the text;
 * else the text is one argument. */
bool cli_password_find(const char *text, size_t len, bool is_sentence,
                       size_t *at, size_t *n);

/* True if the URLs of a text have one. */
bool cli_password_is_in(const char *text);

/* True if the value of a parameter of this name is a password. */
bool cli_password_is_parameter(const char *name, size_t len);

#endif
