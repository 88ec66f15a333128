/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of stores that are databases. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

/* The files of src/store/postgres/schema, and of mysql/schema, one after
 * another, byte for byte (cmake/embed_text.cmake). */
extern const char cli_postgres_schema[];
extern const char cli_mysql_schema[];

#endif
