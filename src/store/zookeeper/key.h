/* SPDX-License-Identifier: Apache-2.0 */
/* Names and owners as nodes of ZooKeeper, and the numbers of entries
 * (zookeeper.h has their form). Texts only: nothing is asked of a server.
 *
 *     folder = hf_zk_key_folder(zk->base, name);     to create or to list
 *     node = hf_zk_key_entry(&key);
 *     path = hf_zk_key_join(folder, node);           to create: the server
 *                                                    appends the sequence
 *     if (hf_zk_key_sequence(child, &sequence, &len)) …    of a listed child
 *     number = hf_zk_number(czxid, sequence);
 *     hf_zk_key_read(copy, &entry);
 *     len = hf_zk_key_name(text);                    of a container: a scan
 *
 * Owner: a returned string is the caller's, with free(). An entry that was read
 * borrows the copy. Threads: any; nothing is shared. */
#ifndef HF_ZOOKEEPER_KEY_H
#define HF_ZOOKEEPER_KEY_H

#include "store/ordered/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** "BASE NAME", the container of a name. @return NULL: no memory. */
char *hf_zk_key_folder(const char *base, struct hf_bytes name);

/** The name of an entry's node, without its sequence. @return NULL: no memory.
 */
char *hf_zk_key_entry(const struct hf_wire_key *key);

/** "FOLDER/NODE". @return NULL: no memory. */
char *hf_zk_key_join(const char *folder, const char *node);

/** The sequence that a node's name ends with, and the part before it.
 * @return false: it has none, so it is no contender. */
bool hf_zk_key_sequence(const char *node, uint32_t *sequence, size_t *len);

/* The number of an entry: key.c. */
uint64_t hf_zk_number(int64_t container_czxid, uint32_t sequence);

/** May the next entry have the same sequence? Then none is granted by it. */
static inline bool hf_zk_key_is_last(uint32_t sequence)
{
    return sequence >= INT32_MAX;
}

/** Read the name of a node: ours, or any other text, which is an exclusive
 * entry. @param copy  a copy of it, which is unescaped in place. */
void hf_zk_key_read(char *copy, struct hf_wire_entry *out);

/** A name of the container's last part, unescaped in place.
 * @return its length; SIZE_MAX: it is none of ours, and may have changed. */
size_t hf_zk_key_name(char *text);

#endif
