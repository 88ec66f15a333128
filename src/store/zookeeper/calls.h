/* SPDX-License-Identifier: Apache-2.0 */
/* The primitives of the wire, as hf_zk_wire has them, and what their files
 * share. wire.h says what each must do. */
#ifndef HF_ZOOKEEPER_CALLS_H
#define HF_ZOOKEEPER_CALLS_H

#include "store/ordered/wire.h"

struct hf_zk_handle;
struct hf_zk_op;

/* session.c */
hf_wire_open_fn hf_zk_call_open;
hf_wire_session_fn hf_zk_call_renew;
hf_wire_session_fn hf_zk_call_close;
hf_wire_session_fn hf_zk_call_owned;

/* list.c */
hf_wire_list_fn hf_zk_call_list;

/* create.c, change.c */
hf_wire_create_fn hf_zk_call_create;
hf_wire_read_fn hf_zk_call_read;
hf_wire_replace_fn hf_zk_call_replace;
hf_wire_remove_fn hf_zk_call_remove;

/* scan.c */
hf_wire_scan_fn hf_zk_call_scan;
hf_wire_marks_fn hf_zk_call_marks;

/* mark.c, value.c */
hf_wire_mark_read_fn hf_zk_call_mark_read;
hf_wire_mark_write_fn hf_zk_call_mark_write;
hf_wire_mark_read_fn hf_zk_call_value_read;
hf_wire_mark_write_fn hf_zk_call_value_write;

/* ---- Shared -------------------------------------------------------------- */

/** Has nothing renewed it for long? */
bool hf_zk_session_is_unused(const struct hf_zk_handle *handle,
                             struct hf_instant now);

/* Was its timeout shortened at a reconnect, so that what its OPEN promised
 * would outlive it? */
bool hf_zk_session_is_short(const struct hf_zk_handle *handle);

/* A session's handle has connected, or cannot: go on with its OPEN. It may be
 * freed. */
void hf_zk_session_changed(struct hf_zk_handle *handle, struct hf_instant now);

/** Create the container of op->folder, and the nodes above it; then
 * op->after_folder. */
void hf_zk_create_folder(struct hf_zk_op *op, struct hf_instant now);

/** Cut the ending off the name of a mark's node. @return false: it is none. */
bool hf_zk_mark_cut(char *text);

#endif
