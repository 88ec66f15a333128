/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write,--wrap=open,--wrap=read,--wrap=fstat,--wrap=close */
/* The configuration file and the password file. The parser reads no byte past
 * their ends. An error is one line, with exit code 78. The resulting URL has no
 * line ends and is passed to the URL parser.
 *
 * Input: a byte with the files' permissions, the configuration, and after a NUL
 * the password file. Both are read from memory. */
#include "said.h"

#include "config.h"
#include "exit_code.h"
#include "store/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define FOLDER "/fuzzed"
#define CONFIG_FD 1000001
#define PASSWORD_FD 1000002

static struct memory_file {
    const uint8_t *at;
    size_t left;
    mode_t mode;
} files[2];

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);
int __real_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about);
int __real_close(int fd);
int __wrap_close(int fd);

static bool is_running;

static struct memory_file *file_of(int fd)
{
    return fd == CONFIG_FD ? &files[0] : fd == PASSWORD_FD ? &files[1] : NULL;
}

/* While a target runs, every other path is that of the password file. */
int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (!is_running) {
        return __real_open(path, flags, mode);
    }
    FUZZ_CHECK((flags & O_ACCMODE) == O_RDONLY);
    if (strcmp(path, FOLDER "/holdfast/config") == 0) {
        return CONFIG_FD;
    }
    errno = ENOENT;
    return path[0] == '/' ? PASSWORD_FD : -1;
}

ssize_t __wrap_read(int fd, void *data, size_t len)
{
    struct memory_file *file = file_of(fd);
    if (file == NULL) {
        return __real_read(fd, data, len);
    }
    len = len < file->left ? len : file->left;
    if (len > 0) {
        memcpy(data, file->at, len);
        file->at += len;
        file->left -= len;
    }
    return (ssize_t)len;
}

int __wrap_fstat(int fd, struct stat *about)
{
    const struct memory_file *file = file_of(fd);
    if (file == NULL) {
        return __real_fstat(fd, about);
    }
    *about = (struct stat){.st_mode = S_IFREG | file->mode};
    return 0;
}

int __wrap_close(int fd)
{
    return file_of(fd) != NULL ? 0 : __real_close(fd);
}

static void check_found(const struct cli_config *config, bool is_secret)
{
    struct hf_url *url = NULL;
    struct hf_error error;
    FUZZ_CHECK(config->source == CLI_FROM_FILE);
    FUZZ_CHECK(config->url[0] != '\0');
    FUZZ_CHECK(memchr(config->url, '\0', sizeof(config->url)) != NULL);
    FUZZ_CHECK(strchr(config->url, '\n') == NULL);
    FUZZ_CHECK(strpbrk(config->password, "\r\n") == NULL);
    FUZZ_CHECK(is_secret || config->password[0] == '\0');
    (void)hf_url_parse(config->url, config->password, &url, &error);
    hf_url_free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cli_config config;
    struct cli_args args;
    struct fuzz_input in = {data, size};
    uint8_t modes = fuzz_u8(&in);
    const uint8_t *end = in.left == 0 ? NULL : memchr(in.at, '\0', in.left);
    size_t len = end == NULL ? in.left : (size_t)(end - in.at);
    size_t rest = end == NULL ? 0 : in.left - len - 1;
    files[0] = (struct memory_file){in.at, len, (modes & 1) != 0 ? 0600 : 0644};
    files[1] = (struct memory_file){end == NULL ? NULL : end + 1, rest,
                                    (modes & 2) != 0 ? 0600 : 0644};
    cli_args_init(&args);
    setenv("XDG_CONFIG_HOME", FOLDER, 1);
    unsetenv("HOLDFAST_URL");
    said_lines = 0;
    is_running = true;
    int code = cli_config_find(&config, &args);
    is_running = false;
    FUZZ_CHECK(code == 0 || code == CLI_EXIT_CONFIG);
    FUZZ_CHECK(said_lines == (code != 0));
    if (code == 0) {
        check_found(&config, (modes & 2) != 0);
    }
    cli_config_wipe(&config);
    return 0;
}
