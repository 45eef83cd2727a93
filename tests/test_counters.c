/* test_counters.c - the counters file: taken over or refused, slots claimed, calls counted. */
#include <grp.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "counters_scene.h"

/*** The file ***/

Test(counters, the_file_has_mode_0660_the_given_group_and_room_for_all_but_rows)
{
	struct folder folder = folder_make();
	const gid_t gid = geteuid() == 0 ? 4 : getegid();
	struct counters *c;
	char path[128];
	struct stat st;

	folder_file(&folder, COUNTERS_FILE, path, sizeof path);
	umask(0077);
	cr_assert_eq(counters_create(folder.path, gid, &c, NULL), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0660);
	cr_expect_eq(st.st_gid, gid);
	cr_expect_eq(st.st_size, (off_t)COUNTERS_FILE_BYTES);
	cr_expect_geq(st.st_blocks * 512, (off_t)COUNTERS_ROWS_AT);
	cr_expect_lt(st.st_blocks * 512, (off_t)(COUNTERS_ROWS_AT + COUNTERS_ROW_STRIDE));
	counters_close(c);
	folder_remove(&folder);
}

Test(counters, figures_go_on_after_a_restart_of_the_daemon)
{
	struct scene s;
	const int line = 1;

	scene_open(&s);
	cr_assert_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_assert_eq(counters_line_of(s.daemon, "ms2", NULL), line);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, line, 100);
	atomic_store(&counters_line(s.plane, line)->calls, 17);
	counters_close(s.daemon);
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &s.daemon, NULL), 0);
	cr_expect_not(counters_is_replaced(s.plane, s.folder.path));
	expect_totals(s.daemon, line, 1, 100);
	cr_expect_eq(atomic_load(&counters_line(s.daemon, line)->calls), 17);
	cr_expect_eq(counters_line_of(s.daemon, "ms2", NULL), line);
	cr_expect_eq(counters_line_of(s.daemon, "ms3", NULL), 2);
	cr_expect_eq(atomic_load(&counters_line(s.daemon, line)->incarnation), 1);
	scene_close(&s);
}

Test(counters, a_mapping_without_descriptors_is_as_good_for_its_lines)
{
	struct scene s;
	int line;

	scene_open(&s);
	line = counters_line_of(s.daemon, "ms1", NULL);
	counters_close_files(s.plane);
	atomic_store(&counters_line(s.daemon, (uint32_t)line)->calls, 17);
	cr_expect_eq(atomic_load(&counters_line(s.plane, (uint32_t)line)->calls), 17);
	cr_expect_eq(counters_claim(s.plane, "test"), -EBADF);
	cr_expect_not(counters_is_replaced(s.plane, s.folder.path));
	cr_assert_eq(unlink(s.path), 0);
	cr_expect(counters_is_replaced(s.plane, s.folder.path));
	scene_close(&s);
}

static void expect_refused(struct scene *s, int code, const char *text)
{
	struct counters *c = NULL;

	s->err = (struct err){ 0 };
	cr_expect_eq(counters_open(s->folder.path, false, &c, &s->err), code, "%d: %s", s->err.code,
		     s->err.text);
	cr_expect_null(c);
	cr_expect_not_null(strstr(s->err.text, text), "%s, not %s", s->err.text, text);
}

static void file_flip(const char *path, off_t at)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char byte;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

Test(counters, a_file_that_does_not_fit_is_refused_and_replaced)
{
	struct scene s;

	scene_open(&s);
	for (off_t at = 0; at < (off_t)sizeof(struct counters_shape); at++) {
		file_flip(s.path, at);
		expect_refused(&s, -EBADMSG, "not a counters file of this version");
		file_flip(s.path, at);
	}
	for (off_t at = 0; at < (off_t)sizeof(struct boot_mark); at++) {
		file_flip(s.path, (off_t)offsetof(struct counters_header, mark) + at);
		expect_refused(&s, -ESTALE, "before this boot");
		file_flip(s.path, (off_t)offsetof(struct counters_header, mark) + at);
	}
	cr_assert_eq(truncate(s.path, (off_t)COUNTERS_FILE_BYTES - 1), 0);
	expect_refused(&s, -EBADMSG, "truncated");
	cr_expect_not(counters_is_replaced(s.plane, s.folder.path));
	counters_close(s.daemon);
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &s.daemon, NULL), 0);
	cr_expect(counters_is_replaced(s.plane, s.folder.path));
	counters_close(s.plane);
	cr_assert_eq(counters_open(s.folder.path, false, &s.plane, &s.err), 0);
	cr_assert_eq(truncate(s.path, 10), 0);
	expect_refused(&s, -EBADMSG, "not a counters file of this version");
	cr_assert_eq(unlink(s.path), 0);
	expect_refused(&s, -ENOENT, "No such file");
	cr_expect(counters_is_replaced(s.plane, s.folder.path));
	cr_assert_eq(mkfifo(s.path, 0600), 0);
	expect_refused(&s, -EBADMSG, "not a regular file");
	cr_assert_eq(unlink(s.path), 0);
	cr_assert_eq(symlink("/etc/passwd", s.path), 0);
	expect_refused(&s, -ELOOP, "symbolic link");
	scene_close(&s);
}

Test(counters, a_file_of_another_user_is_not_taken_over)
{
	struct scene s;

	if (geteuid() != 0)
		cr_skip_test("needs root: a file of another user");
	scene_open(&s);
	cr_assert_eq(chown(s.path, 1, (gid_t)-1), 0);
	counters_close(s.daemon);
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &s.daemon, NULL), 0);
	cr_expect(counters_is_replaced(s.plane, s.folder.path));
	scene_close(&s);
}

Test(counters, who_may_not_open_it_is_told_about_the_group)
{
	struct scene s;

	if (geteuid() != 0)
		cr_skip_test("needs root: to become another user");
	scene_open(&s);
	cr_assert_eq(chmod(s.folder.path, 0755), 0);
	cr_assert_eq(setgroups(0, NULL), 0);
	cr_assert_eq(setegid(65534), 0);
	cr_assert_eq(seteuid(65534), 0);
	expect_refused(&s, -EACCES, "must belong to the file's group");
	cr_assert_eq(seteuid(0), 0);
	scene_close(&s);
}

Test(counters, lookers_on_see_everything_and_claim_nothing)
{
	struct scene s;
	struct counters *looker;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 3, 9);
	cr_assert_eq(counters_open(s.folder.path, true, &looker, NULL), 0);
	expect_totals(looker, 3, 1, 9);
	cr_expect_eq(counters_claim(looker, "looker"), -EBADF);
	cr_expect(counters_is_alive(looker, (uint32_t)counters_slot_number(s.plane)));
	cr_expect_eq(counters_inquest(looker), 0);
	counters_quarantine(looker, 5);
	cr_expect_not(counters_is_quarantined(looker, 5));
	counters_close(looker);
	scene_close(&s);
}

Test(counters, indices_beyond_the_end_have_nothing)
{
	struct scene s;

	scene_open(&s);
	cr_expect_not_null(counters_line(s.plane, 16383));
	cr_expect_null(counters_line(s.plane, 16384));
	cr_expect_not_null(counters_service(s.plane, 255));
	cr_expect_null(counters_service(s.plane, 256));
	cr_expect_not_null(counters_slot(s.plane, 1023));
	cr_expect_null(counters_slot(s.plane, 1024));
	cr_expect_not(counters_is_alive(s.plane, 1024));
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 16384, 1);
	counters_hold_drop(s.plane, UINT32_MAX, 1);
	scene_close(&s);
}

/*** Slots ***/

Test(counters, a_slot_is_claimed_seen_and_given_up)
{
	struct scene s;
	struct counters_slot *slot;
	int at;

	scene_open(&s);
	cr_expect_eq(counters_slot_number(s.plane), -1);
	cr_expect_null(counters_row(s.plane));
	cr_expect_eq(counters_slots_used(s.daemon), 0);
	at = counters_claim(s.plane, "a program with a name that is much too long");
	cr_assert_geq(at, 0);
	cr_expect_eq(counters_claim(s.plane, "again"), at);
	cr_expect_eq(counters_slots_used(s.daemon), (uint32_t)at + 1);
	slot = counters_slot(s.daemon, (uint32_t)at);
	cr_expect_eq(atomic_load(&slot->state), 1);
	cr_expect_eq(atomic_load(&slot->epoch), 1);
	cr_expect_eq(slot->pid, getpid());
	cr_expect_str_eq(slot->program, "a program with a name that is m");
	cr_expect_gt(slot->attached_ns, 0);
	cr_expect(counters_is_alive(s.plane, (uint32_t)at));
	cr_expect(counters_is_alive(s.daemon, (uint32_t)at));
	cr_expect_not(counters_is_alive(s.daemon, (uint32_t)(at + 1) % 1024));
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 0);
	counters_close(s.plane);
	cr_expect_eq(atomic_load(&slot->state), 0);
	cr_expect_not(counters_is_alive(s.daemon, (uint32_t)at));
	cr_assert_eq(counters_open(s.folder.path, false, &s.plane, NULL), 0);
	cr_expect_eq(counters_claim(s.plane, "next"), at);
	cr_expect_eq(atomic_load(&slot->epoch), 2);
	scene_close(&s);
}

Test(counters, two_mappings_of_one_process_have_two_slots)
{
	struct scene s;
	struct counters *second;

	scene_open(&s);
	cr_assert_eq(counters_open(s.folder.path, false, &second, NULL), 0);
	cr_assert_geq(counters_claim(s.plane, "one"), 0);
	cr_assert_geq(counters_claim(second, "two"), 0);
	cr_expect_neq(counters_slot_number(s.plane), counters_slot_number(second));
	counters_close(second);
	cr_expect(counters_is_alive(s.daemon, (uint32_t)counters_slot_number(s.plane)));
	scene_close(&s);
}

Test(counters, without_a_free_slot_calls_are_not_counted)
{
	struct scene s;
	struct counters *late;

	scene_open(&s);
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++)
		if (i != 700)
			atomic_store(&counters_slot(s.daemon, i)->state, 1);
	cr_expect_eq(counters_claim(s.plane, "last"), 700);
	cr_assert_eq(counters_open(s.folder.path, false, &late, NULL), 0);
	cr_expect_eq(counters_claim(late, "late"), -EAGAIN);
	counters_hold_add(late, 0, 5);
	expect_totals(s.daemon, 0, 0, 0);
	counters_hold_add(s.plane, 0, 5);
	counters_hold_drop(late, 0, 5);
	expect_totals(s.daemon, 0, 1, 5);
	/* Nobody lives in the 1,023 others. */
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 1023);
	cr_expect_geq(counters_claim(late, "late"), 0);
	counters_close(late);
	scene_close(&s);
}

Test(counters, without_room_for_the_ledger_nothing_is_claimed)
{
	struct folder folder = folder_make();
	struct scene s = { .folder = folder };
	char size[32];

	(void)snprintf(size, sizeof size, "size=%llu",
		       (unsigned long long)COUNTERS_ROWS_AT + 65536);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", folder.path, "tmpfs", 0, size) < 0) {
		folder_remove(&folder);
		cr_skip_test("needs root: a small file system of its own");
	}
	cr_assert_eq(counters_create(folder.path, (gid_t)-1, &s.daemon, &s.err), 0, "%s",
		     s.err.text);
	cr_assert_eq(counters_open(folder.path, false, &s.plane, NULL), 0);
	cr_expect_eq(counters_claim(s.plane, "test"), -ENOSPC);
	cr_expect_eq(counters_slots_used(s.daemon), 0);
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++)
		cr_expect_not(counters_is_alive(s.daemon, i));
	counters_hold_add(s.plane, 0, 5);
	expect_totals(s.daemon, 0, 0, 0);
	/* A hostile "used" slot makes the daemon look for its row: no SIGBUS, it stays as it is. */
	atomic_store(&counters_slot(s.daemon, 9)->state, 1);
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 0);
	cr_expect_eq(counters_audit(s.daemon), 0);
	cr_expect_eq(counters_inquest(s.plane), 0);
	counters_close(s.plane);
	counters_close(s.daemon);
	cr_expect_eq(umount2(folder.path, MNT_DETACH), 0);
	folder_remove(&folder);
}

/*** Calls ***/

Test(counters, calls_and_bytes_go_in_and_out)
{
	struct scene s;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 2, 100);
	counters_hold_add(s.plane, 2, 50);
	counters_hold_add(s.plane, 4, 0);
	expect_totals(s.daemon, 2, 2, 150);
	expect_totals(s.daemon, 4, 1, 0);
	cr_expect_eq(counters_row(s.plane)->hold[2].inflight, 2);
	cr_expect_eq(counters_row(s.plane)->hold[2].bytes, 150);
	counters_hold_drop(s.plane, 2, 100);
	expect_totals(s.daemon, 2, 1, 50);
	counters_hold_drop(s.plane, 2, 50);
	counters_hold_drop(s.plane, 4, 0);
	expect_totals(s.daemon, 2, 0, 0);
	expect_totals(s.daemon, 4, 0, 0);
	scene_close(&s);
}

Test(counters, nothing_falls_below_zero)
{
	struct scene s;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_drop(s.plane, 1, 10);
	expect_totals(s.daemon, 1, 0, 0);
	counters_hold_add(s.plane, 1, 10);
	counters_hold_drop(s.plane, 1, 9999);
	expect_totals(s.daemon, 1, 0, 0);
	/* Another process's calls are not given back by ours. */
	s.daemon->line[1].live.inflight = 5;
	s.daemon->line[1].live.inflight_bytes = 500;
	counters_hold_drop(s.plane, 1, 100);
	expect_totals(s.daemon, 1, 5, 500);
	/* Nor does a total that somebody spoilt wrap around. */
	counters_hold_add(s.plane, 1, 100);
	s.daemon->line[1].live.inflight = 0;
	s.daemon->line[1].live.inflight_bytes = -3;
	counters_hold_drop(s.plane, 1, 100);
	expect_totals(s.daemon, 1, 0, -3);
	scene_close(&s);
}

Test(counters, impossible_sizes_of_calls_are_cut)
{
	struct scene s;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 1, -5);
	expect_totals(s.daemon, 1, 1, 0);
	for (int i = 0; i < 3; i++)
		counters_hold_add(s.plane, 1, INT64_MAX);
	expect_totals(s.daemon, 1, 4, 206158430208);
	for (int i = 0; i < 3; i++)
		counters_hold_drop(s.plane, 1, INT64_MAX);
	counters_hold_drop(s.plane, 1, -5);
	expect_totals(s.daemon, 1, 0, 0);
	scene_close(&s);
}

Test(counters, a_process_that_leaves_gives_back_what_it_held)
{
	struct scene s;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	s.daemon->line[3].live.inflight = 4; /* of others */
	act_hold(s.plane);
	expect_totals(s.daemon, 3, 6, 1500);
	expect_totals(s.daemon, 16383, 1, 0);
	counters_close(s.plane);
	expect_totals(s.daemon, 3, 4, 0);
	expect_totals(s.daemon, 16383, 0, 0);
	s.plane = NULL;
	scene_close(&s);
}

/* What a forked child does; nothing of it may reach the parent's figures. */
static int let_go(const struct scene *s)
{
	struct counters *own = NULL;
	int status = 0;

	counters_disown(s->plane);
	counters_hold_add(s->plane, 3, 1);
	counters_hold_drop(s->plane, 3, 1);
	if (counters_row(s->plane) != NULL || counters_slot_number(s->plane) != -1 ||
	    counters_claim(s->plane, "child") != -EBADF)
		status = 1;
	counters_close(s->plane);
	if (counters_open(s->folder.path, false, &own, NULL) < 0 ||
	    counters_claim(own, "child") < 0)
		return 2;
	counters_hold_add(own, 3, 1);
	counters_close(own);
	return status;
}

Test(counters, a_forked_child_lets_go_without_giving_back)
{
	struct scene s;
	pid_t child;
	int status;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "parent"), 0);
	act_hold(s.plane);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(let_go(&s));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect(counters_is_alive(s.daemon, (uint32_t)counters_slot_number(s.plane)));
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 0);
	expect_totals(s.daemon, 3, 2, 1500);
	scene_close(&s);
}
