#!/bin/bash
# The HTTP collector polls a real Tomcat, a heapd, and a server with a certificate of its own.
. "$(dirname "$0")/lib.sh"
scene_begin http

poll_once=$BUILD/lab/poll_once
heapd=$BUILD/tests/heapd

# poll URL OPTION=VALUE...: prints what the collector puts.
poll()
{
	"$poll_once" -n ms1 -t 10000 "$PLUGINS/http.so" "$@" 2>"$SCENE/poll.log"
}

# figure METRIC: its value, of poll's lines on standard input.
figure()
{
	sed -n "s/^- $1 //p"
}

# same_or_fail WHAT IS EXPECTED
same_or_fail()
{
	[ "$2" = "$3" ] || scene_fail "$1 is $2, expected $3"
}

# refused TEXT URL OPTION=VALUE...: the poll fails with this text.
refused()
{
	local text=$1
	shift
	if poll "$@" >"$SCENE/poll.out"; then
		scene_fail "the poll of $* was good, expected: $text"
	fi
	grep -qF "$text" "$SCENE/poll.log" || scene_fail "\"$text\" is not in: $(cat "$SCENE/poll.log")"
}

# falls_and_rises NAME KEEP_URL FREE_URL POLL...: 80 MiB kept lower free by about as much.
falls_and_rises()
{
	local name=$1 keep=$2 free=$3 before kept after mib=1048576
	shift 3

	curl -sf "$free" >/dev/null
	before=$("$@")
	curl -sf "$keep" >/dev/null
	kept=$("$@")
	curl -sf "$free" >/dev/null
	after=$("$@")
	echo "$name: free before $before, with 80 MiB kept $kept, after $after"
	[ $((before - kept)) -ge $((70 * mib)) ] || scene_fail "$name: free did not fall by 70 MiB"
	[ $((after - kept)) -ge $((70 * mib)) ] || scene_fail "$name: free did not rise by 70 MiB"
}

### A real Tomcat

scene_spawn tomcat bash "$LAB/tomcat.sh" run "$SCENE/tomcat" ms1 0
scene_wait 90 '[ -e "$SCENE/tomcat/port" ] || ! scene_alive tomcat'
scene_alive tomcat || scene_fail "Tomcat did not start"
tomcat=http://127.0.0.1:$(cat "$SCENE/tomcat/port")
as_poller=(profile=tomcat-status user=poller password_file="$SCENE/tomcat/password")

poll_tomcat()
{
	poll "$tomcat" "${as_poller[@]}" || scene_fail "$(cat "$SCENE/poll.log")"
}

free_of_tomcat()
{
	poll_tomcat | figure jvm_heap_free_bytes
}

poll_tomcat >"$SCENE/tomcat.out"
same_or_fail "the number of metrics" "$(wc -l <"$SCENE/tomcat.out")" 7
same_or_fail max_threads "$(figure max_threads <"$SCENE/tomcat.out")" 40
same_or_fail busy_threads "$(figure busy_threads <"$SCENE/tomcat.out")" 1
same_or_fail "the heap's size" "$(figure jvm_heap_size_bytes <"$SCENE/tomcat.out")" \
	"$(figure jvm_heap_max_bytes <"$SCENE/tomcat.out")" # its heap is fixed
# Its heap is fixed, so that the three ways of asking agree about size and maximum.
for profile in tomcat-status-json tomcat-jmxproxy; do
	poll "$tomcat" "${as_poller[@]}" profile=$profile >"$SCENE/$profile.out" ||
		scene_fail "$profile: $(cat "$SCENE/poll.log")"
	for metric in jvm_heap_size_bytes jvm_heap_max_bytes; do
		same_or_fail "$metric of $profile" "$(figure $metric <"$SCENE/$profile.out")" \
			"$(figure $metric <"$SCENE/tomcat.out")"
	done
done
same_or_fail "max_threads of tomcat-status-json" \
	"$(figure max_threads <"$SCENE/tomcat-status-json.out")" 40
refused "not a good answer: no ^OK - : " "$tomcat" "${as_poller[@]}" profile=tomcat-jmxproxy \
	'path=/manager/jmxproxy/?get=java.lang:type=Nope&att=X'
falls_and_rises tomcat "$tomcat/load/keep.jsp?mb=80" "$tomcat/load/keep.jsp?free=1" free_of_tomcat

refused "HTTP status 401: set user and password_file; the role manager-status is needed" \
	"$tomcat" profile=tomcat-status
refused "HTTP status 404 for $tomcat/jolokia/read/" "$tomcat" profile=jolokia
scene_ok "a real Tomcat's figures follow its heap"

### heapd

scene_spawn heapd "$heapd" --port 0 --name ms2 --heap $((128 * 1048576))
scene_wait 10 'grep -q "^ready port" "$SCENE/heapd.log"'
heapd_url=http://127.0.0.1:$(sed -n 's/^ready port //p' "$SCENE/heapd.log")

poll_heapd()
{
	poll "$heapd_url" profile=jolokia || scene_fail "$(cat "$SCENE/poll.log")"
}

free_of_heapd()
{
	local figures
	figures=$(poll_heapd)
	echo $(($(figure jvm_heap_size_bytes <<<"$figures") - $(figure jvm_heap_used_bytes <<<"$figures")))
}

same_or_fail "the heap's size" "$(poll_heapd | figure jvm_heap_size_bytes)" 134217728
falls_and_rises heapd "$heapd_url/lab/keep?mb=80" "$heapd_url/lab/free" free_of_heapd
scene_ok "heapd's figures follow its heap"

scene_kill heapd
refused "Connection refused" "$heapd_url" profile=jolokia
scene_ok "a server that is gone refuses"

### HTTPS

if ! command -v openssl >/dev/null; then
	scene_ok "no openssl program here: HTTPS is not tried"
	exit 0
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ms3 \
	-addext subjectAltName=IP:127.0.0.1,DNS:ms3.example -keyout "$SCENE/key.pem" -out "$SCENE/cert.pem" \
	2>/dev/null
printf 'HTTP/1.0 200 OK\r\n\r\n%s' \
	'<status><jvm><memory free="1" total="2" max="3"/></jvm></status>' >"$SCENE/status.xml"
cd "$SCENE" || exit
scene_spawn tls openssl s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -HTTP
scene_wait 10 'grep -q ^ACCEPT "$SCENE/tls.log"'
tls=https://127.0.0.1:$(sed -n 's/^ACCEPT 127.0.0.1://p' tls.log)
page=(profile=tomcat-status path=/status.xml)

refused "its certificate is not trusted (see ca_file): SSL certificate problem: self-signed" \
	"$tls" "${page[@]}"
refused "its certificate is for another host (see server_name): SSL: " \
	"${tls/127.0.0.1/localhost}" "${page[@]}" ca_file="$SCENE/cert.pem"
same_or_fail "free, with ca_file," \
	"$(poll "$tls" "${page[@]}" ca_file="$SCENE/cert.pem" | figure jvm_heap_free_bytes)" 1
same_or_fail "free, unverified," \
	"$(poll "$tls" "${page[@]}" verify_tls=false | figure jvm_heap_free_bytes)" 1
refused "no TLS connection: it does not speak TLS; write http://, or another port" "${tomcat/http:/https:}" "${page[@]}"
scene_ok "a certificate is checked against ca_file, and verify_tls=false lets it pass"

trusted=(ca_file="$SCENE/cert.pem")
same_or_fail "free, with server_name," "$(poll "${tls/127.0.0.1/localhost}" "${page[@]}" \
	"${trusted[@]}" server_name=ms3.example | figure jvm_heap_free_bytes)" 1
refused "its certificate is for another host (see server_name): SSL: " "$tls" "${page[@]}" "${trusted[@]}" \
	server_name=ms4.example
scene_ok "server_name is looked for in the certificate instead of the target's host"

scene_spawn mutual openssl s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -HTTP \
	-Verify 1 -verify_return_error -CAfile cert.pem
scene_wait 10 'grep -q ^ACCEPT "$SCENE/mutual.log"'
mutual=https://127.0.0.1:$(sed -n 's/^ACCEPT 127.0.0.1://p' mutual.log)
own=(cert_file="$SCENE/cert.pem" key_file="$SCENE/key.pem")

refused "it wants a certificate of ours: set cert_file and key_file" "$mutual" "${page[@]}" "${trusted[@]}"
same_or_fail "free, with a certificate of our own," "$(poll "$mutual" "${page[@]}" \
	"${trusted[@]}" "${own[@]}" | figure jvm_heap_free_bytes)" 1
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$SCENE/other.pem" 2>/dev/null
chmod 600 "$SCENE/other.pem"
refused "the key is not that of cert_file (see key_file): " "$mutual" "${page[@]}" "${trusted[@]}" \
	cert_file="$SCENE/cert.pem" key_file="$SCENE/other.pem"
echo "no certificate" >"$SCENE/empty.pem"
refused "ca_file holds no certificate in PEM: " "$tls" "${page[@]}" ca_file="$SCENE/empty.pem"
scene_ok "a server that wants a certificate of ours gets it"
