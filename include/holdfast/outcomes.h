/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The version, the statuses that functions return, and the capabilities of
 * stores.
 * A part of holdfast/holdfast.h: include that one.
 */
#ifndef HF_HOLDFAST_OUTCOMES_H
#define HF_HOLDFAST_OUTCOMES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header, as numbers and as text. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 2
#define HF_VERSION_PATCH 0
#define HF_VERSION_TEXT "0.2.0"

/** For `#if`: 0.2.0 is 200, 1.2.3 is 10203. */
#define HF_VERSION_NUMBER                                                      \
    (HF_VERSION_MAJOR * 10000 + HF_VERSION_MINOR * 100 + HF_VERSION_PATCH)

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#define HF_NODISCARD __attribute__((warn_unused_result))
#else
#define HF_API
#define HF_NODISCARD
#endif

/* ---- Outcomes ---------------------------------------------------------- */

/** The class of a status, by the action that a caller can take. */
enum hf_class {
    HF_CLASS_OUTCOME, /**< no error: a regular result of the operation */
    HF_CLASS_RETRY,   /**< the same call may succeed later, unchanged */
    HF_CLASS_CONFIG,  /**< it fails until URL, rights or server are changed */
    HF_CLASS_CALLER,  /**< error in the calling program; nothing was done */
    HF_CLASS_FATAL    /**< this process cannot continue as it is */
};

/** Every status: symbol, class, text. The order is ABI: append only. */
#define HF_STATUS_MAP(X) X(HF_OK, HF_CLASS_OUTCOME, "ok") HF_FAILURE_MAP(X)

/** All statuses except HF_OK. */
#define HF_FAILURE_MAP(X)                                                      \
    X(HF_BUSY, HF_CLASS_OUTCOME, "held by another owner")                      \
    X(HF_LOST, HF_CLASS_OUTCOME, "no longer ours")                             \
    X(HF_UNKNOWN, HF_CLASS_RETRY, "sent, but not confirmed")                   \
    X(HF_UNAVAILABLE, HF_CLASS_RETRY,                                          \
      "no majority of the store can be reached")                               \
    X(HF_QUARANTINED, HF_CLASS_RETRY,                                          \
      "too many servers may have forgotten locks")                             \
    X(HF_DENIED, HF_CLASS_CONFIG, "not permitted")                             \
    X(HF_INVALID, HF_CLASS_CALLER, "invalid argument or use")                  \
    X(HF_CONFIG, HF_CLASS_CONFIG, "unusable configuration")                    \
    X(HF_UNSUPPORTED, HF_CLASS_CONFIG, "not supported by this store")          \
    X(HF_CANCELLED, HF_CLASS_OUTCOME, "cancelled")                             \
    X(HF_NO_MEMORY, HF_CLASS_FATAL, "out of memory")                           \
    X(HF_INTERNAL, HF_CLASS_FATAL, "internal error")

/** The result of a call. HF_OK is 0. */
enum hf_status {
#define HF_STATUS_ENUM(symbol, class_of, text) , symbol
    HF_OK HF_FAILURE_MAP(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
};

/** The reason of a failure. Owned by the caller, never allocated. Its layout is
 * final: it never grows. */
struct hf_error {
    enum hf_status status;
    int node;        /**< index of the node concerned, or -1 */
    char text[1000]; /**< one line, lower case, no newline at its end */
};

/** The symbol of a status, e.g. "HF_BUSY"; "HF_?" if unknown.
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_status_name(enum hf_status status);

/** A short text for a status.
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_status_text(enum hf_status status);

/** The class of a status; HF_CLASS_FATAL if unknown. After HF_UNKNOWN the
 * operation may have been executed: HF_CLASS_RETRY means only that another call
 * is allowed, not that the first one had no effect.
 * Threads: any. Blocks: never. */
HF_API enum hf_class hf_status_class(enum hf_status status);

/** The library's version, e.g. "0.2.0".
 * Owner: static. Threads: any. Blocks: never. */
HF_API const char *hf_version(void);

/** Whether rediss:// works here. Loads the TLS module, if it is installed.
 * Threads: any. Blocks: on the disk, at the first call. */
HF_API bool hf_has_tls(void);

/** Store capabilities beyond a lock with a deadline; "holdfast help stores"
 * prints it. Without QUEUE waiters poll, in no order; without LIVENESS a dead
 * holder's lock ends with its lease or connection. A call that needs another
 * one that is missing fails with HF_UNSUPPORTED. */
enum hf_capability {
    HF_CAP_LIVENESS = (1 << 0), /**< notices the end of the holder's process */
    HF_CAP_QUEUE = (1 << 1),    /**< serves waiters in FIFO order */
    HF_CAP_SHARED = (1 << 2),   /**< HF_SHARED */
    HF_CAP_VALUES = (1 << 3),   /**< hf_value_get(), put and update */
    HF_CAP_RECORDS = (1 << 4),  /**< a lock is a record of Holdfast's own:
                                 permits, marks, break, list, detach */
    HF_CAP_FENCES = (1 << 5)    /**< hf_lock_fence() */
};

/** The capabilities of the store of a URL, from its code: no server is asked.
 *
 * @param url    As for hf_client_open().
 * @param out    Its bits, of enum hf_capability; 0 after a failure.
 * @param error  The reason of a failure, or NULL.
 *
 * @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_NO_MEMORY - as
 *         hf_client_open().
 * Owner: the caller. Threads: any. Blocks: on the disk, to load a module. */
HF_API HF_NODISCARD enum hf_status
hf_store_capabilities(const char *url, unsigned *out, struct hf_error *error);

#ifdef __cplusplus
}
#endif

#endif
