/* seats.c - seats and those who sit there. */
#include "seats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "clock.h"
#include "text.h"
#include "view.h"

/*** Seats ***/

static int seat_fill(struct seat *seat, const struct config_choice *choice)
{
	if (choice->plugin == NULL)
		return 0;
	text_copy(seat->plugin, sizeof seat->plugin, choice->plugin);
	seat->options = config_pack(choice->options, choice->n_options);
	return seat->options != NULL ? 0 : -ENOMEM;
}

struct seats *seats_new(const struct config *config, const struct seats_context *context)
{
	struct seats *seats = calloc(1, sizeof *seats);

	if (seats == NULL)
		return NULL;
	seats->context = *context;
	seats->seat = calloc(2 * config->n_services + 1, sizeof *seats->seat);
	if (seats->seat == NULL)
		goto free_seats;
	for (size_t i = 0; i < 2 * config->n_services; i++) {
		const struct config_service *service = &config->services[i / 2];
		struct seat *seat = &seats->seat[i];

		seats->n = i + 1;
		seat->seats = seats;
		seat->service = i / 2;
		seat->is_preset = i % 2 == 1;
		seat->service_name = service->name;
		seat->n_rows = service->n_servers;
		if (seat_fill(seat, seat->is_preset ? &service->preset : &service->router) < 0)
			goto free_seats;
	}
	return seats;

free_seats:
	seats_free(seats);
	return NULL;
}

void seats_free(struct seats *seats)
{
	if (seats == NULL)
		return;
	for (size_t i = 0; seats->seat != NULL && i < seats->n; i++) {
		sitter_free(seats->seat[i].now);
		sitter_free(seats->seat[i].coming);
		free(seats->seat[i].options);
	}
	free(seats->seat);
	free(seats);
}

uint64_t seat_key(const struct seat *seat, uint64_t seq)
{
	uint64_t key = cr_mix64(seq ^ (seat->is_preset ? UINT64_C(1) << 63 : 0));

	key = cr_mix64(key ^ cr_hash64(seat->service_name, strlen(seat->service_name)));
	key = cr_mix64(key ^ cr_hash64(seat->options, strlen(seat->options)));
	return key != 0 ? key : 1;
}

/*** Sitters ***/

static void sitter_heard(void *arg, struct ranker *ranker, enum ranker_event event,
			 const struct err *err)
{
	struct sitter *sitter = arg;
	const struct seats_context *context = &sitter->seat->seats->context;

	(void)ranker;
	context->event(context->arg, sitter, event, err);
}

void seat_clear_bank(struct counters_service *line, uint32_t bank)
{
	for (size_t i = 0; line != NULL && i < CR_SHARED_WORDS_MAX; i++)
		__atomic_store_n(&line->shared[bank][i], 0, __ATOMIC_RELAXED);
}

/* Each seat owns two banks of shared words: versions with another layout take turns. */
static uint32_t sitter_choose_bank(const struct sitter *sitter, const struct sitter *before,
				   uint32_t bank, struct counters_service *line)
{
	if (before != NULL &&
	    before->generation->facts->state_tag == sitter->generation->facts->state_tag &&
	    strcmp(before->generation->plugin, sitter->generation->plugin) == 0)
		return before->bank;
	if (before == NULL)
		return bank;
	bank = before->bank ^ 1;
	seat_clear_bank(line, bank);
	return bank;
}

static int sitter_inherit(struct sitter *sitter, const struct sitter *before)
{
	if (before == NULL || before->saved_len == 0 || before->bank != sitter->bank)
		return 0;
	sitter->saved = malloc(before->saved_len);
	if (sitter->saved == NULL)
		return -ENOMEM;
	memcpy(sitter->saved, before->saved, before->saved_len);
	sitter->saved_len = before->saved_len;
	return 0;
}

struct sitter *sitter_new(struct seat *seat, struct generation *generation,
			  const struct sitter *before, uint32_t bank, struct counters_service *line)
{
	struct sitter *sitter = calloc(1, sizeof *sitter);

	if (sitter == NULL)
		return NULL;
	sitter->seat = seat;
	sitter->generation = generation_keep(generation);
	sitter->key = seat_key(seat, generation->seq);
	sitter->bank = sitter_choose_bank(sitter, before, bank, line);
	sitter->options = strdup(seat->options);
	if (sitter->options == NULL || sitter_inherit(sitter, before) < 0) {
		sitter_free(sitter);
		return NULL;
	}
	return sitter;
}

void sitter_free(struct sitter *sitter)
{
	if (sitter == NULL)
		return;
	ranker_free(sitter->ranker);
	generation_drop(sitter->generation);
	free(sitter->options);
	free(sitter->order);
	free(sitter->column);
	free(sitter->saved);
	free(sitter);
}

int sitter_start(struct sitter *sitter, struct err *err)
{
	const struct seats_context *context = &sitter->seat->seats->context;
	const struct ranker_load load = {
		.path = sitter->generation->path,
		.plugin = sitter->generation->plugin,
		.service = sitter->seat->service_name,
		.options = sitter->options,
		.run_dir = context->run_dir,
		.saved = sitter->saved,
		.saved_len = sitter->saved_len,
	};

	sitter->ranker = ranker_start(context->base, &load, sitter_heard, sitter, err);
	return sitter->ranker != NULL ? 0 : err->code;
}

/*** Answers ***/

static enum cr_reason sitter_judge(const struct ranker_answer *answer, size_t n_rows,
				   const uint8_t *usable)
{
	enum view_order_fault fault;
	uint32_t *seen;

	if (answer->verdict < 0 && answer->verdict != CR_REFUSE)
		return CR_REASON_RANK_ERROR;
	if (answer->n_rows != n_rows)
		return CR_REASON_RANK_BAD_ORDER; /* its columns would not fit either */
	if (answer->verdict == CR_DEFAULT || answer->verdict == CR_REFUSE)
		return CR_REASON_NONE;
	if (answer->n != (uint32_t)answer->verdict)
		return CR_REASON_RANK_BAD_ORDER;
	seen = calloc(n_rows + 1, sizeof *seen);
	if (seen == NULL)
		return CR_REASON_RANK_ERROR;
	fault = view_check_order(answer->order, answer->n, n_rows, usable, seen, 1);
	free(seen);
	return fault == VIEW_ORDER_GOOD ? CR_REASON_NONE : CR_REASON_RANK_BAD_ORDER;
}

static void sitter_copy_order(struct sitter *sitter, const struct ranker_answer *answer)
{
	const size_t columns = (size_t)answer->n_columns * answer->n_rows;

	free(sitter->order);
	free(sitter->column);
	sitter->order = calloc(answer->n + 1, sizeof *sitter->order);
	sitter->column = calloc(columns + 1, sizeof *sitter->column);
	sitter->n_order = sitter->order != NULL ? answer->n : 0;
	sitter->n_columns = sitter->column != NULL ? answer->n_columns : 0;
	if (sitter->order != NULL && answer->n > 0)
		memcpy(sitter->order, answer->order, answer->n * sizeof *sitter->order);
	if (sitter->column != NULL && columns > 0)
		memcpy(sitter->column, answer->column, columns * sizeof *sitter->column);
}

static void sitter_copy_saved(struct sitter *sitter)
{
	size_t len;
	const void *saved = ranker_saved(sitter->ranker, &len);

	free(sitter->saved);
	sitter->saved = malloc(len + 1);
	sitter->saved_len = sitter->saved != NULL ? len : 0;
	if (sitter->saved_len > 0)
		memcpy(sitter->saved, saved, len);
}

void sitter_take_answer(struct sitter *sitter, const uint8_t *usable)
{
	const struct ranker_answer *answer = ranker_answer(sitter->ranker);

	sitter->reason = sitter_judge(answer, sitter->seat->n_rows, usable);
	sitter->verdict = answer->verdict;
	sitter->has_answer = true;
	sitter->is_late = false;
	sitter->ranked_ns = clock_now_ns();
	if (sitter->reason == CR_REASON_NONE)
		sitter_copy_order(sitter, answer);
	sitter_copy_saved(sitter);
}
