package compare

import (
	"maps"
	"slices"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// otherStatus stands for every status that has no response of its own.
const otherStatus = "default"

// responses compares what an operation is answered with.
func (c *comparison) responses(key string, old, now *openapi.Operation) {
	was, is := anyStatus(old), anyStatus(now)
	switch {
	case is && !was:
		c.addf(true,
			"%s: the result may now have another status than 200: callers that take others for errors have to expect that", key)
	case was && !is:
		c.addf(true, "%s: the result now always has the status 200: callers that wait for another have to expect that", key)
	}
	for _, status := range slices.Sorted(maps.Keys(old.Responses)) {
		if answer := now.Responses[status]; answer != nil {
			c.contents(key, status, old.Responses[status], answer)
		} else if !was {
			c.addf(true, "%s: the response with status %s is no longer described", key, status)
		}
	}
}

// anyStatus reports whether an operation has a result with any status: it is then in the default response, beside the
// problems.
func anyStatus(o *openapi.Operation) bool {
	other := o.Responses[otherStatus]
	return other != nil && schemaIn(other.Content, jsonType) != nil
}

// contents compares a result with a result, an element of a stream with an element, and a problem with a problem.
func (c *comparison) contents(key, status string, old, now *openapi.Response) {
	for _, media := range []string{jsonType, restmap.NDJSON, restmap.ProblemType} {
		before, after := schemaIn(old.Content, media), schemaIn(now.Content, media)
		switch {
		case before == nil:
		case after != nil && media == restmap.NDJSON:
			c.walk(answers, key, "the element", before, after)
		case after != nil:
			c.walk(answers, key, "the result", before, after)
		case media == jsonType && now.Content[restmap.NDJSON] != nil:
			c.addf(true, "%s: the result is now a stream: callers that read it as a whole fail", key)
		case media == restmap.NDJSON && now.Content[jsonType] != nil:
			c.addf(true, "%s: the result is no longer a stream: callers that read its elements fail", key)
		case status == otherStatus && media == jsonType: // said of the statuses
		default:
			c.addf(true, "%s: the response with status %s no longer has a body: callers that read it find nothing", key, status)
		}
	}
}
