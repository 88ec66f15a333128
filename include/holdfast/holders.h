/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Inspecting: the holders of names, and the waiters for them.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_HOLDERS_H
#define HF_HOLDFAST_HOLDERS_H

#include <holdfast/operations.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of a name's holder. Later versions may add kinds. */
enum hf_kind {
    HF_HOLDER_NONE,
    HF_HOLDER_HOLDFAST, /**< a Holdfast client */
    HF_HOLDER_ENDED,    /**< released, but reserved (`--min-hold`); or free,
                             with a mark of hf_lock_mark() (`--once`) */
    HF_HOLDER_FOREIGN,  /**< a plain key of another library */
    HF_HOLDER_TYPE,     /**< a key of a foreign type, e.g. Redisson's hash */
    HF_HOLDER_SHARED    /**< several Holdfast clients together */
};

/** One holder, as a node or a majority reports it. */
struct hf_holder;

/** The kind of the holder.
 * Threads: any. Blocks: never. */
HF_API enum hf_kind hf_holder_kind(const struct hf_holder *holder);

/** The owner as stored, printable; cut to HF_OWNER_TEXT_MAX.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_owner(const struct hf_holder *holder);

/** Its host; empty for foreign holders.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_host(const struct hf_holder *holder);

/** Its process; 0 for foreign holders.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_pid(const struct hf_holder *holder);

/** Unix time of the grant, up to 4.2 s early; for a waiter or a sharer, of its
 * attempt; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_since_s(const struct hf_holder *holder);

/** Its label, at most 127 bytes of it; empty if it has none. See label in
 * struct hf_request.
 * Owner: @p holder. Threads: any. Blocks: never. */
HF_API const char *hf_holder_label(const struct hf_holder *holder);

/** The rest of its lease; -1: a key without expiry.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_holder_remaining_ms(const struct hf_holder *holder);

/** Its fence; of sharers, that of one; of a free name, the last; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API uint64_t hf_holder_fence(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: the number of holders; else 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_sharers(const struct hf_holder *holder);

/** HF_HOLDER_SHARED: the size of the semaphore; 0: readers.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_holder_permits(const struct hf_holder *holder);

/** The state of one waiter; see hf_op_waiting(). */
struct hf_waiting;

/** The present holder; its kind is HF_HOLDER_NONE if no node reported one.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_waiting_holder(const struct hf_waiting *waiting);

/** The number of waiters before it. On etcd, Consul and ZooKeeper it and the
 * holder are up to 10 s old; on etcd and Consul up to 40 s behind 500.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_waiting_ahead(const struct hf_waiting *waiting);

/** The name for which it waits; its length in @p name_len unless NULL. A NUL
 * follows it.
 * Owner: @p waiting. Threads: any. Blocks: never. */
HF_API const void *hf_waiting_name(const struct hf_waiting *waiting,
                                   size_t *name_len);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_waiting_free(struct hf_waiting *waiting);

/** The state of a name at each node, and at the majority. */
struct hf_info;

/** The holder at a majority; its kind is HF_HOLDER_NONE if free or split.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_holder(const struct hf_info *info);

/** Whether it is held, but no holder has a majority.
 * Threads: any. Blocks: never. */
HF_API bool hf_info_is_split(const struct hf_info *info);

/** The largest number of waiters at one node.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_waiting(const struct hf_info *info);

/** Number of nodes of the store.
 * Threads: any. Blocks: never. */
HF_API int hf_info_nodes(const struct hf_info *info);

/** Whether node @p idx replied.
 * Threads: any. Blocks: never. */
HF_API bool hf_info_node_answered(const struct hf_info *info, int idx);

/** The holder at node @p idx.
 * Owner: @p info. Threads: any. Blocks: never. */
HF_API const struct hf_holder *hf_info_node_holder(const struct hf_info *info,
                                                   int idx);

/** The number of waiters at node @p idx.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_info_node_waiting(const struct hf_info *info, int idx);

/** Free the result of hf_client_inspect(). NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_info_free(struct hf_info *info);

/**
 * Read the holder of @p name.
 *
 * @param client    The client.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param out       The result, for hf_info_free().
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_inspect(struct hf_client *client, const void *name, size_t name_len,
                  struct hf_info **out, struct hf_error *error);

/**
 * The callback at the end of hf_op_start_inspect().
 *
 * @param user    As passed at the start.
 * @param info    Yours, for hf_info_free(), if @p status is HF_OK; else NULL.
 * @param status  As hf_client_inspect() would return; HF_CANCELLED from
 *                hf_client_close().
 * @param error   Details, borrowed for the call; never NULL.
 *
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may.
 */
typedef void hf_info_fn(void *user, struct hf_info *info, enum hf_status status,
                        const struct hf_error *error);

/**
 * Start hf_client_inspect().
 *
 * @param client    The client.
 * @param name      Copied.
 * @param name_len  In bytes.
 * @param done      Called with the result.
 * @param user      Passed to @p done.
 * @param out       For hf_op_cancel(), or NULL.
 * @param error     The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_inspect(struct hf_client *client, const void *name, size_t name_len,
                    hf_info_fn *done, void *user, struct hf_op **out,
                    struct hf_error *error);

/** A holder of a name, or a waiter for it, at one node. */
struct hf_queue_entry;

/** The index of the node.
 * Threads: any. Blocks: never. */
HF_API int hf_queue_entry_node(const struct hf_queue_entry *entry);

/** true: a waiter; false: a holder.
 * Threads: any. Blocks: never. */
HF_API bool hf_queue_entry_is_waiting(const struct hf_queue_entry *entry);

/** The mode that it requests, or holds.
 * Threads: any. Blocks: never. */
HF_API enum hf_mode hf_queue_entry_mode(const struct hf_queue_entry *entry);

/** Size of the semaphore, or 0.
 * Threads: any. Blocks: never. */
HF_API uint32_t hf_queue_entry_permits(const struct hf_queue_entry *entry);

/** The client. hf_holder_remaining_ms() is the rest of the lease; of a waiter,
 * the rest of its place in the queue, which each heartbeat renews.
 * Owner: @p entry. Threads: any. Blocks: never. */
HF_API const struct hf_holder *
hf_queue_entry_holder(const struct hf_queue_entry *entry);

/** For a waiter: the Unix time of its ticket in milliseconds; else 0.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_queue_entry_since_ms(const struct hf_queue_entry *entry);

/**
 * The callback for one entry of hf_client_queue().
 *
 * @param user   As passed.
 * @param entry  Borrowed for the call.
 *
 * @return false to stop.
 *
 * Threads: the caller's of hf_client_queue(); of hf_op_start_queue(), one in
 * hf_client_process(). Without a mutex of the library. Blocks: may.
 */
typedef bool hf_queue_fn(void *user, const struct hf_queue_entry *entry);

/**
 * List the holders and the waiters of @p name, in order: node by node, holders
 * first. At most 1,000 of each at each node.
 *
 * @param client    The client.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param each      Called for each entry.
 * @param user      Passed to @p each.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_queue(struct hf_client *client, const void *name, size_t name_len,
                hf_queue_fn *each, void *user, struct hf_error *error);

/**
 * Start hf_client_queue(): hf_client_process() calls @p each for the entries,
 * and then @p done.
 *
 * @param client    The client.
 * @param name      Copied.
 * @param name_len  In bytes.
 * @param each      Called for each entry.
 * @param done      Called at the end, without a lock.
 * @param user      Passed to both.
 * @param out       For hf_op_cancel(), or NULL.
 * @param error     The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_queue(struct hf_client *client, const void *name, size_t name_len,
                  hf_queue_fn *each, hf_op_fn *done, void *user,
                  struct hf_op **out, struct hf_error *error);

/**
 * The callback for one name that is held.
 *
 * @param user      As passed.
 * @param name      Borrowed for the call.
 * @param name_len  Bytes.
 * @param info      Borrowed for the call.
 *
 * @return false to stop the listing.
 *
 * Threads: the caller's of hf_client_list(); of hf_op_start_list(), one in
 * hf_client_process(). Without a mutex of the library. Blocks: may.
 */
typedef bool hf_list_fn(void *user, const void *name, size_t name_len,
                        const struct hf_info *info);

/**
 * List the names that are held, sorted by bytes.
 *
 * @param client   The client.
 * @param pattern  Glob (`*`, `?`, `[a-z]`, `[!a-z]`, `\` escapes) up to 2 KiB;
 *                 NULL: all. `?` is one byte; a `]` that is the first in its
 *                 brackets is one of their characters.
 * @param each     Called for each name.
 * @param user     Passed to @p each.
 * @param error    The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_UNAVAILABLE, HF_QUARANTINED - no majority replied;
 *         HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 0.9 s for each page of names without a reply.
 * Source: POSIX, Shell Command Language, 2.13.1, for @p pattern.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_list(struct hf_client *client, const char *pattern, hf_list_fn *each,
               void *user, struct hf_error *error);

/**
 * Start hf_client_list(): hf_client_process() calls @p each for the names, up
 * to 32 in each call, and at the end @p done.
 *
 * @param client   The client.
 * @param pattern  As for hf_client_list(), or NULL. Copied.
 * @param each     Called for each name.
 * @param done     Called at the end, without a lock.
 * @param user     Passed to both.
 * @param out      For hf_op_cancel(), or NULL.
 * @param error    The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_list(struct hf_client *client, const char *pattern,
                 hf_list_fn *each, hf_op_fn *done, void *user,
                 struct hf_op **out, struct hf_error *error);

#ifdef __cplusplus
}
#endif

#endif
