#!/bin/bash
# make.sh - writes the recordings of a WebLogic domain for snmpsim, where a file's name is the
# community: as WebLogic's agent on the administration server decides about whom it speaks.
#
# usage: make.sh FOLDER RECORDING   (tests/data/weblogic_domain.snmprec)
set -euo pipefail

folder=$1
recording=$2

# rows SERVER: the objects whose row is about this server; both tables have indices of their own.
rows()
{
	local index

	awk -F'|' -v name="$1" '{ split($1, id, "."); at = id[9] "." id[10] "." id[11] }
		(at == "340.1.15" || at == "360.1.15") && $3 == name { sub(/^.*\.(340|360)\.1\.15\./, "", $1); print $1 }' \
		"$recording" >"$folder/.indices"
	while read -r index; do
		grep -F ".$index|" "$recording"
	done <"$folder/.indices" | sort -t. -k9,9n -k11,11n
	rm "$folder/.indices"
}

cp "$recording" "$folder/weblogic@mydomain.snmprec"
rows AdminServer >"$folder/weblogic.snmprec"
rows ms1 >"$folder/weblogic@ms1.snmprec"
rows ms2 >"$folder/weblogic@ms2.snmprec"
# An agent that is slow, and one that answers with errors.
jvm=1.3.6.1.4.1.42.2.145.3.163.1.1.2
printf '%s\n' "$jvm.11.0|70:delay|value=200000000,wait=400" "$jvm.12.0|70|500000000" \
	"$jvm.13.0|70|0" >"$folder/slow.snmprec"
printf '%s\n' "$jvm.11.0|70:error|op=get,status=generror,value=1" "$jvm.12.0|70|500000000" \
	"$jvm.13.0|70|0" >"$folder/faulty.snmprec"
