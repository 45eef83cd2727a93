/* test_source_profiles.c - the profiles that are shipped: each is a good description, says at its
 * head how it is used, and can be changed by keys of an entry. */
#include <dirent.h>

#include "source_bench.h"

TestSuite(profiles, .fini = bench_end);

enum { PROFILES_MIN = 17 };

static char *head_of(const char *name)
{
	char path[512];
	char *head = calloc(1, 4096);
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", LAB_PROFILES, name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);
	head[fread(head, 1, 4095, file)] = '\0';
	fclose(file);
	return head;
}

Test(profiles, say_at_their_head_what_to_switch_on_and_what_to_write)
{
	DIR *folder = opendir(LAB_PROFILES);
	const struct dirent *entry;
	int n = 0;

	cr_assert_not_null(folder);
	while ((entry = readdir(folder)) != NULL) {
		const char *end = strstr(entry->d_name, ".yaml");
		char *head, line[128];

		if (end == NULL)
			continue;
		n++;
		head = head_of(entry->d_name);
		snprintf(line, sizeof line, "\n#   profile: %.*s\n", (int)(end - entry->d_name),
			 entry->d_name);
		cr_expect_eq(head[0], '#', "%s", entry->d_name);
		cr_expect(strstr(head, "# Switch on: ") != NULL, "%s", entry->d_name);
		cr_expect(strstr(head, "\n#   plugin: ") != NULL, "%s", entry->d_name);
		cr_expect(strstr(head, line) != NULL, "%s has no \"%s\"", entry->d_name, line);
		cr_expect(strstr(head, "\n#   target: \"") != NULL, "%s", entry->d_name);
		free(head);
	}
	closedir(folder);
	cr_expect_geq(n, PROFILES_MIN);
}

/* Those of HTTP; the SNMP ones have options of their plugin in them and are tested with it. */
static const struct {
	const char *name;
	enum source_scope scope;
	size_t n_requests;
	const char *path;
} web[] = {
	{ "actuator", SOURCE_SERVER, 2, "/actuator/metrics/jvm.memory.used?tag=area%3Aheap" },
	{ "client-java", SOURCE_SERVER, 1, "/metrics" },
	{ "jolokia", SOURCE_SERVER, 1, "/jolokia/read/java.lang:type=Memory/HeapMemoryUsage" },
	{ "jolokia-bulk", SOURCE_SERVER, 1, "/jolokia/" },
	{ "json", SOURCE_SERVER, 1, "/health" },
	{ "micrometer", SOURCE_SERVER, 1, "/actuator/prometheus" },
	{ "node-exporter", SOURCE_SERVER, 1, "/metrics" },
	{ "otel-jvm", SOURCE_SERVER, 1, "/metrics" },
	{ "prometheus-query", SOURCE_GROUP, 3,
	  "/api/v1/query?query=sum%20by%20%28server%29%20%28jvm_memory_used_bytes%7Barea%3D%22heap"
	  "%22%7D%29" },
	{ "simpleclient", SOURCE_SERVER, 1, "/metrics" },
	{ "tomcat-jmxproxy", SOURCE_SERVER, 1,
	  "/manager/jmxproxy/?get=java.lang:type=Memory&att=HeapMemoryUsage" },
	{ "tomcat-status", SOURCE_SERVER, 1, "/manager/status?XML=true" },
	{ "tomcat-status-json", SOURCE_SERVER, 1, "/manager/status?JSON=true" },
	{ "weblogic-rest", SOURCE_GROUP, 1, "/management/weblogic/latest/domainRuntime/search" },
	{ "weblogic-rest-1036", SOURCE_SERVER, 1, "/management/tenant-monitoring/servers/${name}" },
	{ "weblogic-rest-server", SOURCE_SERVER, 1,
	  "/management/weblogic/latest/serverRuntime/JVMRuntime?fields=heapFreeCurrent%2C"
	  "heapSizeCurrent%2CheapSizeMax%2CheapFreePercent&links=none" },
	{ "wildfly", SOURCE_SERVER, 1,
	  "/management/core-service/platform-mbean/type/memory?operation=attribute&name="
	  "heap-memory-usage&include-runtime=true" },
};

Test(profiles, ask_for_the_right_page)
{
	for (size_t i = 0; i < sizeof web / sizeof *web; i++) {
		bench_begin(web[i].name, NULL);
		cr_expect_eq(bench_source->transport, SOURCE_HTTP, "%s", web[i].name);
		cr_expect_eq(bench_source->scope, web[i].scope, "%s", web[i].name);
		cr_expect_eq(bench_source->n_requests, web[i].n_requests, "%s", web[i].name);
		cr_expect_str_eq(bench_source->request[0].path, web[i].path);
	}
	bench_begin("wildfly", NULL);
	cr_expect_eq(bench_source->auth, SOURCE_AUTH_DIGEST);
	bench_begin("weblogic-rest", NULL);
	cr_expect_str_eq(bench_source->request[0].method, "POST");
	cr_expect_str_eq(bench_source->request[0].header[0].name, "X-Requested-By");
}

/* Shapes of documents, not of servers that were run. */
static const struct {
	const char *profile, *body, *metric;
	double value;
} shapes[] = {
	{ "weblogic-rest-server",
	  "{\"heapFreeCurrent\":5,\"heapSizeCurrent\":7,\"heapSizeMax\":9,\"heapFreePercent\":44}",
	  "jvm_heap_free_ratio", 0.44 },
	{ "weblogic-rest-1036",
	  "{\"body\":{\"item\":{\"name\":\"ms1\",\"state\":\"RUNNING\",\"heapSizeCurrent\":7,"
	  "\"heapFreeCurrent\":5,\"heapSizeMax\":9}},\"messages\":[]}",
	  "jvm_heap_free_bytes", 5 },
	{ "wildfly", "{\"init\":1,\"used\":2,\"committed\":3,\"max\":-1}", "jvm_heap_used_bytes",
	  2 },
	{ "client-java",
	  "jvm_memory_used_bytes{area=\"heap\"} 2.0\njvm_memory_used_bytes{area=\"nonheap\"} 9.0\n"
	  "jvm_memory_committed_bytes{area=\"heap\"} 3.0\njvm_memory_max_bytes{area=\"heap\"} "
	  "-1.0\n"
	  "jvm_memory_pool_collection_used_bytes{pool=\"Eden Space\"} 0.0\n"
	  "jvm_memory_pool_collection_used_bytes{pool=\"Tenured Gen\"} 1.0\n",
	  "jvm_heap_used_after_gc_bytes", 1 },
	{ "otel-jvm",
	  "jvm_memory_used_bytes{jvm_memory_type=\"heap\",jvm_memory_pool_name=\"G1 Eden Space\"} "
	  "2\n"
	  "jvm_memory_used_bytes{jvm_memory_type=\"heap\",jvm_memory_pool_name=\"G1 Old Gen\"} 3\n"
	  "jvm_memory_used_bytes{jvm_memory_type=\"non_heap\",jvm_memory_pool_name=\"CodeCache\"} "
	  "9\n"
	  "jvm_memory_committed_bytes{jvm_memory_type=\"heap\",jvm_memory_pool_name=\"G1 Old "
	  "Gen\"} 7\n"
	  "jvm_memory_limit_bytes{jvm_memory_type=\"heap\",jvm_memory_pool_name=\"G1 Old Gen\"} "
	  "8\n",
	  "jvm_heap_used_bytes", 5 },
	{ "micrometer",
	  "jvm_memory_used_bytes{area=\"heap\",id=\"ZHeap\"} 2\n"
	  "jvm_memory_committed_bytes{area=\"heap\",id=\"ZHeap\"} 3\n"
	  "jvm_gc_live_data_size_bytes 1.5\n",
	  "jvm_heap_used_after_gc_bytes", 1.5 },
	{ "json", "{\"heap\":{\"used\":2,\"committed\":3}}", "jvm_heap_size_bytes", 3 },
};

Test(profiles, read_the_shape_that_documents_show)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		bench_begin(shapes[i].profile, NULL);
		cr_expect_eq(bench_read(shapes[i].body), 0, "%s: %s", shapes[i].profile,
			     bench_sample->text);
		cr_expect_float_eq(bench_value("", shapes[i].metric), shapes[i].value, 1e-9, "%s",
				   shapes[i].profile);
	}
	bench_begin("weblogic-rest-1036", NULL);
	EXPECT_FAILED(bench_read("{\"body\":{\"item\":{\"state\":\"SHUTDOWN\"}}}"), CR_ABSENT,
		      "left out: it is SHUTDOWN, not RUNNING (/body/item/state)");
}

Test(profiles, can_be_changed_by_the_entry)
{
	bench_begin("jolokia", "{ path: /hawtio/jolokia/read/x, fields: { jvm_heap_max_bytes: ~, "
			       "jvm_heap_used_bytes: { undefined: ~, unit: kib } } }");
	cr_expect_str_eq(bench_source->request[0].path, "/hawtio/jolokia/read/x");
	cr_expect_eq(bench_source->n_metrics, 2);
	cr_expect_eq(bench_read("{\"status\":200,\"value\":{\"used\":2,\"committed\":5}}"), 0);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 2048);
	bench_begin("prometheus-query",
		    "{ requests: { time: ~, used: { query: { query: up } } } }");
	cr_expect_eq(bench_source->n_requests, 2);
	cr_expect_str_eq(bench_source->request[0].path, "/api/v1/query?query=up");
}
