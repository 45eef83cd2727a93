# callrouterctl.bash - tab completion for callrouterctl: commands, options, and the names that a running
# callrouterd knows. Installed as /usr/share/bash-completion/completions/callrouterctl.

# _callrouterctl_names COMMAND MEMBER: the values of "MEMBER" in a document. One a line, so that no
# JSON tool is needed: the documents are printed with one member a line.
_callrouterctl_names()
{
	"${program[@]}" "$1" --json 2>/dev/null | sed -n "s/^ *\"$2\": \"\([^\"]*\)\",\{0,1\}\$/\1/p" | sort -u
}

_callrouterctl_services()
{
	# Services are the only ones with a name.
	_callrouterctl_names status name
}

_callrouterctl_arguments()
{
	case $command in
	status | route) compgen -W "$(_callrouterctl_services)" -- "$word" ;;
	servers | drain | undrain | restore | weight) compgen -W "$(_callrouterctl_names servers server)" -- "$word" ;;
	source) compgen -W "test" -- "$word" ;;
	profile) compgen -W "list show" -- "$word" ;;
	rollback) compgen -W "$(_callrouterctl_names plugins plugin)" -- "$word" ;;
	adopt) compgen -f -X '!*.so' -- "$word"; compgen -d -S / -- "$word" ;;
	check)
		# Three patterns: @(a|b) works only where extglob is on.
		compgen -f -X '!*.so' -- "$word"
		compgen -f -X '!*.yaml' -- "$word"
		compgen -f -X '!*.yml' -- "$word"
		compgen -d -S / -- "$word"
		;;
	esac
}

# The argument after "source test" and "profile show".
_callrouterctl_second()
{
	case "$command $previous" in
	"source test") compgen -W "$(_callrouterctl_names servers source)" -- "$word" ;;
	"profile show") compgen -W "$("${program[@]}" profile list 2>/dev/null | sed '1d; s/ .*//')" -- "$word" ;;
	esac
}

_callrouterctl_options()
{
	local options="--run-dir --help"

	case $command in
	'') options+=" --version" ;;
	status) options+=" --json --watch --interval" ;;
	route) options+=" --json --method --param --key --session --client --cost --count" ;;
	adopt) options+=" --json --force" ;;
	check) options+=" --plugins-dir --profiles-dir" ;;
	source) options+=" -c --server --replay --request --raw --plugins-dir --profiles-dir" ;;
	profile) options+=" --profiles-dir" ;;
	*) options+=" --json" ;;
	esac
	compgen -W "$options" -- "$word"
}

_callrouterctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" i
	local program=("${COMP_WORDS[0]}") arguments=0
	local commands="status route servers plugins rollback adopt reload drain undrain restore weight check source profile"

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--run-dir)
			program+=(--run-dir "${COMP_WORDS[i + 1]}")
			i=$((i + 1))
			;;
		--method | --param | --key | --session | --client | --cost | --count | --interval | --plugins-dir | --profiles-dir | -c | --server | --replay | --request) i=$((i + 1)) ;;
		-*) ;;
		*) if [ -z "$command" ]; then command=${COMP_WORDS[i]}; else arguments=$((arguments + 1)); fi ;;
		esac
	done
	COMPREPLY=()
	case $previous in
	--run-dir | --plugins-dir | --profiles-dir) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
	-c | --replay) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
	--server) mapfile -t COMPREPLY < <(compgen -W "$(_callrouterctl_names servers server)" -- "$word"); return ;;
	--method | --param | --key | --session | --client | --cost | --count | --interval | --request) return ;;
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(_callrouterctl_options)
	elif [ -z "$command" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
	elif [ "$arguments" -eq 0 ]; then
		mapfile -t COMPREPLY < <(_callrouterctl_arguments)
	elif [ "$arguments" -eq 1 ]; then
		mapfile -t COMPREPLY < <(_callrouterctl_second)
	fi
}

complete -o filenames -F _callrouterctl callrouterctl
