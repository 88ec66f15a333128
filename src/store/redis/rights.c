/* SPDX-License-Identifier: Apache-2.0 */
/* Check that the server has each command that a verb needs, and the user the
 * right to it, by using it once: plain commands as plain requests, the commands
 * of scripts in a script (rights.lua), and SUBSCRIBE on the second connection
 * (listen.c). ACL DRYRUN would not do: Redis 6 lacks it, and a user that may
 * call it can test other users too.
 *
 * Cost: six requests, which share the write and the round trip of the
 * examination (examine.c). */
#include "store/redis/command.h"
#include "store/redis/fault.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *right;
    const char *without;
} optional[] = {
    {"+scan", "holdfast ls, top and doctor --init do not work"},
    {"+publish", "a released lock is not handed over: waiters poll"},
    {"+subscribe", "a released lock is not handed over: waiters poll"},
    {"&hf:push:*", "a released lock is not handed over: waiters poll"},
    {"+ping", "5 s after it began to wait, a waiter polls"},
    {"+info", "a replica or a Cluster member is not recognised"},
};
enum { N_OPTIONAL = sizeof(optional) / sizeof(optional[0]) };

static bool is_in(const char *list, const char *right)
{
    size_t len = strlen(right);
    for (const char *at = list; (at = strstr(at, right)) != NULL; at += len) {
        if ((at == list || at[-1] == ' ') &&
            (at[len] == '\0' || at[len] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Bytes of the lists `lacking` and `unknown`. */
#define LIST_SIZE sizeof(((struct hf_redis_examination *)NULL)->lacking)

static void add(char list[LIST_SIZE], const char *right)
{
    size_t used = strlen(list);
    if (right[0] != '\0' && !is_in(list, right)) {
        snprintf(list + used, LIST_SIZE - used, "%s%s", used > 0 ? " " : "",
                 right);
    }
}

/* The right to a command: "+zadd". */
static void name_right(const char *command, size_t len, char *out, size_t size)
{
    size_t used = 0;
    out[used++] = '+';
    for (size_t i = 0; i < len && command[i] != '\0' && used < size - 1; i++) {
        out[used++] = (char)tolower((unsigned char)command[i]);
    }
    out[used] = '\0';
}

/** Note a command that the server does not have: renamed, or disabled. Redis 6
 * quotes it as `GET`, later ones and Valkey as 'GET'. @return false: the error
 * has another cause. */
static bool note_unknown(struct hf_redis_node *node, const char *text)
{
    static const char words[] = "unknown command ";
    const char *name = strcasestr(text, words);
    if (name == NULL) {
        return false;
    }
    char right[HF_TEXT_WORD];
    name += sizeof(words) - 1;
    name += *name == '\'' || *name == '`' ? 1 : 0;
    name_right(name, strcspn(name, "'`, "), right, sizeof(right));
    add(node->examination.unknown, right);
    return true;
}

bool hf_redis_rights_lack(struct hf_redis_node *node, const char *words)
{
    char right[HF_TEXT_WORD];
    if (note_unknown(node, words)) {
        return true;
    }
    hf_redis_right(words, NULL, "", right, sizeof(right));
    add(node->examination.lacking, right);
    return right[0] != '\0';
}

/* ---- Asking ------------------------------------------------------------ */

static void push_plain(struct hf_redis_node *node, uint8_t request,
                       const char *name, const void *argument, size_t len,
                       struct hf_instant now)
{
    struct hf_redis_command command;
    hf_redis_command_begin(&command);
    hf_redis_command_add(&command, name, strlen(name));
    if (argument != NULL) {
        hf_redis_command_add(&command, argument, len);
    }
    hf_redis_examine_ask(node, request, &command, now);
}

void hf_redis_rights_push(struct hf_redis_node *node,
                          const struct hf_redis_keys *keys,
                          struct hf_instant now)
{
    struct hf_redis_command command;
    struct hf_ask ask = {.verb = HF_VERB_INSPECT};
    const struct hf_redis_side_key *side = &keys->sides[HF_REDIS_FENCE];
    push_plain(node, HF_REDIS_RIGHT_PLAIN, "PING", NULL, 0, now);
    push_plain(node, HF_REDIS_RIGHT_PLAIN, "SCAN", "0", 1, now);
    push_plain(node, HF_REDIS_RIGHT_LOCK, "GET", keys->lock, keys->lock_len,
               now);
    push_plain(node, HF_REDIS_RIGHT_SIDE, "GET", side->text, side->len, now);
    (void)hf_redis_command_make(&command, node, keys, &ask);
    hf_redis_examine_ask(node, HF_REDIS_RIGHT_SCRIPT, &command, now);
    command.argv[0] = "EVAL";
    command.lens[0] = 4;
    command.argv[1] = hf_script_rights.text;
    command.lens[1] = hf_script_rights.len;
    hf_redis_command_add(&command, node->store->channel,
                         strlen(node->store->channel));
    hf_redis_examine_ask(node, HF_REDIS_RIGHT_SCRIPT, &command, now);
}

/* ---- Replies ----------------------------------------------------------- */

/* The key pattern that a request needs. An error does not name the refused key,
 * so each request uses one kind of key. */
static void pattern(const struct hf_redis_node *node, uint8_t request,
                    char *out, size_t size)
{
    if (request == HF_REDIS_RIGHT_SIDE) {
        snprintf(out, size, "~hf:*");
    } else {
        snprintf(out, size, "~%s*", node->store->prefix);
    }
}

/* "Unknown Redis command called from script", in the words of each version. */
static bool is_unknown_in_script(const char *text)
{
    return strcasestr(text, "unknown ") != NULL &&
           strcasestr(text, " command called from ") != NULL;
}

static void take_refused(struct hf_redis_node *node)
{
    const struct hf_reply *reply = &node->connection.reply;
    char key[HF_URL_PREFIX_MAX + 8];
    pattern(node, HF_REDIS_RIGHT_LOCK, key, sizeof(key));
    for (size_t i = 1; i + 1 < reply->n; i += 2) {
        const char *text = hf_reply_text(reply, i + 1);
        const char *name = hf_reply_text(reply, i);
        char right[sizeof(key) + 40];
        char words[HF_TEXT_SENTENCE];
        hf_redis_right(text, NULL, key, right, sizeof(right));
        if (right[0] == '\0') {
            name_right(name, strlen(name), right, 34);
        }
        if (is_unknown_in_script(text)) {
            add(node->examination.unknown, right);
        } else if (hf_redis_fault(text, words, sizeof(words)) == HF_DENIED) {
            add(node->examination.lacking, right);
        } /* else, for example, out of memory: the probe reports it */
    }
}

void hf_redis_rights_take(struct hf_redis_node *node, uint8_t request)
{
    const struct hf_reply *reply = &node->connection.reply;
    char key[HF_URL_PREFIX_MAX + 8];
    char right[sizeof(key) + 40];
    bool is_error = reply->items[0].type == HF_REPLY_ERROR;
    if (is_error && note_unknown(node, hf_reply_text(reply, 0))) {
        return;
    }
    if (is_error) {
        pattern(node, request, key, sizeof(key));
        hf_redis_right(hf_reply_text(reply, 0), NULL, key, right,
                       sizeof(right));
        bool is_known = request == HF_REDIS_RIGHT_SCRIPT && right[0] == '~' &&
                        strchr(node->examination.lacking, '~') != NULL;
        if (!is_known) {
            add(node->examination.lacking, right);
        }
    } else if (request == HF_REDIS_RIGHT_SCRIPT) {
        take_refused(node);
    }
}

/* ---- Finding ----------------------------------------------------------- */

/* The list becomes shorter: what is left in the end, locks cannot do without.
 */
static bool remove_right(char *list, const char *right)
{
    char rest[LIST_SIZE] = "";
    bool was_there = false;
    char *save = NULL;
    for (char *at = strtok_r(list, " ", &save); at != NULL;
         at = strtok_r(NULL, " ", &save)) {
        if (strcmp(at, right) == 0) {
            was_there = true;
            continue;
        }
        size_t used = strlen(rest);
        snprintf(rest + used, sizeof(rest) - used, "%s%s", used > 0 ? " " : "",
                 at);
    }
    memcpy(list, rest, sizeof(rest));
    return was_there;
}

/* Commands are found as rights, without their '+'. */
static void find_unknown(struct hf_redis_node *node)
{
    char *list = node->examination.unknown;
    for (unsigned i = 0; i < N_OPTIONAL; i++) {
        if (remove_right(list, optional[i].right)) {
            hf_jobs_report(&node->jobs, HF_FINDING_WARNING,
                           "has no command %s (renamed or disabled): %s",
                           optional[i].right + 1, optional[i].without);
        }
    }
    if (list[0] != '\0') {
        char names[LIST_SIZE];
        size_t len = 0;
        for (const char *at = list; *at != '\0'; at++) {
            if (*at != '+') {
                names[len++] = *at;
            }
        }
        names[len] = '\0';
        hf_jobs_report(
            &node->jobs, HF_FINDING_ERROR,
            "has no command %s (renamed or disabled): no lock is safe "
            "to use without (remove rename-command from its "
            "configuration)",
            names);
    }
}

void hf_redis_rights_find(struct hf_redis_node *node)
{
    char *list = node->examination.lacking;
    if (!node->store->strict && node->admission.identity.run_id[0] == '\0') {
        add(list, "+info");
    }
    for (unsigned i = 0; i < N_OPTIONAL; i++) {
        if (remove_right(list, optional[i].right)) {
            hf_jobs_report(&node->jobs, HF_FINDING_WARNING,
                           "its user lacks %s: %s", optional[i].right,
                           optional[i].without);
        }
    }
    find_unknown(node);
    if (list[0] != '\0') {
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR,
                       "its user lacks %s: no lock is safe to use without "
                       "(docs/stores.md has the whole list)",
                       list);
    }
}
