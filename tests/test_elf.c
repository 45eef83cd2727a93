/* test_elf.c - files that are no whole plugin for this machine: refused, and never a crash. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define GOOD         TEST_PLUGINS_DIR "/good.so"

#if defined __aarch64__
#define HERE "ARM64"
#else
#define HERE "x86-64"
#endif

static struct plugin *plugin;
static struct err err;
static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/test_plugin.XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

/* A path in the folder; never the same twice. */
static const char *new_path(char *path, size_t len)
{
	static int n;

	snprintf(path, len, "%s/t%d.so", folder, n++);
	return path;
}

static void write_file(const char *path, const void *data, size_t len)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(data, 1, len, file), len);
	cr_assert_eq(fclose(file), 0);
}

/* The whole of good.so, malloc'd. */
static unsigned char *read_good(size_t *len)
{
	FILE *file = fopen(GOOD, "r");
	unsigned char *data;
	struct stat st;

	cr_assert_not_null(file);
	cr_assert_eq(fstat(fileno(file), &st), 0);
	*len = (size_t)st.st_size;
	data = malloc(*len);
	cr_assert_eq(fread(data, 1, *len, file), *len);
	fclose(file);
	return data;
}

/* plugin_check_elf() of these bytes, as "t.so". */
static int check_bytes(const void *data, size_t len)
{
	char path[100];
	int fd, r;

	write_file(new_path(path, sizeof path), data, len);
	fd = open(path, O_RDONLY);
	err = (struct err){ 0 };
	r = plugin_check_elf(fd, "t.so", &err);
	close(fd);
	unlink(path);
	return r;
}

Test(elf, refuses_what_is_not_a_file, .init = make_folder, .fini = remove_folder)
{
	char path[100];

	cr_expect_eq(plugin_open(TEST_PLUGINS_DIR "/nowhere.so", NULL, &plugin, &err), -ENOENT);
	cr_expect_str_eq(err.text, "nowhere.so: cannot be read: No such file or directory");
	cr_expect_eq(plugin_open(folder, "folder", &plugin, &err), -ENOEXEC);
	cr_expect_str_eq(err.text, "folder.so: is not a file: put the plugin itself there");
	cr_assert_eq(mkfifo(new_path(path, sizeof path), 0600), 0);
	cr_expect_eq(plugin_open(path, "pipe", &plugin, &err), -ENOEXEC);
	cr_expect_str_eq(err.text, "pipe.so: is not a file: put the plugin itself there");
	unlink(path);
	cr_expect_eq(plugin_check_elf(-1, "t.so", &err), -ENOEXEC);
	cr_expect_str_eq(err.text, "t.so: cannot be read: Bad file descriptor");
}

Test(elf, refuses_other_kinds_of_files, .init = make_folder, .fini = remove_folder)
{
	static const char text[] = "#!/bin/sh\necho hello, this is not a plugin at all, is it?\n";

	cr_expect_eq(check_bytes("", 0), -ENOEXEC);
	cr_expect_str_eq(err.text, "t.so: the file is empty: copy it again, whole");
	cr_expect_eq(check_bytes(text, sizeof text), -ENOEXEC);
	cr_expect_str_eq(err.text, "t.so: is not a shared object (no ELF header): build it with cc "
				   "-shared -fPIC");
	cr_expect_eq(check_bytes("\x7f"
				 "E",
				 2),
		     -ENOEXEC);
	cr_expect_str_eq(err.text, "t.so: is not a shared object (no ELF header): build it with cc "
				   "-shared -fPIC");
}

/* One byte or half-word of the header changed. */
struct header_case {
	size_t at;
	uint16_t value;
	bool is_byte;
	const char *text;
};

Test(elf, refuses_headers_of_other_machines_and_kinds, .init = make_folder, .fini = remove_folder)
{
	static const struct header_case cases[] = {
		{ offsetof(Elf64_Ehdr, e_machine), EM_S390, false,
		  "is for s390x, this callrouter for " HERE ": build it here" },
		{ offsetof(Elf64_Ehdr, e_machine), EM_RISCV, false,
		  "is for RISC-V, this callrouter for " HERE ": build it here" },
		{ offsetof(Elf64_Ehdr, e_machine), EM_386, false,
		  "is for x86, this callrouter for " HERE ": build it here" },
		{ offsetof(Elf64_Ehdr, e_machine), EM_ARM, false,
		  "is for ARM, this callrouter for " HERE ": build it here" },
		{ offsetof(Elf64_Ehdr, e_machine), EM_PPC64, false,
		  "is for POWER, this callrouter for " HERE ": build it here" },
		{ offsetof(Elf64_Ehdr, e_machine), 999, false,
		  "is for another machine, this callrouter for " HERE ": build it here" },
		{ EI_CLASS, ELFCLASS32, true,
		  "is for 32-bit " HERE ", this callrouter for " HERE ": build it here" },
		{ EI_DATA, ELFDATA2MSB, true,
		  "is for a machine of the other byte order, this callrouter for " HERE
		  ": build it here" },
		{ offsetof(Elf64_Ehdr, e_type), ET_REL, false,
		  "is an object file, not a shared object: link it with cc -shared" },
		{ offsetof(Elf64_Ehdr, e_type), ET_EXEC, false,
		  "is a program, not a shared object: link it with cc -shared" },
		{ offsetof(Elf64_Ehdr, e_type), ET_CORE, false,
		  "is a core dump, not a shared object: link it with cc -shared" },
		{ offsetof(Elf64_Ehdr, e_type), 77, false,
		  "is something else, not a shared object: link it with cc -shared" },
		{ offsetof(Elf64_Ehdr, e_phentsize), 32, false,
		  "its program headers are not valid: build it again" },
		{ offsetof(Elf64_Ehdr, e_phnum), 0, false,
		  "its program headers are not valid: build it again" },
		{ offsetof(Elf64_Ehdr, e_phnum), 60000, false,
		  "its program headers are not valid: build it again" },
	};
	size_t len;
	unsigned char *good = read_good(&len), *data = malloc(len);

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[400];

		memcpy(data, good, len);
		memcpy(data + cases[i].at, &cases[i].value, cases[i].is_byte ? 1 : 2);
		snprintf(text, sizeof text, "t.so: %s", cases[i].text);
		cr_expect_eq(check_bytes(data, len), -ENOEXEC, "%s", text);
		cr_expect_str_eq(err.text, text);
	}
	free(data);
	free(good);
}

/* Puts value into a field of all program headers of a type, or of the file header. */
static void edit_segments(unsigned char *data, uint32_t type, size_t field, uint64_t value)
{
	Elf64_Ehdr header;

	memcpy(&header, data, sizeof header);
	for (size_t i = 0; i < header.e_phnum; i++) {
		unsigned char *at = data + header.e_phoff + i * sizeof(Elf64_Phdr);
		uint32_t its_type;

		memcpy(&its_type, at, sizeof its_type);
		if (its_type == type)
			memcpy(at + field, &value, field == 0 ? 4 : 8);
	}
}

static void expect_cut_off(const unsigned char *data, size_t len, const char *what)
{
	char text[400];

	snprintf(text, sizeof text,
		 "t.so: the file is cut off after %zu bytes, its %s is missing: copy it again, "
		 "whole",
		 len, what);
	cr_expect_eq(check_bytes(data, len), -ENOEXEC, "%s", what);
	cr_expect_str_eq(err.text, text);
}

Test(elf, finds_parts_outside_of_the_file_whatever_overflows, .init = make_folder,
     .fini = remove_folder)
{
	static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 63, INT64_MAX, 1u << 30 };
	size_t len;
	unsigned char *good = read_good(&len), *data = malloc(len);

	for (size_t i = 0; i < COUNT(offsets); i++) {
		memcpy(data, good, len);
		memcpy(data + offsetof(Elf64_Ehdr, e_phoff), &offsets[i], 8);
		expect_cut_off(data, len, "table of segments");
		memcpy(data, good, len);
		memcpy(data + offsetof(Elf64_Ehdr, e_shoff), &offsets[i], 8);
		expect_cut_off(data, len, "table of sections");
		memcpy(data, good, len);
		edit_segments(data, PT_LOAD, offsetof(Elf64_Phdr, p_offset), offsets[i]);
		expect_cut_off(data, len, "code or data");
		memcpy(data, good, len);
		edit_segments(data, PT_LOAD, offsetof(Elf64_Phdr, p_filesz), offsets[i]);
		expect_cut_off(data, len, "code or data");
		memcpy(data, good, len);
		edit_segments(data, PT_DYNAMIC, offsetof(Elf64_Phdr, p_filesz), offsets[i]);
		expect_cut_off(data, len, "code or data");
	}
	expect_cut_off(good, 20, "header");
	memcpy(data, good, len);
	edit_segments(data, PT_LOAD, 0, PT_NULL);
	cr_expect_eq(check_bytes(data, len), -ENOEXEC);
	cr_expect_str_eq(err.text,
			 "t.so: has nothing to load (a debug file?): copy the plugin itself");
	free(data);
	free(good);
}

static bool loads_without_crash(const unsigned char *good, size_t len)
{
	char path[100];
	int r;

	write_file(new_path(path, sizeof path), good, len);
	r = plugin_open(path, NULL, &plugin, &err);
	unlink(path);
	if (r == 0)
		plugin_close(plugin);
	return r == 0;
}

Test(elf, survives_every_truncation, .init = make_folder, .fini = remove_folder)
{
	size_t len, n_loaded = 0;
	unsigned char *good = read_good(&len);

	for (size_t cut = 0; cut < len; cut += cut < 1024 ? 1 : 251)
		n_loaded += loads_without_crash(good, cut);
	cr_expect_eq(n_loaded, 0, "%zu cut files were loaded", n_loaded);
	cr_expect(loads_without_crash(good, len), "%s", err.text);
	free(good);
}

Test(elf, survives_every_truncation_of_a_file_without_sections, .init = make_folder,
     .fini = remove_folder)
{
	static const uint64_t nothing = 0;
	size_t len, n_loaded = 0, n_refused = 0;
	unsigned char *good = read_good(&len);

	memcpy(good + offsetof(Elf64_Ehdr, e_shoff), &nothing, 8);
	memcpy(good + offsetof(Elf64_Ehdr, e_shentsize), &nothing, 6); /* and e_shnum, e_shstrndx */
	for (size_t cut = 0; cut < len; cut += cut < 1024 ? 1 : 251) {
		if (loads_without_crash(good, cut))
			n_loaded++;
		else
			n_refused++;
	}
	cr_expect_gt(n_refused, 1024);
	cr_expect(loads_without_crash(good, len), "%s", err.text);
	free(good);
}

Test(elf, reads_any_header_without_harm, .init = make_folder, .fini = remove_folder)
{
	size_t len;
	unsigned char *good = read_good(&len);
	unsigned seed = 1;

	for (int i = 0; i < 2000; i++) {
		const size_t at = (size_t)rand_r(&seed) % 1024;
		const unsigned char was = good[at];

		good[at] = (unsigned char)rand_r(&seed);
		check_bytes(good, len);
		good[at] = was;
	}
	free(good);
}

Test(elf, passes_on_the_loaders_words_if_it_knows_no_better, .init = make_folder,
     .fini = remove_folder)
{
	char path[100], text[400], self[4096];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	/* This very program: a complete ELF file of type ET_DYN, but no shared object. */
	cr_assert_gt(n, 0);
	self[n] = '\0';
	new_path(path, sizeof path);
	cr_assert_eq(symlink(self, path), 0);
	cr_expect_eq(plugin_open(path, "program", &plugin, &err), -ENOEXEC);
	snprintf(text, sizeof text,
		 "program.so: cannot be loaded, build it again with cc -shared -fPIC: %s: cannot "
		 "dynamically load position-independent executable",
		 path);
	cr_expect_str_eq(err.text, text);
	unlink(path);
}

/* Mounts a file system without PROT_EXEC on the folder, which only this process sees. */
static bool mount_noexec(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", folder, "tmpfs", MS_NOEXEC, NULL) == 0;
}

Test(elf, hints_at_noexec_if_it_cannot_be_mapped, .init = make_folder, .fini = remove_folder)
{
	char path[100], text[400];
	size_t len;
	unsigned char *good;

	if (!mount_noexec()) {
		rmdir(folder);
		cr_skip_test("may not mount a file system here");
	}
	good = read_good(&len);
	write_file(new_path(path, sizeof path), good, len);
	cr_expect_eq(plugin_open(path, "good", &plugin, &err), -ENOEXEC);
	snprintf(text, sizeof text,
		 "good.so: cannot be mapped from %s: if that file system is mounted noexec, choose "
		 "another --state-dir",
		 path);
	cr_expect_str_eq(err.text, text);
	free(good);
	/* At once: glibc 2.36 forgets a mapping when it fails here. */
	cr_expect_eq(umount2(folder, MNT_DETACH), 0);
}
