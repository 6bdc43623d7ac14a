/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzz targets share: any bytes must give a lawful answer, and all else aborts.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry; replay.c calls it too. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process with the reason. */
_Noreturn void fuzz_fail(const char *why, const char *text);

/* The bytes as a string that ends with their first NUL, in a block of just that size; free() it. */
char *fuzz_text(const uint8_t *data, size_t size);

/*
 * @rc is success, and the error untouched; or it is one of the codes (ended by 0), and the error
 * has it and a text of one line of printable ASCII.
 */
void fuzz_check(int rc, const struct np_error *err, const int *codes);

#endif
