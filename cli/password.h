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

/* The same in a message, where punctuation may follow a URL. */
void cli_password_hide_message(char *text, size_t len);

/* True if the URLs of a text have one. */
bool cli_password_is_in(const char *text);

/* True if the value of a parameter of this name is a password. */
bool cli_password_is_parameter(const char *name, size_t len);

#endif
