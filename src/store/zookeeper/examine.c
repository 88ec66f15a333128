/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `holdfast doctor`: the ensemble, the session, and whether the
 * nodes may be used.
 *
 * A transaction that creates a node, and then checks that for a version that it
 * does not have, is refused as a whole: so it tells of the right to create, and
 * writes nothing. The nodes asked for, each if the one before it can be made:
 *
 *   BASE%probe                  where a name's container would be made; then,
 *                               while there is no node above it, the chroot's
 *                               nodes, from the last
 *   BASE%sessions/%probe        where a session's own would be made
 *
 * The members of an ensemble are in a node of the server's own, which is empty
 * where it runs standalone.
 *
 * Cost: two round trips; one more for each node of the chroot that is missing,
 * and then none for the sessions. */
#include "base/fail.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Since ZooKeeper 3.5. */
#define CONFIG "/zookeeper/config"

/* Bytes of a probe's node behind the base. */
#define NODE_MAX 32

static void describe(struct hf_zk *zk)
{
    char text[HF_TEXT_ADVICE];
    const char *server = zoo_get_current_server(zk->main->library);
    snprintf(text, sizeof(text),
             "ZooKeeper, by %s of %u server%s, session %llx, without TLS, %s",
             server == NULL || server[0] == '\0' ? zk->servers[0].shown
                                                 : server,
             zk->n_servers, zk->n_servers == 1 ? "" : "s",
             (unsigned long long)zk->main->id,
             zk->login == NULL ? "without a login" : "with a digest login");
    hf_error_make_plain(text);
    hf_jobs_report(&zk->ordered.jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_report(
        &zk->ordered.jobs, HF_FINDING_OK,
        "an entry lives as long as its session, half as long again as the "
        "ttl; the servers limit that to 2 to 20 of their ticks by default");
    if (zk->n_servers == 1) {
        hf_jobs_report(
            &zk->ordered.jobs, HF_FINDING_OK,
            "one server is named: of an ensemble, name all, so that the next "
            "one is used when it fails");
    }
}

static void ask(struct hf_zk_op *op);

static void finish(struct hf_zk_op *op, int rc, struct hf_instant now)
{
    struct hf_zk *zk = op->zk;
    describe(zk);
    if (op->is_alone && zk->n_servers > 1) {
        hf_jobs_report(&zk->ordered.jobs, HF_FINDING_ERROR,
                       "it runs standalone, but the URL names %u servers: each "
                       "such server grants locks that the others have granted. "
                       "Name it alone, or make them an ensemble",
                       zk->n_servers);
    }
    if (rc == ZNOAUTH) {
        char where[HF_TEXT_CLAUSE];
        size_t len = (size_t)(strrchr(op->text, '/') - op->text);
        snprintf(where, sizeof(where), "%.*s", len == 0 ? 1 : (int)len,
                 op->text);
        hf_error_make_plain(where);
        hf_jobs_report(&zk->ordered.jobs, HF_FINDING_ERROR,
                       "the user has no right to create nodes in %s", where);
    } else if (rc == HF_ZK_QUOTA_EXCEEDED) {
        hf_jobs_report(&zk->ordered.jobs, HF_FINDING_ERROR,
                       "no node can be created: %s", hf_zk_op_reason(rc));
    }
    hf_jobs_finish(&zk->ordered.jobs, HF_OK, NULL);
    hf_zk_op_done(op, now);
}

/** What is asked next, in `text`. @return false: nothing. */
static bool find_next(struct hf_zk_op *op, int rc)
{
    char *end = strrchr(op->text, '/');
    if (op->is_last) {
        return false;
    }
    if (rc == ZNONODE && end != op->text) {
        *end = '\0';
        op->rounds++;
        return true;
    }
    op->is_last = true;
    if (rc != ZBADVERSION || op->rounds > 0) {
        return false; /* there are no sessions there yet */
    }
    snprintf(op->text, strlen(op->folder) + NODE_MAX, "%s%s", op->folder,
             "%sessions/%probe");
    return true;
}

static void on_probed(struct hf_zk_op *op, struct hf_instant now)
{
    struct hf_zk *zk = op->zk;
    bool is_main = op->handle == zk->main && op->handle != NULL;
    int rc = op->create_rc;
    zk->ordered.is_probing = false;
    bool is_answered = rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS ||
                       rc == ZNOAUTH || rc == ZBADVERSION ||
                       rc == HF_ZK_QUOTA_EXCEEDED ||
                       rc == ZRUNTIMEINCONSISTENCY;
    if (!is_answered || !is_main) {
        hf_zk_op_done(op, now); /* another connection asks again */
    } else if (find_next(op, rc)) {
        zk->ordered.is_probing = true;
        ask(op);
        hf_zk_op_await(op, on_probed, now);
    } else {
        finish(op, rc, now);
    }
}

static void on_multi(int rc, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    op->create_rc = rc;
    hf_zk_op_answered(op, ZOK);
}

static void ask(struct hf_zk_op *op)
{
    struct hf_zk *zk = op->zk;
    zoo_create_op_init(&zk->probe[0], op->text, "", 0, hf_zk_acl(zk),
                       ZOO_EPHEMERAL, NULL, 0);
    zoo_check_op_init(&zk->probe[1], op->text, INT32_MAX);
    int rc =
        zoo_amulti(zk->main->library, 2, zk->probe, zk->probed, on_multi, op);
    if (!hf_zk_op_asked(op, rc)) {
        op->create_rc = rc;
    }
}

static void on_config(int rc, const char *value, int len,
                      const struct Stat *stat, const void *data)
{
    struct hf_zk_op *op = (struct hf_zk_op *)(uintptr_t)data;
    (void)value;
    (void)stat;
    op->is_alone = rc == ZOK && len <= 0;
    hf_zk_op_answered(op, ZOK);
}

void hf_zk_examine(struct hf_zk *zk, struct hf_instant now)
{
    struct hf_zk_op *op = NULL;
    if (!hf_zk_is_ready(zk)) {
        return;
    }
    op = hf_zk_op_new(zk->main, NULL, now);
    if (op == NULL) {
        hf_jobs_finish(&zk->ordered.jobs, HF_NO_MEMORY, "out of memory");
        return;
    }
    op->folder = hf_zk_key_folder(zk->base, (struct hf_bytes){"", 0});
    size_t size = op->folder == NULL ? 0 : strlen(op->folder) + NODE_MAX;
    op->text = size == 0 ? NULL : malloc(size);
    if (op->text != NULL) {
        snprintf(op->text, size, "%s%%probe", op->folder);
        (void)hf_zk_op_asked(
            op, zoo_aget(zk->main->library, CONFIG, 0, on_config, op));
        ask(op);
    }
    zk->ordered.is_probing = hf_zk_op_begin(op, on_probed);
    if (!zk->ordered.is_probing) {
        hf_jobs_finish(&zk->ordered.jobs, HF_NO_MEMORY, "out of memory");
    }
}
