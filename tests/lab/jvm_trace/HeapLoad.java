/*
 * HeapLoad.java - one real JVM under the load of the simulator's model: the same calls at the same
 * moments (tests/sim/workload.c, dice.c), once a second a line of CSV.
 *
 * usage: java -Xms512m -Xmx512m [-XX:+UseParallelGC] -cp DIR HeapLoad SEED SECONDS >trace.csv
 *
 * A call allocates three times its size while it computes and keeps a third of that, its document,
 * until it is sent: that is a wait. Documents are in pieces of 32 KB, so that none is "humongous"
 * for G1. CPU time is burnt by the thread's own clock: a collection does not count as computing.
 */
import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadMXBean;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

public final class HeapLoad {
	/* The load: tests/sim/scenarios/real_jvm.conf says the same. */
	static final double RATE = 60, MEDIUM_SHARE = 0.027, BIG_SHARE = 0.003;
	static final double SMALL_KB = 100, SMALL_SIGMA = 0.5;
	static final double MEDIUM_MIN_MB = 0.25, MEDIUM_MAX_MB = 12.5;
	static final double BIG_MIN_MB = 25, BIG_MAX_MB = 256, BIG_ALPHA = 1.1;
	static final double CPU_MS = 3, CPU_MB = 100, CPU_NOISE = 0.2, SEND_MB = 10;
	static final double BASE_LIVE = 0.16;
	static final int GARBAGE = 3, THREADS = 200, BACKLOG = 300;

	static final double MB = 1048576;
	static final int PIECE = 32768;

	/* dice.c: a stream of splitmix64 for each purpose. */
	static final class Dice {
		long state;

		Dice(long seed, long stream)
		{
			state = mix(mix(seed + 1) + stream);
		}

		static long mix(long x)
		{
			x = (x ^ x >>> 33) * 0xff51afd7ed558ccdL;
			x = (x ^ x >>> 33) * 0xc4ceb9fe1a85ec53L;
			return x ^ x >>> 33;
		}

		double even()
		{
			long x = state += 0x9e3779b97f4a7c15L;

			x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
			x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
			x ^= x >>> 31;
			return (x >>> 11) * 0x1p-53;
		}

		double normal()
		{
			double x, y, square;

			do {
				x = 2 * even() - 1;
				y = 2 * even() - 1;
				square = x * x + y * y;
			} while (square >= 1 || square < 1e-30);
			return x * Math.sqrt(-2 * Math.log(square) / square);
		}
	}

	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	static final AtomicLong live = new AtomicLong(), completed = new AtomicLong(),
				failed = new AtomicLong(), number = new AtomicLong();
	/* When each call in progress came, in nanoseconds; 0: free. By its number, in a ring. */
	static final AtomicLongArray came = new AtomicLongArray(4096);
	static final AtomicLong after = new AtomicLong();
	static final Set<String> pools = new HashSet<>();
	static volatile byte[] sink;
	static byte[][] base;

	static void burn(long untilNs)
	{
		while (threads.getCurrentThreadCpuTime() < untilNs)
			for (int i = 0; i < 50; i++)
				Thread.onSpinWait();
	}

	/* held counts what this call holds, also if it is out of memory halfway. */
	static byte[][] compute(double bytes, double workS, long[] held)
	{
		final int n = Math.max(1, (int)Math.ceil(bytes / PIECE));
		final int size = (int)(bytes / n);
		final long fromNs = threads.getCurrentThreadCpuTime();
		final byte[][] document = new byte[n][];

		for (int i = 0; i < n; i++) {
			for (int k = 1; k < GARBAGE; k++)
				sink = new byte[size];
			document[i] = new byte[size];
			held[0] += size;
			live.addAndGet(size);
			burn(fromNs + (long)(1e9 * workS * (i + 1) / n));
		}
		return document;
	}

	/* Nothing is allocated outside the try: out of memory may come anywhere. */
	static void serve(int slot, double bytes, double workS, long[] held)
	{
		byte[][] document;

		try {
			document = compute(bytes, workS, held);
			TimeUnit.NANOSECONDS.sleep((long)(1e9 * bytes / (SEND_MB * MB)));
			if (document[0] == null)
				throw new IllegalStateException();
			completed.incrementAndGet();
		} catch (OutOfMemoryError | InterruptedException e) {
			failed.incrementAndGet();
		} finally {
			document = null;
			live.addAndGet(-held[0]);
			came.set(slot, 0);
		}
	}

	/* Poisson arrivals at absolute times, drawn as workload_next() does. */
	static void arrive(long seed, long startNs, double seconds) throws InterruptedException
	{
		final Dice arrival = new Dice(seed, 1), kind = new Dice(seed, 3),
			   size = new Dice(seed, 4), work = new Dice(seed, 5);
		final ThreadPoolExecutor pool = new ThreadPoolExecutor(
			THREADS, THREADS, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>(BACKLOG));

		pool.prestartAllCoreThreads();
		for (double atS = 0;;) {
			atS += -Math.log(1 - arrival.even()) / RATE;
			if (atS >= seconds)
				break;
			final double draw = kind.even();
			final double bytes = draw < BIG_SHARE ? big(size)
				: draw < BIG_SHARE + MEDIUM_SHARE ? medium(size)
				: SMALL_KB * 1024 * Math.exp(SMALL_SIGMA * size.normal());
			final double workS = (CPU_MS / 1e3 + bytes / (CPU_MB * MB)) *
				(1 + CPU_NOISE * (2 * work.even() - 1));
			final long waitNs = startNs + (long)(1e9 * atS) - System.nanoTime();
			final int slot = (int)(number.getAndIncrement() % came.length());

			if (waitNs > 0)
				TimeUnit.NANOSECONDS.sleep(waitNs);
			try {
				final long[] held = new long[1];

				came.set(slot, System.nanoTime());
				pool.execute(() -> serve(slot, bytes, workS, held));
			} catch (RejectedExecutionException | OutOfMemoryError e) {
				came.set(slot, 0);
				failed.incrementAndGet();
			}
		}
		pool.shutdownNow();
	}

	static double medium(Dice size)
	{
		return MEDIUM_MIN_MB * MB * Math.pow(MEDIUM_MAX_MB / MEDIUM_MIN_MB, size.even());
	}

	static double big(Dice size)
	{
		final double draw = size.even() * (1 - Math.pow(BIG_MAX_MB / BIG_MIN_MB, -BIG_ALPHA));

		return BIG_MIN_MB * MB * Math.pow(1 - draw, -1 / BIG_ALPHA);
	}

	static void collected(GarbageCollectionNotificationInfo info)
	{
		long used = 0;

		for (Map.Entry<String, MemoryUsage> pool :
		     info.getGcInfo().getMemoryUsageAfterGc().entrySet())
			if (pools.contains(pool.getKey()))
				used += pool.getValue().getUsed();
		after.set(used);
	}

	static void listen()
	{
		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			if (pool.getType() == MemoryType.HEAP)
				pools.add(pool.getName());
		for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans())
			((NotificationEmitter)gc).addNotificationListener((note, back) ->
				collected(GarbageCollectionNotificationInfo.from(
					(CompositeData)note.getUserData())), null, null);
	}

	static String line(long startNs)
	{
		final MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
		final long nowNs = System.nanoTime();
		long minors = 0, majors = 0, gcMs = 0;
		int calls = 0, hogs = 0;

		for (int i = 0; i < came.length(); i++) {
			final long at = came.get(i);

			calls += at != 0 ? 1 : 0;
			hogs += at != 0 && nowNs - at > 1000000000L ? 1 : 0;
		}
		for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
			final boolean isMajor = gc.getName().matches(".*(MarkSweep|Old Generation)");

			minors += isMajor ? 0 : gc.getCollectionCount();
			majors += isMajor ? gc.getCollectionCount() : 0;
			gcMs += gc.getCollectionTime();
		}
		return (nowNs - startNs) / 1000000 + "," + (heap.getCommitted() - heap.getUsed()) + "," +
			heap.getCommitted() + "," + heap.getMax() + "," + after.get() + "," + hogs +
			"," + live.get() + "," + calls + "," + completed.get() + "," + failed.get() + "," +
			minors + "," + majors + "," + gcMs;
	}

	public static void main(String[] args) throws Exception
	{
		final long seed = Long.parseLong(args[0]);
		final int seconds = Integer.parseInt(args[1]);
		final long heap = Runtime.getRuntime().maxMemory();

		listen();
		base = new byte[(int)(BASE_LIVE * heap / PIECE)][PIECE];
		live.addAndGet((long)base.length * PIECE);
		System.gc();
		final long startNs = System.nanoTime();
		final Thread caller = new Thread(() -> {
			try {
				arrive(seed, startNs, seconds);
			} catch (InterruptedException e) {
				return;
			}
		});
		caller.setDaemon(true);
		caller.start();
		System.out.println("t_ms,free,total,max,after_gc,hogs,live,calls,completed,failed," +
			"minor_gcs,major_gcs,gc_ms");
		for (int second = 1; second < seconds; second++) {
			final long waitNs = startNs + second * 1000000000L - System.nanoTime();

			if (waitNs > 0)
				TimeUnit.NANOSECONDS.sleep(waitNs);
			try {
				System.out.println(line(startNs));
			} catch (OutOfMemoryError e) {
				continue; /* a missing line tells it */
			}
		}
		System.exit(0);
	}
}
