/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Values: some bytes beside a lock, with a version.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_VALUES_H
#define HF_HOLDFAST_VALUES_H

#include <holdfast/locks.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest value in bytes: 256 KiB. A value is any bytes, or empty. Renewals
 * share the connection, and wait while a value is being sent. */
#define HF_VALUE_MAX 262144

/** For hf_value_put(): write whatever the present version is, or if none. */
#define HF_VERSION_ANY UINT64_MAX

/** A value and its version, as hf_value_get() read it. */
struct hf_value;

/** Its version; 0: there is no value.
 * Threads: any. Blocks: never. */
HF_API uint64_t hf_value_version(const struct hf_value *value);

/** Its bytes; a NUL follows them. NULL if there is no value.
 * Owner: @p value. Threads: any. Blocks: never. */
HF_API const void *hf_value_data(const struct hf_value *value, size_t *len);

/** Free it. NULL is fine.
 * Threads: any, once. Blocks: never. */
HF_API void hf_value_free(struct hf_value *value);

/**
 * Read the value of @p name. A name may have a value, a lock, or both: neither
 * affects the other.
 *
 * @param client    The client, of a store with one node.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param out       The value; with version 0 if there is none.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK - also if there is none; HF_UNAVAILABLE - no reply, or the
 *         server's error; HF_DENIED; HF_CONFIG; HF_INVALID; HF_UNSUPPORTED -
 *         this store keeps no values, e.g. since it has several servers;
 *         HF_CANCELLED; HF_NO_MEMORY.
 *
 * Owner: the caller. Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_get(struct hf_client *client, const void *name, size_t name_len,
             struct hf_value **out, struct hf_error *error);

/**
 * Write the value of @p name if it has the expected version: compare-and-set.
 * Each write gets a version that is greater than all earlier versions of the
 * name, also if the value was deleted in between.
 *
 * If a reply is lost, the request is sent again with the same random id, so the
 * node executes it once. If another write has replaced the value by then, the
 * client cannot determine whether this write was executed before it, and
 * returns HF_UNKNOWN. With version 0 or HF_VERSION_ANY the request is not sent
 * again: the client only reads the value, and after HF_UNKNOWN the node may
 * still execute the write.
 *
 * @param client      The client, of a store with one node.
 * @param name        Borrowed for the call, as @p data.
 * @param name_len    In bytes.
 * @param data        The new value. NULL: delete it.
 * @param len         In bytes, at most HF_VALUE_MAX.
 * @param if_version  The version that the value must have; 0: there must be no
 *                    value; or HF_VERSION_ANY.
 * @param version     Set to the new version, 0 after a deletion; on HF_BUSY to
 *                    the present version, else to 0. Or NULL.
 * @param error       The reason of a failure, or NULL.
 *
 * @return HF_OK - written; HF_BUSY - it has another version: nothing was
 *         written; HF_UNKNOWN - it may have been written, or still be;
 *         HF_UNAVAILABLE, HF_DENIED, HF_CONFIG - nothing was written;
 *         HF_INVALID; HF_UNSUPPORTED - no values here; HF_CANCELLED,
 *         HF_NO_MEMORY - it may have been written.
 *
 * Threads: any number at once. Blocks: 5 s.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_put(struct hf_client *client, const void *name, size_t name_len,
             const void *data, size_t len, uint64_t if_version,
             uint64_t *version, struct hf_error *error);

/**
 * The callback of hf_value_update(), which computes a new value from the
 * present one. It is called again if another client has written the value in
 * between, so it must have no other effect.
 *
 * @param user   As passed.
 * @param value  The present value. Borrowed for the call.
 * @param data   Set it to the new value; NULL, as it is at first: delete it.
 *               Borrowed until the next call, or the end of hf_value_update().
 * @param len    Set it to the length of the new value.
 *
 * @return HF_OK to write it; any other status ends hf_value_update() with it,
 *         and nothing is written.
 *
 * Threads: the caller's of hf_value_update(), without a mutex of the library.
 * Blocks: may.
 * Owner: the callee, of @p data.
 */
typedef enum hf_status hf_value_change_fn(void *user,
                                          const struct hf_value *value,
                                          const void **data, size_t *len);

/**
 * Read a value, change it, and write it if no other client has written it in
 * between; else retry, after a random pause that grows with each retry. So no
 * update is lost, without a lock.
 *
 * @param client    The client, of a store with one node.
 * @param name      Borrowed for the call.
 * @param name_len  In bytes.
 * @param wait_ms   No retry begins after this time; 0: no retry;
 *                  HF_WAIT_FOREVER.
 * @param change    Computes the new value.
 * @param user      Passed to it.
 * @param version   Set to the new version, 0 after a deletion or a failure. Or
 *                  NULL.
 * @param error     The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_BUSY - other clients wrote it during each try; HF_UNKNOWN -
 *         it may have been written, and is not retried; HF_UNAVAILABLE,
 *         HF_DENIED; HF_CONFIG; HF_INVALID;
 *         HF_UNSUPPORTED - this store keeps no values;
 *         HF_CANCELLED, HF_NO_MEMORY - it may have been written; or the status
 *         that @p change returned.
 *
 * Threads: any number at once. Blocks: 10 s for each try, and as long as
 * @p change does; no new try begins after wait_ms.
 */
HF_API HF_NODISCARD enum hf_status
hf_value_update(struct hf_client *client, const void *name, size_t name_len,
                int64_t wait_ms, hf_value_change_fn *change, void *user,
                uint64_t *version, struct hf_error *error);

#ifdef __cplusplus
}
#endif

#endif
