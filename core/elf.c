/* elf.c - is a file a whole shared object for this machine? Looks at headers only. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

#define PHDRS_MAX 128 /* real objects have about ten */

/* The header of the object that this code is in, put there by the linker: what fits it fits us. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct elf_file {
	int fd;
	const char *name;
	uint64_t size;
	struct err *err;
};

/* Is count * each bytes at offset at inside the file? No sum here can overflow. */
static bool is_inside(const struct elf_file *file, uint64_t at, uint64_t count, uint64_t each)
{
	uint64_t len;

	return !__builtin_mul_overflow(count, each, &len) && at <= file->size &&
	       len <= file->size - at;
}

static int cut_off(const struct elf_file *file, const char *what)
{
	return err_set(file->err, -ENOEXEC,
		       "%s: the file is cut off after %llu bytes, its %s is missing: "
		       "copy it again, whole",
		       file->name, (unsigned long long)file->size, what);
}

static int read_at(const struct elf_file *file, void *buf, size_t len, uint64_t at)
{
	const ssize_t got = pread(file->fd, buf, len, (off_t)at);

	if (got < 0)
		return err_set(file->err, -ENOEXEC, "%s: cannot be read: %s", file->name,
			       err_words(errno));
	if ((size_t)got < len)
		return cut_off(file, "header");
	return 0;
}

static const char *machine_word(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "x86";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "ARM";
	case EM_AARCH64:
		return "ARM64";
	case EM_PPC64:
		return "POWER";
	case EM_S390:
		return "s390x";
	case EM_RISCV:
		return "RISC-V";
	default:
		return "another machine";
	}
}

static int check_machine(const struct elf_file *file, const ElfW(Ehdr) * header)
{
	if (header->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
	    header->e_ident[EI_DATA] == __ehdr_start.e_ident[EI_DATA] &&
	    header->e_machine == __ehdr_start.e_machine)
		return 0;
	if (header->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
		return err_set(file->err, -ENOEXEC,
			       "%s: is for a machine of the other byte order, this callrouter for "
			       "%s: build it here",
			       file->name, machine_word(__ehdr_start.e_machine));
	/* e_machine is at the same place in both classes. */
	return err_set(file->err, -ENOEXEC,
		       "%s: is for %s%s, this callrouter for %s: build it here", file->name,
		       header->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] ? ""
		       : sizeof(void *) == 8                                       ? "32-bit "
										   : "64-bit ",
		       machine_word(header->e_machine), machine_word(__ehdr_start.e_machine));
}

static int check_kind(const struct elf_file *file, const ElfW(Ehdr) * header)
{
	const char *what = header->e_type == ET_REL    ? "an object file"
			   : header->e_type == ET_EXEC ? "a program"
			   : header->e_type == ET_CORE ? "a core dump"
						       : "something else";

	if (header->e_type == ET_DYN)
		return 0;
	return err_set(file->err, -ENOEXEC,
		       "%s: is %s, not a shared object: link it with cc -shared", file->name, what);
}

/* The loader maps and touches what these name without looking at the size of the file. */
static int check_segments(const struct elf_file *file, const ElfW(Ehdr) * header)
{
	ElfW(Phdr) phdr[PHDRS_MAX];
	size_t n_loads = 0;

	if (header->e_phentsize != sizeof *phdr || header->e_phnum == 0 ||
	    header->e_phnum > PHDRS_MAX)
		return err_set(file->err, -ENOEXEC,
			       "%s: its program headers are not valid: build it again", file->name);
	if (!is_inside(file, header->e_phoff, header->e_phnum, sizeof *phdr))
		return cut_off(file, "table of segments");
	if (read_at(file, phdr, header->e_phnum * sizeof *phdr, header->e_phoff) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD && phdr[i].p_type != PT_DYNAMIC)
			continue;
		n_loads += phdr[i].p_type == PT_LOAD;
		if (!is_inside(file, phdr[i].p_offset, phdr[i].p_filesz, 1))
			return cut_off(file, "code or data");
	}
	if (n_loads == 0)
		return err_set(file->err, -ENOEXEC,
			       "%s: has nothing to load (a debug file?): copy the plugin itself",
			       file->name);
	return 0;
}

int plugin_check_elf(int fd, const char *name, struct err *err)
{
	struct elf_file file = { .fd = fd, .name = name, .err = err };
	ElfW(Ehdr) header;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -ENOEXEC, "%s: cannot be read: %s", name, err_words(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -ENOEXEC, "%s: is not a file: put the plugin itself there",
			       name);
	file.size = (uint64_t)st.st_size;
	if (file.size == 0)
		return err_set(err, -ENOEXEC, "%s: the file is empty: copy it again, whole", name);
	memset(&header, 0, sizeof header);
	if (file.size < SELFMAG || read_at(&file, &header, SELFMAG, 0) < 0 ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC,
			       "%s: is not a shared object (no ELF header): build it with cc "
			       "-shared -fPIC",
			       name);
	if (read_at(&file, &header, sizeof header, 0) < 0 || check_machine(&file, &header) < 0 ||
	    check_kind(&file, &header) < 0 || check_segments(&file, &header) < 0)
		return -ENOEXEC;
	/* The section table comes last in what linkers write: it tells a cut that spared all
	 * segments. */
	if (header.e_shoff != 0 &&
	    !is_inside(&file, header.e_shoff, header.e_shnum > 0 ? header.e_shnum : 1,
		       header.e_shentsize))
		return cut_off(&file, "table of sections");
	return 0;
}
