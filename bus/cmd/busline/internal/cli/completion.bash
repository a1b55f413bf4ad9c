# completion of busline in bash
_busline() {
	local line="${COMP_LINE:0:COMP_POINT}" words word behind IFS=$' \t\n'
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	word="${words[${#words[@]}-1]}"
	IFS=$'\n'
	COMPREPLY=($("${words[0]}" __complete "${words[@]:1}" 2>/dev/null))
	# bash takes what stands behind the last = or : for the whole word
	behind="${word##*[=:]}"
	COMPREPLY=("${COMPREPLY[@]#"${word%"$behind"}"}")
	if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]]; then
		compopt -o nospace
	fi
}
complete -F _busline busline
