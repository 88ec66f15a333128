/* SPDX-License-Identifier: Apache-2.0 */
/* The files of schema/, one after another, which cmake/embed_text.cmake makes a
 * constant. */
#ifndef HF_MYSQL_SCHEMA_H
#define HF_MYSQL_SCHEMA_H

/* Ended by a NUL. */
extern const char hf_mysql_text_schema[];

#endif
