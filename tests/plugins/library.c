/* library.c - what a plugin may depend on, and then does not find: for the loader's tests. */
__attribute__((visibility("default"))) int function_of_a_library(void);

int function_of_a_library(void)
{
	return 1;
}
