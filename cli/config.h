/* SPDX-License-Identifier: Apache-2.0 */
/* The configured store: -u, else HOLDFAST_URL, else the first configuration
 * file that exists, else the embedded store. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "args.h"
#include "text_size.h"

enum cli_config_source {
    CLI_FROM_OPTION,
    CLI_FROM_ENVIRONMENT,
    CLI_FROM_FILE,
    CLI_FROM_NOWHERE /* the embedded store, by default */
};

/* More keys than there are. */
#define CLI_CONFIG_KEYS 32

/* Bytes of a password with its NUL: more than any generated secret has. */
#define CLI_PASSWORD_MAX 1024

/* Bytes of a URL with the parameters of the file. */
#define CLI_CONFIG_URL_MAX 8192

struct cli_config {
    enum cli_config_source source;
    struct {
        char key[HF_TEXT_NUMBER];
        unsigned line;
    } keys[CLI_CONFIG_KEYS]; /* of the file */
    size_t n_keys;
    char path[CLI_HOME_MAX];      /* of the file, for messages */
    char url[CLI_CONFIG_URL_MAX]; /* with the file's parameters */
    char password_file[CLI_PATH_MAX];
    char password[CLI_PASSWORD_MAX]; /* from that file; empty: none */
};

/* Determine the store. A password in a URL of the command line is overwritten
 * in argv, so that ps no longer shows it. @return 0, or the exit code after a
 * line on stderr. */
int cli_config_find(struct cli_config *config, const struct cli_args *args);

/* Read a password file. @return NULL, or the reason why it cannot be used. */
const char *cli_config_password(const char *path, char out[CLI_PASSWORD_MAX]);

/* The line of the file to which an error of the library refers: the line of the
 * key in its text, else that of the URL. 0: no file. */
unsigned cli_config_line(const struct cli_config *config, const char *text);

/* Overwrite the passwords. */
void cli_config_wipe(struct cli_config *config);

/* The same, in a process that opens no store and starts no command: passwords
 * in its environment are overwritten too. */
void cli_config_forget(struct cli_config *config);

#endif
