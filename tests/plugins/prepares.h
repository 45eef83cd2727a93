/* prepares.h - what a test and the router prepares.c tell each other: call->key.ptr points to it.
 */
#ifndef CR_TESTS_PREPARES_H
#define CR_TESTS_PREPARES_H

#include <stdatomic.h>

/** call->method "wait": route() says that it is in, and stays until it may go. */
struct prepares_gate {
	_Atomic int n_inside, may_go;
};

#endif
