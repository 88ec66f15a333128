/* SPDX-License-Identifier: Apache-2.0 */
/* In a libuv loop: two lines tie the client to it (uv_poll_init() and
 * uv_poll_start()); everything else is the program's own.
 *
 *     ./event_loop_uv [URL]     holds a lock for a second while a timer ticks
 */
#define _GNU_SOURCE /* what uv.h takes for granted */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <uv.h>

struct program {
    uv_loop_t *loop;
    struct hf_client *client;
    struct hf_lock *lock;
    uv_poll_t poll;
    uv_timer_t timer;
    int ticks;
    int status;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct program *program = poll->data;
    (void)status;
    (void)events;
    hf_client_process(program->client);
}

static void finish(struct program *program, int status)
{
    program->status = status;
    uv_close((uv_handle_t *)&program->poll, NULL);
    uv_close((uv_handle_t *)&program->timer, NULL);
}

static void on_released(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    (void)lock;
    (void)error;
    printf("given back: %s\n", hf_status_text(status));
    finish(user, status == HF_OK ? 0 : 1);
}

static void on_tick(uv_timer_t *timer)
{
    struct program *program = timer->data;
    printf("tick %d: %lld ms are left of the lease\n", ++program->ticks,
           (long long)hf_lock_remaining_ms(program->lock));
    if (!hf_lock_valid_for(program->lock, 50)) {
        finish(program, 1); /* it could not be renewed: stop working */
    } else if (program->ticks == 10) {
        uv_timer_stop(timer);
        hf_op_start_release(program->lock, on_released, program);
    }
}

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct program *program = user;
    if (status != HF_OK) {
        fprintf(stderr, "event_loop_uv: %s\n", error->text);
        finish(program, 1);
        return;
    }
    program->lock = lock;
    uv_timer_start(&program->timer, on_tick, 100, 100);
}

static int run(struct program *program)
{
    struct hf_request request;
    struct hf_error error;
    program->loop = uv_default_loop();
    uv_timer_init(program->loop, &program->timer);
    program->timer.data = program;
    program->poll.data = program;
    uv_poll_init(program->loop, &program->poll, hf_client_fd(program->client));
    uv_poll_start(&program->poll, UV_READABLE, on_readable);

    hf_request_init(&request, "ticker");
    request.ttl_ms = 500; /* renewed by the loop, six times in this second */
    if (hf_op_start_acquire(program->client, &request, on_acquired, program,
                            NULL, &error) != HF_OK) {
        fprintf(stderr, "event_loop_uv: %s\n", error.text);
        finish(program, 1);
    }
    uv_run(program->loop, UV_RUN_DEFAULT);
    uv_loop_close(program->loop);
    return program->status;
}

int main(int argc, char **argv)
{
    struct program program = {0};
    struct hf_client_options options;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(argc > 1 ? argv[1] : NULL, &options, &program.client,
                       &error) != HF_OK) {
        fprintf(stderr, "event_loop_uv: %s\n", error.text);
        return 1;
    }
    int status = run(&program);
    hf_client_close(program.client);
    return status;
}
