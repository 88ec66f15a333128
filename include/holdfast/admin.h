/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Administration: breaking a lock, nodes, and findings about a store.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_ADMIN_H
#define HF_HOLDFAST_ADMIN_H

#include <holdfast/holders.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Take a name from its holder. Its fence increases, so that a guarded store
 * rejects the old holder; the holder detects the break at its next renewal. A
 * name that was released and is only reserved is freed at once, and a mark of
 * hf_lock_mark() is withdrawn.
 *
 * A call that fails since it was interrupted, or since there is no majority,
 * returns the name to its holder at the nodes that replied: to an exclusive
 * holder, not to sharers. A holder whose renewal was refused in between has
 * lost the lock.
 *
 * @param client         The client.
 * @param name           The name. Borrowed for the call.
 * @param name_len       Bytes.
 * @param frees_now      false: the name stays taken until the holder's lease
 *                       must have expired, and the call waits for that: at most
 *                       max_ttl, or for the expiry of a foreign key. true: free
 *                       at once.
 * @param held_until_ms  NULL, or set to the milliseconds from the return for
 *                       which the old holder may be HELD; 0: none; -1: unknown.
 * @param error          The reason of a failure, or NULL.
 *
 * @return HF_OK - free now; HF_BUSY - @p frees_now is false and the holder is a
 *         foreign key without expiry; HF_UNKNOWN - the name becomes free, but
 *         no majority confirmed it; HF_UNAVAILABLE, HF_QUARANTINED - no
 *         majority replied; HF_DENIED; HF_CONFIG; HF_INVALID; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s; without @p frees_now also
 * until the holder's lease has expired.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break(struct hf_client *client, const void *name, size_t name_len,
                bool frees_now, int64_t *held_until_ms, struct hf_error *error);

/**
 * The callback before a break waits for the end of a lease; called once.
 *
 * @param user     As passed.
 * @param holder   The holder with the longest lease; borrowed for the call. Its
 *                 kind is HF_HOLDER_NONE if a server in quarantine may have
 *                 lost it.
 * @param wait_ms  The longest time until the name is free.
 *
 * @return false to cancel: the name is returned to its holder, and the break
 *         returns HF_BUSY.
 *
 * Threads: that of hf_client_break_wait(), or one in hf_client_process().
 * Without a mutex of the library. Blocks: may.
 */
typedef bool hf_break_fn(void *user, const struct hf_holder *holder,
                         int64_t wait_ms);

/**
 * hf_client_break() with `frees_now` false, and a callback before the wait.
 *
 * @param client    The client.
 * @param name      The name. Borrowed for the call.
 * @param name_len  In bytes.
 * @param may_wait  Called in this thread, without a mutex of the library. It
 *                  may call any function; hf_client_close() takes effect when
 *                  it has returned. NULL: wait.
 * @param user      Passed to @p may_wait.
 * @param error     The reason of a failure, or NULL.
 *
 * @return As hf_client_break(); HF_BUSY - also if @p may_wait returned false.
 *
 * Threads: any. Blocks: for some rounds of 0.9 s, and until the holder's
 * lease has expired.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_break_wait(struct hf_client *client, const void *name,
                     size_t name_len, hf_break_fn *may_wait, void *user,
                     struct hf_error *error);

/**
 * The callback at the end of hf_op_start_break().
 *
 * @param user           As passed at the start.
 * @param held_until_ms  The milliseconds from this call for which the old
 *                       holder may be HELD; 0: none; -1: unknown.
 * @param status         As hf_client_break() or hf_client_break_wait() would
 *                       return; HF_CANCELLED from hf_client_close().
 * @param error          Details, borrowed for the call; never NULL.
 *
 * Threads: one in hf_client_process() or hf_client_close(). Blocks: may.
 */
typedef void hf_broken_fn(void *user, int64_t held_until_ms,
                          enum hf_status status, const struct hf_error *error);

/**
 * Start hf_client_break(), or hf_client_break_wait(). It continues in
 * hf_client_process(), which also calls @p may_wait; that may call any
 * function. The name is freed, or returned, before @p done is called. If the
 * operation was cancelled, or the client is being closed, the name is returned
 * in the background, or freed if the lease has expired.
 *
 * @param client     The client.
 * @param name       The name. Copied.
 * @param name_len   Bytes.
 * @param frees_now  true: free it at once, without calling @p may_wait.
 * @param may_wait   As in hf_client_break_wait(). NULL: wait.
 * @param done       Called with the result.
 * @param user       Passed to both.
 * @param out        For hf_op_cancel(), or NULL.
 * @param error      The reason of a failure to start, or NULL.
 *
 * @return HF_OK - started; HF_INVALID; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the library; @p out is valid until @p done is called or
 * hf_op_cancel(). Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_op_start_break(struct hf_client *client, const void *name, size_t name_len,
                  bool frees_now, hf_break_fn *may_wait, hf_broken_fn *done,
                  void *user, struct hf_op **out, struct hf_error *error);

/** The longest lease that the store allows: `max_ttl` of its URL, or 60,000.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_client_max_ttl_ms(const struct hf_client *client);

/** Number of nodes of the store; 1 for the embedded one.
 * Threads: any. Blocks: never. */
HF_API int hf_client_nodes(const struct hf_client *client);

/** Whether a node can vote now. */
enum hf_health {
    HF_NODE_CONNECTING,
    HF_NODE_UP,
    HF_NODE_QUARANTINED, /**< connected, but may have lost locks */
    HF_NODE_DOWN
};

/** One node of a store. */
struct hf_node;

/** Its address, without password.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_address(const struct hf_node *node);

/** Whether it can vote.
 * Threads: any. Blocks: never. */
HF_API enum hf_health hf_node_health(const struct hf_node *node);

/** Why it is not HF_NODE_UP, or why its last request failed; else empty.
 * Owner: @p node. Threads: any. Blocks: never. */
HF_API const char *hf_node_reason(const struct hf_node *node);

/** The rest of its quarantine; 0 if it is not in quarantine.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_quarantine_left_ms(const struct hf_node *node);

/** Smoothed round trip in microseconds; 0 unknown.
 * Threads: any. Blocks: never. */
HF_API int64_t hf_node_rtt_us(const struct hf_node *node);

/** Free it. NULL is fine.
 * Threads: any. Blocks: never. */
HF_API void hf_node_free(struct hf_node *node);

/**
 * The present state of node @p idx; sends no request.
 *
 * @param client  The client.
 * @param idx     0 .. hf_client_nodes() - 1.
 * @param out     The node, for hf_node_free().
 *
 * @return HF_OK; HF_INVALID - no such node; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any. Blocks: briefly.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_node(struct hf_client *client, int idx, struct hf_node **out);

/** The severity of a finding. */
enum hf_severity { HF_FINDING_OK, HF_FINDING_WARNING, HF_FINDING_ERROR };

/** One finding about a store. */
struct hf_finding;

/** Its severity.
 * Threads: any. Blocks: never. */
HF_API enum hf_severity hf_finding_severity(const struct hf_finding *finding);

/** The index of the node concerned, or -1.
 * Threads: any. Blocks: never. */
HF_API int hf_finding_node(const struct hf_finding *finding);

/** The finding, and its remedy.
 * Owner: @p finding. Threads: any. Blocks: never. */
HF_API const char *hf_finding_text(const struct hf_finding *finding);

/**
 * The callback for one finding of hf_client_diagnose(), hf_client_init_nodes()
 * or hf_client_quarantine_node().
 *
 * @param user     As passed.
 * @param finding  Borrowed for the call.
 *
 * Threads: the caller's, without a mutex of the library. Blocks: may.
 */
typedef void hf_finding_fn(void *user, const struct hf_finding *finding);

/**
 * Check whether this deployment is fit for locks. Reports every finding with
 * its remedy. The last one is about all nodes: "2 of 3 servers count, 2 are
 * needed". It is an error if no lock could be acquired; then a node that cannot
 * be reached is an error, too.
 *
 * @param client  The client.
 * @param each    Called for each finding.
 * @param user    Passed to @p each.
 * @param error   The reason of a failure, or NULL.
 *
 * @return HF_OK - see the findings; HF_INVALID - also without a callback;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 5 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_diagnose(struct hf_client *client, hf_finding_fn *each, void *user,
                   struct hf_error *error);

/** For hf_client_init_nodes(): declare the nodes despite findings. */
enum { HF_INIT_FORCE = 1 };

/**
 * Declare that the servers hold no locks that matter (new servers, or all
 * clients are stopped): ends their quarantine, and makes this client's
 * max_ttl, fence_keep, number of nodes and, if it is larger, fence_base the
 * store's. A node that votes already does not change.
 *
 * First all nodes are examined. Nothing is declared if any of them has a holder
 * or a waiter, of any client that uses the same server and database, or belongs
 * to a store with other settings, or cannot be examined. A holder whose lock
 * all nodes have lost is visible only after its next renewal, so this check is
 * no proof: the caller is responsible for the declaration. If it is wrong, the
 * lock of a live holder may be granted twice.
 *
 * @param client  The client.
 * @param flags   0, or HF_INIT_FORCE: report the findings, and declare the
 *                nodes that can be reached.
 * @param each    Called for each finding and each declaration; or NULL.
 * @param user    Passed to @p each.
 * @param error   The reason of a failure, node by node, or NULL.
 *
 * @return HF_OK - every node votes. Without HF_INIT_FORCE nothing was
 *         declared after: HF_BUSY - a holder or a waiter; HF_CONFIG - a store
 *         with other settings; HF_UNAVAILABLE, HF_DENIED - a node cannot be
 *         examined. With it HF_UNAVAILABLE names the nodes not declared.
 *         HF_INVALID - also unknown flags; HF_CANCELLED; HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 25 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_init_nodes(struct hf_client *client, uint32_t flags,
                     hf_finding_fn *each, void *user, struct hf_error *error);

/**
 * Declare that node @p idx has lost data undetected: it was restored from a
 * backup or a snapshot, or its clock ran far ahead. It has no vote until a
 * host has watched it for max_ttl. In a store of several nodes, counters that
 * its clock has raised beyond the bound of the others are set back, if a
 * majority of the nodes shows that no fence is greater.
 *
 * All clients detect it at their next request. Earlier votes of the node are
 * void.
 *
 * @param client  The client.
 * @param idx     The node.
 * @param each    Called for each change; or NULL.
 * @param user    Passed to @p each.
 * @param error   The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_CONFIG - quarantine=off in the URL, or the kind of the
 * node; HF_UNSUPPORTED - the embedded store; HF_UNAVAILABLE, HF_DENIED - the
 *         node cannot be changed; HF_INVALID - also no such node; HF_CANCELLED;
 *         HF_NO_MEMORY.
 *
 * Threads: any. Blocks: 75 s, after such calls of other threads.
 */
HF_API HF_NODISCARD enum hf_status
hf_client_quarantine_node(struct hf_client *client, int idx,
                          hf_finding_fn *each, void *user,
                          struct hf_error *error);

/** The URL of the store without its password, as the client understood it:
 * for messages.
 * Owner: the client. Threads: any. Blocks: never. */
HF_API const char *hf_client_url(const struct hf_client *client);

#ifdef __cplusplus
}
#endif

#endif
