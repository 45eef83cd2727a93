#!/bin/bash
# A real Tomcat 10 on one loopback port, with the manager's status page and a small application that
# serves calls and can hold on to memory.
#
#   tomcat.sh start DIR NAME PORT   lay DIR (new or empty), start, wait until the status page answers;
#                                   PORT 0 lets the system choose. Prints "ready port PORT pid PID".
#   tomcat.sh run DIR NAME PORT     the same, but stay until it ends; SIGTERM ends it
#   tomcat.sh stop DIR              end it and wait until it is gone
#
# Left in DIR: pid, port, password (of user "poller", roles manager-status and
#                   manager-jmx), logs/out.log.
# The application: /load/call.jsp?bytes=N&ms=M   holds N bytes for M ms, answers "served by NAME"
#                  /load/keep.jsp?mb=N           retains N MiB;  ?free=1 drops all and collects
# The heap is fixed (LAB_HEAP_MB, 192), so that "free" means the same before and after.
set -eu

home=${TOMCAT_HOME:-/usr/share/tomcat10}
manager=${TOMCAT_MANAGER:-/usr/share/tomcat10-admin/manager}
heap_mb=${LAB_HEAP_MB:-192}
wait_s=${LAB_WAIT:-60}

fail()
{
	echo "tomcat.sh: $*" >&2
	exit 1
}

usage()
{
	fail "usage: tomcat.sh start|run DIR NAME PORT | tomcat.sh stop DIR"
}

lay_conf()
{
	mkdir -p "$dir"/{conf/Catalina/localhost,logs,temp,work,webapps/load/WEB-INF}
	# No scan of the jars for tag libraries: that is most of a start.
	cat >"$dir/conf/catalina.properties" <<-'X'
		common.loader="${catalina.base}/lib/*.jar","${catalina.home}/lib","${catalina.home}/lib/*.jar"
		server.loader=
		shared.loader=
		tomcat.util.scan.StandardJarScanFilter.jarsToSkip=*.jar
	X
	cat >"$dir/conf/server.xml" <<-X
		<Server port="-1">
		 <GlobalNamingResources>
		  <Resource name="UserDatabase" auth="Container" type="org.apache.catalina.UserDatabase"
		   factory="org.apache.catalina.users.MemoryUserDatabaseFactory" readonly="true"
		   pathname="conf/tomcat-users.xml"/>
		 </GlobalNamingResources>
		 <Service name="Catalina">
		  <Connector port="$port" address="127.0.0.1" protocol="HTTP/1.1" maxThreads="40"/>
		  <Engine name="Catalina" defaultHost="localhost" jvmRoute="$name">
		   <Realm className="org.apache.catalina.realm.UserDatabaseRealm" resourceName="UserDatabase"/>
		   <Host name="localhost" appBase="webapps" autoDeploy="false"/>
		  </Engine>
		 </Service>
		</Server>
	X
	# Debian's own web.xml may be read by root only.
	cat >"$dir/conf/web.xml" <<-'X'
		<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
		 <servlet>
		  <servlet-name>default</servlet-name>
		  <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>
		  <load-on-startup>1</load-on-startup>
		 </servlet>
		 <servlet>
		  <servlet-name>jsp</servlet-name>
		  <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class>
		  <load-on-startup>3</load-on-startup>
		 </servlet>
		 <servlet-mapping>
		  <servlet-name>default</servlet-name><url-pattern>/</url-pattern>
		 </servlet-mapping>
		 <servlet-mapping>
		  <servlet-name>jsp</servlet-name><url-pattern>*.jsp</url-pattern>
		 </servlet-mapping>
		</web-app>
	X
	echo "<Context docBase=\"$manager\" privileged=\"true\"/>" \
		>"$dir/conf/Catalina/localhost/manager.xml"
}

lay_user()
{
	(umask 077 && od -An -N12 -tx1 /dev/urandom | tr -d ' \n' >"$dir/password")
	(
		umask 077
		cat >"$dir/conf/tomcat-users.xml" <<-X
			<tomcat-users>
			 <role rolename="manager-status"/>
			 <role rolename="manager-jmx"/>
			 <user username="poller" password="$(cat "$dir/password")"
			  roles="manager-status,manager-jmx"/>
			</tomcat-users>
		X
	)
}

lay_application()
{
	local app=$dir/webapps/load

	cat >"$app/WEB-INF/web.xml" <<-'X'
		<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0" metadata-complete="true"/>
	X
	# session="false": a call must not cost a session as well.
	cat >"$app/call.jsp" <<-'X'
		<%@ page contentType="text/plain" session="false" trimDirectiveWhitespaces="true" %><%
		String bytes = request.getParameter("bytes"), ms = request.getParameter("ms");
		int left = bytes == null ? 0 : Integer.parseInt(bytes);
		java.util.ArrayList<byte[]> held = new java.util.ArrayList<>();
		for (; left > 0; left -= 65536)
			held.add(new byte[Math.min(left, 65536)]);
		if (ms != null)
			Thread.sleep(Long.parseLong(ms));
		response.setIntHeader("X-Held", held.size());
		out.print("served by " + System.getProperty("lab.name") + "\n");
		%>
	X
	cat >"$app/keep.jsp" <<-'X'
		<%@ page contentType="text/plain" session="false" trimDirectiveWhitespaces="true" %><%!
		static final java.util.ArrayList<byte[]> kept = new java.util.ArrayList<>();
		%><%
		String mb = request.getParameter("mb");
		synchronized (kept) {
			if (request.getParameter("free") != null)
				kept.clear();
			for (int i = mb == null ? 0 : Integer.parseInt(mb); i > 0; i--)
				kept.add(new byte[1 << 20]);
			System.gc();
			out.print("kept_mb=" + kept.size() + "\n");
		}
		%>
	X
}

launch()
{
	# exec in the background job: $! is the JVM itself.
	(
		cd "$dir"
		exec $1 java -Xms"${heap_mb}m" -Xmx"${heap_mb}m" -XX:TieredStopAtLevel=1 \
			-XX:+UseSerialGC -Xshare:auto -Dlab.name="$name" \
			-cp "$home/bin/bootstrap.jar:$home/bin/tomcat-juli.jar" \
			-Dcatalina.home="$home" -Dcatalina.base="$dir" -Djava.io.tmpdir="$dir/temp" \
			--add-opens=java.base/java.lang=ALL-UNNAMED \
			org.apache.catalina.startup.Bootstrap start
	) </dev/null >"$dir/logs/out.log" 2>&1 &
	echo $! >"$dir/pid"
}

# The port that the system chose is in the connector's name.
find_port()
{
	[ "$port" != 0 ] && return 0
	port=$(sed -n 's/.*Starting ProtocolHandler.*-auto-[0-9]*-\([0-9]*\)".*/\1/p' \
		"$dir/logs/out.log" | tail -n 1)
	[ -n "$port" ] || { port=0; return 1; }
}

# A zombie that nobody reaps is gone, too.
is_alive()
{
	grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null
}

get()
{
	curl -s -f -o /dev/null --noproxy '*' --max-time 10 "$@"
}

# The user's password by a config on stdin: not in the list of processes.
status_answers()
{
	echo "user = \"poller:$(cat "$dir/password")\"" |
		get -K - "http://127.0.0.1:$port/manager/status?XML=true"
}

wait_ready()
{
	local end=$((SECONDS + wait_s)) pid

	pid=$(cat "$dir/pid")
	while ! { find_port && status_answers; }; do
		if ! is_alive "$pid"; then
			tail -n 20 "$dir/logs/out.log" >&2
			fail "$name ended while starting: see $dir/logs/out.log"
		fi
		if [ $SECONDS -ge $end ]; then
			kill -KILL "$pid"
			fail "$name did not answer within $wait_s s: see $dir/logs/out.log"
		fi
		sleep 0.05
	done
	# The first call compiles its page; nobody shall wait for that later.
	if ! get "http://127.0.0.1:$port/load/call.jsp" || ! get "http://127.0.0.1:$port/load/keep.jsp"
	then
		fail "$name: the application does not answer: see $dir/logs/out.log"
	fi
	echo "$port" >"$dir/port"
	echo "ready port $port pid $pid"
}

# How the JVM is launched, then DIR NAME PORT.
bring_up()
{
	local how=$1

	shift
	[ $# = 3 ] || usage
	mkdir -p "$1"
	dir=$(cd "$1" && pwd)
	name=$2
	port=$3
	command -v java >/dev/null || fail "no java: apt-get install default-jre-headless"
	[ -e "$home/bin/bootstrap.jar" ] || fail "no Tomcat in $home: apt-get install tomcat10"
	[ -d "$manager" ] || fail "no manager in $manager: apt-get install tomcat10-admin"
	[ ! -e "$dir/pid" ] || fail "$dir is in use: tomcat.sh stop $dir"
	rm -f "$dir/port"
	lay_conf
	lay_user
	lay_application
	launch "$how"
	wait_ready
}

# A session of its own: it outlives this script and the terminal.
start()
{
	bring_up setsid "$@"
}

run()
{
	dir=
	trap '[ -z "$dir" ] || stop "$dir"; exit 0' TERM INT
	bring_up "" "$@"
	wait "$(cat "$dir/pid")"
}

stop()
{
	local pid i

	[ $# = 1 ] || usage
	[ -e "$1/pid" ] || return 0
	pid=$(cat "$1/pid")
	kill -TERM "$pid" 2>/dev/null || true
	for ((i = 0; i < 100; i++)); do
		is_alive "$pid" || break
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	rm -f "$1/pid"
}

case ${1:-} in
start | run | stop) "$@" ;;
*) usage ;;
esac
