/* SPDX-License-Identifier: Apache-2.0 */
/* A client without a thread that does nothing for longer than its timeout of a
 * connection, while it connects: its next try begins again. HF_TEST_URL has a
 * connect_timeout below IDLE_MS; etcd_idle.t.sh drives it. */
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* More than connect_timeout, which is 3 s in etcd_idle.t.sh. */
#define IDLE_MS 3500
/* A request may take 5% of it: the machine may be slow. */
#define TTL_MS 200000

int main(void)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error = {.text = ""};
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(getenv("HF_TEST_URL"), &options, &client, &error) !=
        HF_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    usleep(IDLE_MS * 1000); /* sleeps: that is the case */
    hf_request_init(&request, "idle");
    request.ttl_ms = TTL_MS;
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    if (status == HF_OK) {
        status = hf_lock_release(lock);
    }
    printf("%s %s\n", hf_status_name(status), error.text);
    hf_client_close(client);
    return 0;
}
