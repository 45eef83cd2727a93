/* threads.h - how many threads the test program has. */
#ifndef CR_TESTS_THREADS_H
#define CR_TESTS_THREADS_H

#include <dirent.h>

#include <criterion/criterion.h>

/** Entries of the folder of threads: to be compared with an earlier count. [any] */
static inline int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	cr_assert_not_null(tasks);
	while (readdir(tasks) != NULL)
		n++;
	closedir(tasks);
	return n;
}

#endif
