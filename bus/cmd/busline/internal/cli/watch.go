package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// watch prints the instances at regular intervals: on a terminal over the previous ones, otherwise if something has
// changed.
func (s *session) watch(ctx context.Context, patterns []string, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	screen := s.StdoutTerminal && !s.settings.json
	if screen {
		if err := s.print("\x1b[2J"); err != nil { // clear the screen
			return err
		}
	}
	before := ""
	for {
		text, found, err := s.look(ctx, patterns)
		switch {
		case err != nil && (s.conn == nil || ctx.Err() != nil):
			return err
		case err != nil && !screen: // such as a broker that is away for a moment
			text = err.Error()
			if text != before {
				s.complain(err)
			}
			err = nil
		case screen:
			if err != nil {
				text = cleanLine(err.Error()) + "\n"
			}
			err = s.print("%s", inPlace(text, found, s.height()))
		case text != before:
			err = s.print("%s", text)
		}
		if err != nil {
			return err
		}
		before = text
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look lists the running instances.
func (s *session) look(ctx context.Context, patterns []string) (text string, found int, err error) {
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return "", 0, err
	}
	instances = selected(instances, patterns)
	text, err = s.listing(instances)
	return text, len(instances), err
}

// inPlace overwrites a terminal of so many lines, 0 if that is unknown, line by line so that nothing flickers. Whatever does not
// fit is left out: it would push the list off the screen, again and again.
func inPlace(text string, instances, height int) string {
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	const cutLines, wrapLines = "\x1b[?7l", "\x1b[?7h"
	const below = 3 // an empty line, the number of instances, and the line of the cursor
	count := plural(instances, "instance")
	lines := slices.Collect(strings.Lines(text))
	if fit := max(height-below, 1); height > 0 && len(lines) > fit {
		count += fmt.Sprintf(", the first %d shown: name hosts to see others", fit-1)
		text = strings.Join(lines[:fit], "")
	}
	text += "\n" + count + "; Ctrl-C ends\n"
	return home + cutLines + strings.ReplaceAll(text, "\n", restOfLine+"\n") + restOfScreen + wrapLines
}
