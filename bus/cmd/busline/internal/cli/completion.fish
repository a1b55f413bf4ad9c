# completion of busline in fish
function __busline_candidates
	set -l words (commandline -opc) (commandline -ct)
	$words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c busline -f -a '(__busline_candidates)'
