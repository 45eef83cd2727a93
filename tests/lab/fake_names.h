/*
 * fake_names.h - a name server of the test: getaddrinfo() in place of the C library's, for this
 * whole program. It knows names that end in ".test"; everything else is the C library's, and counts
 * as a lookup unless it is an address. Every name that ends in ".many.test" is at 127.0.0.1.
 */
#ifndef CR_TESTS_FAKE_NAMES_H
#define CR_TESTS_FAKE_NAMES_H

#include <stdbool.h>

/** From now on name has these addresses ("127.0.0.1 ::1"; "": none, EAI_NODATA). NULL: there is no
 * such name (EAI_NONAME), as at first. [any] */
void fake_names_set(const char *name, const char *addresses);

/** From now on lookups of name (NULL: of all names) get no answer; lookups under way as well.
 * false: all of them are answered. [any] */
void fake_names_hold(const char *name, bool is_held);

/** From now on the name server is not there: EAI_AGAIN. [any] */
void fake_names_fail(bool is_failing);

/** Lookups that have begun so far: of name, or (NULL) of all. [any] */
unsigned fake_names_lookups(const char *name);

/** Wait until there were n of them, for 10 s at most. Returns how many there were. [any] */
unsigned fake_names_await(const char *name, unsigned n);

/** The same for lookups that are being held. [any] */
unsigned fake_names_await_held(unsigned n);

/** The signals that were not blocked in the thread that made the newest lookup. [any] */
int fake_names_open_signals(void);

/** Would the thread that made the newest lookup have waited for one second at most? */
bool fake_names_was_hasty(void);

#endif
