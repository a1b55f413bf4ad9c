package cli

// commands returns all subcommands, in the order in which help lists them.
func commands() []*command {
	return []*command{
		newList(), newDescribe(), newCall(), newDocs(), newTap(), newParked(), newBench(), newToken(), newPermissions(), newCompletion(),
		newVersion(), newComplete(),
	}
}

// findCommand returns the subcommand of a name, nil if there is none.
func findCommand(name string) *command {
	for _, each := range commands() {
		if each.name == name {
			return each
		}
	}
	return nil
}

// commandNames returns the names that help shows.
func commandNames() (names []string) {
	for _, each := range commands() {
		if !each.hidden {
			names = append(names, each.name)
		}
	}
	return append(names, "help")
}
