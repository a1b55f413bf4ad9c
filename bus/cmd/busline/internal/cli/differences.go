package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// differences returns a line that says which instances have different documents of a port, as during an update, or when
// two programs share a host; "" if all have the same. Calls reach any of them, and so do requests for the document.
func (s *session) differences(ctx context.Context, instances []instance, port int) string {
	var texts []string
	var groups [][]string // the instances with each text
	for _, each := range instances {
		if !slices.Contains(each.Ports, port) {
			continue
		}
		known, err := s.fetch(ctx, each.ID+"."+each.Host, port)
		if err != nil {
			continue // it has gone, or hides everything
		}
		at := slices.Index(texts, string(known.text))
		if at < 0 {
			at = len(texts)
			texts, groups = append(texts, string(known.text)), append(groups, nil)
		}
		groups[at] = append(groups[at], cleanLine(each.ID))
	}
	if len(groups) < 2 {
		return ""
	}
	var lists []string
	for _, ids := range groups {
		lists = append(lists, strings.Join(ids, ", "))
	}
	first := groups[0][0] + "." + instances[0].Host
	return fmt.Sprintf("%d different documents of port %d: %s (busline describe %s shows that of one)\n", len(groups), port, strings.Join(lists, " / "), first)
}
