/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of texts, in bytes with the NUL: what a reader is shown whole of a
 * message, which snprintf() cuts. A part of a message is shorter than the
 * message that it is put into. Where a text must be whole (a statement, a
 * header, an owner), its place asserts that it is. */
#ifndef HF_BASE_TEXT_SIZE_H
#define HF_BASE_TEXT_SIZE_H

#include "base/decimal.h"

/* A number of 32 bits, or eight hex digits, with a sign or a letter. */
#define HF_TEXT_SHORT 16

/* A number of 64 bits with a sign, and a unit of two letters. */
#define HF_TEXT_NUMBER 24
_Static_assert(HF_TEXT_NUMBER >= HF_DECIMAL_MAX + 4, "sign, unit and NUL");

/* One word of a server: a version, a right, a mode, the name of a channel. */
#define HF_TEXT_WORD 40

/* A role or a database: PostgreSQL and MySQL cut a name to 63 bytes or less. */
#define HF_TEXT_NAME 64

/* A setting with its value, or a cause in a few words. */
#define HF_TEXT_PHRASE 80

/* A cause: a phrase, and a word of the server. */
#define HF_TEXT_CLAUSE 120

/* HOST:PORT in a message: almost all hosts have less than 100 characters. */
#define HF_TEXT_ADDRESS 128

/* A cause with its remedy: two lines of a terminal. */
#define HF_TEXT_SENTENCE 160

/* Why a node is not UP: a sentence, and a word of the server or an address; or
 * a command, which has a role and a database whole. */
#define HF_TEXT_REASON 280

/* A finding of doctor, or an error with its context: two sentences. */
#define HF_TEXT_ADVICE 320

/* A list of names in a finding; the rest is cut. */
#define HF_TEXT_LIST 480

#endif
