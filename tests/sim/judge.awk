# judge.awk - what a set of runs says: a table of each scenario, the order of its routers, and its
# limits with ok or FAIL.
#
# usage: awk -f judge.awk LIMITS CSV; LIMITS: lines "SCENARIO COLUMN ROUTER OP VALUE", where VALUE is
# a number, "COLUMN ROUTER", or "NUMBER * COLUMN ROUTER"; "~": equal but for chance. A router that did
# not run is left out. Over the seeds: "fail" is lost calls per million of all, mean_ms the mean, all
# other columns the median. Exit status 1 if a limit is broken.

FILENAME == ARGV[1] { limit[++limits] = $0; next }
FNR == 1 { n = split($0, name, ","); for (i = 1; i <= n; i++) column[name[i]] = i; next }
{
	split($0, value, ",")
	key = value[1] SUBSEP value[2]
	if (!(key in seeds)) {
		order[++keys] = key
		if (!(value[1] in scenario_seen)) {
			scenario_seen[value[1]] = 1
			scenario[++scenarios] = value[1]
		}
	}
	seed = ++seeds[key]
	for (i = 1; i <= n; i++)
		cell[key, i, seed] = value[i]
}

function total(key, name,   s, sum)
{
	for (s = 1; s <= seeds[key]; s++)
		sum += cell[key, column[name], s]
	return sum
}

function median(key, name,   s, t, x, sorted)
{
	for (s = 1; s <= seeds[key]; s++) {
		x = cell[key, column[name], s] + 0
		for (t = s; t > 1 && sorted[t - 1] > x; t--)
			sorted[t] = sorted[t - 1]
		sorted[t] = x
	}
	s = seeds[key]
	return s % 2 ? sorted[(s + 1) / 2] : (sorted[s / 2] + sorted[s / 2 + 1]) / 2
}

function figure(key, name)
{
	if (name == "fail")
		return total(key, "calls") > 0 ? 1e6 * total(key, "failed") / total(key, "calls") : 0
	if (name == "mean_ms")
		return total(key, name) / seeds[key]
	if (!(name in column)) {
		print "judge.awk: there is no column " name
		broken = 1
		return 0
	}
	return median(key, name)
}

function holds(left, op, right)
{
	if (op == "<=") return left <= right
	if (op == "<") return left < right
	if (op == ">=") return left >= right
	if (op == ">") return (left > right)
	print "judge.awk: unknown comparison " op
	return 0
}

# Two numbers of lost calls that may well be the same but for chance: lost calls come in bursts.
function is_chance(left, right)
{
	return (left - right) ^ 2 <= 16 * (left + right + 1)
}

function judge(line,   word, words, left, right, key, other, ok, text, factor, note)
{
	words = split(line, word, " ")
	key = word[1] SUBSEP word[3]
	left = key in seeds ? figure(key, word[2]) : 0
	factor = words >= 8 && word[6] == "*" ? word[5] : 1
	if (words == 5) {
		right = word[5]
		text = right
	} else {
		other = word[1] SUBSEP word[words]
		if (other in seeds)
			right = factor * figure(other, word[words - 1])
		text = sprintf("%.4g = %s%s %s", right, factor == 1 ? "" : factor " * ",
			word[words - 1], word[words])
	}
	if (!(key in seeds) || (words > 5 && !(other in seeds))) {
		skipped++
		return
	}
	if (word[4] == "~") {
		left = total(key, "failed")
		right = total(other, "failed")
		ok = is_chance(left, right)
		text = sprintf("%d lost calls of %s", right, word[words])
	} else {
		ok = holds(left, word[4], right)
	}
	judged++
	broken += !ok
	note = ""
	if (!ok && word[2] == "fail" && words > 5 && total(key, "failed") < 20)
		note = " (few events: take more seeds)"
	printf "%-4s %s  %s %s: %.4g %s %s%s\n", ok ? "ok" : "FAIL", word[1], word[2], word[3], left,
		word[4], text, note
}

function show(of,   i, key, part, note)
{
	printf "%s\n%-26s %9s %8s %9s %9s %8s %6s %6s %6s %8s\n", of, "router", "fail/M", "p50 ms",
		"p99 ms", "small p99", "big p99 s", "live", "max", "top", "full GCs"
	for (i = 1; i <= keys; i++) {
		key = order[i]
		split(key, part, SUBSEP)
		if (part[1] != of)
			continue
		note = ""
		if (total(key, "by_default") > total(key, "calls") / 100)
			note = "  the default decided!"
		printf "%-26s %9.0f %8.1f %9.0f %9.0f %9.1f %6.2f %6.2f %6.2f %8.0f%s\n", part[2],
			figure(key, "fail"), figure(key, "p50_ms"), figure(key, "p99_ms"),
			figure(key, "small_p99_ms"), figure(key, "big_p99_s"), figure(key, "live"),
			figure(key, "live_max"), figure(key, "top_share"), figure(key, "full_gcs"),
			note
	}
}

# The routers by lost calls: "~" may be chance, "<<" four times as many.
function show_order(of,   i, j, n, key, part, text, least, lost, more)
{
	for (i = 1; i <= keys; i++) {
		split(order[i], part, SUBSEP)
		if (part[1] != of)
			continue
		for (j = ++n; j > 1 && figure(least[j - 1], "fail") > figure(order[i], "fail"); j--)
			least[j] = least[j - 1]
		least[j] = order[i]
	}
	for (i = 1; i <= n; i++) {
		split(least[i], part, SUBSEP)
		more = total(least[i], "failed")
		if (i > 1)
			text = text (is_chance(lost, more) ? " ~ " : more >= 4 * lost ? " << " : " < ")
		text = text part[2]
		lost = more
	}
	print "by lost calls: " text "\n"
}

END {
	for (s = 1; s <= scenarios; s++)
		if (scenario[s] != "B0") {
			show(scenario[s])
			show_order(scenario[s])
		}
	for (l = 1; l <= limits; l++)
		judge(limit[l])
	printf "\n%d limits hold, %d do not", judged - broken, broken
	if (skipped > 0)
		printf ", %d were left out: their routers did not run", skipped
	print ""
	exit (broken > 0)
}
