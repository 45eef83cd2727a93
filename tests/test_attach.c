/* test_attach.c - run directories in any state: what is no good is named once and not used, and
 * what comes in its place is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters_file.h"
#include "route_scene.h"

TestSuite(attach, .timeout = 100);
#include "snapshot_file.h"

#define REFRESHES 500

/** Spoils a file of a running daemon. */
typedef void spoil_fn(const char *path);

static void write_garbage(const char *path)
{
	char garbage[8192];
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(garbage, 'x', sizeof garbage);
	cr_assert_eq(write(fd, garbage, sizeof garbage), (ssize_t)sizeof garbage);
	close(fd);
}

static void write_nothing(const char *path)
{
	close(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static void cut_to_a_page(const char *path)
{
	cr_assert_eq(truncate(path, 4096), 0);
}

static void make_folder(const char *path)
{
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
}

static void make_fifo(const char *path)
{
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
}

static void make_link(const char *path)
{
	unlink(path);
	cr_assert_eq(symlink("/dev/zero", path), 0);
}

static void flip(const char *path, off_t at)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char byte;

	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void spoil_magic(const char *path)
{
	flip(path, 0);
}

static void spoil_snapshot_boot(const char *path)
{
	flip(path, offsetof(struct snapshot_header, mark));
}

static void spoil_counters_boot(const char *path)
{
	flip(path, offsetof(struct counters_header, mark));
}

static off_t newest_slot(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct snapshot_header header;

	cr_assert_eq(read(fd, &header, sizeof header), (ssize_t)sizeof header);
	close(fd);
	return (off_t)snapshot_slot_at(atomic_load(&header.newest), header.slot_bytes);
}

static void spoil_image(const char *path)
{
	flip(path, newest_slot(path) + (off_t)sizeof(struct snapshot_slot) + 100);
}

static void spoil_length(const char *path)
{
	flip(path, newest_slot(path) + (off_t)offsetof(struct snapshot_slot, length) + 6);
}

static const struct {
	const char *name;
	spoil_fn *snapshot, *counters; /* NULL: left whole */
	unsigned lines;                /* that a data plane says about it */
	bool has_view;                 /* the snapshot is there */
} cases[] = {
	{ "snapshot of garbage", write_garbage, NULL, 1, false },
	{ "snapshot empty", write_nothing, NULL, 1, false },
	{ "snapshot cut", cut_to_a_page, NULL, 1, false },
	{ "snapshot a folder", make_folder, NULL, 1, false },
	{ "snapshot a fifo", make_fifo, NULL, 1, false },
	{ "snapshot a link", make_link, NULL, 1, false },
	{ "snapshot foreign", spoil_magic, NULL, 1, false },
	{ "snapshot of another boot", spoil_snapshot_boot, NULL, 1, false },
	{ "snapshot torn", spoil_image, NULL, 1, false },
	{ "snapshot with a hostile length", spoil_length, NULL, 1, false },
	{ "counters of garbage", NULL, write_garbage, 1, true },
	{ "counters empty", NULL, write_nothing, 1, true },
	{ "counters cut", NULL, cut_to_a_page, 1, true },
	{ "counters a folder", NULL, make_folder, 1, true },
	{ "counters a fifo", NULL, make_fifo, 1, true },
	{ "counters a link", NULL, make_link, 1, true },
	{ "counters foreign", NULL, spoil_magic, 1, true },
	{ "counters of another boot", NULL, spoil_counters_boot, 1, true },
	{ "both of garbage", write_garbage, write_garbage, 2, false },
};

/* What a hostile file leaves in the way of the daemon, an operator removes. */
static void clear_way(const struct run *run, const char *name)
{
	struct stat st;

	if (lstat(run_file(run, name), &st) == 0 && !S_ISREG(st.st_mode))
		cr_assert_eq(remove(run_file(run, name)), 0);
}

static void expect_case(size_t i)
{
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=reversed\n");
	run_publish(&s.run, s.plan);
	run_stop_daemon(&s.run);
	if (cases[i].snapshot != NULL)
		cases[i].snapshot(run_file(&s.run, SNAPSHOT_FILE));
	if (cases[i].counters != NULL)
		cases[i].counters(run_file(&s.run, COUNTERS_FILE));
	scene_attach(&s);
	for (int k = 0; k < REFRESHES; k++)
		cr_refresh(s.cr);
	cr_expect_eq(s.run.n_said, cases[i].lines, "%s: %u lines: %s", cases[i].name, s.run.n_said,
		     s.run.said[0]);
	for (unsigned k = 0; k < s.run.n_said && k < 16; k++)
		cr_expect(strstr(s.run.said[k], s.run.dir) != NULL, "%s", s.run.said[k]);
	if (cases[i].has_view)
		expect_call(&s, "ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	else
		expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SNAPSHOT);
	clear_way(&s.run, SNAPSHOT_FILE);
	clear_way(&s.run, COUNTERS_FILE);
	run_start_daemon(&s.run);
	scene_publish(&s);
	expect_route(&s, "ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_held(&s, "ms2", 1, 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms2", 0, 0);
	cr_expect_eq(s.run.n_said, cases[i].lines, "%s: %s", cases[i].name, s.run.said[0]);
	scene_close(&s);
}

Test(attach, files_that_are_no_good_are_named_once_and_good_ones_are_used_when_they_come)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_case(i);
}

Test(attach, several_complaints_at_once_are_each_made_once)
{
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=all\n");
	s.orders->router.path = "/nowhere/says.5.so";
	s.orders->router.seq = 5;
	s.plan->coming = probe(&s, "");
	s.plan->coming.path = "/nowhere/probe.6.so";
	s.plan->coming.flags |= IMAGE_IS_COMING;
	run_publish(&s.run, s.plan);
	/* the daemon still has its own file */
	cr_assert_eq(unlink(run_file(&s.run, COUNTERS_FILE)), 0);
	write_garbage(run_file(&s.run, COUNTERS_FILE));
	scene_attach(&s);
	for (int i = 0; i < REFRESHES; i++) {
		if (i % 5 == 0)
			run_publish(&s.run, s.plan);
		cr_refresh(s.cr);
	}
	cr_expect_eq(s.run.n_said, 3, "%u lines: %s", s.run.n_said, s.run.said[0]);
	cr_expect(strstr(s.run.said[0], "counters ignored: ") == s.run.said[0]);
	cr_expect(strstr(s.run.said[1], "router not loaded") == s.run.said[1]);
	cr_expect(strstr(s.run.said[2], "coming router cannot be loaded") == s.run.said[2]);
	/* when it was well in between it is said again */
	s.orders->router = says(&s, "say=all\n");
	scene_publish(&s);
	s.orders->router.path = "/nowhere/says.5.so";
	s.orders->router.seq = 5;
	s.orders->router.key = ++s.last_key;
	scene_publish(&s);
	cr_expect_eq(s.run.n_said, 4);
	scene_close(&s);
}

Test(attach, a_run_directory_may_come_later)
{
	struct scene s = { .plan = plan_new(1) };

	run_open_empty(&s.run);
	cr_assert_eq(rmdir(s.run.dir), 0);
	scene_attach(&s);
	cr_expect_eq(cr_refresh(s.cr), 0);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SNAPSHOT);
	cr_assert_eq(mkdir(s.run.dir, 0700), 0);
	run_start_daemon(&s.run);
	cr_expect_eq(cr_refresh(s.cr), 0);
	s.plan->service[0].router = ranked(&s, NULL);
	scene_publish(&s);
	expect_route(&s, "ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_held(&s, "ms1", 1, 0);
	cr_expect_eq(s.run.n_said, 0);
	scene_close(&s);
}

/*** A daemon that stops, starts and loses its files ***/

static void scene_of_restarts(struct scene *s)
{
	scene_open(s, 2);
	s->orders->router = says(s, "say=reversed\n");
	scene_attach(s);
	scene_publish(s);
}

Test(attach, calls_go_on_without_the_daemon_and_follow_the_next_one)
{
	struct cr_ticket before;
	struct scene s;

	scene_of_restarts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &before), 2);
	run_stop_daemon(&s.run);
	for (int i = 0; i < 100; i++) {
		cr_expect_eq(cr_refresh(s.cr), 0);
		expect_call(&s, "ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	}
	run_start_daemon(&s.run);
	expect_held(&s, "ms2", 1, 0);
	s.orders->router = says(&s, "say=all\n");
	scene_publish(&s);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(s.ticket.generation, 2);
	cr_end(s.thread, &before, CR_OK, 1);
	expect_held(&s, "ms2", 0, 0);
	cr_expect_eq(s.run.n_said, 0);
	scene_close(&s);
}

Test(attach, a_removed_snapshot_leaves_the_last_view_and_a_new_one_counts_from_anywhere)
{
	struct scene s;

	scene_of_restarts(&s);
	for (int i = 0; i < 5; i++)
		scene_publish(&s);
	run_stop_daemon(&s.run);
	cr_assert_eq(unlink(run_file(&s.run, SNAPSHOT_FILE)), 0);
	cr_expect_eq(cr_refresh(s.cr), 0);
	expect_call(&s, "ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	run_start_daemon(&s.run);
	s.orders->router = says(&s, "say=all\n");
	scene_publish(&s); /* generation 1 again */
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(s.ticket.generation, 1);
	scene_close(&s);
}

Test(attach, an_image_that_is_spoiled_later_leaves_the_last_view)
{
	struct scene s;

	scene_of_restarts(&s);
	s.orders->router = says(&s, "say=refuse\n");
	run_publish(&s.run, s.plan);
	spoil_image(run_file(&s.run, SNAPSHOT_FILE));
	for (int i = 0; i < REFRESHES; i++)
		cr_expect_eq(cr_refresh(s.cr), -EBADMSG);
	expect_call(&s, "ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(s.run.n_said, 1);
	scene_publish(&s);
	expect_call(&s, "", CR_REFUSED, CR_REASON_ROUTER_REFUSED);
	scene_close(&s);
}
