#compdef busline
# completion of busline in zsh
_busline() {
	local -a candidates
	candidates=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	candidates=("${(@)candidates:#}")
	compadd -S '' -- "${(@M)candidates:#*[=/]}"
	compadd -- "${(@)candidates:#*[=/]}"
}
compdef _busline busline
