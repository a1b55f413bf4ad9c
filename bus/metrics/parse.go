package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxLabelCount bounds the labels of a sample.
const maxLabelCount = 64

var (
	errQuote = errors.New("the value of a label is not in quotes, or does not end")
	errValue = errors.New("the value is not a number")
)

// parseSample reads a line such as `calls_total{to="e"} 3`.
func parseSample(line string) (*sample, error) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 || !isName(line[:end], true) {
		return nil, fmt.Errorf("%.80q does not begin with the name of a metric", line)
	}
	parsed, rest := &sample{name: line[:end]}, strings.TrimLeft(line[end:], " \t")
	if strings.HasPrefix(rest, "{") {
		var err error
		if rest, err = parsed.readLabels(rest[1:]); err != nil {
			return nil, err
		}
	}
	fields := strings.Fields(rest)
	if len(fields) != 1 {
		return nil, fmt.Errorf("%s is followed by %d words; a single number is expected", parsed.name, len(fields))
	}
	var err error
	parsed.value, err = parseNumber(fields[0])
	return parsed, err
}

// readLabels reads `to="e",le="1"} 3` up to the brace, and returns the rest.
func (s *sample) readLabels(text string) (rest string, err error) {
	for {
		text = strings.TrimLeft(text, " \t")
		if rest, ended := strings.CutPrefix(text, "}"); ended {
			return rest, nil
		}
		name, value, found := strings.Cut(text, "=")
		name = strings.TrimRight(name, " \t")
		switch {
		case !found || !isName(name, false):
			return "", fmt.Errorf("%.80q is not the name of a label", name)
		case len(s.labels) == maxLabelCount:
			return "", fmt.Errorf("more than %d labels", maxLabelCount)
		case slices.ContainsFunc(s.labels, func(l Label) bool { return l.Name == name }):
			return "", fmt.Errorf("the label %s is given twice", name)
		}
		label := Label{Name: name}
		if label.Value, text, err = unquote(strings.TrimLeft(value, " \t")); err != nil {
			return "", err
		}
		s.labels = append(s.labels, label)
		text = strings.TrimLeft(text, " \t")
		if behind, more := strings.CutPrefix(text, ","); more {
			text = behind
		} else if !strings.HasPrefix(text, "}") {
			return "", fmt.Errorf("neither a comma nor a brace after the label %s", name)
		}
	}
}

// unquote reads the value of a label, in which a backslash stands before itself, a quote and the n of a line end.
func unquote(text string) (value, rest string, err error) {
	var read strings.Builder
	text, quoted := strings.CutPrefix(text, `"`)
	for quoted {
		at := strings.IndexAny(text, `"\`)
		if at < 0 {
			break
		}
		read.WriteString(text[:at])
		if text[at] == '"' {
			return read.String(), text[at+1:], nil
		}
		if at+1 == len(text) {
			break
		}
		plain, known := map[byte]byte{'n': '\n', '"': '"', '\\': '\\'}[text[at+1]]
		if !known {
			return "", "", fmt.Errorf("%q is not a valid escape", text[at:at+2])
		}
		read.WriteByte(plain)
		text = text[at+2:]
	}
	return "", "", errQuote
}

// parseNumber reads a number as Go writes it, "+Inf" and "NaN" included.
func parseNumber(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "_xX") {
		return 0, errValue
	}
	return value, nil
}

// number writes what parseNumber reads.
func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// isName reports whether something can be called so: a metric, which may have colons, or a label.
func isName(text string, metric bool) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == ':' && metric:
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return text != ""
}

// word cuts the first word off.
func word(text string) (first, rest string) {
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], strings.TrimLeft(text[end:], " \t")
	}
	return text, ""
}

// reescape writes the text of a HELP line so that each backslash in it means something.
func reescape(help string) string {
	var text strings.Builder
	for i := 0; i < len(help); i++ {
		text.WriteByte(help[i])
		if help[i] != '\\' {
			continue
		}
		if i+1 < len(help) && (help[i+1] == 'n' || help[i+1] == '\\') {
			i++
			text.WriteByte(help[i])
		} else {
			text.WriteByte('\\')
		}
	}
	return text.String()
}
