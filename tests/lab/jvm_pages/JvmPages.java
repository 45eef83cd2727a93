/*
 * JvmPages.java - one real JVM that serves its own heap, as it is at that moment, in the forms in
 * which WebLogic, WildFly, Jolokia, Spring Boot and the exporters for Prometheus would.
 *
 * usage: java -cp DIR JvmPages PORT NAME     prints "ready port PORT"; PORT 0: the system chooses
 *
 *   /jolokia/...                  GET of java.lang:type=Memory, POST of a list of reads
 *   /actuator/metrics/...         Spring Boot, one figure each, with ?tag=area:heap
 *   /actuator/prometheus          Micrometer: a row for each pool
 *   /client, /simpleclient        client_java 1.0 and simpleclient: the whole heap, and pools
 *   /otel                         OpenTelemetry: a row for each pool
 *   /management/weblogic/...      the search over a domain (this server and an AdminServer), the
 *                                 server by itself
 *   /management/tenant-monitoring/servers/NAME                           WebLogic 10.3.6
 *   /management/core-service/platform-mbean/type/memory                  WildFly
 *   /frozen                       as /actuator/prometheus, but with the time of the first call and
 *                                 its figures for ever: an exporter that gives times itself
 *   /truth                        committed, max, and what the pools' maxima come to
 *   /keep?mb=N, /drop             hold N MiB; hold nothing, and collect
 */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.function.ToLongFunction;

public final class JvmPages {
	static final String JSON = "application/json", TEXT = "text/plain;version=0.0.4;charset=utf-8";
	static final String[] FIGURES = { "used", "committed", "max" };

	static final List<byte[]> kept = new ArrayList<>();
	static String name, frozen;

	/*** The JVM's own figures ***/

	static MemoryUsage heap()
	{
		return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
	}

	static boolean isHeap(MemoryPoolMXBean pool)
	{
		return pool.getType() == MemoryType.HEAP;
	}

	static long figure(MemoryUsage usage, String what)
	{
		switch (what) {
		case "used":
			return usage.getUsed();
		case "committed":
			return usage.getCommitted();
		case "max":
			return usage.getMax();
		default:
			throw new IllegalArgumentException(what);
		}
	}

	static long sum(boolean ofHeap, ToLongFunction<MemoryPoolMXBean> of)
	{
		long sum = 0;

		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			if (isHeap(pool) == ofHeap)
				sum += of.applyAsLong(pool);
		return sum;
	}

	/*** JSON ***/

	static String usage(MemoryUsage usage)
	{
		return usage == null ? "null" :
			"{\"init\":" + usage.getInit() + ",\"committed\":" + usage.getCommitted() +
			",\"max\":" + usage.getMax() + ",\"used\":" + usage.getUsed() + "}";
	}

	static String jolokia(String value)
	{
		return "{\"request\":{\"type\":\"read\"},\"value\":" + value + ",\"timestamp\":" +
			System.currentTimeMillis() / 1000 + ",\"status\":200}";
	}

	/* A read of java.lang:type=MemoryPool,name=*: a map of MBeans. */
	static String pools()
	{
		StringBuilder out = new StringBuilder("{");

		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			out.append(out.length() > 1 ? "," : "")
				.append("\"java.lang:name=").append(pool.getName())
				.append(",type=MemoryPool\":{\"Type\":\"").append(pool.getType().name())
				.append("\",\"CollectionUsage\":").append(usage(pool.getCollectionUsage()))
				.append("}");
		return out.append("}").toString();
	}

	static void jolokia(HttpExchange call) throws IOException
	{
		String path = call.getRequestURI().getPath();
		String body = new String(call.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);

		if (call.getRequestMethod().equals("POST") && body.startsWith("[") &&
		    body.indexOf("type=Memory\"") < body.indexOf("type=MemoryPool,name=*"))
			send(call, 200, JSON, "[" + jolokia(usage(heap())) + "," + jolokia(pools()) + "]");
		else if (path.equals("/jolokia/read/java.lang:type=Memory/HeapMemoryUsage"))
			send(call, 200, JSON, jolokia(usage(heap())));
		else
			send(call, 200, JSON, "{\"status\":404,\"error_type\":" +
			     "\"javax.management.InstanceNotFoundException\",\"error\":" +
			     "\"javax.management.InstanceNotFoundException : " + path + "\"}");
	}

	static void actuator(HttpExchange call) throws IOException
	{
		String meter = call.getRequestURI().getPath().substring("/actuator/metrics/".length());
		String query = call.getRequestURI().getQuery();

		if (!meter.matches("jvm\\.memory\\.(used|committed|max)") || !"tag=area:heap".equals(query)) {
			send(call, 404, JSON, "");
			return;
		}
		send(call, 200, "application/vnd.spring-boot.actuator.v3+json",
		     "{\"name\":\"" + meter + "\",\"baseUnit\":\"bytes\",\"measurements\":[{\"statistic\":" +
		     "\"VALUE\",\"value\":" +
		     (double)sum(true, pool -> figure(pool.getUsage(), meter.substring(11))) +
		     "}],\"availableTags\":[]}");
	}

	static String weblogic(MemoryUsage heap)
	{
		return "\"heapFreeCurrent\":" + (heap.getCommitted() - heap.getUsed()) +
			",\"heapSizeCurrent\":" + heap.getCommitted() + ",\"heapSizeMax\":" + heap.getMax();
	}

	static String weblogicNow()
	{
		MemoryUsage heap = heap();

		return "{" + weblogic(heap) + ",\"heapFreePercent\":" +
			100 * (heap.getMax() - heap.getUsed()) / heap.getMax() + "}";
	}

	/* The administration server has the most free heap, and does not count. */
	static void domain(HttpExchange call) throws IOException
	{
		if (!call.getRequestMethod().equals("POST") ||
		    call.getRequestHeaders().getFirst("X-Requested-By") == null)
			send(call, 400, JSON, "{\"status\":400,\"detail\":\"X-Requested-By\"}");
		else
			send(call, 200, JSON, "{\"serverRuntimes\":{\"items\":[{\"name\":\"AdminServer\"," +
			     "\"state\":\"RUNNING\",\"adminServer\":true,\"JVMRuntime\":{" +
			     "\"heapFreeCurrent\":999999999,\"heapSizeCurrent\":1073741824," +
			     "\"heapSizeMax\":1073741824,\"heapFreePercent\":93}},{\"name\":\"" + name +
			     "\",\"state\":\"RUNNING\",\"adminServer\":false,\"JVMRuntime\":" +
			     weblogicNow() + "}]}}");
	}

	static void tenant(HttpExchange call) throws IOException
	{
		if (call.getRequestURI().getPath().endsWith("/" + name))
			send(call, 200, JSON, "{\"body\":{\"item\":{\"name\":\"" + name + "\",\"state\":" +
			     "\"RUNNING\"," + weblogic(heap()) + "}},\"messages\":[]}");
		else
			send(call, 404, JSON, "{\"body\":null}");
	}

	/*** Prometheus' text ***/

	/* A row for each pool: %s is "used", "committed" or "max". */
	static String micrometer(String end)
	{
		StringBuilder out = new StringBuilder();

		for (String what : FIGURES) {
			out.append("# TYPE jvm_memory_").append(what).append("_bytes gauge\n");
			for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
				out.append("jvm_memory_").append(what).append("_bytes{area=\"")
					.append(isHeap(pool) ? "heap" : "nonheap").append("\",id=\"")
					.append(pool.getName()).append("\",} ")
					.append((double)figure(pool.getUsage(), what)).append(end);
		}
		return out.toString();
	}

	/* What the old generation kept: young pools are empty then. 0: there was no collection yet. */
	static String liveData()
	{
		long live = 0;

		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			if (isHeap(pool) && pool.getCollectionUsage() != null)
				live = Math.max(live, pool.getCollectionUsage().getUsed());
		return "jvm_gc_live_data_size_bytes " + (double)live + "\n";
	}

	static String afterCollection()
	{
		StringBuilder out = new StringBuilder();

		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			if (pool.getCollectionUsage() != null)
				out.append("jvm_memory_pool_collection_used_bytes{pool=\"")
					.append(pool.getName()).append("\"} ")
					.append((double)pool.getCollectionUsage().getUsed()).append('\n');
		return out.toString();
	}

	/* The whole heap, and the rest; format: of the name. */
	static String whole(String format)
	{
		StringBuilder out = new StringBuilder();
		MemoryUsage heap = heap(), rest = ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage();

		for (String what : FIGURES) {
			String row = String.format(format, what);

			out.append(row).append("{area=\"heap\",} ").append((double)figure(heap, what))
				.append('\n').append(row).append("{area=\"nonheap\",} ")
				.append((double)figure(rest, what)).append('\n');
		}
		return out + afterCollection();
	}

	static void otelRow(StringBuilder out, String what, MemoryPoolMXBean pool, long value)
	{
		if (value >= 0) /* the agent leaves out what is undefined */
			out.append("jvm_memory_").append(what).append("_bytes{jvm_memory_type=\"")
				.append(isHeap(pool) ? "heap" : "non_heap")
				.append("\",jvm_memory_pool_name=\"").append(pool.getName()).append("\"} ")
				.append((double)value).append('\n');
	}

	static String otel()
	{
		StringBuilder out = new StringBuilder();

		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
			MemoryUsage now = pool.getUsage(), after = pool.getCollectionUsage();

			otelRow(out, "used", pool, now.getUsed());
			otelRow(out, "committed", pool, now.getCommitted());
			otelRow(out, "limit", pool, now.getMax());
			if (after != null)
				otelRow(out, "used_after_last_gc", pool, after.getUsed());
		}
		return out.toString();
	}

	/*** The server ***/

	static void send(HttpExchange call, int status, String type, String body) throws IOException
	{
		byte[] bytes = body.getBytes(StandardCharsets.UTF_8);

		call.getResponseHeaders().set("Content-Type", type);
		call.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
		try (OutputStream out = call.getResponseBody()) {
			out.write(bytes);
		}
	}

	static synchronized String keep(HttpExchange call)
	{
		String query = call.getRequestURI().getQuery();

		for (int i = 8 * Integer.parseInt(query.substring("mb=".length())); i > 0; i--)
			kept.add(new byte[1 << 17]); /* larger ones cost G1 and ZGC pages of their own */
		System.gc();
		return kept.size() / 8 + "\n";
	}

	static synchronized String drop()
	{
		kept.clear();
		System.gc();
		return "0\n";
	}

	static synchronized String frozen()
	{
		if (frozen == null)
			frozen = micrometer(" " + System.currentTimeMillis() + "\n");
		return frozen;
	}

	static String truth()
	{
		return "committed=" + heap().getCommitted() + "\nmax=" + heap().getMax() + "\npools_max=" +
			sum(true, pool -> pool.getUsage().getMax()) + "\n";
	}

	public static void main(String[] arguments) throws IOException
	{
		InetAddress here = InetAddress.getLoopbackAddress();
		HttpServer server = HttpServer.create(
			new InetSocketAddress(here, Integer.parseInt(arguments[0])), 64);

		name = arguments[1];
		server.setExecutor(Executors.newFixedThreadPool(2));
		server.createContext("/jolokia", JvmPages::jolokia);
		server.createContext("/actuator/metrics/", JvmPages::actuator);
		server.createContext("/actuator/prometheus", call -> send(call, 200, TEXT,
									  micrometer("\n") + liveData()));
		server.createContext("/frozen", call -> send(call, 200, TEXT, frozen()));
		server.createContext("/client", call -> send(call, 200, TEXT, whole("jvm_memory_%s_bytes")));
		server.createContext("/simpleclient", call -> send(call, 200, TEXT,
								   whole("jvm_memory_bytes_%s")));
		server.createContext("/otel", call -> send(call, 200, TEXT, otel()));
		server.createContext("/management/weblogic/latest/domainRuntime/search", JvmPages::domain);
		server.createContext("/management/weblogic/latest/serverRuntime/JVMRuntime",
				     call -> send(call, 200, JSON, weblogicNow()));
		server.createContext("/management/tenant-monitoring/servers/", JvmPages::tenant);
		server.createContext("/management/core-service/platform-mbean/type/memory",
				     call -> send(call, 200, JSON, usage(heap())));
		server.createContext("/truth", call -> send(call, 200, "text/plain", truth()));
		server.createContext("/keep", call -> send(call, 200, "text/plain", keep(call)));
		server.createContext("/drop", call -> send(call, 200, "text/plain", drop()));
		server.start();
		System.out.println("ready port " + server.getAddress().getPort());
	}
}
