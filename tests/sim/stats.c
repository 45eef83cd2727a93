/* stats.c - counting. */
#include "stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINE_BITS 7
#define FULL_UTIL 0.9

/*** Histograms ***/

/* Numbers below 256 have a slot each; above, each power of two has 128. */
static uint32_t slot_of(uint64_t ns)
{
	uint32_t shift = 0;

	while (ns >> shift >= 2u << FINE_BITS)
		shift++;
	return (shift << FINE_BITS) + (uint32_t)(ns >> shift);
}

static uint64_t slot_start(uint32_t slot)
{
	const uint32_t shift = slot < 2u << FINE_BITS ? 0 : (slot >> FINE_BITS) - 1;

	return (uint64_t)(slot - (shift << FINE_BITS)) << shift;
}

void histogram_add(struct histogram *histogram, int64_t ns)
{
	histogram->slot[slot_of(ns > 0 ? (uint64_t)ns : 0)]++;
	histogram->n++;
}

double histogram_at(const struct histogram *histogram, double share)
{
	const double wanted = share * (double)histogram->n;
	uint64_t sum = 0;

	for (uint32_t i = 0; i + 1 < HISTOGRAM_SLOTS && histogram->n > 0; i++) {
		sum += histogram->slot[i];
		if ((double)sum >= wanted && sum > 0)
			return (double)(slot_start(i) + slot_start(i + 1)) / 2 * 1e-9;
	}
	return 0;
}

/*** A run ***/

int stats_init(struct stats *stats, uint32_t servers)
{
	memset(stats, 0, sizeof *stats);
	stats->placed = calloc(servers, sizeof *stats->placed);
	stats->second_placed = calloc(servers, sizeof *stats->second_placed);
	stats->busy = calloc(servers, sizeof *stats->busy);
	return stats->placed != NULL && stats->second_placed != NULL && stats->busy != NULL ? 0
											    : -1;
}

void stats_fini(struct stats *stats)
{
	free(stats->placed);
	free(stats->second_placed);
	free(stats->busy);
	stats->placed = stats->second_placed = NULL;
	stats->busy = NULL;
}

void stats_good(struct stats *stats, enum call_kind kind, double took_s)
{
	const int64_t ns = (int64_t)(took_s * 1e9);

	stats->good++;
	stats->sum_s += took_s;
	histogram_add(&stats->all, ns);
	if (kind == CALL_SMALL)
		histogram_add(&stats->small, ns);
	if (kind == CALL_BIG)
		histogram_add(&stats->big, ns);
}

/** The sum and the largest of a figure over the servers. */
struct spread {
	double sum, most;
};

static void spread_add(struct spread *spread, double value)
{
	spread->sum += value;
	if (value > spread->most)
		spread->most = value;
}

/* The largest as a multiple of the mean. */
static double spread_ratio(const struct spread *spread, uint32_t n)
{
	return spread->sum > 0 ? spread->most * n / spread->sum : 1;
}

static uint32_t servers_fulls(const struct server *servers, uint32_t n)
{
	uint32_t fulls = 0;

	for (uint32_t i = 0; i < n; i++)
		fulls += servers[i].jvm.fulls;
	return fulls;
}

void stats_second(struct stats *stats, const struct server *servers, uint32_t n, bool is_counted)
{
	struct spread live = { 0 }, cpu = { 0 }, placed = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		spread_add(&live, servers[i].jvm.heap > 0
					  ? server_live(&servers[i]) / servers[i].jvm.heap
					  : 0);
		spread_add(&cpu, (servers[i].busy_s - stats->busy[i]) / servers[i].cores);
		spread_add(&placed, (double)stats->second_placed[i]);
		stats->busy[i] = servers[i].busy_s;
		stats->second_placed[i] = 0;
	}
	if (!is_counted) {
		stats->fulls_before = servers_fulls(servers, n);
		return;
	}
	stats->seconds++;
	stats->full_seconds += live.most > FULL_UTIL;
	stats->live += live.sum / n;
	stats->live_max += live.most;
	stats->heap_spread += spread_ratio(&live, n);
	stats->cpu_spread += spread_ratio(&cpu, n);
	stats->top_share += placed.sum > 0 ? placed.most / placed.sum : 1.0 / n;
}

void series_print_header(FILE *file)
{
	(void)fprintf(file, "t_ms,free,total,max,after_gc,hogs,live,calls,completed,failed,"
			    "minor_gcs,major_gcs,gc_ms\n");
}

void series_print(FILE *file, const struct server *server, double hog_age_s)
{
	const struct jvm *jvm = &server->jvm;

	(void)fprintf(file, "%.0f,%.0f,%.0f,%.0f,%.0f,%u,%.0f,%u,%llu,%llu,%u,%u,%.0f\n",
		      1e3 * server->now_s, jvm->heap - jvm_used(jvm), jvm->heap, jvm->heap,
		      jvm->after_gc, server_hogs(server, hog_age_s), server_live(server),
		      server_calls(server), (unsigned long long)(server->ended - server->failed),
		      (unsigned long long)server->failed, jvm->minors, jvm->fulls,
		      1e3 * server->gc_s);
}

void stats_print_header(void)
{
	printf("scenario,router,seed,calls,failed,oom,refused,other,by_default,fail_ppm,mean_ms,"
	       "p50_ms,p99_ms,p999_ms,small_p99_ms,small_p999_ms,big_p99_s,live,live_max,"
	       "full_time,heap_spread,cpu_spread,top_share,full_gcs,share_max,share_min\n");
}

/* The largest and the smallest share of all calls, even being 1. */
static void print_shares(const struct stats *stats, uint32_t n)
{
	uint64_t sum = 0, most = 0, least = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		sum += stats->placed[i];
		most = stats->placed[i] > most ? stats->placed[i] : most;
		least = stats->placed[i] < least ? stats->placed[i] : least;
	}
	sum = sum > 0 ? sum : 1;
	printf(",%.4f,%.4f\n", (double)most * n / (double)sum, (double)least * n / (double)sum);
}

void stats_print(const struct stats *stats, const struct server *servers, uint32_t n)
{
	const uint64_t failed =
		stats->lost[LOSS_MEMORY] + stats->lost[LOSS_REFUSED] + stats->lost[LOSS_OTHER];
	const double calls = stats->calls > 0 ? (double)stats->calls : 1;
	const double seconds = stats->seconds > 0 ? (double)stats->seconds : 1;

	printf("%llu,%llu,%llu,%llu,%llu,%llu,%.2f,%.4f", (unsigned long long)stats->calls,
	       (unsigned long long)failed, (unsigned long long)stats->lost[LOSS_MEMORY],
	       (unsigned long long)stats->lost[LOSS_REFUSED],
	       (unsigned long long)stats->lost[LOSS_OTHER], (unsigned long long)stats->by_default,
	       1e6 * (double)failed / calls,
	       stats->good > 0 ? 1e3 * stats->sum_s / (double)stats->good : 0);
	printf(",%.4f,%.3f,%.2f,%.3f,%.3f,%.3f", 1e3 * histogram_at(&stats->all, 0.5),
	       1e3 * histogram_at(&stats->all, 0.99), 1e3 * histogram_at(&stats->all, 0.999),
	       1e3 * histogram_at(&stats->small, 0.99), 1e3 * histogram_at(&stats->small, 0.999),
	       histogram_at(&stats->big, 0.99));
	printf(",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%u", stats->live / seconds,
	       stats->live_max / seconds, (double)stats->full_seconds / seconds,
	       stats->heap_spread / seconds, stats->cpu_spread / seconds,
	       stats->top_share / seconds, servers_fulls(servers, n) - stats->fulls_before);
	print_shares(stats, n);
}
