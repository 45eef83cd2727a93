/* fuzz_elf.c - is it a plugin's file? Only its headers are read, whatever they say. */
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "plugin.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	const int fd = memfd_create("elf", MFD_CLOEXEC);
	struct err err = { 0 };
	size_t len;
	char *bytes = fuzz_rest(&in, &len);
	ElfW(Ehdr) *header = (ElfW(Ehdr) *)bytes;
	int rc;

	/* What no mutation would find: the beginning of an object of this machine. */
	if (how < 240 && len >= sizeof *header) {
		memcpy(header, &__ehdr_start, offsetof(ElfW(Ehdr), e_version));
		header->e_type = ET_DYN;
	}
	if (how < 200 && len >= sizeof *header)
		header->e_phentsize = sizeof(ElfW(Phdr));
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	free(bytes);
	rc = plugin_check_elf(fd, "x.so", &err);
	fuzz_expect((rc == 0) == (err.text[0] == '\0'), "refused without a text");
	fuzz_expect_line(err.text, "why it is refused is no line");
	(void)close(fd);
	return 0;
}
