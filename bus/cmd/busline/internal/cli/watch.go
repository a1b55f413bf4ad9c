package cli

import (
	"context"
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
			err = s.print("%s", inPlace(text, found))
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
	instances, err := s.matching(ctx, patterns)
	if err != nil {
		return "", 0, err
	}
	text, err = s.listing(instances)
	return text, len(instances), err
}

// inPlace overwrites the terminal, line by line so that nothing flickers.
func inPlace(text string, instances int) string {
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	text += "\n" + plural(instances, "instance") + "; Ctrl-C ends\n"
	return home + strings.ReplaceAll(text, "\n", restOfLine+"\n") + restOfScreen
}
