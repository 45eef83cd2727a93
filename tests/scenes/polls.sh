#!/bin/bash
# polls.sh - 1,500 targets at 1,500 addresses, some dead and some slow: more descriptors than select()
# knows and than the soft limit allows, and the figures of the living stay young.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin polls

[ -x "$BUILD/lab/snmp_responder" ] || {
	echo "skipped: the responders are not built (cmake --build $BUILD --target tests)"
	exit 77
}
if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 4096 ]; then
	echo "skipped: this shell may open $(ulimit -Hn) files at most"
	exit 77
fi
output=$(bash "$ROOT/tests/bench_polls.sh" --targets 750 --seconds 6 --soft-limit 1024 --only both_faults --json) ||
	scene_fail "the bench did not run"
result=$(grep '"what":"both_faults"' <<<"$output")

holds "dead and living" "$result" '[.sources[] | .good > 0 and (.failed | has("timeout") and has("connect"))] | all'
holds "polls a second, of 1500 targets every 2 s" "$result" '.polls_per_s > 600 and .polls_per_s < 800'
scene_ok "$(jq -r '.polls_per_s | floor' <<<"$result") polls a second"
holds "each living one is measured" "$result" '.probe.unknown == 0'
# 2.1 s between two starts, 0.3 s of the slow ones, and a busy machine
holds "the oldest figure of a living one" "$result" '.probe.oldest_ms < 3000'
scene_ok "no figure of a living one was older than $(jq -r .probe.oldest_ms <<<"$result") ms"
holds "descriptors" "$result" '.probe.descriptors > 1024'
scene_ok "$(jq -r .probe.descriptors <<<"$result") descriptors, with a soft limit of 1024"
