/* lab_open.h - opens a collector with settings as they would stand in an entry of the
 * configuration. */
#ifndef CR_TESTS_LAB_OPEN_H
#define CR_TESTS_LAB_OPEN_H

#include "collector_host.h"

/**
 * As collector_host_open(), but "profile=NAME" and keys of the source language ("path=/x",
 * "fields={ busy_threads: /n }": the value is YAML) become the option "source" first.
 */
struct collector_host *lab_open(const struct cr_collector *collector, const char *source,
				const char *const *settings, char *err, size_t err_len);

#endif
