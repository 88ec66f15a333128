/* SPDX-License-Identifier: Apache-2.0 */
/* The file has lines `key = value`; `#` begins a comment line. Keys are `url`,
 * `password_file`, and the parameters of URLs. Parameters are appended to the
 * URL and checked by the library, so that there is one list of them. */
#include "config.h"

#include "base/nearest.h"
#include "exit_code.h"
#include "io/home.h"
#include "io/secret_file.h"
#include "message.h"
#include "password.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest file. A longer one is no configuration: a device, or a log file. */
#define FILE_MAX 16384

#define HOLDS_PASSWORD "holds a password and " HF_SECRET_FILE_EXPOSED

struct found {
    size_t len; /* without the NUL at the end; there may be others before */
    bool is_exposed; /* hf_secret_file_is_exposed() */
};

struct file {
    struct cli_config *config;
    struct found found;
    unsigned line;
    char params[sizeof(((struct cli_config *)0)->url) / 2];
    char text[FILE_MAX];
};

static void begin_line(struct cli_out *out, const struct file *file)
{
    cli_message_begin(out);
    (void)cli_out_shown(out, file->config->path, strlen(file->config->path));
    if (file->line > 0) {
        cli_out_text(out, ":");
        cli_out_int(out, file->line);
    }
    cli_out_text(out, ": ");
}

static int complain(const struct file *file, const char *reason)
{
    struct cli_out out;
    begin_line(&out, file);
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

/* Of read_all(): a pipe of <(command) is refused too, since a password file is
 * read again at each connection. */
static const char *read_error(int error)
{
    return error == EINVAL ? "not a regular file" : cli_message_of(error);
}

/* @return 0 with `text` filled and terminated; else errno. */
static int read_all(const char *path, char *text, size_t room,
                    struct found *found)
{
    struct stat info;
    size_t len = 0;
    ssize_t n = 1;
    /* O_NONBLOCK: a FIFO must not block the open. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return errno;
    }
    int error = fstat(fd, &info) < 0     ? errno
                : S_ISDIR(info.st_mode)  ? EISDIR
                : !S_ISREG(info.st_mode) ? EINVAL
                                         : 0;
    found->is_exposed = error == 0 && hf_secret_file_is_exposed(&info);
    while (error == 0 && n > 0) {
        n = read(fd, text + len, room - 1 - len);
        error = n < 0 ? errno : 0;
        len += n > 0 ? (size_t)n : 0;
        error = error == 0 && len == room - 1 ? EFBIG : error;
    }
    (void)close(fd);
    text[len] = '\0';
    found->len = len;
    return error;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL) {
        text[--len] = '\0';
    }
    return text;
}

const char *cli_config_password(const char *path, char out[CLI_PASSWORD_MAX])
{
    struct found found = {.is_exposed = false};
    int error = read_all(path, out, CLI_PASSWORD_MAX, &found);
    out[strcspn(out, "\r\n")] = '\0';
    if (error != 0) {
        return read_error(error);
    }
    if (found.is_exposed) {
        return HOLDS_PASSWORD;
    }
    return out[0] == '\0' ? "holds no password" : NULL;
}

static const char *read_password(struct cli_config *config, const char *path)
{
    size_t len = strlen(path);
    if (len >= sizeof(config->password_file)) {
        return cli_message_of(ENAMETOOLONG);
    }
    memcpy(config->password_file, path, len + 1);
    return cli_config_password(path, config->password);
}

static int take_password_file(struct cli_config *config, const char *path)
{
    const char *wrong = read_password(config, path);
    return wrong == NULL ? 0 : cli_message(CLI_EXIT_CONFIG, path, wrong);
}

/* A relative one is relative to the folder of the file that names it. */
static int take_beside(struct file *file, const char *value)
{
    struct cli_config *config = file->config;
    char path[2 * sizeof(config->path)];
    struct cli_out out;
    const char *slash = strrchr(config->path, '/');
    if (strlen(value) >= sizeof(config->path)) {
        return complain(file, "too long");
    }
    cli_out_init_text(&out, path, sizeof(path));
    if (value[0] != '/' && slash != NULL) {
        cli_out_bytes(&out, config->path, (size_t)(slash + 1 - config->path));
    }
    cli_out_text(&out, value);
    const char *wrong = read_password(config, path);
    if (wrong == NULL) {
        return 0;
    }
    begin_line(&out, file);
    (void)cli_out_shown(&out, path, strlen(path));
    cli_out_text(&out, ": ");
    cli_out_text(&out, wrong);
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

static void note_key(struct file *file, const char *key)
{
    struct cli_config *config = file->config;
    struct cli_out out;
    if (config->n_keys < CLI_CONFIG_KEYS) {
        cli_out_init_text(&out, config->keys[config->n_keys].key,
                          sizeof(config->keys[0].key));
        cli_out_text(&out, key);
        config->keys[config->n_keys++].line = file->line;
    }
}

/* Of url and password_file, each of which replaces what was read before. The
 * library sees to the parameters. @return 0, or the exit code. */
static int check_first(const struct file *file, const char *key)
{
    const struct cli_config *config = file->config;
    struct cli_out out;
    for (size_t i = 0; i < config->n_keys; i++) {
        if (strcmp(config->keys[i].key, key) == 0) {
            begin_line(&out, file);
            cli_out_text(&out, key);
            cli_out_text(&out, " is given twice, first in line ");
            cli_out_int(&out, config->keys[i].line);
            return cli_message_end(&out, CLI_EXIT_CONFIG);
        }
    }
    return 0;
}

/* The key that is first in the text: a list of all known keys may follow it. */
unsigned cli_config_line(const struct cli_config *config, const char *text)
{
    unsigned line = 0;
    const char *first = NULL;
    for (size_t i = 0; i < config->n_keys; i++) {
        const char *key = config->keys[i].key;
        const char *at = strstr(text, key);
        if (strcmp(key, "url") == 0) {
            line = first == NULL ? config->keys[i].line : line;
        } else if (at != NULL && (first == NULL || at < first)) {
            first = at;
            line = config->keys[i].line;
        }
    }
    return line;
}

/* Refuse syntax of other formats, which here would be a part of the value.
 * @return the reason, or NULL. */
static const char *check_value(const char *value)
{
    size_t len = strlen(value);
    if (len > 1 && (value[0] == '"' || value[0] == '\'') &&
        value[len - 1] == value[0]) {
        return "no quotes around values";
    }
    return strstr(value, " #") != NULL || strstr(value, "\t#") != NULL
               ? "a comment needs a line of its own"
               : NULL;
}

static int take_param(struct file *file, const char *key, const char *value)
{
    struct cli_out out;
    size_t used = strlen(file->params);
    if (key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")] != '\0') {
        return complain(file, "not a `key = value` line");
    }
    if (file->found.is_exposed && value[0] != '\0' &&
        cli_password_is_parameter(key, strlen(key))) {
        return complain(file, HOLDS_PASSWORD);
    }
    if (used + strlen(key) + 3 * strlen(value) + 3 > sizeof(file->params)) {
        return complain(file, "too long");
    }
    cli_out_init_text(&out, file->params + used, sizeof(file->params) - used);
    cli_out_text(&out, used > 0 ? "&" : "");
    cli_out_text(&out, key);
    cli_out_text(&out, "=");
    for (; *value != '\0'; value++) {
        if (strchr("%&#?+ ,", *value) != NULL) {
            static const char hex[] = "0123456789ABCDEF";
            char code[] = {'%', hex[(unsigned char)*value >> 4],
                           hex[*value & 15]};
            cli_out_bytes(&out, code, sizeof(code));
        } else {
            cli_out_bytes(&out, value, 1);
        }
    }
    return 0;
}

static int take_url_line(struct file *file, const char *value)
{
    struct cli_config *config = file->config;
    if (strlen(value) >= sizeof(config->url) / 2) {
        return complain(file, "too long");
    }
    if (file->found.is_exposed && cli_password_is_in(value)) {
        return complain(file, HOLDS_PASSWORD ", or use password_file");
    }
    memcpy(config->url, value, strlen(value) + 1);
    return 0;
}

static int take_pair(struct file *file, const char *key, const char *value)
{
    bool is_url = strcmp(key, "url") == 0;
    if (!is_url && strcmp(key, "password_file") != 0) {
        note_key(file, key);
        return take_param(file, key, value);
    }
    int code = check_first(file, key);
    if (code != 0) {
        return code;
    }
    note_key(file, key);
    return is_url ? take_url_line(file, value) : take_beside(file, value);
}

static int take_line(struct file *file, char *line)
{
    line = trimmed(line);
    if (line[0] == '\0' || line[0] == '#') {
        return 0;
    }
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        return complain(file, "not a `key = value` line");
    }
    *equals = '\0';
    const char *key = trimmed(line);
    const char *value = trimmed(equals + 1);
    const char *wrong = check_value(value);
    return wrong != NULL ? complain(file, wrong) : take_pair(file, key, value);
}

/* Without a URL no store checks the parameters: one of them may be that key,
 * misspelled. @return the exit code. */
static int refuse_no_url(struct file *file)
{
    static const char *const url[] = {"url", NULL};
    const struct cli_config *config = file->config;
    struct cli_out out;
    for (size_t i = 0; i < config->n_keys; i++) {
        const char *key = config->keys[i].key;
        if (strcmp(key, url[0]) != 0 && hf_nearest(key, url) != NULL) {
            file->line = config->keys[i].line;
            begin_line(&out, file);
            cli_out_text(&out, "unknown key \"");
            cli_out_text(&out, key);
            cli_out_text(&out, "\": did you mean \"url\"?");
            return cli_message_end(&out, CLI_EXIT_CONFIG);
        }
    }
    file->line = 0;
    return complain(file, "has no `url = …` line");
}

static const char *last_url(const char *text)
{
    size_t at = strlen(text);
    while (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\t') {
        at--;
    }
    return text + at;
}

/* Append the file's parameters to those of its URL: of several to the last, as
 * the parameters of any are those of all. */
static int join(struct file *file)
{
    struct cli_config *config = file->config;
    struct cli_out out;
    size_t len = strlen(config->url);
    if (len == 0) {
        return refuse_no_url(file);
    }
    if (file->params[0] == '\0') {
        return 0;
    }
    cli_out_init_text(&out, config->url + len, sizeof(config->url) - len);
    cli_out_text(&out, strchr(last_url(config->url), '?') != NULL ? "&" : "?");
    cli_out_text(&out, file->params);
    return 0;
}

/* Of a file that cannot be opened: a link to nothing is no missing file. It was
 * made to configure a store, and without that store this user's own one would
 * be used, which excludes no other machine. The link may be the folder.
 * @return -1 if there is no link, else the exit code. */
static int check_missing(const struct file *file)
{
    struct stat info;
    char folder[sizeof(file->config->path)];
    const char *path = file->config->path;
    size_t len = strlen(path) + 1;
    memcpy(folder, path, len);
    char *slash = strrchr(folder, '/');
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        return complain(file, "is a symbolic link to nothing");
    }
    if (slash == NULL) {
        return -1;
    }
    *slash = '\0';
    bool is_link = lstat(folder, &info) == 0 && S_ISLNK(info.st_mode);
    return is_link && stat(folder, &info) < 0
               ? complain(file, "its folder is a symbolic link to nothing")
               : -1;
}

/* The text after a NUL byte would be ignored, and a byte order mark would be a
 * part of the first key. @return 0, or the exit code. */
static int check_text(struct file *file)
{
    static const char bom[] = "\xef\xbb\xbf";
    if (strncmp(file->text, bom, strlen(bom)) == 0) {
        file->line = 1;
        return complain(file, "begins with a byte order mark (BOM): save it as "
                              "UTF-8 without one");
    }
    const char *nul = memchr(file->text, '\0', file->found.len);
    if (nul == NULL) {
        return 0;
    }
    file->line = 1;
    for (const char *at = file->text; at < nul; at++) {
        file->line += *at == '\n';
    }
    return complain(file, "has a NUL byte");
}

static int take_lines(struct file *file)
{
    int code = 0;
    for (char *line = file->text; line != NULL && code == 0;) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        file->line++;
        code = take_line(file, line);
        line = next;
    }
    return code;
}

/* @return 0 if there was one, -1 if there is none, else the exit code. */
static int load(struct cli_config *config)
{
    struct file file = {.config = config};
    int error =
        read_all(config->path, file.text, sizeof(file.text), &file.found);
    if (error == ENOENT || error == ENOTDIR) {
        return check_missing(&file);
    }
    if (error != 0) {
        return cli_message(CLI_EXIT_CONFIG, config->path, read_error(error));
    }
    config->source = CLI_FROM_FILE;
    int code = check_text(&file);
    code = code == 0 ? take_lines(&file) : code;
    code = code == 0 ? join(&file) : code;
    explicit_bzero(file.text, sizeof(file.text));
    return code;
}

static int load_in(struct cli_config *config, const char *folder,
                   const char *rest)
{
    struct cli_out out;
    if (folder[0] != '/') {
        return -1;
    }
    if (strlen(folder) + strlen(rest) >= sizeof(config->path)) {
        return cli_message_errno(CLI_EXIT_CONFIG, folder, ENAMETOOLONG);
    }
    cli_out_init_text(&out, config->path, sizeof(config->path));
    cli_out_text(&out, folder);
    cli_out_text(&out, rest);
    return load(config);
}

/* Cron, system services and env -i set no HOME. The file must be read there,
 * too: without it this user's own store would be used, which excludes no other
 * machine. @return as load(). */
static int load_in_home(struct cli_config *config)
{
    char home[sizeof(config->path)];
    const char *folder = getenv("HOME");
    if (folder == NULL || folder[0] != '/') {
        int error = hf_home_find(home, sizeof(home));
        if (error == ENOENT) { /* a user without an entry, and so without file
                                */
            return -1;
        }
        if (error != 0) {
            return cli_message_errno(
                CLI_EXIT_CONFIG,
                "HOME is not set, and the user's home folder cannot be looked "
                "up",
                error);
        }
        folder = home;
    }
    return load_in(config, folder, "/.config/holdfast/config");
}

/* XDG_CONFIG_HOME is an absolute path; any other one is to be ignored. */
static int load_any(struct cli_config *config)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    int code = folder != NULL && folder[0] == '/'
                   ? load_in(config, folder, "/holdfast/config")
                   : load_in_home(config);
    return code >= 0 ? code : load_in(config, "/etc", "/holdfast/config");
}

/* With the code of a malformed URL (store.c). */
static int refuse_length(const struct cli_config *config, size_t len)
{
    struct cli_out out;
    bool is_option = config->source == CLI_FROM_OPTION;
    cli_message_begin(&out);
    cli_out_text(&out, is_option ? "-u" : "HOLDFAST_URL");
    cli_out_text(&out, ": a store URL has at most ");
    cli_out_int(&out, sizeof(config->url) - 1);
    cli_out_text(&out, " bytes; this one has ");
    cli_out_int(&out, (int64_t)len);
    return cli_message_end(&out, is_option ? CLI_EXIT_USAGE : CLI_EXIT_CONFIG);
}

/* @return -1: from no URL that was given, else 0 or the exit code. */
static int take_url(struct cli_config *config, const struct cli_args *args)
{
    const char *url = args->url;
    config->source = CLI_FROM_OPTION;
    if (url == NULL) {
        url = getenv("HOLDFAST_URL");
        config->source = CLI_FROM_ENVIRONMENT;
    }
    /* An empty variable counts as unset; an empty -u is an error. */
    if (args->url == NULL && (url == NULL || url[0] == '\0')) {
        config->source = CLI_FROM_NOWHERE;
        return -1;
    }
    size_t len = strlen(url);
    if (len >= sizeof(config->url)) {
        return refuse_length(config, len);
    }
    memcpy(config->url, url, len + 1);
    cli_password_hide((char *)(uintptr_t)args->url);
    return 0;
}

int cli_config_find(struct cli_config *config, const struct cli_args *args)
{
    const char *file = getenv("HOLDFAST_PASSWORD_FILE");
    config->path[0] = config->url[0] = config->password[0] = '\0';
    config->n_keys = 0;
    int code = take_url(config, args);
    if (code < 0) {
        code = load_any(config);
    }
    if (code <= 0 && file != NULL && file[0] != '\0') {
        return take_password_file(config, file);
    }
    return code > 0 ? code : 0;
}

void cli_config_wipe(struct cli_config *config)
{
    explicit_bzero(config->password, sizeof(config->password));
    explicit_bzero(config->url, sizeof(config->url));
}

void cli_config_forget(struct cli_config *config)
{
    cli_config_wipe(config);
    cli_password_hide(getenv("HOLDFAST_URL"));
}
