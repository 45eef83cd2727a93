# series.awk - figures of a server over time, one a line: "NAME<tab>VALUE".
#
# usage: awk -f series.awk [-v from_s=20] FILE; FILE: a recorded trace, or what routesim --series writes

BEGIN { FS = "," }
/^#/ { next }
!titled { for (i = 1; i <= NF; i++) at[$i] = i; titled = 1; next }
$at["t_ms"] < 1000 * from_s { next }
{
	n++
	max = $at["max"]
	used[n] = ($at["total"] - $at["free"]) / max
	after = $at["after_gc"] / max
	live = $at["live"] / max
	hogs[n] = $at["hogs"]
	sum_used += used[n]; sum_after += after; sum_live += live; sum_hogs += hogs[n]
	full += used[n] > 0.9
	tight += live > 0.9
	above += after - live
	off += (after - live) ^ 2
	if (n == 1) {
		first_s = $at["t_ms"] / 1000
		minor = $at["minor_gcs"]; major = $at["major_gcs"]; gc = $at["gc_ms"]
		completed = $at["completed"]; failed = $at["failed"]
	}
	last_s = $at["t_ms"] / 1000
	last_minor = $at["minor_gcs"]; last_major = $at["major_gcs"]; last_gc = $at["gc_ms"]
	last_completed = $at["completed"]; last_failed = $at["failed"]
}

function correlation(x, mean,   i, above, below)
{
	for (i = 1; i <= n; i++) {
		below += (x[i] - mean) ^ 2
		if (i < n)
			above += (x[i] - mean) * (x[i + 1] - mean)
	}
	return below > 0 ? above / below : 0
}

function deviation(x, mean,   i, sum)
{
	for (i = 1; i <= n; i++)
		sum += (x[i] - mean) ^ 2
	return sqrt(sum / n)
}

function say(name, value) { printf "%s\t%.3f\n", name, value }

END {
	if (n < 2)
		exit 1
	minutes = (last_s - first_s) / 60
	say("used heap, mean share", sum_used / n)
	say("used heap, deviation", deviation(used, sum_used / n))
	say("used heap, correlation after 1 s", correlation(used, sum_used / n))
	say("time with more than 90 % used", full / n)
	say("after a collection, mean share", sum_after / n)
	say("live data, mean share", sum_live / n)
	say("time with more than 90 % live", tight / n)
	say("after a collection - live, mean", above / n)
	say("after a collection - live, rms", sqrt(off / n))
	say("collections a minute", (last_minor - minor) / minutes)
	say("full collections a minute", (last_major - major) / minutes)
	say("share of time in pauses", (last_gc - gc) / 60000 / minutes)
	say("long requests (> 1 s), mean", sum_hogs / n)
	say("long requests, deviation", deviation(hogs, sum_hogs / n))
	say("completed a second", (last_completed - completed) / 60 / minutes)
	say("lost calls", last_failed - failed)
}
