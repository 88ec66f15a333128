/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was started without standard descriptors: what it prints must
 * not go into a file of the store, or to a server. */
#include "redis_client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Nothing may have become one of them. */
static bool is_silent(void)
{
    static const char text[] = "printed\r\n";
    bool silent = true;
    for (int fd = 0; fd <= 2; fd++) {
        silent &= write(fd, text, sizeof(text) - 1) < 0 && errno == EBADF;
    }
    return silent;
}

static int use(const char *url)
{
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_request request;
    uint64_t version;
    for (int fd = 0; fd <= 2; fd++) {
        close(fd);
    }
    if (hf_client_open(url, NULL, &client, NULL) != HF_OK || !is_silent()) {
        return 1;
    }
    hf_request_init(&request, "n");
    if (hf_lock_acquire(client, &request, &lock, NULL) != HF_OK ||
        !is_silent()) {
        return 2;
    }
    if (hf_value_put(client, "v", 1, "x", 1, HF_VERSION_ANY, &version, NULL) !=
            HF_OK ||
        !is_silent()) {
        return 3;
    }
    if (hf_lock_release(lock) != HF_OK || !is_silent()) {
        return 4;
    }
    hf_client_close(client);
    return 0;
}

static void test_url(const char *url)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(use(url));
    }
    ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "%s: ended", url);
    ok(WEXITSTATUS(status) == 0, "nothing was printed into it: step %d",
       WEXITSTATUS(status));
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char folder[200];
    char url[240];
    struct server server;
    server_start(&server, NULL);
    snprintf(url, sizeof(url),
             "redis+unix://%s?quarantine=off&max_ttl=1h&node_timeout=3s",
             server.path);
    test_url(url);
    server_remove(&server);
    snprintf(folder, sizeof(folder), "%s/closed.XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    ok(mkdtemp(folder) != NULL, "a folder");
    snprintf(url, sizeof(url), "local://%s", folder);
    test_url(url);
    return tap_done();
}
