/* ctl_watch.c - show a page again and again: redrawn in place, the terminal as it was afterwards.
 */
#include "ctl_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"

/* Alternate screen, cursor hidden, no wrapping at the right edge; and back. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"

static volatile sig_atomic_t is_over;

static void on_end(int number)
{
	(void)number;
	is_over = 1;
}

/* Only wakes the waiting: the next page is drawn for the new size. */
static void on_resize(int number)
{
	(void)number;
}

/* Signals come only while we wait. Returns the mask for waiting. */
static sigset_t take_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_end };
	sigset_t blocked, before;

	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		(void)sigaction(ends[i], &action, NULL);
		(void)sigaddset(&blocked, ends[i]);
	}
	action.sa_handler = on_resize;
	(void)sigaction(SIGWINCH, &action, NULL);
	(void)sigaddset(&blocked, SIGWINCH);
	(void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		(void)sigdelset(&before, ends[i]);
	(void)sigdelset(&before, SIGWINCH);
	return before;
}

/* Is this byte the last of an escape sequence "ESC [ ... letter"? */
static bool ends_escape(char c)
{
	return c >= '@' && c <= '~' && c != '[';
}

/* Write one line, cut to columns letters. Returns where the next one starts. */
static const char *draw_line(FILE *out, const char *text, int columns)
{
	bool is_escape = false;
	int used = 0;

	for (; *text != '\0' && *text != '\n'; text++) {
		const bool starts_letter = ((unsigned char)*text & 0xc0) != 0x80;
		const bool was_escape = is_escape;

		is_escape = *text == '\033' || (is_escape && !ends_escape(*text));
		if (!is_escape && !was_escape && starts_letter)
			used++;
		if (is_escape || was_escape || used <= columns)
			(void)fputc(*text, out);
	}
	return *text == '\n' ? text + 1 : text;
}

void ctl_watch_draw(FILE *out, const char *text, int columns, int rows)
{
	(void)fputs("\033[H", out);
	for (int row = 0; row < rows && *text != '\0'; row++) {
		text = draw_line(out, text, columns);
		(void)fputs("\033[0m\033[K", out);
		/* A newline in the last row would scroll. */
		if (row + 1 < rows)
			(void)fputs("\r\n", out);
	}
	(void)fputs(*text == '\0' ? "\033[J" : "", out);
}

static int show_page(ctl_page_fn *page, void *arg, bool is_screen)
{
	struct winsize size = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);

	if (memory == NULL)
		return CTL_REFUSED;
	/* A page that cannot be made says why, and the next one may be well again. */
	(void)page(arg, memory, ctl_is_coloured(stdout));
	if (fclose(memory) != 0) {
		free(text);
		return CTL_REFUSED;
	}
	if (!is_screen)
		(void)fputs(text, stdout);
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
		ctl_watch_draw(stdout, text, size.ws_col, size.ws_row);
	else
		ctl_watch_draw(stdout, text, 80, 24);
	free(text);
	return fflush(stdout) == 0 ? CTL_GOOD : CTL_REFUSED;
}

int ctl_watch(ctl_page_fn *page, void *arg, int64_t interval_ns, bool in_place)
{
	const bool is_screen = in_place && isatty(STDOUT_FILENO) == 1;
	const struct timespec interval = { .tv_sec = interval_ns / CLOCK_S,
					   .tv_nsec = interval_ns % CLOCK_S };
	const sigset_t waiting = take_signals();
	int status = CTL_GOOD;

	if (is_screen)
		(void)fputs(SCREEN_ENTER, stdout);
	while (is_over == 0 && status == CTL_GOOD) {
		status = show_page(page, arg, is_screen);
		if (status == CTL_GOOD)
			(void)ppoll(NULL, 0, &interval, &waiting);
	}
	if (is_screen) {
		(void)fputs(SCREEN_LEAVE, stdout);
		(void)fflush(stdout);
	}
	return status;
}
